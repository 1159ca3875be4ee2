"""Rank candidates whose scores may tie, and compare two rankings.

With `better` candidates above candidate i and `equal` candidates at its score (itself included), i
is among the first j of a random order that the ties allow with probability

    p(i, j) = clip((j - better) / equal, 0, 1)

The authors' programs sort stably instead: of equal candidates the earlier one comes first.

>>> count_ties(np.array([[2.0, 1.0, 2.0]]))
(array([[0],
       [2],
       [0]], dtype=uint8), array([[2],
       [1],
       [2]], dtype=uint8))
"""

from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np

_LARGEST_TABLE = 64  # candidates; the table of `make_curves` has N^3 values
CHUNK = 100_000  # values at once, so that they stay in the processor's cache
WEIGHTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "softmax": lambda places: np.exp(places - places[0]),
    "norm1": lambda places: places,
    "norm2": lambda places: places**2,
    "norm1-released": lambda places: places + 1,
    "norm2-released": lambda places: (places + 1) ** 2,
}
"""From a name to the unnormalised weights of ranks j = 1 ... N, given N - j."""

Curves = Callable[[np.ndarray, np.ndarray], np.ndarray]
Weights = str | Callable[[int], np.ndarray]


def split_by_size(
    sizes: np.ndarray, count: Callable[[int], int] | None = None
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yield each pool size N, its queries and the flat indices (queries x N) of their scores."""
    # With `count`, a few queries at a time: each has count(N) values in the computation.
    starts = sizes.cumsum() - sizes
    for size in np.unique(sizes).tolist():
        queries = np.flatnonzero(sizes == size)
        step = max(1, CHUNK // count(size)) if count else len(queries)
        for start in range(0, len(queries), step):
            part = queries[start : start + step]
            yield size, part, starts[part, None] + np.arange(size)


def count_ties(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Count the better and the equal candidates of each, (queries x N) → (N x queries)."""
    # A row for each candidate: each comparison then reads whole rows of memory.
    columns = np.ascontiguousarray(scores.T)
    # The smallest type that holds N; the arrays are the largest of the computation.
    count = np.min_scalar_type(len(columns))
    better, equal = np.empty(columns.shape, count), np.empty(columns.shape, count)
    for i, column in enumerate(columns):
        np.add.reduce((columns > column).view(np.uint8), axis=0, dtype=count, out=better[i])
        np.add.reduce((columns == column).view(np.uint8), axis=0, dtype=count, out=equal[i])
    return better, equal


def prefix_shares(better: np.ndarray, equal: np.ndarray, size: int) -> np.ndarray:
    """Compute p(i, j) for j = 1 … N-1 as [..., N-1]; j = N is always 1."""
    # `equal` candidates share the places behind the `better` ones, so the top j holds
    # j - better of them, each with the same probability.
    depth = np.arange(1, size)
    return np.clip((depth - better[..., None]) / equal[..., None], 0, 1)


def break_ties(scores: np.ndarray) -> np.ndarray:
    """Replace scores (queries x N) by ranks without ties; the first equal score wins."""
    ranks = np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1)
    return -ranks.astype(np.float64)


def order_scores(flat: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Replace the flat scores of queries by ranks without ties, see `break_ties`."""
    ordered = np.empty(len(flat))
    for _, _, items in split_by_size(sizes):
        ordered[items] = break_ties(flat[items])
    return ordered


def rank_weights(size: int, weights: Weights = "softmax") -> np.ndarray:
    """Compute w_1 ... w_N, which sum to 1, for a pool of N candidates."""
    # softmax is e^(N-j) (the paper's equation 5), norm1 is N-j and norm2 is (N-j)^2; the released
    # code has N-j+1 for N-j. A single candidate weighs 1, where the paper's norms would be 0/0. A
    # function from N to weights makes other measures of overlapping tops, such as RBO.
    if callable(weights):
        return weights(size)
    if weights not in WEIGHTS:
        raise ValueError(f"unknown weights {weights!r:.60}; known: {', '.join(WEIGHTS)}")
    if size == 1:
        return np.ones(1)
    # Exponents are taken less the largest one in softmax, so no pool overflows.
    raw = WEIGHTS[weights](np.arange(size - 1, -1, -1, dtype=np.float64))
    return raw / raw.sum()


def compare_rankings(
    first: np.ndarray, second: np.ndarray, sizes: np.ndarray, weights: str, ties: str = "expected"
) -> np.ndarray:
    """Compute the RankC of each query, from the flat scores of the same candidates."""
    # sum_j w_j * |top_j & top_j'| / j for j = 1 ... N (Qi et al. 2023, equations 2 to 5).
    values = np.empty(len(sizes))
    for size, queries, items in split_by_size(sizes, lambda n: n**2):
        share = rank_weights(size, weights) / np.arange(1, size + 1)
        pair = [flat[items] for flat in (first, second)]
        pair = [break_ties(scores) for scores in pair] if ties == "released" else pair
        shares = [prefix_shares(*count_ties(scores), size) for scores in pair]
        values[queries] = np.einsum("iqj,iqj,j->q", *shares, share[:-1]) + share[-1] * size
    return values


def stack_curves(languages: list[np.ndarray], items: np.ndarray, curves: Curves) -> np.ndarray:
    """Compute the vectors of some queries in all languages [queries, languages, values]."""
    n, size = items.shape
    shares = curves(*count_ties(np.concatenate([flat[items] for flat in languages])))
    of_languages = shares.reshape(size, len(languages), n, size - 1)
    return of_languages.transpose(2, 1, 0, 3).reshape(n, len(languages), -1)


def stack_scores(languages: list[np.ndarray], items: np.ndarray) -> np.ndarray:
    """Stack the scores of some queries in all languages [queries, languages, candidates]."""
    return np.stack([flat[items] for flat in languages], axis=1)


@lru_cache(2)
def make_curves(size: int, weights: Weights) -> tuple[Curves, np.ndarray, float]:
    """Make the function from (better, equal) to p * scale; small pools look it up in a table.

    The root of w_j / j in both factors, `scale`, makes RankC a product of two vectors, and all
    pairs of languages one matrix product. Returned with scale and w_N, which all rankings add.
    """
    share = rank_weights(size, weights) / np.arange(1, size + 1)
    scale, rest = np.sqrt(share[:-1]), share[-1] * size
    if size > _LARGEST_TABLE:
        return lambda better, equal: prefix_shares(better, equal, size) * scale, scale, rest
    # Few pairs of counts occur in a small pool: a look-up is faster than the arithmetic.
    better, equal = np.divmod(np.arange(size * size + 1), size)
    table = prefix_shares(better, equal + 1, size) * scale
    places = np.intp(size)
    return lambda better, equal: table.take(better * places + (equal - 1), axis=0), scale, rest
