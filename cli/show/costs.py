"""What a balanced set costs and leaves out, as tables."""

from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:  # polars is an extra
    import polars as pl

    from polyprobe.builder.recipes.balanced.build import Notes

HEAD = ("language", "facts so far", "lost", "relations", "labelled")
FEW = 5
OTHERS = ("if added alone", "facts", "lost", "relations", "labelled")


def show_costs(costs: "pl.DataFrame", others: int | None = None) -> None:
    """Print what each language costs (`builder.coverage.COSTS`): those asked for, then others.

    Of the others only so many, the cheapest, where a number is given.
    """
    for asked, head in ((True, HEAD), (False, OTHERS)):
        part = costs.filter(asked=asked).drop("asked")
        shown = part if asked else part.head(others if others is not None else part.height)
        if shown.height:
            Console().print(draw_table(head, shown))
            if asked:
                Console().print(MEANING, highlight=False)
        if left := part.height - shown.height:
            Console().print(f"and {left} more: --plan shows all", highlight=False)


MEANING = (
    "facts: with labels and a sentence in all languages so far; labelled: with labels alone "
    "(where facts fall to 0 and labelled do not, the language has no templates)"
)


def show_costs_in_short(costs: "pl.DataFrame") -> None:
    """Print what each language asked for costs, and the cheapest of the others."""
    show_costs(costs, FEW)


def show_left_out(notes: "Notes") -> None:
    """Print how many of the source's facts became rows, and why the others did not."""
    Console().print(f"{notes.facts:,} of {notes.source_facts:,} facts; left out:", highlight=False)
    if notes.left_out.height:
        Console().print(draw_table(("reason", "where", "facts"), notes.left_out))
    for source, count in notes.lent.items():
        Console().print(f"{count:,} labels of {source}, in all languages", highlight=False)
    lent = [source.source for source in notes.sources if source.role == "templates"]
    if lent:
        Console().print(f"templates lacking in the source are those of {lent[0]}", highlight=False)
    for what, count in notes.repairs.items():
        Console().print(f"in the source: {count:,} {what}", highlight=False, markup=False)


def draw_table(head: tuple[str, ...], rows: "pl.DataFrame") -> Table:
    """Return rows as a table, numbers to the right."""
    table = Table()
    for name, kind in zip(head, rows.dtypes, strict=True):
        table.add_column(name, justify="right" if kind.is_integer() else "left")
    for row in rows.iter_rows():
        table.add_row(*(f"{cell:,}" if isinstance(cell, int) else cell for cell in row))
    return table
