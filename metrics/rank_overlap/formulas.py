"""Compare two languages' rankings of the same candidates by RBO, Kendall's tau-b and top-k overlap.

    A_d = 2 sum_i p(i, d) * p2(i, d) / (sum_i p(i, d) + sum_i p2(i, d)),   d = 1 ... N

where p(i, d) says whether candidate i is among the first d. Rank-biased overlap is a weighted mean
of A_1 ... A_N (Webber, Moffat and Zobel 2010), and the overlap of the top k is A_k.

>>> values = overlap_per_query([[3.0, 2.0, 1.0]], [[0.9, 0.1, 0.4]], p=0.5, k=2)
>>> {name: value.item() for name, value in values.items()}  # A = 1, 1/2, 1
{'rbo': 0.875, 'kendall_tau_b': 0.3333333333333333, 'top_k_overlap@2': 0.5}
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
from polyprobe.metrics.shared.ranks import count_ties, prefix_shares, split_by_size
from polyprobe.metrics.shared.rows import TIES, Scores, read_depths, read_languages


def rbo_weights(size: int, p: float = 0.9) -> np.ndarray:
    """Compute the weights of A_1 ... A_N in RBO_EXT of whole rankings; they sum to 1.

    (1 - p) p^(d-1), and at N the rest, p^(N-1): both rankings end there with the same candidates,
    so the agreement of 1 is extrapolated to all further depths (Webber et al. 2010, equation 23).
    """
    if not isinstance(p, float | np.floating) or not 0 < p < 1:
        raise ValueError(f"p is {p!r:.60}; expected a number between 0 and 1, neither included")
    weights = (1 - p) * p ** np.arange(size, dtype=np.float64)
    weights[-1] = p ** (size - 1)
    return weights


def overlap_per_query(
    predictions: Scores,
    references: Scores,
    p: float = 0.9,
    k: int | Sequence[int] = (1, 3),
    ties: str = "expected",
) -> dict[str, np.ndarray]:
    """Compute `rbo`, `kendall_tau_b` and each `top_k_overlap@K` with one value for each query."""
    check_name(ties, TIES, "ties")
    depths = read_depths(k)
    languages, sizes = read_languages({"predictions": predictions, "references": references})
    rbo, top = np.empty(len(sizes)), np.empty((len(depths), len(sizes)))
    for size, queries, items in split_by_size(sizes, lambda n: n**2):
        counts = [count_ties(flat[items]) for flat in languages]
        first, second = (_share_tops(*of_language, size, ties) for of_language in counts)
        curve = np.ones((len(queries), size))  # A_N is 1
        totals = first.sum(axis=0) + second.sum(axis=0)
        curve[:, :-1] = 2 * np.einsum("iqd,iqd->qd", first, second) / totals
        rbo[queries] = curve @ rbo_weights(size, p)
        top[:, queries] = curve[:, np.minimum(depths, size) - 1].T
    tau = kendall_pairs({"predictions": predictions, "references": references})[:, 0]
    return {"rbo": rbo, "kendall_tau_b": tau, **_name_depths(depths, top)}


def overlap_chance(
    sizes: Sequence[int] | np.ndarray, p: float = 0.9, k: int | Sequence[int] = (1, 3)
) -> dict[str, np.ndarray]:
    """Compute the expectation of each measure for two random rankings of each pool size.

    Random tops of depth d share d * d / N candidates, so A_d is d / N; tau-b has no entry, as it is
    0 in each pool of two candidates or more.
    """
    depths = read_depths(k)
    distinct, where = np.unique(np.asarray(sizes, dtype=np.intp), return_inverse=True)
    rbo = [rbo_weights(size, p) @ np.arange(1, size + 1) / size for size in distinct.tolist()]
    top = np.minimum(np.array(depths)[:, None], distinct) / distinct
    return {"rbo": np.array(rbo)[where], **_name_depths(depths, top[:, where])}


def kendall_pairs(scores: Mapping[str, Scores]) -> np.ndarray:
    """Compute tau-b of each query for every pair of languages [queries, pairs].

    (concordant - discordant) / sqrt(pairs untied in the first * pairs untied in the second): the
    cosine of the signs of all differences between candidates (Kendall 1945). NaN where a language
    ties all of them. Pairs of languages are in the order of `itertools.combinations`.
    """
    languages, sizes = read_languages(scores)
    pairs = np.triu_indices(len(languages), 1)
    values = np.empty((len(sizes), len(pairs[0])))
    if not values.size:  # a single language
        return values
    width = len(languages)
    for size, queries, items in split_by_size(sizes, lambda n: width * (n * (n - 1) // 2 + width)):
        i, j = np.triu_indices(size, 1)
        tables = [flat[items] for flat in languages]
        # compared, not subtracted: infinite scores are equal to each other
        signs = [(t[:, i] > t[:, j]).astype(np.float64) - (t[:, i] < t[:, j]) for t in tables]
        vectors = np.stack(signs, axis=1)
        # A sign's square is 1 where two candidates differ: the sum counts untied pairs.
        untied = (vectors**2).sum(axis=2)
        untied[untied == 0] = np.nan
        products = (vectors @ vectors.transpose(0, 2, 1))[:, *pairs]
        values[queries] = products / np.sqrt(untied[:, pairs[0]] * untied[:, pairs[1]])
    return values


def find_kendall(scores: Mapping[str, Scores]) -> Figure:
    """Compute Kendall's tau-b by pair, over the facts where it is defined in both languages.

    For bivariate normal scores with the correlation rho its expectation is (2 / pi) asin(rho) in
    pools of any size (Greiner 1909).
    """
    values = kendall_pairs(scores)
    finite = ~np.isnan(values)
    return mean_of(name_pairs(list(scores)), np.where(finite, values, 0), finite)


def measure_rank_overlap(
    predictions: Scores,
    references: Scores,
    p: float = 0.9,
    k: int | Sequence[int] = (1, 3),
    ties: str = "expected",
    **options: Any,
) -> dict[str, Any]:
    """Compute the means of all measures and of their chance levels, with intervals and counts."""
    values = overlap_per_query(predictions, references, p, k, ties)
    sizes = read_languages({"predictions": predictions})[1]
    chance = {f"{name}_chance": by for name, by in overlap_chance(sizes, p, k).items()}
    tau = values["kendall_tau_b"]
    shares = {name: share(v) for name, v in values.items()}
    counts = {"n_queries": len(sizes), "n_tau": int((~np.isnan(tau)).sum())}
    return {**summarize({**shares, "kendall_tau_b": tau, **chance}, **options), **counts}


def _name_depths(depths: Sequence[int], values: np.ndarray) -> dict[str, np.ndarray]:
    return {f"top_k_overlap@{k}": row for k, row in zip(depths, values, strict=True)}


def _share_tops(better: np.ndarray, equal: np.ndarray, size: int, ties: str) -> np.ndarray:
    """Compute p(i, d) for d = 1 ... N-1 as [candidates, queries, N-1]."""
    if ties == "expected":
        return prefix_shares(better, equal, size)
    # All tied candidates have the first of their ranks: they come into the top together, and tops
    # may differ in size (Webber et al. 2010, equation 28).
    return (better[..., None] < np.arange(1, size)).astype(np.float64)
