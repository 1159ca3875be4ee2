"""`.eval_results/*.yaml` of a model repository, which the Hub shows on the model's page.

The format is that of https://huggingface.co/docs/hub/eval-results: one value a task of a benchmark,
whose tasks the `eval.yaml` in the dataset's repository defines. The documentation asks for no scale
(its examples are 20.90 and 0.412) and names no greatest length of `notes`; values here are from 0
to 1, as everywhere in polyprobe.
"""

from pathlib import Path

from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

from polyprobe import PolyprobeError

from .rows import Row, find_mean
from .source import Source
from .writing import as_yaml, write_export

# The tasks of each configuration in the `eval.yaml` that `polyprobe build` writes.
TASKS = ("accuracy", "rankc", "rankc_adjusted", "coverlap")


def write_eval_results(source: Source, output: Path | None) -> Path:
    """Write the results as `.eval_results/polyprobe-NAME-CONFIG.yaml` in the run's folder.

    Raises:
        PolyprobeError: the dataset's name on the Hub is unknown, or no figure is defined.
    """
    if source.dataset_id is None:
        raise PolyprobeError(
            f"{source.folder} is of a dataset in a folder ({source.dataset_name}); say what it is "
            "called on the Hub: --dataset-id OWNER/NAME"
        )
    found = [find_mean(source.rows, figure) for figure in TASKS]
    entries = [make_entry(source, row) for row in found if row]
    if not entries:
        raise PolyprobeError(f"{source.folder}/results.json has no defined figure to export")
    name = f"polyprobe-{source.dataset_id.rpartition('/')[2]}-{source.config}.yaml"
    file = output or source.folder / ".eval_results" / name
    return write_export(file, as_yaml(eval_result_entries_to_yaml(entries)))


def make_entry(source: Source, row: Row) -> EvalResultEntry:
    """Return the entry of a figure's mean over languages or pairs.

    Without `source`, since a run in a folder has no address, and without `dataset.revision`, since
    a run knows its data by hashes (in the signature), not by a commit.
    """
    assert source.dataset_id is not None
    assert row.value is not None
    return EvalResultEntry(
        dataset_id=source.dataset_id,
        task_id=f"{source.config}_{row.figure}",
        value=row.value,
        date=source.scored.date().isoformat(),
        notes=make_notes(source, row),
    )


def make_notes(source: Source, row: Row) -> str:
    """Return what a reader needs beside the value: rows, protocol, interval, chance, signature."""
    bounds = None if row.low is None else f"95 % {row.low:.4f} to {row.high:.4f}"
    chance = None if row.chance is None else f"chance {row.chance:.4f}"
    scoring = f"scoring {source.settings.scoring}"
    told = (source.asked, scoring, bounds, chance, source.signature)
    return "; ".join(part for part in told if part)
