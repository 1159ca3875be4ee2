"""Read the candidate that each language chooses for each fact, and mark the correct choices.

>>> chosen = read_choices([[0, 2], [1, 1]])
>>> find_right(chosen, [[0, 2], [0]])
array([[ True,  True],
       [False, False]])
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

Choices = Sequence[Sequence[int]] | np.ndarray


def read_choices(predictions: Choices) -> np.ndarray:
    """Return the chosen indices as (facts x languages), for at least two languages.

    Rows of different lengths and invalid indices (None, NaN, negative) raise an error that names
    the row.
    """
    if not len(predictions):
        raise ValueError("no queries in 'predictions'")
    for query, row in enumerate(predictions):
        if not hasattr(row, "__len__") or isinstance(row, str):
            raise ValueError(
                f"query {query} of 'predictions' is {row!r}; expected a list with one index for "
                "each language"
            )
        if len(row) != len(predictions[0]):
            raise ValueError(
                f"{len(predictions[0])} languages in query 0 of 'predictions', {len(row)} in query "
                f"{query}; expected one index for each language"
            )
    if len(predictions[0]) < 2:
        raise ValueError(f"{len(predictions[0])} languages in 'predictions'; expected two or more")
    return read_indices(predictions, "predictions")


def read_columns(predictions: Mapping[str, Sequence[int] | np.ndarray]) -> np.ndarray:
    """Return the index chosen in each language for each fact as (facts x languages)."""
    if not predictions:
        raise ValueError("no languages: expected a mapping from language to indices")
    first = next(iter(predictions))
    for name, indices in predictions.items():
        if not len(indices):
            raise ValueError(f"no queries in {name!r}")
        if len(indices) != len(predictions[first]):
            raise ValueError(
                f"{len(predictions[first])} queries in {first!r}, {len(indices)} in {name!r}"
            )
    columns = [read_indices(indices, name) for name, indices in predictions.items()]
    return np.stack(columns, axis=1)


def read_indices(values: Sequence[Any] | np.ndarray, name: str) -> np.ndarray:
    """Return indices, one row or number for each query, as an array; `name` is used in errors."""
    indices = np.array(values)
    if indices.dtype.kind not in "iu" or indices.min() < 0:
        for place, index in np.ndenumerate(np.array(values, dtype=object)):
            if not isinstance(index, int | np.integer) or index < 0:
                raise ValueError(
                    f"query {place[0]} of {name!r} has {index!r}; expected an index from 0"
                )
    return indices.astype(np.intp)


def name_languages(languages: Sequence[str] | None, n_languages: int) -> list[str]:
    """Return one name for each column; default: 0, 1, 2, and so on."""
    if languages is None:
        return [str(column) for column in range(n_languages)]
    if isinstance(languages, str) or len(languages) != n_languages:
        raise ValueError(
            f"{languages!r} in 'languages', {n_languages} columns in 'predictions'; expected one "
            "name for each column"
        )
    for name in languages:
        if list(languages).count(name) > 1:
            raise ValueError(f"{name!r} appears twice in 'languages'; expected unique names")
    return [str(name) for name in languages]


def find_right(chosen: np.ndarray, answers: Sequence[Sequence[int]]) -> np.ndarray:
    """Mark the correct choices (facts x languages, bool).

    `answers` must have passed `rows.check_answers`.
    """
    facts: np.ndarray = np.repeat(np.arange(len(answers)), [len(right) for right in answers])
    indices = np.array(list(chain.from_iterable(answers)))
    span = max(indices.max(), chosen.max()) + 1
    return np.isin(np.arange(len(chosen))[:, None] * span + chosen, facts * span + indices)
