"""Evaluate a model on a dataset: load, score what is missing, compute the results."""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pyarrow as pa

from polyprobe.analysis.figures.compute import compute_results
from polyprobe.schema.columns import fingerprint, has_prompts
from polyprobe.schema.load import IN_MEMORY, Splits, find_default, load_facts
from polyprobe.schema.locate import make_absolute
from polyprobe.schema.run.folder import FinishedRun, Run
from polyprobe.schema.run.protocol import NO_NAMES, Protocol, as_asked, check_askable, protocol_of
from polyprobe.schema.run.rows import check_comparable, choose_examples, find_rows
from polyprobe.schema.run.settings import Settings
from polyprobe.scoring import QueryScores
from polyprobe.scoring.load import Loaded, load
from polyprobe.scoring.model_objects import check_object, name_of
from polyprobe.scoring.options import FINAL_STOP, FREE, PRODUCTS, SERVED, ScorerOptions, is_name
from polyprobe.scoring.scorers.part import Shots
from polyprobe.system.devices import limit_threads
from polyprobe.system.files import hash_json, locked
from polyprobe.system.messages import PolyprobeError, report
from polyprobe.system.options import check_keywords, collect_options, with_keywords

from .answers import Judges, Show, hide_objects, load_names, read_names
from .donors import deal_donors
from .options import EvaluationOptions, EvaluationRequest
from .questions import DONOR, NO_DONORS, add_starts, annotate, check_prefix
from .work.fill import (
    check_same_model,
    choose_workers,
    fill_scores,
    forecast,
    open_model,
    plan_work,
)
from .work.predictions import fill_predictions
from .work.score_store import OWN_STORE, open_store
from .work.workers.ray_cluster import Crew, check_workers

# Writes the scores or predictions of a run's missing languages, given their rows.
Filling = Callable[[Run, Settings, Mapping[str, pa.Table]], None]


@with_keywords(EvaluationOptions)
def evaluate_model(
    model: Any,
    dataset: str | Splits,
    config: str | None = None,
    *,
    output: str | Path | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Score a dataset's candidates with a model and return the content of results.json.

    Scores go to `output`, one file for each language, each written whole. Repeat the call to resume
    an interrupted run; the files are the same. Scores are also cached by content (`ScoreStore`), so
    that no run scores the same query with the same model twice. Name further languages in a later
    call to add them to a run. With `scoring="xfactr"` a masked model fills the slot freely, and the
    run has predictions instead of scores.

    Args:
        model: an id on the Hub, a local folder, a GGUF file, or the embedded `geolm`; a
            transformers model, also wrapped by PEFT, with `tokenizer`; or a scorer of
            `load_scorer`. A model in memory is identified by a hash of its weights and settings,
            which does not see code: its scores are kept in the run folder, not in the cache.
        dataset: a folder, a name, or OWNER/NAME on the Hub (see `load_facts`); or a `DatasetDict`.
        config: configuration of the dataset; default: its own default.
        output: run folder. Without one nothing is written except the cache, from which a later call
            with a folder takes the scores of a model that has a name.
        options: the options of `polyprobe eval` by name, with underscores: languages, sample,
            scoring, device and so on (`EvaluationOptions`). Lists may be texts with commas.

    Raises:
        PolyprobeError: any error that the caller can correct, in one line.
    """
    check_keywords(options, evaluate_model)
    if not is_name(model):  # its own options are not to be checked against our defaults
        check_object(model, {x: options[x] for x in options if x in collect_options(ScorerOptions)})
    settings = EvaluationOptions.from_keywords(options, evaluate_model)
    request = EvaluationRequest.of(model, dataset, config, settings)
    with TemporaryDirectory(prefix="polyprobe-") as folder:
        return evaluate_request(request, folder if output is None else output).results


def evaluate_request(request: EvaluationRequest, output: str | Path) -> FinishedRun:
    """Return the run of a request with its results and rows, for a report."""
    if request.options.distributor:
        check_workers(request.options)
    evaluation = resolve(request, output)
    run, options = evaluation.run, evaluation.request.options
    with limit_threads(options.threads), ExitStack() as stack:
        opened = open_model(request.model, evaluation.model, options, evaluation.earlier)
        model = stack.enter_context(opened)
        settings = evaluation.describe(model)
        with locked(run.folder):
            settings = run.open(settings)
            questions = evaluation.ask(settings)
            if questions.missing:
                fill = choose_filling(evaluation, model, questions)
                del model  # workers elsewhere need its memory
                fill(run, settings, questions.missing)
            shutil.rmtree(run.folder / OWN_STORE, ignore_errors=True)  # the files hold all scores
            results = compute_results(run)
    for language, share in results.get("letters_read", {}).items():
        if share < 1:
            report(
                f"warning: {1 - share:.1%} of the letters in {language} were not among the most "
                "probable tokens of the server; they count as 1 nat below the least"
            )
    return FinishedRun(run, results, questions.texts)


def forecast_work(request: EvaluationRequest, output: str | Path) -> str:
    """Return the work of a request in one line; the run folder is not touched."""
    if request.scoring == FREE:
        text = f"--dry-run counts candidates; --scoring {FREE} has none: leave it out"
        raise PolyprobeError(text)
    evaluation = resolve(request, output)
    run, options = evaluation.run, evaluation.request.options
    with limit_threads(options.threads):
        loaded = load(request.model, options, evaluation.earlier)
        settings = run.join(evaluation.describe(loaded))
        missing = evaluation.ask(settings).missing
        # A store in the run folder is opened only if it exists: nothing is written.
        exists = options.cache or (run.folder / OWN_STORE).exists()
        store = open_store(run, settings, options.cache) if exists else None
        work = plan_work(missing, store)
        if not work.tasks:
            return "nothing is left to score"
        return forecast(work, loaded.scorer, options.price)


def choose_filling(
    evaluation: "Evaluation", model: Loaded | Crew, questions: "Questions"
) -> Filling:
    """Return the function that scores what is missing; it holds the model only to score here."""
    options = evaluation.request.options
    if isinstance(model, Loaded) and evaluation.request.scoring == FREE:
        return partial(fill_predictions, model.scorer, options)
    fill = partial(fill_scores, choose_workers(evaluation.model, options, model), options.cache)
    if not isinstance(model, Loaded):
        return fill
    scorer = model.scorer
    if protocol_of(scorer.scoring).answers:
        # The names of the objects are found in all languages.
        first = evaluation.run.settings().languages[0]
        languages = [*dict.fromkeys([first, *evaluation.tables])]
        names = load_names(evaluation.request.dataset, evaluation.config, languages)
        fill = partial(fill, make=partial(_judge, Judges(names, first), scorer.show))
    elif scorer.model is None:
        check_same_model(evaluation.run, scorer, questions.prompts, evaluation.rows)
    if scorer.model is None:  # requests may cost money
        fill = partial(fill, announce=partial(forecast, scorer=scorer, price=options.price))
    return fill


def _judge(
    judges: Judges, show: Show, language: str, table: pa.Table, rows: Sequence[QueryScores]
) -> pa.Table:
    texts, queue = [row.text or "" for row in rows], iter(rows[len(table) :])
    of_donors = [next(queue).text if donor else None for donor in table[DONOR].to_pylist()]
    return judges.make_table(language, table, texts[: len(table)], of_donors, show)


def allows_donors(protocol: Protocol, tables: Mapping[str, pa.Table]) -> bool:
    """Tell whether the candidates can be scored in another subject's sentence."""
    scored = protocol.kind == "scores" and not protocol.bare
    return scored and not any(map(has_prompts, tables.values()))


class Questions(NamedTuple):
    """The rows of an evaluation as its protocol asks them."""

    # The whole split of each language, that of the run's first language among them
    texts: Mapping[str, pa.Table]
    # The same with their examples in front, without the rows of these
    prompts: Mapping[str, pa.Table]
    # The rows to score, with all questions, of each language that has no scores
    missing: Mapping[str, pa.Table]


# Local paths in the names and options are absolute, so that a run is the same from any folder.
class Evaluation(NamedTuple):
    """A request with its names, rows and run folder."""

    request: EvaluationRequest
    model: str
    dataset: str
    config: str | None  # None for a dataset in memory
    tables: Mapping[str, pa.Table]  # the split of each language, whole
    shots: Shots
    rows: Sequence[int]  # to score, of those that `shots` leaves, the same in every language
    choice: Mapping[str, Any]  # the settings of the run that say how they were chosen
    run: Run
    earlier: Settings | None  # of a run to resume with the same model
    also: tuple[str, Mapping[str, Sequence[str]]]  # a further language, its names by fact

    def describe(self, model: Loaded | Crew) -> Settings:
        """Return the settings of the run with a model."""
        # A setting with the name of an option has its value, unless the model or dataset decides
        options, about = self.request.options, {**model.describe()}
        if options.prompt_probability and isinstance(model, Loaded):
            check_prefix(model.scorer)
        scoring = options.name if self.request.scoring == FREE else about["scoring"]
        protocol = protocol_of(scoring)
        check_askable(self.tables, scoring)
        further, product = {**about["further"], **options.signature_parts}, about.pop("product")
        if product != PRODUCTS[0]:
            further["product"] = product
        if self.also[0]:
            further["also_accept"] = f"{self.also[0]}@{hash_json(self.also[1])[:6]}"
        names = {part.name for part in fields(Settings)}
        values = {name: value for name, value in vars(options).items() if name in names} | about
        prints = {x: fingerprint(table, protocol.columns) for x, table in self.tables.items()}
        values |= {
            "model": self.model,
            "dataset": self.dataset,
            "config": self.config,
            "fingerprint": prints,
            "languages": list(self.tables),
            "scoring": scoring,
            "donor": options.donor and allows_donors(protocol, self.tables),
            **self.choice,
            "further": further,
        }
        return Settings(**values)

    def ask(self, settings: Settings) -> Questions:
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
            check_comparable({x: self.shots.select(y) for x, y in tables.items()}, self.rows)
        stop = settings.further.get(FINAL_STOP, "none")
        texts = as_asked(tables, settings.scoring, first, stop, also=self.also)
        prompts = {x: self.shots.put_in_front(y, protocol.options) for x, y in texts.items()}
        missing = {language: prompts[language] for language in self.run.missing(self.tables)}
        if protocol.kind == "scores" and missing:
            donors = deal_donors(prompts[first]) if settings.donor else NO_DONORS
            missing = annotate(missing, donors, self.rows)
            missing = add_starts(missing) if settings.prompt_probability else missing
        else:
            missing = {language: table.take(self.rows) for language, table in missing.items()}
        missing = {x: hide_objects(y) for x, y in missing.items()} if protocol.answers else missing
        return Questions(texts, prompts, missing)


def resolve(request: EvaluationRequest, output: str | Path) -> Evaluation:
    """Load the dataset of a request, choose the rows and look at the run folder."""
    model, dataset, config, options = request
    model_name = make_absolute(model) if is_name(model) else name_of(model)
    dataset_name = make_absolute(dataset) if isinstance(dataset, str | os.PathLike) else IN_MEMORY
    if options.adapter:
        request = request._replace(options=replace(options, adapter=make_absolute(options.adapter)))
    tables = load_facts(dataset, config, options.languages, protocol_of(request.scoring).contrasts)
    config = config or find_default(dataset)
    first, shots = next(iter(tables.values())), Shots()
    if options.shots:
        shots = Shots(*choose_examples(first, options, options.shots))
    splits = {language: shots.select(table) for language, table in tables.items()}
    rows, choice = find_rows(next(iter(splits.values())), options)
    check_comparable(splits, rows)
    if shots.rows is not None:
        choice["left_out"]["examples"] = len(first) - len(shots.rows)
    run = Run(output)
    run.check_free()
    text = options.also_accept
    also = NO_NAMES if text is None else read_names(dataset, config, text, tables)
    names, earlier = (model_name, dataset_name, config), run.before(model_name)
    return Evaluation(request, *names, tables, shots, rows, choice, run, earlier, also)
