"""Put a model in front of a dataset: scores a language at a time, then the results."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import pyarrow as pa
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from polyprobe import PolyprobeError

from .dataset import fingerprint, load_facts
from .decoding import DecodingChoices, DecodingOptions, predict, take_decoding
from .models import ModelOptions, load
from .protocol import as_asked, check_askable, protocol_of
from .results import compute_results
from .run import SCORES, Run, Settings
from .sample import choose_rows
from .scorers import MaskedScorer, Scorer


class Options(ModelOptions, DecodingChoices, total=False):
    """How a model is loaded and asked, and how it decodes where it does."""


def evaluate_model(
    model: str,
    dataset: str,
    config: str | None = None,
    *,
    output: str | Path,
    languages: Sequence[str] | None = None,
    limit: int | None = None,
    sample: int | None = None,
    **options: Unpack[Options],
) -> dict[str, Any]:
    """Score a dataset's candidates with a model and return what results.json then holds.

    Scores go to `output`, one file a language, each written whole; a call that was interrupted
    goes on where it was when it is repeated, and gives the same files. Languages can be added to
    a run by naming them in a later call. With `scoring="xfactr"` a masked model fills the slot
    freely, and predictions stand where scores would.

    Args:
        model: an id on the Hub, a local folder, a GGUF file, or the embedded `geolm`.
        dataset: a folder, a name, or OWNER/NAME on the Hub (see `load_facts`).
        config: the dataset's configuration; None takes the default.
        output: the run folder.
        languages: split names; None takes every one.
        limit: the first N rows.
        sample: N rows spread over the relations, the same in every language.
        options: revision, device, dtype and so on, see `ModelOptions`; for `xfactr` also initial,
            refinement, beam and so on, see `DecodingOptions`.

    Raises:
        PolyprobeError: anything that the caller can mend, in one line.
    """
    settings: dict[str, Any] = dict(options)
    decoding = take_decoding(settings)
    tables = load_facts(dataset, config, languages)
    rows = choose_rows(next(iter(tables.values())), limit, sample)
    loaded = load(model, **settings)
    check_askable(tables, loaded.scorer.scoring)
    scoring = decoding.name if decoding else loaded.scorer.scoring
    also = protocol_of(scoring).columns
    run = Run(output)
    run.open(
        Settings(
            model=_absolute(model),
            revision=loaded.revision,
            dataset=_absolute(dataset),
            config=config,
            fingerprint={x: fingerprint(table, also) for x, table in tables.items()},
            languages=list(tables),
            limit=limit,
            sample=sample,
            scoring=scoring,
            bos=loaded.scorer.bos,
            dtype=loaded.dtype,
            device=loaded.scorer.model.device.type,
        )
    )
    asked, kind = _as_asked(run, tables), run.settings().kind
    missing = {language: asked[language].take(rows) for language in run.missing(tables, kind)}
    _fill_languages(run, loaded.scorer, decoding, missing)
    return compute_results(run)


def _as_asked(run: Run, tables: dict[str, pa.Table]) -> dict[str, pa.Table]:
    """Return the rows as the run's protocol asks them, by what its first language lists."""
    settings = run.settings()
    first = settings.languages[0]
    if protocol_of(settings.scoring).whole_relation and first not in tables:
        tables = load_facts(settings.dataset, settings.config, [first, *tables])
    return as_asked(tables, settings.scoring, first)


def _absolute(name: str) -> str:
    """Return a path that is there in full, so that a run is the same from any folder."""
    return str(Path(name).resolve()) if Path(name).exists() else name


def _fill_languages(
    run: Run, scorer: Scorer, decoding: DecodingOptions | None, tables: dict[str, pa.Table]
) -> None:
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console) as bars:
        overall = bars.add_task("languages", total=len(tables))
        for language, table in tables.items():
            bar = bars.add_task(language, total=None)
            advance = partial(_advance, bars, bar)
            work = (table, language, advance, console)
            if decoding:
                run.write_predictions(language, _predict_table(scorer, decoding, *work))
            else:
                run.write_scores(language, _score_table(scorer, *work))
            bars.remove_task(bar)
            bars.advance(overall)


def _advance(bars: Progress, bar: TaskID, done: int, total: int) -> None:
    bars.update(bar, completed=done, total=total)


def _score_table(
    scorer: Scorer,
    table: pa.Table,
    language: str,
    progress: Callable[[int, int], None],
    console: Console,
) -> pa.Table:
    candidates = table["candidates"].to_pylist()
    try:
        scored = scorer.score_counted(table["prompt"].to_pylist(), candidates, progress)
    except PolyprobeError as error:
        raise PolyprobeError(f"language '{language}': {error}") from error
    if scored.unknown:
        console.print(_unknown_warning(scored.unknown, candidates, language), markup=False)
    asked = table.select(SCORES.names[:3]).to_pydict()
    return pa.table({**asked, "scores": scored.scores, "n_tokens": scored.n_tokens}, schema=SCORES)


def _predict_table(
    scorer: Scorer,
    decoding: DecodingOptions,
    table: pa.Table,
    language: str,
    progress: Callable[[int, int], None],
    console: Console,
) -> pa.Table:
    assert isinstance(scorer, MaskedScorer)  # `load` has refused every other
    try:
        made, left_out = predict(scorer, table, language, decoding, progress)
    except PolyprobeError as error:
        raise PolyprobeError(f"language '{language}': {error}") from error
    if left_out:
        console.print(
            f"warning: language '{language}': {len(left_out)} of {len(table)} facts are left out: "
            f"their label holds a token unknown to this model (the first is {left_out[0]!r})",
            markup=False,
        )
    return made


def _unknown_warning(
    unknown: list[tuple[int, int]], candidates: list[list[str]], language: str
) -> str:
    total = sum(map(len, candidates))
    query, candidate = unknown[0]
    return (
        f"warning: language '{language}': {len(unknown)} of {total} candidates are nothing but "
        f"unknown tokens to this model (the first is {candidates[query][candidate]!r})"
    )
