"""`polyprobe board`: many runs as one table and one page."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from polyprobe.analysis.board import TABLES, check_folder
from polyprobe.schema.names import split_list
from polyprobe.system.errors import check_ending
from polyprobe.system.options import option

from .options import Outputs, PictureOptions, say, take_options


@dataclass(frozen=True)
class BoardOptions(PictureOptions, Outputs):
    """The columns and rows of a board, and what is written."""

    output: Path | None = option(
        None,
        "Write the page index.html and the tables to this folder, which `polyprobe push` uploads "
        "as a static Space.",
        check=check_folder,
    )
    sort: str | None = option(
        None,
        "Sort by a figure (best first), name or parameters (default: the first figure of the "
        "table).",
    )
    figures: str | None = option(
        None,
        "Figures to show, comma-separated, such as accuracy,recall_at_k.recall@5 (default: the "
        "headline figures that all runs have).",
    )
    parameters: Path | None = option(
        None,
        "TSV file of models and parameter counts; overrides run.json.",
        metavar="FILE",
    )
    despite_differences: bool = option(
        False, "Accept runs that are not comparable, and show their differences."
    )
    table: Path | None = option(
        None,
        "Write the table to this .csv, .tex or .md file.",
        metavar="FILE",
        check=lambda file: check_ending("--table", file, TABLES),
    )


@take_options(BoardOptions)
def board(
    runs: Annotated[
        list[Path],
        typer.Argument(help="Run folders. Runs of one model on one language each form one row."),
    ],
    **keywords: Any,
) -> None:
    """Show many runs in one table: means, intervals, sizes, and slopes per doubling of the size.

    Only run.json and results.json are read. Runs that differ in dataset, rows, languages, protocol
    or options are refused.
    """
    options = BoardOptions(**keywords)
    # these imports take a second; mistakes of the user are refused before
    from polyprobe.analysis.board.board import make_board
    from polyprobe.report.findings.board import make_board_finding, write_models
    from polyprobe.report.page.board import write_board
    from polyprobe.system.files import write_text

    figures = split_list(options.figures)
    differences = options.despite_differences
    result = make_board(runs, options.sort, figures, options.parameters, differences)
    options.write(make_board_finding(result), result.as_json)
    if options.table:
        text = write_models(result, options.table.suffix.lower())
        write_text(options.table, text, "choose another --table")
    if options.output:
        write_board(result, options.output)
        say(f"board: {options.output / 'index.html'}")
