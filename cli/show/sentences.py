"""The sentence version of a configuration: its costs and its excluded rows, as tables."""

from typing import TYPE_CHECKING

from rich.console import Console

from .costs import draw_table

if TYPE_CHECKING:  # polars is an extra
    from polyprobe.builder.output.sentence_part import SentenceNotes

LOST = ("language", "reason", "rows")


def show_sentences(notes: "SentenceNotes") -> None:
    """Print what each language costs, why rows were excluded, and the tools that were used."""
    from polyprobe.builder.output.sentence_part import HEAD

    console = Console()
    console.print(draw_table(HEAD, notes.costs))
    if notes.lost.height:
        console.print(draw_table(LOST, notes.lost))
    used = ", ".join(f"{lang}: {name}" for lang, name in notes.settings.lemmatizers.items())
    console.print(
        f"translator: {notes.settings.translator}; lemmatizer: {used}",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
