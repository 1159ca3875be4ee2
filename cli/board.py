"""`polyprobe board`: many runs as one table and one page."""

from pathlib import Path
from typing import Annotated

import typer

from polyprobe.analysis.board import TABLES, check_folder
from polyprobe.schema.names import split_list
from polyprobe.system.errors import check_ending

from .options import DrawnName, FigureFile, JsonFile, say
from .outputs import Outputs


def board(
    runs: Annotated[
        list[Path],
        typer.Argument(help="Run folders. Runs of one model on one language each form one row."),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            help="Write the page index.html and the tables to this folder, which `polyprobe push` "
            "uploads as a static Space."
        ),
    ] = None,
    sort: Annotated[
        str | None,
        typer.Option(
            help="Sort by a figure (best first), name or parameters.",
            show_default="the first figure of the table",
        ),
    ] = None,
    figures: Annotated[
        str | None,
        typer.Option(
            help="Figures to show, comma-separated, such as accuracy,recall_at_k.recall@5.",
            show_default="the headline figures that all runs have",
        ),
    ] = None,
    parameters: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="TSV file of models and parameter counts; overrides run.json.",
        ),
    ] = None,
    despite_differences: Annotated[
        bool,
        typer.Option(
            "--despite-differences",
            help="Accept runs that are not comparable, and show their differences.",
        ),
    ] = False,
    table: Annotated[
        Path | None,
        typer.Option(
            "--table", metavar="FILE", help="Write the table to this .csv, .tex or .md file."
        ),
    ] = None,
    json_file: JsonFile = None,
    figure: FigureFile = None,
    draw: DrawnName = None,
) -> None:
    """Show many runs in one table: means, intervals, sizes, and slopes per doubling of the size.

    Only run.json and results.json are read. Runs that differ in dataset, rows, languages, protocol
    or options are refused.
    """
    if output:
        check_folder(output)
    if table:
        check_ending("--table", table, TABLES)
    outputs = Outputs(json_file, figure=figure, draw=draw)
    outputs.check()
    from polyprobe.analysis.board.board import make_board
    from polyprobe.report.findings.board import FORMATS, make_board_finding
    from polyprobe.report.page.board import write_board
    from polyprobe.system.files import write_text

    result = make_board(runs, sort, split_list(figures), parameters, despite_differences)
    outputs.write(make_board_finding(result), result.as_json)
    if table:
        write_text(table, FORMATS[table.suffix.lower()](result), "choose another --table")
    if output:
        write_board(result, output)
        say(f"board: {output / 'index.html'}")
