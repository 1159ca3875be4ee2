"""Check columns of texts, of lists of texts and of labels: one entry for each query, of one type.

evaluate checks the first entry only: it converts later numbers and NaN to text and splits a later
bare string into letters. Without these checks, such values would be compared as answers.

>>> check_lists([["Ulm", "Bern"], "Ulm"], "predictions")
Traceback (most recent call last):
ValueError: query 1 of 'predictions' is 'Ulm'; expected a list of texts
"""

from collections.abc import Sequence
from typing import Any


def check_texts(texts: Any, name: str, optional: bool = False) -> None:
    """Raise ValueError unless every entry is a text, or None if `optional`.

    `name` is used in errors.
    """
    _check_column(texts, name)
    expected = "a text or None" if optional else "a text"
    for query, text in enumerate(texts):
        if not (isinstance(text, str) or (optional and text is None)):
            raise ValueError(f"query {query} of {name!r} is {text!r}; expected {expected}")


def check_lists(rows: Any, name: str) -> None:
    """Raise ValueError unless every entry is a list of texts, which may be empty."""
    _check_column(rows, name)
    for query, row in enumerate(rows):
        if isinstance(row, str) or not hasattr(row, "__len__"):
            raise ValueError(f"query {query} of {name!r} is {row!r}; expected a list of texts")
        for text in row:
            if not isinstance(text, str):
                raise ValueError(f"{text!r} in query {query} of {name!r}; expected a text")


def check_length(column: Sequence[Any], size: int, name: str) -> None:
    """Raise ValueError unless a column has `size` entries and at least one."""
    _check_column(column, name)
    if len(column) != size:
        raise ValueError(f"{size} queries in 'predictions', {len(column)} in {name!r}")
    if not size:
        raise ValueError("no queries in 'predictions'")


def _check_column(column: Sequence[Any] | None, name: str) -> None:
    if isinstance(column, str) or not hasattr(column, "__len__"):
        raise ValueError(f"{name!r} is {column!r}; expected a list with an entry for each query")
