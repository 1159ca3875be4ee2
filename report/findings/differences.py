"""Tables of tested differences."""

from collections.abc import Iterable, Sequence
from textwrap import fill

from polyprobe.metrics.joint.significance import Difference, Paired
from polyprobe.report.finding import Column, Role, Table
from polyprobe.report.format import NARROW

Values = Difference | Paired


def make_differences_table(
    sides: Sequence[str], correction: str, rows: Iterable[tuple[str, Values]], title: str = ""
) -> Table:
    """List both values, their difference (Δ), its interval and corrected p-value.

    Args:
        sides: heads of the two values.
        correction: of the p-values.
        rows: name and values of each line.
        title: line above the table.
    """
    columns = [
        Column("figure", Role.LABEL),
        *(Column(fill(side, NARROW)) for side in sides),
        Column("Δ", Role.NUMBER),
        Column("95%", Role.INTERVAL),
        Column(f"p ({correction})", Role.P),
    ]
    values = [[name, x.first, x.second, x.difference, x.ci, x.p_adjusted] for name, x in rows]
    return Table(columns, values, title, ruled=True)
