"""`.eval_results/*.yaml` of a model repository, which the Hub shows on the model's page.

The format is that of https://huggingface.co/docs/hub/eval-results: one value for each task of a
benchmark, defined by `eval.yaml` in the dataset's repository. The documentation requires no scale
(its examples are 20.90 and 0.412) and no length of `notes`; values here are proportions.
"""

from pathlib import Path

from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

from polyprobe.metrics.joint import HEADLINES
from polyprobe.system.errors import PolyprobeError

from .exported import Exported, as_yaml, write_export
from .rows import Row, find_mean


def write_eval_results(exported: Exported, output: Path | None) -> Path:
    """Write the results as `.eval_results/polyprobe-NAME-CONFIG.yaml` in the run's folder.

    Raises:
        PolyprobeError: the dataset's name on the Hub is unknown, or no figure is defined.
    """
    if exported.dataset_id is None:
        raise PolyprobeError(
            f"{exported.folder} is of a dataset in a folder ({exported.dataset_name}); "
            "give its name on the Hub: --dataset-id OWNER/NAME"
        )
    found = [find_mean(exported.rows, figure) for figure in HEADLINES]
    entries = [make_entry(exported, row) for row in found if row]
    if not entries:
        raise PolyprobeError(f"{exported.folder}/results.json has no defined figure to export")
    name = f"polyprobe-{exported.dataset_id.rpartition('/')[2]}-{exported.config}.yaml"
    file = output or exported.folder / ".eval_results" / name
    return write_export(file, as_yaml(eval_result_entries_to_yaml(entries)))


def make_entry(exported: Exported, row: Row) -> EvalResultEntry:
    """Return the entry of a figure's mean over languages or pairs.

    It has no `source`, since a run in a folder has no URL, and no `dataset.revision`, since a run
    identifies its data by hashes (in the signature), not by a commit.
    """
    assert exported.dataset_id is not None
    assert row.value is not None
    return EvalResultEntry(
        dataset_id=exported.dataset_id,
        task_id=f"{exported.config}_{row.figure}",
        value=row.value,
        date=exported.scored.date().isoformat(),
        notes=make_notes(exported, row),
    )


def make_notes(exported: Exported, row: Row) -> str:
    """Return rows, protocol, interval, chance level and signature."""
    bounds = None if row.low is None else f"95 % {row.low:.4f} to {row.high:.4f}"
    chance = None if row.chance is None else f"chance {row.chance:.4f}"
    scoring = f"scoring {exported.settings.scoring}"
    parts = (exported.asked, scoring, bounds, chance, exported.signature)
    return "; ".join(part for part in parts if part)
