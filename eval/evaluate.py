"""Evaluate a model on a dataset: score the missing languages, then compute the results."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from inspect import signature
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Unpack

import pyarrow as pa

from polyprobe.analysis.figures.compute import compute_results
from polyprobe.eval.donors import annotate, choose_donors
from polyprobe.eval.prompts import add_starts, check_prefix
from polyprobe.eval.work.fill import (
    as_scores,
    choose_workers,
    fill_scores,
    forecast,
    has_store,
    open_store,
    plan_work,
    queries_of,
    remove_own_store,
)
from polyprobe.eval.work.known_scores import as_known
from polyprobe.eval.work.predictions import fill_predictions
from polyprobe.schema.columns import has_prompts
from polyprobe.schema.identity import fingerprint
from polyprobe.schema.load import IN_MEMORY, Splits, find_default, load_facts
from polyprobe.schema.run.folder import AGREE, FinishedRun, Run, Settings
from polyprobe.schema.run.protocol import as_asked, check_askable, check_rows, protocol_of
from polyprobe.schema.run.rows import choose, choose_rows, choose_to_score
from polyprobe.scoring.given import name_of
from polyprobe.scoring.load import Loaded, is_name, load
from polyprobe.scoring.options import (
    FINAL_STOP,
    FREE,
    PRODUCTS,
    SERVED,
    DecodingOptions,
    Options,
    WorkerSettings,
    check_final_stop,
    check_names,
    check_server,
    take_decoding,
    take_workers,
)
from polyprobe.scoring.scorers import Scorer
from polyprobe.system.devices import limit_threads
from polyprobe.system.errors import PolyprobeError
from polyprobe.system.files import locked
from polyprobe.system.progress import report as say

REPEATED = 5  # rows of a run to resume that a served model scores again


def evaluate_model(
    model: Any,
    dataset: str | Splits,
    config: str | None = None,
    *,
    output: str | Path | None = None,
    languages: str | Sequence[str] | None = None,
    limit: int | None = None,
    sample: int | None = None,
    relations: str | Sequence[str] | None = None,
    exclude: str | Sequence[str] | None = None,
    donor: bool = True,
    prompt_probability: bool = False,
    final_stop: str = "none",
    **options: Unpack[Options],
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
        languages: split names, a list or one text with commas; default: all.
        limit: the first N rows.
        sample: N rows spread over the relations, the same in every language.
        relations: only the rows of these; default: all.
        exclude: relations and flags (the column `flags`) whose rows are left out, before `limit`
            and `sample`; default: rows with `second_answers`, unless `relations` are given.
        donor: also score each fact's candidates in the sentence of another subject, for the figures
            corrected for what does not depend on the subject (see `choose_donors`); without effect
            where candidates are all objects of the relation, decoded freely, or have each a prompt
            of its own.
        prompt_probability: also store the log-probability of the text before the slot, for
            `scoring="object"` and causal models with a BOS.
        final_stop: for `mpararel`, the full stop at the end of each prompt: `none`, `.` or `。`.
        options: revision, device, dtype and so on, see `ModelOptions`; devices, ray and cache, see
            `WorkerChoices`; for `xfactr` also initial, refinement, beam and so on, see
            `DecodingOptions`.

    Raises:
        PolyprobeError: any error that the caller can correct, in one line.
    """
    check_names(options, ARGUMENTS, "evaluate_model")
    with TemporaryDirectory(prefix="polyprobe-") as nowhere:
        finished = run_evaluation(
            model,
            dataset,
            config,
            output=nowhere if output is None else output,
            languages=languages,
            limit=limit,
            sample=sample,
            relations=relations,
            exclude=exclude,
            donor=donor,
            prompt_probability=prompt_probability,
            final_stop=final_stop,
            **options,
        )
        return finished.results if finished else {}


def run_evaluation(
    model: Any,
    dataset: str | Splits,
    config: str | None = None,
    *,
    output: str | Path,
    languages: str | Sequence[str] | None = None,
    limit: int | None = None,
    sample: int | None = None,
    relations: str | Sequence[str] | None = None,
    exclude: str | Sequence[str] | None = None,
    donor: bool = True,
    prompt_probability: bool = False,
    final_stop: str = "none",
    dry_run: bool = False,
    **options: Unpack[Options],
) -> FinishedRun | None:
    """Return the run of `evaluate_model` with its results and rows, for a report.

    With `dry_run` only the work is counted and printed; the run folder is not touched.
    """
    loading: dict[str, Any] = dict(options)
    check_server(loading)
    if dry_run and loading.get("scoring") == FREE:
        raise PolyprobeError(
            f"--dry-run counts candidates; --scoring {FREE} has none: leave it out"
        )
    scoring = model.scoring if isinstance(model, Scorer) else loading.get("scoring", "bmlama")
    check_final_stop(final_stop, scoring)
    decoding, who = take_decoding(loading), take_workers(loading)
    if not is_name(model) or loading.get("server"):
        who = _keep_here(who)
    tables = load_facts(dataset, config, languages, protocol_of(scoring).contrasts)
    table = next(iter(tables.values()))
    choice = choose_to_score(table, relations, exclude)
    chosen = choose(table, choice)
    selection = {**choice.as_json(), "left_out": chosen.left_out}
    rows = choose_rows(table, limit, sample, chosen.rows)
    check_rows(tables, rows)
    config = config or find_default(dataset)
    asked = Asked(
        _absolute(model) if is_name(model) else name_of(model),
        _absolute(dataset) if isinstance(dataset, str | os.PathLike) else IN_MEMORY,
        config,
        tables,
        rows,
        limit,
        sample,
        donor,
        prompt_probability,
        selection,
        {} if final_stop == "none" else {FINAL_STOP: final_stop},
    )
    run = Run(output)
    if loading.get("adapter"):
        loading["adapter"] = _absolute(loading["adapter"])
    before = run.before(asked.model)
    if loading.get("server"):
        loading["before"] = (before.revision, before.probe) if before and before.probe else None
    elif before and loading.get("batch_tokens") is None and not isinstance(model, Scorer):
        loading["batch_tokens"] = before.batch_tokens
    with limit_threads(who.threads):
        loaded = load(model, **loading)
        if before and not loading.get("product"):
            _keep_product(loaded.scorer, before)
        if prompt_probability:
            check_prefix(loaded.scorer)
        settings = asked.describe(loaded, decoding)
        check_askable(asked.tables, settings.scoring)
        run.check_free()
        if dry_run:
            settings = run.join(settings)
            _, todo = _questions(asked, settings, run, dataset)
            store = open_store(run, settings, who) if has_store(run, who) else None
            work = plan_work(todo, store)
            say(forecast(work, loaded.scorer) if work.tasks else "nothing is left to score")
            return None
        with locked(run.folder):
            settings = run.open(settings)
            texts, todo = _questions(asked, settings, run, dataset)
            if loading.get("server") and todo:
                _score_again(run, loaded.scorer, texts, asked.rows)
            if decoding:
                fill_predictions(run, loaded.scorer, decoding, todo)
            elif todo:
                store = open_store(run, settings, who)
                workers = choose_workers(who, settings.model, loading, loaded)
                announce = None
                if loaded.scorer.model is None:  # requests to a server may cost money
                    announce = partial(forecast, scorer=loaded.scorer)
                del loaded  # free its memory for workers elsewhere
                fill_scores(run, todo, store, workers, announce)
            remove_own_store(run)
            results = compute_results(run)
            for language, share in results.get("letters_read", {}).items():
                if share < 1:
                    say(
                        f"warning: {1 - share:.1%} of the letters in {language} were not among the "
                        "most probable tokens of the server; they count as 1 nat below the least"
                    )
            return FinishedRun(run, results, texts)


def _questions(
    asked: "Asked", settings: Settings, run: Run, dataset: str | Splits
) -> tuple[Mapping[str, pa.Table], dict[str, pa.Table]]:
    """Return the rows of each language as they are asked, and those that have no scores yet."""
    tables, first = asked.tables, settings.languages[0]
    protocol = protocol_of(settings.scoring)
    needed = protocol.whole_relation or settings.donor or protocol.contrasts
    if first not in tables and (needed or settings.device == SERVED):  # scored by an earlier call
        try:
            tables = load_facts(dataset, asked.config, [first, *tables], protocol.contrasts)
        except PolyprobeError:
            if needed:
                raise
        check_rows(tables, asked.rows)
    stop = settings.further.get(FINAL_STOP, "none")
    texts = as_asked(tables, settings.scoring, first, stop)
    asking = {language: texts[language] for language in run.missing(asked.tables)}
    if protocol.kind == "scores" and asking:
        asking = annotate(asking, choose_donors(texts[first]) if settings.donor else None)
        asking = add_starts(asking) if settings.prompt_probability else asking
    return texts, {language: table.take(asked.rows) for language, table in asking.items()}


def _score_again(
    run: Run, scorer: Scorer, texts: Mapping[str, pa.Table], rows: Sequence[int]
) -> None:
    """Refuse a served model that does not repeat some scores of the run's first language.

    A score that is a sum may differ by `AGREE` for each token. Without the values of all tokens
    (`ServedEngine.exact`) rounding decides which are given, so scores are not compared.
    """
    first = run.settings().languages[0]
    if run.missing([first]) or first not in texts or not scorer.engine.exact:
        return
    some = [*range(0, len(rows), max(1, len(rows) // REPEATED))][:REPEATED]
    asked = texts[first].take([rows[k] for k in some])
    prompts, candidates = zip(*queries_of(asked), strict=True)
    scored = scorer.score_counted(prompts, candidates)
    now = as_scores(asked, as_known(scored))["scores"].to_pylist()
    stored = run.read(first).take(some)
    before, tokens = stored["scores"].to_pylist(), stored["n_tokens"].to_pylist()
    summed = scorer.scoring == "object"
    worst = max(
        abs(a - b) / (n if summed else 1)
        for row in zip(now, before, tokens, strict=True)
        for a, b, n in zip(*row, strict=True)
    )
    if worst > AGREE:
        raise PolyprobeError(
            f"the server gives other scores than those of {first!r} in {run.folder} (they differ "
            f"by {worst:.3g}): it has another model; serve the same one, or choose another --output"
        )


class Asked(NamedTuple):
    """Names, paths and rows of an evaluation, resolved once.

    Attributes:
        model, dataset: names; local paths are absolute, so that a run is the same from any folder.
        config: configuration of the dataset; None for its default.
        tables: the whole split of each language.
        rows: numbers of the rows to score.
        limit, sample: how the rows were chosen.
        donor: whether a second question was asked for.
        prompt_probability: whether the prompts are scored too.
        selection: `relations`, `exclude` and `left_out` of `Settings`.
        further: what else is asked for, see `Settings`.
    """

    model: str
    dataset: str
    config: str | None
    tables: Mapping[str, pa.Table]
    rows: list[int]
    limit: int | None
    sample: int | None
    donor: bool
    prompt_probability: bool
    selection: dict[str, Any]
    further: dict[str, str]

    def describe(self, loaded: Loaded, decoding: DecodingOptions | None) -> Settings:
        """Return the settings of the run with a loaded model."""
        scorer = loaded.scorer
        scoring = decoding.name if decoding else scorer.scoring
        protocol = protocol_of(scoring)
        columns = protocol.columns
        product = scorer.engine.product
        multiplied = {} if product == PRODUCTS[0] else {"product": product}
        return Settings(
            model=self.model,
            revision=loaded.revision,
            dataset=self.dataset,
            config=self.config,
            fingerprint={x: fingerprint(table, columns) for x, table in self.tables.items()},
            languages=list(self.tables),
            limit=self.limit,
            sample=self.sample,
            scoring=scoring,
            bos=scorer.bos,
            dtype=loaded.dtype,
            device=scorer.model.device.type if scorer.model else SERVED,
            attention=str(scorer.model.config._attn_implementation or "eager")
            if scorer.model
            else SERVED,
            path=scorer.path,
            batch_tokens=scorer.engine.batch_tokens,
            further={**loaded.further, **scorer.further, **multiplied, **self.further},
            probe=[*loaded.probe],
            chat=scorer.chat.said if scorer.chat else None,
            prompt_probability=self.prompt_probability,
            parameters=scorer.model.num_parameters() if scorer.model else None,
            donor=self.donor
            and protocol.kind == "scores"
            and not protocol.whole_relation
            and not any(map(has_prompts, self.tables.values())),
            **self.selection,
        )


ARGUMENTS = [*[*signature(evaluate_model).parameters][:-1], *Options.__annotations__]


def _keep_here(who: WorkerSettings) -> WorkerSettings:
    """Return the workers of a model in memory: this process, without the cache."""
    if who.devices > 1 or who.ray:
        option = "ray" if who.ray else "devices"
        raise PolyprobeError(
            f"{option} needs a model that other processes can load; save this one with its "
            "tokenizer (save_pretrained) and give the folder"
        )
    return replace(who, cache=False)


def _keep_product(scorer: Scorer, before: Settings) -> None:
    """Multiply as in the run to resume, if possible; if not, `Run.open` says what differs."""
    if scorer.model is not None:
        scorer.engine.fix_product(before.further.get("product", PRODUCTS[0]))


def _absolute(name: str | os.PathLike[str]) -> str:
    """Return the absolute path of an existing file or folder, any other name as it is."""
    return str(Path(name).resolve()) if Path(name).exists() else os.fspath(name)
