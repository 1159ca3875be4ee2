"""The alternatives to RankC for every pair of languages: RBO and Kendall's tau-b.

The module rank_overlap has the definitions, query by query; here all pairs are one matrix product.
"""

from collections.abc import Mapping

import numpy as np

from ..rank_overlap.rank_overlap import rbo_weights
from ..rankc.rankc import rankc_pairs
from ..rows import Scores, read_languages, split_by_size
from .figures import Figure, mean_of, name_pairs

_CHUNK = 2**20  # values at once


def find_rbo(scores: Mapping[str, Scores]) -> Figure:
    """Return RBO_EXT (p = .9) by pair: overlapping tops as in RankC, with geometric weights."""
    values = rankc_pairs(scores, rbo_weights)
    return mean_of(name_pairs(list(scores)), values, np.ones(len(values)))


def find_kendall(scores: Mapping[str, Scores]) -> Figure:
    """Return Kendall's tau-b by pair, over the facts where it is defined in both languages."""
    values = kendall_pairs(scores)
    known = ~np.isnan(values)
    return mean_of(name_pairs(list(scores)), np.where(known, values, 0), known)


def kendall_pairs(scores: Mapping[str, Scores]) -> np.ndarray:
    """Return tau-b of each query for every pair of languages [queries, pairs].

    It is the cosine of the signs of all differences between candidates; NaN where a language ties
    all of them.
    """
    languages, sizes = read_languages(scores)
    pairs = np.triu_indices(len(languages), 1)
    values = np.empty((len(sizes), len(pairs[0])))
    for size, queries, items in split_by_size(sizes):
        one, other = np.triu_indices(size, 1)
        step = max(1, _CHUNK // (len(languages) * (len(one) + len(languages))))
        for start in range(0, len(queries), step):
            part = items[start : start + step]
            tables = [flat[part] for flat in languages]
            # compared, not subtracted: infinite scores are equal to each other
            signs = [
                (t[:, one] > t[:, other]).astype(np.float64) - (t[:, one] < t[:, other])
                for t in tables
            ]
            vectors = np.stack(signs, axis=1)
            norms = np.linalg.norm(vectors, axis=2)
            norms[norms == 0] = np.nan
            products = (vectors @ vectors.transpose(0, 2, 1))[:, *pairs]
            scale = norms[:, pairs[0]] * norms[:, pairs[1]]
            values[queries[start : start + step]] = products / scale
    return values
