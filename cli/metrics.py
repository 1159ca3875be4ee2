"""`polyprobe metrics`: recompute a run's results from its scores."""

from pathlib import Path
from typing import Annotated

import typer

from polyprobe.cli.show.run import show_run


def metrics(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.")],
    resamples: Annotated[
        int, typer.Option(min=0, help="Bootstrap resamples for the 95 % intervals; 0 for none.")
    ] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    cluster: Annotated[
        str, typer.Option(help="Resampling unit: none (each fact), relation or subject.")
    ] = "none",
) -> None:
    """Recompute results.json and the report from the scores, without the model."""
    from polyprobe.eval.results.compute import Bootstrap, compute_results
    from polyprobe.eval.run.folder import FinishedRun, Run

    for folder in runs:
        run = Run(folder)
        show_run(FinishedRun(run, compute_results(run, Bootstrap(resamples, seed, cluster))))
