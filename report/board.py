"""A board as text: in the terminal, Markdown, LaTeX, CSV and JSON."""

import csv
import html
import io
from collections.abc import Callable, Sequence
from typing import Any

from rich.table import Table

from polyprobe.analysis.board import TABLES
from polyprobe.analysis.board.board import Board
from polyprobe.analysis.figures.declaration import RunFigure
from polyprobe.report.format import format_interval, format_p_value, number
from polyprobe.report.latex import escape, join_cells, percent
from polyprobe.report.pictures.order import shorten
from polyprobe.report.results import make_table

PLUS_MINUS = (
    "±: half the width of the 95% interval of a language or pair, averaged over these; from … to: "
    "95% interval of the mean"
)
_WIDE = 110  # characters
Show = Callable[[RunFigure, float | None], str]


def board_table(board: Board, width: int = 80) -> Table:
    """Return the shown figures for a rich console, with intervals from `_WIDE` characters on."""
    head, rows = list_cells(board, "\n")
    if width < _WIDE:
        own = slice(3, 3 + len(board.differing))  # in list_notes too
        for row in (head, *rows):
            del row[own]
        rows = [[cell.partition("\n")[0].replace(" ± ", "\n±") for cell in row] for row in rows]
    return make_table(head, rows)


def list_cells(
    board: Board, between: str, show: Show = lambda figure, value: number(value)
) -> tuple[list[str], list[list[str]]]:
    """Return the head and the rows of a table of the shown figures.

    Args:
        board: of the rows.
        between: separator of a mean and its interval.
        show: formats a value.
    """
    head = ["model", "size", "languages", *board.differing]
    rows = []
    for place, entry in enumerate(board.entries):
        size = "–" if entry.parameters is None else shorten(entry.parameters)
        row = [entry.name, size, f"{len(entry.settings.languages)}"]
        row += [values[place] for values in board.differing.values()]
        for name in board.shown:
            value, figure = entry.values[name], board.figures[name]
            text = show(figure, value.mean)
            if value.plus_minus is not None:
                text += f" ± {show(figure, value.plus_minus)}"
            if value.interval:
                text += between + " to ".join(show(figure, end) for end in value.interval)
            row.append(text)
        rows.append(row)
    return [*head, *(board.figures[x].short or board.figures[x].title for x in board.shown)], rows


def is_share(figure: RunFigure) -> bool:
    """Return whether the maximum of a figure is 1, so that it can be shown in percent."""
    return figure.highest == 1.0


def list_trends(board: Board) -> tuple[list[str], list[list[str]]]:
    """Return the head and the rows of the trends of the shown figures; no rows without trends.

    Slopes of shares are in percentage points.
    """
    head = ["figure", "slope per doubling", "95%", "r with size", "n"]
    head += ["r with accuracy", "95%", "p", "n"]
    rows = []
    for name in board.shown:
        figure, slope, other = board.figures[name], board.slope(name), board.correlation(name)
        of_size, of_accuracy = ["–"] * 4, ["–"] * 4
        if slope:
            scale = 100 if is_share(figure) else 1
            ends = " to ".join(f"{scale * end:+z.2f}" for end in (slope.low, slope.high))
            of_size = [f"{scale * slope.slope:+z.2f}", ends, number(slope.r), f"{slope.n}"]
        if other:
            ends = format_interval([other.low, other.high])
            of_accuracy = [number(other.r), ends, format_p_value(other.p), f"{other.n}"]
        if slope or other:
            rows.append([figure.title, *of_size, *of_accuracy])
    return head, rows


def list_notes(board: Board) -> list[str]:
    """Return notes on the table and the settings in which its rows differ, one line each."""
    notes = [f"{board.described}; sorted by {board.sort}", PLUS_MINUS]
    if board.differing:
        notes.append(f"not comparable: the runs differ in {', '.join(board.differing)}")
        for place, entry in enumerate(board.entries):
            own = (f"{name} {values[place]}" for name, values in board.differing.items())
            notes.append(f"{entry.name}: {'; '.join(own)}")
    return [*notes, *(f"the runs also differ in {line}" for line in board.loading)]


def make_markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown, with its first column aligned left; HTML is shown as text."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    lines = [
        [html.escape(cell, quote=False).replace("|", "\\|") for cell in row]
        for row in (head, rule, *rows)
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def write_markdown(board: Board) -> str:
    """Return the table of the shown figures in Markdown."""
    return make_markdown(*list_cells(board, "; "))


def write_latex(board: Board) -> str:
    """Return the table of the shown figures for the LaTeX package booktabs; shares in percent."""

    def show(figure: RunFigure, value: float | None) -> str:
        return percent(value) if is_share(figure) or value is None else f"{value:.2f}"

    head, rows = list_cells(board, "\n", show)
    texts = len(head) - len(board.shown)  # columns of text, which may have special characters
    lines = [
        r"% \usepackage{booktabs}",
        r"\begin{table*}",
        r"\centering\small",
        rf"\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}",
        r"\toprule",
        join_cells(list(map(escape, head))),
        r"\midrule",
    ]
    for row in rows:
        cells = [cell.replace("±", r"$\pm$").partition("\n") for cell in row[texts:]]
        facts = [escape(cell).replace("–", "--") for cell in row[:texts]]
        lines.append(join_cells([*facts, *(first for first, _, _ in cells)]))
        if any(below for *_, below in cells):
            ends = [rf"\scriptsize {below}" if below else "" for *_, below in cells]
            lines.append(join_cells([*[""] * texts, *ends]))
    caption = escape(f"Means over languages and pairs on {board.described}. {PLUS_MINUS}.")
    caption = caption.replace("±", r"$\pm$").replace("…", r"\ldots{}")
    lines += [r"\bottomrule", r"\end{tabular}", rf"\caption{{{caption}}}", r"\end{table*}"]
    return "\n".join(lines) + "\n"


def write_csv(board: Board) -> str:
    """Return one row for each model, with all figures; numbers have all digits.

    Columns: model, its full name, parameters, number of languages, the differing settings, and for
    each figure its mean, `_low` and `_high` of the 95% interval, and `_plus_minus`. Unknown values
    are empty.
    """
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    ends = ("", "_low", "_high", "_plus_minus")
    head = ["model", "full_name", "parameters", "languages", *board.differing]
    table.writerow([*head, *(f"{name}{end}" for name in board.figures for end in ends)])
    for place, entry in enumerate(board.entries):
        row: list[Any] = [entry.name, entry.full_name, entry.parameters]
        row += [len(entry.settings.languages)]
        row += [values[place] for values in board.differing.values()]
        for name in board.figures:
            value = entry.values[name]
            row += [value.mean, *(value.interval or (None, None)), value.plus_minus]
        table.writerow(row)
    return text.getvalue()


def as_json(board: Board) -> dict[str, Any]:
    """Return all values of the board: figures by language, trends, signatures of the runs."""
    return {
        "data": board.data,
        "shared": board.shared,
        "sort": board.sort,
        "shown": [*board.shown],
        "differing": {name: [*values] for name, values in board.differing.items()},
        "models": [
            {
                "name": entry.name,
                "model": entry.full_name,
                "parameters": entry.parameters,
                "languages": entry.settings.languages,
                "signatures": [results["signature"] for results in entry.results],
                "figures": {
                    name: {
                        "mean": value.mean,
                        "interval": value.interval,
                        "plus_minus": value.plus_minus,
                        "languages": dict(value.languages),
                    }
                    for name, value in entry.values.items()
                    if name in board.figures
                },
            }
            for entry in board.entries
        ],
        "slopes": _list_found(board, board.slope),
        "correlations_with_accuracy": _list_found(board, board.correlation),
    }


def _list_found(board: Board, find: Callable[[str], Any]) -> dict[str, Any]:
    found = {name: find(name) for name in board.figures}
    return {name: value._asdict() for name, value in found.items() if value}


FORMATS = dict(zip(TABLES, (write_csv, write_latex, write_markdown), strict=True))
