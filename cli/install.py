"""`polyprobe install`: make datasets and metrics available by their bare names."""

from pathlib import Path
from typing import Annotated

import typer


def install(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Folders of datasets and metrics (default: every metric, the embedded dataset, "
            "and each folder of ./datasets with Parquet).",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Make load_dataset("bmlama", "53") and evaluate.load("rankc") work in any folder."""
    from polyprobe.publish.install import find_folders, install_folder

    if not folders:
        folders, skipped = find_folders()
        for folder in skipped:
            typer.echo(f"skipped {folder}: no Parquet in it; see `polyprobe build`", err=True)
    for folder in folders:
        typer.echo(install_folder(folder))
