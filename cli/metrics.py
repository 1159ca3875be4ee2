"""`polyprobe metrics`: compute a run's results again from its scores."""

from pathlib import Path
from typing import Annotated

import typer

from polyprobe.cli.show.run import show_run


def metrics(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.")],
    resamples: Annotated[
        int, typer.Option(min=0, help="Of the facts, for the 95 % intervals; 0 for none.")
    ] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Of the resamples.")] = 0,
    cluster: Annotated[
        str, typer.Option(help="What is drawn as a whole: none, relation or subject.")
    ] = "none",
) -> None:
    """Compute results.json and the report again from the scores, without the model."""
    from polyprobe.eval.results.compute import Resampling, compute_results
    from polyprobe.eval.run.folder import Run

    for folder in runs:
        compute_results(Run(folder), Resampling(resamples, seed, cluster))
        show_run(folder)
