"""Tables of the terminal that comparisons share."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text


def make_table(head: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> Table:
    """Return a table for the terminal whose first columns are words."""
    table = Table(header_style="bold", highlight=False, box=None, pad_edge=False)
    for place, name in enumerate(head):
        side = "left" if place < words else "right"
        table.add_column(Text(name), justify=side, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return table
