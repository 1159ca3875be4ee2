"""Read scores, one row for each query, and the indices of the correct candidates of each query.

Rows come as a 2-D array (queries x candidates), a masked array padded at the end of a row, or a
list of rows of any length, and become one flat array of all scores and the sizes of the rows.
Infinite scores are valid; NaN, empty rows and no rows at all raise an error.

>>> read_rows([[3.0, 2.0], [1.0]], "predictions")
(array([3., 2., 1.]), array([2, 1]))
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np


class Rows(NamedTuple):
    """Validated rows, as `read_rows` returns them; it passes them through unread."""

    flat: np.ndarray
    sizes: np.ndarray


Scores = np.ndarray | Sequence[Sequence[float]] | Rows
Answers = Sequence[Sequence[int]]


def read_rows(rows: Scores, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return all scores as a flat array (float) and the number of candidates of each query.

    `name`, of the input or the language, is used in errors.
    """
    if isinstance(rows, Rows):
        return rows
    if isinstance(rows, np.ndarray) and rows.ndim == 2:
        flat, sizes = _read_array(rows, name)
    else:
        flat, sizes = _read_lists(rows, name)
    if not len(sizes):
        raise ValueError(f"no queries in {name!r}")
    for query in np.flatnonzero(sizes == 0)[:1]:
        raise ValueError(
            f"query {query} of {name!r} has no scores; expected one for each candidate"
        )
    for query in np.repeat(np.arange(len(sizes)), sizes)[np.isnan(flat)][:1]:
        raise ValueError(f"NaN among the scores of query {query} in {name!r}; expected numbers")
    return flat, sizes


def read_languages(scores: Mapping[str, Scores]) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the flat scores of each language, and the pool sizes that all languages share."""
    if not scores:
        raise ValueError("no languages: expected a mapping from language to scores")
    languages: list[np.ndarray] = []
    for name, rows in scores.items():
        flat, own = read_rows(rows, name)
        if not languages:
            first, sizes = name, own
        if len(own) != len(sizes):
            raise ValueError(f"{len(sizes)} queries in {first!r}, {len(own)} in {name!r}")
        for query in np.flatnonzero(own != sizes)[:1]:
            raise ValueError(
                f"query {query} has {sizes[query]} candidates in {first!r}, {own[query]} in "
                f"{name!r}; expected scores of the same candidates in the same order"
            )
        languages.append(flat)
    return languages, sizes


def mark_right(answers: Answers | None, sizes: np.ndarray, name: str = "answers") -> np.ndarray:
    """Mark the correct candidates (bool) of all queries, flat; `name` is used in errors."""
    answers = check_answers(answers, len(sizes), name)
    queries: np.ndarray = np.repeat(np.arange(len(sizes)), [len(right) for right in answers])
    indices = np.array(list(chain.from_iterable(answers)))
    for wrong in np.flatnonzero(indices >= sizes[queries])[:1]:
        query = queries[wrong]
        raise ValueError(
            f"answer {indices[wrong]} of query {query} is out of range; expected 0 to "
            f"{sizes[query] - 1}, as it has {sizes[query]} candidates"
        )
    marked = np.zeros(sizes.sum(), dtype=bool)
    marked[(sizes.cumsum() - sizes)[queries] + indices] = True
    return marked


def check_answers(answers: Answers | None, n_queries: int, name: str = "answers") -> Answers:
    """Return the answers of each query: a list of at least one index, integers from 0."""
    if answers is None:
        raise ValueError(f"no {name}; pass {name}=[[right indices of query 0], …]")
    if not len(answers):
        raise ValueError(f"no queries in {name!r}")
    if len(answers) != n_queries:
        raise ValueError(f"{n_queries} queries in 'predictions', {len(answers)} in {name!r}")
    for query, right in enumerate(answers):
        if not hasattr(right, "__len__"):
            raise ValueError(f"{name} of query {query} are {right!r}; expected a list: [{right}]")
        if not len(right):
            raise ValueError(f"query {query} has no correct answer; expected at least one index")
    for index in chain.from_iterable(answers):
        if not isinstance(index, int | np.integer) or index < 0:
            raise ValueError(f"answer {index!r} is not an index; expected integers from 0")
    return answers


def split_by_size(sizes: np.ndarray) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yield each pool size N, its queries and the flat indices (queries x N) of their scores."""
    starts = sizes.cumsum() - sizes
    for size in np.unique(sizes).tolist():
        queries = np.flatnonzero(sizes == size)
        yield size, queries, starts[queries, None] + np.arange(size)


def _read_array(rows: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
    values = np.ma.getdata(rows)
    values = values if values.dtype.kind == "f" else values.astype(np.float64)
    if np.ma.getmask(rows) is np.ma.nomask:
        return values.ravel(), np.full(len(rows), rows.shape[1])
    present = ~np.ma.getmaskarray(rows)
    sizes = present.sum(axis=1)
    padded = present != (np.arange(rows.shape[1]) < sizes[:, None])
    for query in np.flatnonzero(padded.any(axis=1))[:1]:
        raise ValueError(f"query {query} of {name!r} is masked before its end; pad at the end")
    return values[present], sizes


def _read_lists(rows: Scores, name: str) -> tuple[np.ndarray, np.ndarray]:
    for query, row in enumerate(rows):
        if not hasattr(row, "__len__"):
            raise ValueError(f"query {query} of {name!r} is {row!r}; expected a list of scores")
    sizes = np.array([len(row) for row in rows], dtype=np.intp)
    flat = np.array(list(chain.from_iterable(rows)), dtype=np.float64)
    if flat.ndim != 1:
        raise ValueError(f"scores of {name!r} are nested too deep; expected queries x candidates")
    return flat, sizes
