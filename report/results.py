"""Tables of the terminal that comparisons share."""

from collections.abc import Iterable, Sequence
from textwrap import fill

from rich.table import Table
from rich.text import Text

from polyprobe.analysis.figures.figures import BY_NAME
from polyprobe.metrics.joint.significance import Difference, Paired
from polyprobe.report.format import NARROW, format_interval, format_p_value, number


def differences_table(
    sides: Sequence[str], correction: str, rows: Iterable[tuple[str, Difference | Paired]]
) -> Table:
    """Return a table of both values, their difference (Δ), its interval and corrected p-value.

    Args:
        sides: heads of the two values.
        correction: of the p-values.
        rows: name and values of each line.
    """
    table = Table(header_style="bold", highlight=False)
    table.add_column("figure")
    for side in sides:
        table.add_column(Text(fill(side, NARROW)), justify="right", overflow="fold")
    for name in ("Δ", "95%", f"p ({correction})"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, row in rows:
        values = map(number, (row.first, row.second, row.difference))
        ends = (format_interval(row.ci), format_p_value(row.p_adjusted))
        table.add_row(Text(name), *values, *ends)
    return table


def short_title(name: str) -> str:
    """Return the name of a figure in tables of the terminal."""
    return BY_NAME[name].short or BY_NAME[name].title


def make_table(head: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> Table:
    """Return a table for the terminal whose first columns are words."""
    table = Table(header_style="bold", highlight=False, box=None, pad_edge=False)
    for place, name in enumerate(head):
        side = "left" if place < words else "right"
        table.add_column(Text(name), justify=side, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return table
