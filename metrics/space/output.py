"""The output of a Space: one entry for each figure, in its headline, table and download."""

import csv
from collections.abc import Sequence
from io import StringIO
from typing import Any, NamedTuple

HEADERS = ["of", "figure", "value", "95 % interval", "chance", "n"]
_COLUMNS = ["of", "figure", "value", "low", "high", "chance", "n"]


class Entry(NamedTuple):
    """One number with the context needed to read it.

    Attributes:
        of: a language, a pair of languages, a relation, or the name of all of these.
        name: of the measure.
        value: None for 0/0.
        interval: 95 %, [low, high]; None if a single query defines the value.
        chance: the value of random rankings, 0 for a difference; None if undefined or unknown.
        n: number of queries that the value is taken over.
    """

    of: tuple[str, ...]
    name: str
    value: float | None
    interval: Sequence[float] | None
    chance: float | None
    n: int

    @property
    def label(self) -> str:
        """Return `of` as text: `English – Spanish`."""
        return " – ".join(self.of)


class Output(NamedTuple):
    """Entries, the headline first, and notes for the reader, one sentence each."""

    entries: list[Entry]
    notes: Sequence[str] = ()


def show_interval(bounds: Sequence[float] | None) -> str:
    """Format an interval with four decimals.

    >>> show_interval([0.25, 1])
    '0.2500 – 1.0000'
    """
    return "–" if bounds is None else " – ".join(f"{bound:.4f}" for bound in bounds)


def show_number(value: float | None) -> str:
    """Format a number with four decimals; a dash for None."""
    return "–" if value is None else f"{value:.4f}"


def tabulate(entries: Sequence[Entry]) -> list[list[Any]]:
    """Return one row of HEADERS for each entry; numbers stay numbers, for sorting."""
    return [[e.label, e.name, e.value, show_interval(e.interval), e.chance, e.n] for e in entries]


def write_headline(output: Output) -> str:
    """Format the first entry and the notes as Markdown."""
    first = output.entries[0]
    bounds = f"95 % interval {show_interval(first.interval)}"
    if first.interval is None:
        bounds = "no interval: fewer than two queries define it"
    parts = [bounds, f"n = {first.n:,}"]
    if first.chance is not None:
        parts.insert(1, f"chance {show_number(first.chance)}")
    head = f"### {first.name} of {first.label}: {show_number(first.value)}"
    return "\n\n".join([head, "; ".join(parts) + ".", *output.notes])


def write_csv(entries: Sequence[Entry]) -> str:
    """Format all entries, with all decimals, as CSV."""
    text = StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(_COLUMNS)
    for e in entries:
        rows.writerow([e.label, e.name, e.value, *(e.interval or (None, None)), e.chance, e.n])
    return text.getvalue()
