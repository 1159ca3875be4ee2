"""Export a run's figures for the Hub, papers, tables and archives."""

from pathlib import Path

from polyprobe.system.errors import PolyprobeError
from polyprobe.system.progress import report

from .every_eval_ever import write_every_eval_ever
from .exported import read_exported
from .hub_results import merge_model_index, write_eval_results, write_model_index
from .tables import write_csv, write_latex

RUN_FORMATS = {
    "eval-results": write_eval_results,
    "model-index": write_model_index,
    "every-eval-ever": write_every_eval_ever,
    "csv": write_csv,
    "latex": write_latex,
}
# Formats that the Hub shows with other models' results, and the fields that note a partial run.
SHOWN = {"eval-results": "notes", "model-index": "metrics' names and args"}


def export_run(
    run: Path,
    format: str,
    output: Path | None = None,
    dataset_id: str | None = None,
    card: Path | None = None,
) -> Path:
    """Export the results of a run in one of RUN_FORMATS and return the file.

    `output` is a file, for `every-eval-ever` a folder (default: in the run folder). An older export
    there is replaced, any other file is not. `dataset_id` is OWNER/NAME on the Hub, for a run on a
    folder; `card` a model card to add the `model-index` to, instead of a separate file.

    For a run with --limit or --sample a line on standard error warns where the Hub would show its
    figures with those of all rows.
    """
    if format not in RUN_FORMATS:
        raise PolyprobeError(f"unknown --format {format!r}; available: {', '.join(RUN_FORMATS)}")
    if card is not None and (format != "model-index" or output is not None):
        raise PolyprobeError("--card goes with --format model-index, and without --output")
    exported = read_exported(run, dataset_id)
    write = RUN_FORMATS[format]
    file = write(exported, output) if card is None else merge_model_index(exported, card)
    if exported.part and format in SHOWN:
        report(
            f"partial: {exported.folder} is of {exported.part}, which only the {SHOWN[format]} "
            "state; for a leaderboard export a run of all rows"
        )
    return file
