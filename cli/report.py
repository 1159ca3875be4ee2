"""`polyprobe report`: write runs as one HTML file."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console


def report(
    runs: Annotated[list[Path], typer.Argument(help="Run folders; several are compared.")],
    output: Annotated[Path, typer.Option(help="The HTML file to write.")],
) -> None:
    """Write one self-contained HTML file from one run or several."""
    from polyprobe.eval.report import write_report

    write_report(runs, output)
    Console().print(f"report: {output}", markup=False, soft_wrap=True, highlight=False)
