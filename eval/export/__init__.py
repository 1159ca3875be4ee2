"""A run's figures in the formats of other places: the Hub, papers, tables, archives."""

from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path

from polyprobe import PolyprobeError

from .csv_table import write_csv
from .eval_results import write_eval_results
from .every_eval_ever import write_every_eval_ever
from .latex import write_latex
from .model_index import merge_model_index, write_model_index
from .source import Source, read_source

RUN_FORMATS: dict[str, Callable[[Source, Path | None], Path]] = {
    "eval-results": write_eval_results,
    "model-index": write_model_index,
    "every-eval-ever": write_every_eval_ever,
    "csv": write_csv,
    "latex": write_latex,
}


def export_run(
    run: Path,
    format: str,
    output: Path | None = None,
    dataset_id: str | None = None,
    card: Path | None = None,
) -> Path:
    """Export what a run's results.json says and return the file that was written.

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
        near = get_close_matches(format, RUN_FORMATS, n=1)
        guess = f" did you mean {near[0]!r}?" if near else ""
        raise PolyprobeError(
            f"unknown --format {format!r} for a run;{guess} available: {', '.join(RUN_FORMATS)}"
        )
    if card is not None and (format != "model-index" or output is not None):
        raise PolyprobeError("--card goes with --format model-index, and without --output")
    source = read_source(run, dataset_id)
    if card is not None:
        return merge_model_index(source, card)
    return RUN_FORMATS[format](source, output)
