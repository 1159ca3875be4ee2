"""Write findings: numbers as text, tables for the terminal, CSV, Markdown and LaTeX."""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rich.table import Table as RichTable
from rich.text import Text

from polyprobe.metrics.pictures.charts import format_number, shorten
from polyprobe.report.finding import Cell, Column, Estimate, Finding, Role, Table
from polyprobe.system.files import read_toml
from polyprobe.system.text import clean, clean_lines, escape_cell, escape_markdown

NO_WIDTH = "*: all resamples have this value: too few facts, or equal ones, for an interval"
UNDEFINED = "–"
LOW = " †"
format_value = format_number  # three decimals, `–` where it is undefined
NARROW = 9  # characters of a line of a long heading
WIDE = 110  # characters of a terminal that shows the intervals of estimates
_NUMBERS = (Role.VALUE, Role.NUMBER)
_WHOLE = (Role.NUMBER, Role.P, Role.INTERVAL, Role.SLOPES, Role.PERCENT)  # not wrapped, if ruled
_PERCENT = (*_NUMBERS, Role.ESTIMATE, Role.INTERVAL)  # in LaTeX
_LATEX = read_toml(__package__, "latex.toml")
_ESCAPES = str.maketrans(_LATEX["escapes"])
_SIGNS = _LATEX["signs"]


def format_percent(share: float | None) -> str:
    """Format a share in percent with one decimal, `–` where it is undefined."""
    return UNDEFINED if share is None else f"{share:.1%}"


def format_interval(bounds: Sequence[float] | None) -> str:
    """Format an interval with three decimals, `*` if it has no width, `–` where there is none."""
    if bounds is None:
        return UNDEFINED
    return f"{format_value(bounds[0])} to {mark_end(bounds[1], bounds)}"


def with_interval(value: float | None, bounds: Sequence[float] | None) -> str:
    """Format a value with its interval in brackets, if it has one."""
    return format_value(value) + (f" ({format_interval(bounds)})" if bounds else "")


def name_units(clusters: str, single: str = "facts") -> str:
    """Name what is resampled in the plural: clusters, or single facts or rows."""
    return single if clusters == "none" else f"{clusters}s"


def mark_end(value: float, bounds: Sequence[float]) -> str:
    """Format an end of an interval, with `*` if it has no width."""
    return f"{format_value(value)}{'*' if has_no_width(bounds) else ''}"


def has_no_width(bounds: Sequence[float] | None) -> bool:
    """Check whether all resamples gave the same value, as of equal facts: too short."""
    return bounds is not None and bounds[0] == bounds[1]


def format_p_value(value: float | None) -> str:
    """Format a p-value with two digits, `–` where there is none."""
    return UNDEFINED if value is None else f"{value:.2g}"


def _format_share(share: Any) -> str:
    value, bounds, _ = share if isinstance(share, Estimate) else Estimate(share)
    text = UNDEFINED if value is None else f"{100 * value:.1f}"
    return f"{text}\n{100 * bounds[0]:.0f}–{100 * bounds[1]:.0f}" if bounds else text


def _format_percent(share: Estimate) -> str:
    bounds = " to ".join(f"{100 * end:.0f}" for end in share.interval or ())
    return f"{share.value:.0%}" + (f" ({bounds})" if bounds else "")


def _format_estimate(estimate: Estimate, show: Callable[[float | None], str] = format_value) -> str:
    text = show(estimate.value)
    if estimate.half is not None:
        text += f" ± {show(estimate.half)}"
    if estimate.interval:
        ends = (show(end) for end in estimate.interval)
        text += "\n" + " to ".join(ends) + "*" * has_no_width(estimate.interval)
    return text


FORMATS: Mapping[Role, Callable[[Any], str]] = {
    Role.NAME: str,
    Role.LABEL: str,
    Role.TEXT: str,
    Role.COUNT: "{:,}".format,
    Role.AMOUNT: lambda value: f"{round(value, 1):,.10g}",
    Role.SIZE: shorten,
    Role.VALUE: format_value,
    Role.NUMBER: format_value,
    Role.RATIO: "{:.2f}".format,
    Role.SHARE: _format_share,
    Role.PERCENT: _format_percent,
    Role.CHANGE: "{:+.1f}%".format,
    Role.SLOPE: "{:+z.4f}".format,
    Role.P: format_p_value,
    Role.INTERVAL: format_interval,
    Role.SLOPES: lambda bounds: " to ".join(f"{end:+z.4f}" for end in bounds),
    Role.ESTIMATE: _format_estimate,
}


def format_cell(value: Any, role: Role) -> str:
    """Format a raw value by its role, a `Cell` by its own; a string stays as it is."""
    if isinstance(value, Cell):
        value, role = value.value, value.role or role
    if value is None:
        return UNDEFINED
    return value if isinstance(value, str) else FORMATS[role](value)


def mark_cell(value: Any, role: Role) -> str:
    """Format a cell; the first line of a low one gets a mark."""
    first, rule, rest = format_cell(value, role).partition("\n")
    return first + LOW * (isinstance(value, Cell) and value.low) + rule + rest


def format_table(table: Table) -> tuple[list[str], list[list[str]]]:
    """Format the head and the rows of a table as text, without columns for CSV only."""
    columns = _list_columns(table)
    rows = [[mark_cell(row[i], column.role) for i, column in columns] for row in table.rows]
    return [column.head for _, column in columns], rows


def _list_columns(table: Table, width: float = float("inf")) -> list[tuple[int, Column]]:
    """List the columns of a terminal of a width, with their places."""
    columns = enumerate(table.columns)
    return [(i, x) for i, x in columns if x.width is not None and x.width <= width]


def render(finding: Finding, width: int = 80) -> Iterator[RichTable | str]:
    """Yield tables and lines for a rich console of a width in characters."""
    for part in finding.parts:
        if part.heading:
            yield f"\n{part.heading}"
        for block in part.blocks:
            if isinstance(block, str):
                yield block
            elif block.rows and block.limit != 0:
                yield render_table(block, width)
                if block.limit is not None and len(block.rows) > block.limit:
                    rest = len(block.rows) - block.limit
                    yield f"{rest:,} further {block.noun} are in --json and --output"
    yield from finding.notes
    yield from finding.cautions


def render_table(table: Table, width: int = 80) -> RichTable:
    """Make a table for a rich console of a width in characters."""
    frame: dict[str, Any] = {} if table.ruled else {"box": None, "pad_edge": False}
    # rich pads both sides by one space; the right one alone halves the gap between columns.
    frame |= {"padding": (0, 1, 0, 0)} if table.dense else {}
    made = RichTable(title=table.title or None, header_style="bold", highlight=False, **frame)
    columns = _list_columns(table, width)
    for _, (head, role, *_) in columns:
        side = "left" if role.is_text else "right"
        unwrapped = role is Role.NAME or (table.ruled and role in _WHOLE)
        made.add_column(Text(head), justify=side, no_wrap=unwrapped, overflow="fold")  # type: ignore[arg-type]
    for place, row in enumerate(table.rows[: table.limit]):
        if place in table.sections:
            made.add_section()
        made.add_row(*(_render_cell(row[i], column.role, width) for i, column in columns))
    return made


def _render_cell(value: Any, role: Role, width: int) -> Text:
    text = format_cell(value, role)
    if role is Role.ESTIMATE and width < WIDE:
        # Of two measures of uncertainty the shorter one stays, below the value.
        text = text.partition("\n")[0].replace(" ± ", "\n±")
    # In front, so that numbers stay below each other.
    cell = value if isinstance(value, Cell) else Cell(value)
    return Text(LOW.strip() * cell.low + text, style="bold" if cell.bold else "")


def to_csv(table: Table) -> str:
    """Write all columns as CSV; numbers have all digits, undefined values are empty.

    An interval has the columns KEY_low and KEY_high; an estimate KEY, these, and KEY_plus_minus.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    ends = {
        Role.ESTIMATE: ("", "_low", "_high", "_plus_minus"),
        **dict.fromkeys((Role.INTERVAL, Role.SLOPES), ("_low", "_high")),
    }
    keys = [(x.key or x.head) + end for x in table.columns for end in ends.get(x.role, ("",))]
    writer.writerow(keys)
    for row in table.rows:
        cells = zip(row, table.columns, strict=True)
        values = [raw for value, column in cells for raw in _list_raw(value, column.role)]
        writer.writerow(map(escape_cell, values))
    return text.getvalue()


def _list_raw(value: Any, role: Role) -> list[Any]:
    """List the values of a cell, one for each of its column's keys."""
    # The column decides how many values a cell has.
    value = value.value if isinstance(value, Cell) else value
    if role is Role.ESTIMATE:
        value, bounds, half = value if isinstance(value, Estimate) else Estimate(value)
        return [value, *(bounds or (None, None)), half]
    if role in (Role.INTERVAL, Role.SLOPES):
        return [*(value or (None, None))]
    return [value.value if isinstance(value, Estimate) else value]


def to_markdown(table: Table) -> str:
    """Write a table in Markdown; the signs of Markdown and HTML in cells are shown as text."""
    head, rows = format_table(table)
    rule = ["---" if column.role.is_text else "---:" for _, column in _list_columns(table)]
    lines = [[escape_markdown(x.replace("\n", "; ")) for x in row] for row in (head, rule, *rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def to_latex(tables: Sequence[Table], caption: str = "") -> str:
    """Write tables below each other, with the package booktabs; intervals are below the values."""
    blocks = [line for table in tables for line in (*_list_latex(table), r"\par\medskip")][:-1]
    head = [r"% \usepackage{booktabs}", r"\begin{table*}"]
    blocks = [r"\centering\small\setlength{\tabcolsep}{3pt}", *blocks]
    note = [rf"\caption{{{escape(clean(caption))}}}"] if caption else []
    return "\n".join([*head, *blocks, *note, r"\end{table*}"]) + "\n"


def _list_latex(table: Table) -> list[str]:
    columns = _list_columns(table)
    sides = "".join("l" if column.role.is_text else "r" for _, column in columns)
    lines = [
        rf"\begin{{tabular}}{{{sides}}}",
        r"\toprule",
        join_cells([escape(column.head.replace("\n", " ")) for _, column in columns]),
        r"\midrule",
    ]
    for place, row in enumerate(table.rows):
        if place in table.sections:
            lines.append(r"\midrule")
        cells = [_format_latex(row[i], column).partition("\n") for i, column in columns]
        lines.append(join_cells([first for first, *_ in cells]))
        if any(below for *_, below in cells):
            lines.append(join_cells([rf"\scriptsize {x}" if x else "" for *_, x in cells]))
    return [*lines, r"\bottomrule", r"\end{tabular}"]


def join_cells(cells: Sequence[str]) -> str:
    """Join cells to a line of a table in LaTeX."""
    # Behind the end of a line, `[` and `*` would begin its options.
    return "{}" * cells[0].startswith(("[", "*")) + " & ".join(cells) + r" \\"


def escape(text: str) -> str:
    r"""Escape the special characters of LaTeX, and write signs as its commands.

    >>> print(escape("zh_hans, 95%"))
    zh\_hans, 95\%
    """
    text = clean_lines(text).translate(_ESCAPES)
    for sign, command in _SIGNS.items():
        text = text.replace(sign, command)
    return text


def percent(value: float | None) -> str:
    """Format a share for LaTeX in percent with one decimal."""
    return "--" if value is None else f"{100 * round(value, 3):z.1f}".replace("-", "$-$")


def _format_latex(cell: Any, column: Column) -> str:
    """Format a cell: values in percent or with two decimals, other roles as in the terminal."""
    value, role, bold, low, _ = cell if isinstance(cell, Cell) else Cell(cell)
    role = role or column.role
    show: Callable[[float | None], str] = (
        percent if column.percent else lambda x: "--" if x is None else f"{x:.2f}"
    )
    if role not in _PERCENT or isinstance(value, str) or value is None:
        text = escape(format_cell(value, role))
    elif role is Role.ESTIMATE:
        value = value._replace(half=None) if value.interval else value
        text = _format_estimate(value, show).replace("±", r"$\pm$")
    elif role in _NUMBERS:
        text = show(value)
    else:
        text = " to ".join(map(show, value))
    first, rule, rest = text.partition("\n")
    first = rf"\textbf{{{first}}}" if bold else first
    return first + (rf"\rlap{{{_SIGNS[LOW.strip()]}}}" if low else "") + rule + rest
