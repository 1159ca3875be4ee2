"""The figures of a run as tables: CSV for pandas, R and spreadsheets, LaTeX for a paper."""

from collections.abc import Sequence
from pathlib import Path

from polyprobe.analysis.figures.results import FigureRow
from polyprobe.report.finding import Column, Table
from polyprobe.report.show import to_csv
from polyprobe.system.text import clean

from .exported import MARK, Exported, write_export


def write_figures(exported: Exported, output: Path | None) -> Path:
    """Write `results.csv`: one row for each figure and language or pair, as in `FigureRow`."""
    # Numbers have all digits, so that reading gives the same floats; undefined values are empty.
    # The signature lets a reader concatenate tables of several runs.
    columns = [Column(name) for name in (*FigureRow._fields, "signature")]
    signature = exported.signature  # takes 10 ms
    rows = [[*row, signature] for row in (*exported.rows, *exported.of_relations)]
    text = to_csv(Table(columns, rows))
    return write_export(output or exported.folder / "results.csv", text)


def write_latex(exported: Exported, output: Path | None, peers: Sequence[Exported] = ()) -> Path:
    """Write `table.tex`: the table of `polyprobe board`, here also of a single run."""
    # these imports take a second, and CSV does without
    from polyprobe.analysis.board.board import make_board
    from polyprobe.report.findings.board import write_models

    runs = [exported, *peers]
    for run in runs:
        if all(row.value is None for row in run.rows):
            raise run.no_figure()
    board = make_board([run.folder for run in runs])
    signatures = ("|".join([run.settings.signature, *run.listed_options]) for run in runs)
    table = write_models(board, ".tex", f"{exported.dataset_name}/{exported.config}")
    head = [f"% {MARK}", *(clean(f"% {x}") for x in signatures)]
    return write_export(output or exported.folder / "table.tex", "\n".join([*head, table]))
