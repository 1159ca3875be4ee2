"""`polyprobe metrics`: compute a run's results again from its scores."""

from pathlib import Path
from typing import Annotated

import typer

from .output import show_run


def metrics(runs: Annotated[list[Path], typer.Argument(help="Run folders.")]) -> None:
    """Compute results.json and the report again from the scores, without the model."""
    from polyprobe.eval.results import compute_results
    from polyprobe.eval.run import Run

    for folder in runs:
        compute_results(Run(folder))
        show_run(folder)
