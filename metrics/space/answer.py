"""Figures as a Space shows them: a row each, for its headline, its table and its download.

The folders of metrics/ hold this file as a link, so that each of them is whole.
"""

import csv
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Any, NamedTuple

HEADERS = ["of", "figure", "value", "95 % interval", "chance", "n"]
_COLUMNS = ["of", "figure", "value", "low", "high", "chance", "n"]


class Figure(NamedTuple):
    """One number with what it needs to be read.

    Attributes:
        of: a language, a pair of them, a relation, or what stands for all of these.
        name: of the measure.
        value: None where it is 0/0.
        interval: 95 %, [low, high]; None where a single query defines the value.
        chance: what says nothing: the value of random rankings, 0 for a difference; None if there
            is none or it is not known.
        n: queries that the value is taken over.
    """

    of: tuple[str, ...]
    name: str
    value: float | None
    interval: Sequence[float] | None
    chance: float | None
    n: int

    @property
    def label(self) -> str:
        """Return what it is of as text: `English – Spanish`."""
        return " – ".join(self.of)


class Answer(NamedTuple):
    """Figures, the headline's first, and what else a reader must know, a sentence each."""

    figures: list[Figure]
    notes: Sequence[str] = ()


def pick(
    result: Mapping[str, Any],
    of: tuple[str, ...],
    name: str,
    n: int,
    chance: float | None = None,
    key: str | None = None,
) -> Figure:
    """Return the figure NAME of what a module computed, where it stands under `key` or its name.

    `KEY_ci` is its interval; there may be none.
    """
    key = key or name
    return Figure(of, name, result[key], result.get(f"{key}_ci"), chance, n)


def show_interval(bounds: Sequence[float] | None) -> str:
    """Return an interval as text.

    >>> show_interval([0.25, 1])
    '0.2500 – 1.0000'
    """
    return "–" if bounds is None else " – ".join(f"{bound:.4f}" for bound in bounds)


def show_number(value: float | None) -> str:
    """Return a figure with four decimals, a dash for None."""
    return "–" if value is None else f"{value:.4f}"


def tabulate(figures: Sequence[Figure]) -> list[list[Any]]:
    """Return a row of HEADERS for each figure; numbers stay numbers, so that they can be sorted."""
    return [[f.label, f.name, f.value, show_interval(f.interval), f.chance, f.n] for f in figures]


def tell(answer: Answer) -> str:
    """Return the first figure and the notes as Markdown."""
    first = answer.figures[0]
    bounds = f"95 % interval {show_interval(first.interval)}"
    if first.interval is None:
        bounds = "no interval, as fewer than two queries define it"
    parts = [bounds, f"n = {first.n:,}"]
    if first.chance is not None:
        parts.insert(1, f"chance {show_number(first.chance)}")
    head = f"### {first.name} of {first.label}: {show_number(first.value)}"
    return "\n\n".join([head, "; ".join(parts) + ".", *answer.notes])


def write_csv(figures: Sequence[Figure]) -> str:
    """Return all figures, with all their decimals, as the text of a CSV file."""
    text = StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(_COLUMNS)
    for f in figures:
        rows.writerow([f.label, f.name, f.value, *(f.interval or ["", ""]), f.chance, f.n])
    return text.getvalue()
