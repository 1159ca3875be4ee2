"""Export a run's figures for the Hub, papers, tables and archives."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from polyprobe.system.messages import PolyprobeError, report

# Modules and functions; they are imported when needed, because the command line reads the names.
RUN_FORMATS = {
    "eval-results": "hub_results.write_eval_results",
    "model-index": "hub_results.write_model_index",
    "every-eval-ever": "every_eval_ever.write_every_eval_ever",
    "csv": "exported.write_figures",
    "latex": "exported.write_latex",
}
# Formats that the Hub shows with other models' results, and the fields that note a partial run.
SHOWN = {"eval-results": "notes", "model-index": "metrics' names and args"}


def export_run(
    run: Path,
    format: str,
    output: Path | None = None,
    dataset_id: str | None = None,
    card: Path | None = None,
    peers: Sequence[Path] = (),
) -> Path:
    """Export the results of a run in one of RUN_FORMATS and return the file."""
    # `peers` are runs beside it in the table of `latex`.
    # `output` is a file, for `every-eval-ever` a folder (default: in the run folder). An older
    # export there is replaced, any other file is not. `dataset_id` is OWNER/NAME on the Hub, for a
    # run on a folder; `card` a model card to add the `model-index` to.
    if card is not None and (format != "model-index" or output is not None):
        raise PolyprobeError("--card goes with --format model-index, and without --output")
    if peers and (format != "latex" or output is None):
        raise PolyprobeError("several runs are for --format latex with --output FILE.tex")
    from .exported import read_exported

    exported = read_exported(run, dataset_id)
    module, _, function = RUN_FORMATS[format].partition(".")
    writers = import_module(f".{module}", __name__)
    file: Path
    if peers:
        file = writers.write_latex(exported, output, [read_exported(x, dataset_id) for x in peers])
    elif card is None:
        file = getattr(writers, function)(exported, output)
    else:
        file = writers.merge_model_index(exported, card)
    if exported.part and format in SHOWN:
        report(
            f"partial: {exported.folder} is of {exported.part}, which only the {SHOWN[format]} "
            "state; for a leaderboard export a run of all rows"
        )
    return file
