"""`polyprobe install`: makes datasets and metrics known by their bare names, in any folder."""

from pathlib import Path
from typing import Annotated

import typer

from polyprobe.publish.install import find_folders, install_folder


def install(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Folders of datasets and metrics; without any: every metric, the embedded dataset "
            "and each folder of ./datasets that holds Parquet.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Make load_dataset("bmlama", "53") and evaluate.load("rankc") work from any folder."""
    for folder in folders or find_folders():
        typer.echo(install_folder(folder))
