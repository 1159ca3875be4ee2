"""Rank candidates whose scores may tie.

With `better` candidates above candidate i and `equal` candidates at its score (itself included), i
is among the first j of a random order that the ties allow with probability

    p(i, j) = clip((j - better) / equal, 0, 1)

The authors' programs sort stably instead: of equal candidates the earlier
one comes first.

>>> count_ties(np.array([[2.0, 1.0, 2.0]]))
(array([[0],
       [2],
       [0]], dtype=uint8), array([[2],
       [1],
       [2]], dtype=uint8))
"""

from collections.abc import Collection

import numpy as np

TIES = ("expected", "released")


def check_ties(ties: str) -> None:
    """Raise ValueError for a name that is not in TIES."""
    if ties not in TIES:
        raise ValueError(f"unknown ties {ties!r}; known: {', '.join(TIES)}")


def count_ties(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Count the better and the equal candidates of each, (queries x N) → (N x queries)."""
    columns = np.ascontiguousarray(scores.T)
    count = np.min_scalar_type(len(columns))
    better, equal = np.empty(columns.shape, count), np.empty(columns.shape, count)
    for i, column in enumerate(columns):
        np.add.reduce((columns > column).view(np.uint8), axis=0, dtype=count, out=better[i])
        np.add.reduce((columns == column).view(np.uint8), axis=0, dtype=count, out=equal[i])
    return better, equal


def prefix_shares(better: np.ndarray, equal: np.ndarray, size: int) -> np.ndarray:
    """Return p(i, j) for j = 1 … N-1 as [..., N-1]; j = N is always 1."""
    depth = np.arange(1, size)
    return np.clip((depth - better[..., None]) / equal[..., None], 0, 1)


def break_ties(scores: np.ndarray) -> np.ndarray:
    """Return scores (queries x N) in the same order without ties: the first of equals wins."""
    ranks = np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1)
    return -ranks.astype(np.float64)


def read_depths(k: int | Collection[int]) -> list[int]:
    """Return the unique depths k (of recall@k, of a top k) as a list."""
    depths = [*k] if isinstance(k, Collection) else [k]
    if not depths:
        raise ValueError("no depths in 'k'; expected one or more, such as [1, 5, 10]")
    for depth in depths:
        if not isinstance(depth, int | np.integer) or depth < 1:
            raise ValueError(f"depth {depth!r} in 'k' is invalid; expected integers from 1")
    return [int(depth) for depth in dict.fromkeys(depths)]
