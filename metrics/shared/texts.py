"""Check columns of texts, of lists of texts and of labels: one entry a query, each of its kind.

evaluate looks at the first entry only: it writes later numbers and NaN as text and takes a later
bare string for a list of its letters, so both would be compared as if they were meant. The folders
of metrics/ hold this file as a link, so that each of them is whole.

>>> check_lists([["Ulm", "Bern"], "Ulm"], "predictions")
Traceback (most recent call last):
ValueError: query 1 of 'predictions' is 'Ulm'; expected a list of texts
"""

from collections.abc import Sequence
from typing import Any


def check_texts(texts: Sequence[str | None] | None, name: str, optional: bool = False) -> None:
    """Raise ValueError unless every entry is a text, or None where that is allowed.

    `name` stands in the errors.
    """
    _check_column(texts, name)
    expected = "a text or None" if optional else "a text"
    for query, text in enumerate(texts):
        if not (isinstance(text, str) or (optional and text is None)):
            raise ValueError(f"query {query} of {name!r} is {text!r}; expected {expected}")


def check_lists(rows: Sequence[Sequence[str]] | None, name: str) -> None:
    """Raise ValueError unless every entry is a list of texts; it may be empty."""
    _check_column(rows, name)
    for query, row in enumerate(rows):
        if isinstance(row, str) or not hasattr(row, "__len__"):
            raise ValueError(f"query {query} of {name!r} is {row!r}; expected a list of texts")
        for text in row:
            if not isinstance(text, str):
                raise ValueError(f"{text!r} in query {query} of {name!r}; expected a text")


def check_length(column: Sequence[Any], size: int, name: str) -> None:
    """Raise ValueError unless a column has an entry for each of so many predictions, and some."""
    _check_column(column, name)
    if len(column) != size:
        raise ValueError(f"{size} queries in 'predictions', {len(column)} in {name!r}")
    if not size:
        raise ValueError("no queries in 'predictions'")


def _check_column(column: Sequence[Any] | None, name: str) -> None:
    if isinstance(column, str) or not hasattr(column, "__len__"):
        raise ValueError(f"{name!r} is {column!r}; expected a list with an entry for each query")
