"""Decode a run's languages one by one (free decoding, X-FACTR)."""

from collections.abc import Callable, Mapping
from functools import partial

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

from polyprobe.eval.run.folder import Run
from polyprobe.eval.scoring.decoding import DecodingOptions
from polyprobe.eval.scoring.scorers import MaskedScorer, Scorer
from polyprobe.system.errors import PolyprobeError

from .predict import predict


def fill_predictions(
    run: Run, scorer: Scorer, decoding: DecodingOptions, tables: Mapping[str, pa.Table]
) -> None:
    """Decode the slots of these rows and write the predictions of each complete language."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console) as bars:
        overall = bars.add_task("languages", total=len(tables))
        for language, table in tables.items():
            bar = bars.add_task(language, total=None)
            advance = partial(_advance, bars, bar)
            made = _predict_table(scorer, decoding, table, language, advance, console)
            run.write_predictions(language, made)
            bars.remove_task(bar)
            bars.advance(overall)


def _advance(bars: Progress, bar: TaskID, done: int, total: int) -> None:
    bars.update(bar, completed=done, total=total)


def _predict_table(
    scorer: Scorer,
    decoding: DecodingOptions,
    table: pa.Table,
    language: str,
    progress: Callable[[int, int], None],
    console: Console,
) -> pa.Table:
    assert isinstance(scorer, MaskedScorer)  # `load` accepts no other
    try:
        made, left_out = predict(scorer, table, language, decoding, progress)
    except PolyprobeError as error:
        raise PolyprobeError(f"language '{language}': {error}") from error
    if left_out:
        console.print(
            f"warning: language '{language}': {len(left_out)} of {len(table)} facts are excluded: "
            f"their label contains an unknown token (the first is {left_out[0]!r})",
            markup=False,
        )
    return made
