"""A run's figures in the formats of other places: the Hub, papers, tables, archives."""

from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from polyprobe.system.errors import PolyprobeError

from .csv_table import write_csv
from .eval_results import write_eval_results
from .every_eval_ever import write_every_eval_ever
from .exported import Exported, read_exported
from .latex import write_latex
from .model_index import merge_model_index, write_model_index

RUN_FORMATS: dict[str, Callable[[Exported, Path | None], Path]] = {
    "eval-results": write_eval_results,
    "model-index": write_model_index,
    "every-eval-ever": write_every_eval_ever,
    "csv": write_csv,
    "latex": write_latex,
}
# Formats that the Hub shows beside those of other models, and what in them tells a partial run.
SHOWN = {"eval-results": "notes", "model-index": "metrics' names and args"}


def export_run(
    run: Path,
    format: str,
    output: Path | None = None,
    dataset_id: str | None = None,
    card: Path | None = None,
) -> Path:
    """Export what a run's results.json says and return the file that was written.

    Of a run with --limit or --sample a line on standard error says so, where the Hub would show
    its figures beside those of all rows.

    Args:
        run: the run folder.
        format: one of RUN_FORMATS.
        output: the file to write, of `every-eval-ever` the folder; by default one in the run
            folder. An older export there is replaced, any other file is not.
        dataset_id: OWNER/NAME of the dataset on the Hub, where the run's was a folder.
        card: a model card to put the `model-index` into, in place of a file of its own.

    Raises:
        PolyprobeError: an unknown format, no run or one without results, a place that cannot be
            written.
    """
    if format not in RUN_FORMATS:
        raise PolyprobeError(f"unknown --format {format!r}; available: {', '.join(RUN_FORMATS)}")
    if card is not None and (format != "model-index" or output is not None):
        raise PolyprobeError("--card goes with --format model-index, and without --output")
    exported = read_exported(run, dataset_id)
    write = RUN_FORMATS[format]
    file = write(exported, output) if card is None else merge_model_index(exported, card)
    if exported.part and format in SHOWN:
        tell_part(exported, SHOWN[format])
    return file


def tell_part(exported: Exported, where: str) -> None:
    """Say on standard error that the exported figures are of a part of the rows."""
    line = (
        f"partial: {exported.folder} is of {exported.part}, and beside its figures only the "
        f"{where} say so; for a leaderboard export a run of all rows"
    )
    Console(stderr=True, soft_wrap=True).print(line, markup=False, highlight=False)
