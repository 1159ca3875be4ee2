"""Measure how similarly two languages rank the same candidates (RankC, Qi et al. 2023).

    RankC(l, l2) = mean over queries of sum_j w_j * |top_j(l) & top_j(l2)| / j,   j = 1 ... N

Equal scores get the expectation over all orders that the ties allow, independently in each
language: candidate i is among the first j with the probability p(i, j) (shared/ranks.py), and the
expected overlap at j is sum_i p_l(i, j) * p_l2(i, j). So a language is one vector of values
p * sqrt(w_j / j), and all pairs of languages are one matrix product.

>>> scores = {"en": [[3.0, 2.0, 1.0]], "es": [[0.9, 0.1, 0.4]], "fr": [[0.0, 0.0, 0.0]]}
>>> rankc_matrix(scores).round(4)
array([[1.    , 0.8776, 0.4749],
       [0.8776, 1.    , 0.4749],
       [0.4749, 0.4749, 1.    ]])
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polyprobe.metrics.shared.intervals import (
    Figure,
    check_name,
    mean_of,
    name_pairs,
    share,
    summarize,
)
from polyprobe.metrics.shared.ranks import (
    CHUNK,
    WEIGHTS,
    Weights,
    compare_rankings,
    count_ties,
    make_curves,
    rank_weights,
    split_by_size,
    stack_curves,
)
from polyprobe.metrics.shared.rows import TIES, Scores, read_languages

# OpenBLAS does so many multiplications in one thread; its threads stall on busy cores
_PRODUCT = 2**18


def rankc_chance(sizes: Sequence[int] | np.ndarray, weights: str = "softmax") -> np.ndarray:
    """Compute the expected RankC of two independent random rankings of each pool size.

    The expected overlap of two random prefixes of length j is j^2 / N, hence sum_j w_j * j / N.
    """
    distinct, where = np.unique(np.asarray(sizes, dtype=np.intp), return_inverse=True)
    expected = [rank_weights(n, weights) @ np.arange(1, n + 1) / n for n in distinct.tolist()]
    return np.array(expected, dtype=np.float64)[where]


def rankc_per_query(
    predictions: Scores, references: Scores, weights: str = "softmax", ties: str = "expected"
) -> np.ndarray:
    """Compute the RankC of each query; the measure is the mean of these."""
    check_name(ties, TIES, "ties")
    check_name(weights, WEIGHTS, "weights")  # a function is none of them
    (first, second), sizes = read_languages({"predictions": predictions, "references": references})
    return compare_rankings(first, second, sizes, weights, ties)


def rankc_matrix(
    scores: Mapping[str, Scores], weights: str = "softmax", adjusted: bool = False
) -> np.ndarray:
    """Compute the RankC of every pair of languages, in the mapping's order, 1 on the diagonal.

    Scores are as for `rankc_per_query`, row i the same query in all. With `adjusted` the mean of
    (RankC - chance) / (1 - chance) over the queries with several candidates, NaN if there is none.
    """
    languages, sizes = read_languages(scores)
    total, n_queries = np.zeros((len(languages), len(languages))), 0
    for size, queries, items in split_by_size(sizes):
        if adjusted and size == 1:
            continue
        sums = _sum_over_queries(languages, items, weights)
        if adjusted:
            # Chance is one number for a pool size, so it can be taken from the sum.
            chance = rankc_chance([size], weights)[0]
            sums = (sums - len(queries) * chance) / (1 - chance)
        total, n_queries = total + sums, n_queries + len(queries)
    matrix = total / n_queries if n_queries else np.full_like(total, np.nan)
    np.fill_diagonal(matrix, 1.0)
    return matrix


def rankc_pairs(scores: Mapping[str, Scores], weights: Weights = "softmax") -> np.ndarray:
    """Compute the RankC of each query for every pair of languages [queries, pairs].

    Pairs are in the order of `itertools.combinations`. Their means are `rankc_matrix`, which is
    faster; intervals and tests need the values of the queries.
    """
    languages, sizes = read_languages(scores)
    pairs = np.triu_indices(len(languages), 1)
    values = np.empty((len(sizes), len(pairs[0])))
    if not values.size:  # a single language
        return values
    for size, queries, items in split_by_size(sizes, lambda n: len(languages) * n**2):
        curves, _, rest = make_curves(size, weights)
        vectors = stack_curves(languages, items, curves)
        values[queries] = (vectors @ vectors.transpose(0, 2, 1))[:, *pairs] + rest
    return values


def find_rankc(languages: Sequence[str], values: np.ndarray) -> Figure:
    """Compute RankC by pair, from `rankc_pairs`."""
    return mean_of(name_pairs(languages), values, np.ones(len(values)), share=True)


def find_rankc_adjusted(
    languages: Sequence[str], values: np.ndarray, sizes: np.ndarray, weights: str = "softmax"
) -> Figure:
    """Compute (RankC - chance) / (1 - chance) by pair, over the facts with several candidates.

    0 is chance in every pool, but values are not comparable between pools of different size; those
    of `rank_overlap.find_kendall` are.
    """
    several = sizes > 1
    chance = np.where(several, rankc_chance(sizes, weights), 0)[:, None]
    adjusted = several[:, None] * (values - chance) / (1 - chance)
    return mean_of(name_pairs(languages), adjusted, several)


def measure_rankc(
    predictions: Scores,
    references: Scores,
    weights: str = "softmax",
    ties: str = "expected",
    **options: Any,
) -> dict[str, Any]:
    """Compute RankC, its chance level and the adjusted value, with intervals and counts."""
    values = rankc_per_query(predictions, references, weights, ties)
    sizes = read_languages({"predictions": predictions})[1]
    chance = rankc_chance(sizes, weights)
    room = np.where(sizes > 1, 1 - chance, np.nan)
    adjusted = (values - chance) / room
    measures = {"rankc": share(values), "chance": chance, "rankc_adjusted": adjusted}
    counts = {"n_queries": len(values), "n_adjusted": int((sizes > 1).sum())}
    return {**summarize(measures, **options), **counts}


def _sum_over_queries(languages: list[np.ndarray], items: np.ndarray, weights: str) -> np.ndarray:
    """Compute the sum of RankC over queries for all pairs; `items` are the indices of scores."""
    queries, size = items.shape
    curves, _, rest = make_curves(size, weights)
    width = max(1, _PRODUCT // (len(languages) ** 2 * size))
    # Padded with items that are in no top j < N: the product runs over whole blocks.
    padded, kind = (len(languages), -(-items.size // width) * width), np.min_scalar_type(size)
    better, equal = np.full(padded, size, kind), np.ones(padded, kind)
    for i, flat in enumerate(languages):
        better[i, : items.size], equal[i, : items.size] = map(np.ravel, count_ties(flat[items]))
    sums = np.full((len(languages), len(languages)), queries * rest)
    step = width * max(1, CHUNK // (len(languages) * size * width))
    for start in range(0, better.shape[1], step):
        part = np.s_[:, start : start + step]
        vectors = curves(better[part], equal[part])
        shape = (len(languages), vectors.shape[1] // width, width * (size - 1))
        vectors = vectors.reshape(shape).transpose(1, 0, 2)
        sums += (vectors @ vectors.transpose(0, 2, 1)).sum(axis=0)
    return sums
