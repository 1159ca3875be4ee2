"""An evaluation whose names, rows and questions are found: what is scored, and under which name."""

import os
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from polyprobe.schema.columns import has_prompts
from polyprobe.schema.identity import fingerprint
from polyprobe.schema.load import IN_MEMORY, find_default, load_facts
from polyprobe.schema.run.folder import Run
from polyprobe.schema.run.protocol import as_asked, check_askable, protocol_of
from polyprobe.schema.run.rows import apply_choice, check_comparable, choose_rows, choose_to_score
from polyprobe.schema.run.settings import Settings
from polyprobe.scoring.load import Loaded
from polyprobe.scoring.model_objects import name_of
from polyprobe.scoring.options import FINAL_STOP, FREE, PRODUCTS, SERVED, is_name
from polyprobe.system.errors import PolyprobeError

from .options import DatasetOptions, EvaluationOptions, EvaluationRequest
from .questions import add_starts, annotate, check_prefix, choose_donors


class ScoredRows(NamedTuple):
    """The rows to score."""

    numbers: list[int]  # in the dataset's order, the same in every language
    choice: Mapping[str, Any]  # the settings of the run that say how they were chosen


def find_rows(table: pa.Table, options: DatasetOptions) -> ScoredRows:
    """Return the rows of a dataset that the options choose."""
    choice = choose_to_score(table, options.relations, options.exclude)
    rows, excluded = apply_choice(table, choice)
    numbers = choose_rows(table, options.limit, options.sample, rows)
    return ScoredRows(numbers, {**choice.as_json(), "left_out": excluded})


class Questions(NamedTuple):
    """The rows of an evaluation as its protocol asks them."""

    # The whole split of each language, that of the run's first language among them
    texts: Mapping[str, pa.Table]
    # The rows to score, with all questions, of each language that has no scores
    missing: Mapping[str, pa.Table]


class Evaluation(NamedTuple):
    """A request with its names, paths and rows.

    Attributes:
        model, dataset: names; local paths are absolute, so that a run is the same from any folder.
    """

    request: EvaluationRequest  # local paths of its options are absolute
    model: str
    dataset: str
    config: str | None  # configuration of the dataset; None for a dataset in memory
    tables: Mapping[str, pa.Table]  # the split of each language, whole
    rows: ScoredRows

    @property
    def options(self) -> EvaluationOptions:
        """Return the options of the request."""
        return self.request.options

    def describe(self, loaded: Loaded) -> Settings:
        """Return the settings of the run with a loaded model.

        A setting with the name of an option has its value, unless the model or dataset decides.
        """
        scorer, network = loaded.scorer, loaded.scorer.model
        if self.options.prompt_probability:
            check_prefix(scorer)
        scoring = self.options.name if self.request.scoring == FREE else scorer.scoring
        check_askable(self.tables, scoring)
        protocol = protocol_of(scoring)
        product = scorer.engine.product
        multiplication = {} if product == PRODUCTS[0] else {"product": product}
        own_prompts = any(map(has_prompts, self.tables.values()))
        attention = network and str(network.config._attn_implementation or "eager")
        names = {part.name for part in fields(Settings)}
        options = {x.name: getattr(self.options, x.name) for x in fields(self.options)}
        values = {name: value for name, value in options.items() if name in names} | {
            "model": self.model,
            "revision": loaded.revision,
            "dataset": self.dataset,
            "config": self.config,
            "fingerprint": {
                language: fingerprint(table, protocol.columns)
                for language, table in self.tables.items()
            },
            "languages": list(self.tables),
            "scoring": scoring,
            "bos": scorer.bos,
            "dtype": loaded.dtype,
            "device": network.device.type if network else SERVED,
            "attention": attention or SERVED,
            "path": scorer.path,
            "batch_tokens": scorer.engine.batch_tokens,
            "donor": self.options.donor
            and protocol.kind == "scores"
            and not protocol.whole_relation
            and not own_prompts,
            **self.rows.choice,
            "further": {
                **loaded.extra,
                **scorer.extra,
                **multiplication,
                **self.options.signature_parts,
            },
            "probe": [*loaded.probe],
            "chat": scorer.chat.settings if scorer.chat else None,
            "parameters": network.num_parameters() if network else None,
        }
        return Settings(**values)

    def ask(self, run: Run, settings: Settings) -> Questions:
        """Return the rows as they are asked; languages that the run has already are not missing."""
        tables, first = self.tables, settings.languages[0]
        protocol = protocol_of(settings.scoring)
        needs_first = protocol.whole_relation or settings.donor or protocol.contrasts
        if first not in tables and (needs_first or settings.device == SERVED):
            try:  # an earlier call has scored it
                names = [first, *tables]
                tables = load_facts(self.request.dataset, self.config, names, protocol.contrasts)
            except PolyprobeError:
                if needs_first:
                    raise
            check_comparable(tables, self.rows.numbers)
        stop = settings.further.get(FINAL_STOP, "none")
        texts = as_asked(tables, settings.scoring, first, stop)
        missing = {language: texts[language] for language in run.missing(self.tables)}
        if protocol.kind == "scores" and missing:
            missing = annotate(missing, choose_donors(texts[first]) if settings.donor else None)
            missing = add_starts(missing) if settings.prompt_probability else missing
        rows = self.rows.numbers
        return Questions(texts, {language: table.take(rows) for language, table in missing.items()})


def resolve(request: EvaluationRequest) -> Evaluation:
    """Return the evaluation of a request: load its dataset and choose the rows."""
    model, dataset, config, options = request
    model_name = _absolute(model) if is_name(model) else name_of(model)
    dataset_name = _absolute(dataset) if isinstance(dataset, str | os.PathLike) else IN_MEMORY
    if options.adapter:
        request = request._replace(options=replace(options, adapter=_absolute(options.adapter)))
    tables = load_facts(dataset, config, options.languages, protocol_of(request.scoring).contrasts)
    config = config or find_default(dataset)
    rows = find_rows(next(iter(tables.values())), options)
    check_comparable(tables, rows.numbers)
    return Evaluation(request, model_name, dataset_name, config, tables, rows)


def _absolute(name: str | os.PathLike[str]) -> str:
    """Return the absolute path of an existing file or folder, any other name as it is."""
    return str(Path(name).resolve()) if Path(name).exists() else os.fspath(name)
