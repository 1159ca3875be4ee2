"""What a balanced set or a sentence version costs and excludes, as tables."""

from collections import Counter
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from .options import say

if TYPE_CHECKING:  # polars is an extra
    import polars as pl

    from polyprobe.builder.recipes.balanced.build import Notes
    from polyprobe.builder.recipes.sentences.build import SentenceNotes

HEAD = ("language", "facts so far", "lost", "relations", "labelled")
LOST = ("language", "reason", "rows")
OTHERS = ("if added alone", "facts", "lost", "relations", "labelled")
MEANING = (
    "facts: with labels and a sentence in all languages so far; labelled: with labels (if facts "
    "fall to 0 and labelled do not, the language has no templates)"
)


def show_costs(costs: "pl.DataFrame", others: int | None = None) -> None:
    """Print the cost of each chosen language (`material.COSTS`), then of the other languages.

    `others` limits the other languages to the cheapest; None shows all.
    """
    for asked, head in ((True, HEAD), (False, OTHERS)):
        part = costs.filter(asked=asked).drop("asked")
        shown = part if asked or others is None else part.head(others)
        if shown.height:
            Console().print(draw_table(head, shown))
            if asked:
                Console().print(MEANING, highlight=False)
        if left := part.height - shown.height:
            Console().print(f"and {left} more: --plan shows all", highlight=False)


def show_left_out(notes: "Notes") -> None:
    """Print how many of the source's facts became rows, and why the others were excluded."""
    Console().print(f"{notes.facts:,} of {notes.source_facts:,} facts; excluded:", highlight=False)
    if notes.left_out.height:
        Console().print(draw_table(("reason", "where", "facts"), notes.left_out))
    for source, count in notes.borrowed.items():
        Console().print(f"{count:,} labels of {source}, in all languages", highlight=False)
    borrowed = [source.source for source in notes.sources if source.role == "templates"]
    if borrowed:
        Console().print(f"missing templates were taken from {borrowed[0]}", highlight=False)
    for reason, count in notes.repairs.items():
        Console().print(f"in the source: {count:,} {reason}", highlight=False, markup=False)


def show_templates(notes: "Notes") -> None:
    """Print how many relations have how many templates, if more than one was requested."""
    if notes.used_templates.height:
        relations = Counter(notes.used_templates["templates"].to_list())
        parts = [f"{count} ({n})" for count, n in sorted(relations.items(), reverse=True)]
        rows = f"{notes.rows:,} rows of {notes.facts:,} facts"
        say(f"{rows}; templates (relations): {', '.join(parts)}")


def show_sentences(notes: "SentenceNotes") -> None:
    """Print what each language costs, why rows were excluded, and the tools that were used."""
    from polyprobe.builder.output.card import SENTENCE_HEAD

    console = Console()
    console.print(draw_table(SENTENCE_HEAD, notes.costs))
    if notes.lost.height:
        console.print(draw_table(LOST, notes.lost))
    used = ", ".join(f"{lang}: {name}" for lang, name in notes.settings.lemmatizers.items())
    say(f"translator: {notes.settings.translator}; lemmatizer: {used}")


def draw_table(head: tuple[str, ...], rows: "pl.DataFrame") -> Table:
    """Return rows as a table, with numbers aligned to the right."""
    table = Table()
    for name, kind in zip(head, rows.dtypes, strict=True):
        table.add_column(name, justify="right" if kind.is_integer() else "left")
    for row in rows.iter_rows():
        table.add_row(*(f"{cell:,}" if isinstance(cell, int) else cell for cell in row))
    return table
