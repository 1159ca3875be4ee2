"""`polyprobe build`: a dataset from its sources."""

from pathlib import Path
from typing import Annotated

import typer


def build(
    name: Annotated[
        str, typer.Argument(help="Name of the dataset; a wrong one lists those known.")
    ],
    config: Annotated[
        list[str] | None,
        typer.Option(help="Configuration to build; may be repeated. Without it: all of them."),
    ] = None,
    mirror: Annotated[
        Path | None,
        typer.Option(help="Folder with the upstream archives, instead of the network."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(help="Folder to write to; default: datasets/NAME."),
    ] = None,
) -> None:
    """Make a dataset from its sources: Parquet files and a card."""
    from polyprobe.builder.build import build_dataset

    folder = build_dataset(name, config or (), mirror, output)
    typer.echo(f"{name} lies in {folder}")
