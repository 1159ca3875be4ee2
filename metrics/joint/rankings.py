"""RankC above chance, RBO and Kendall's tau-b of every pair of languages.

The modules rankc and rank_overlap define them for one query; here all pairs are one matrix product.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from polyprobe.metrics.joint.figures import Figure, mean_of, name_pairs
from polyprobe.metrics.rank_overlap.rank_overlap import kendall_pairs, rbo_weights
from polyprobe.metrics.rankc.rankc import rankc_chance, rankc_pairs
from polyprobe.metrics.shared.rows import Scores


def find_rankc_adjusted(
    pairs: Sequence[str], values: np.ndarray, sizes: np.ndarray, weights: str = "softmax"
) -> Figure:
    """Return (RankC - chance) / (1 - chance) by pair, over the facts with several candidates."""
    several = sizes > 1
    chance = np.where(several, rankc_chance(sizes, weights), 0)[:, None]
    return mean_of(pairs, several[:, None] * (values - chance) / (1 - chance), several)


def find_rbo(scores: Mapping[str, Scores]) -> Figure:
    """Return RBO_EXT (p = .9) by pair: overlapping tops as in RankC, with geometric weights."""
    values = rankc_pairs(scores, rbo_weights)
    return mean_of(name_pairs(list(scores)), values, np.ones(len(values)))


def find_kendall(scores: Mapping[str, Scores]) -> Figure:
    """Return Kendall's tau-b by pair, over the facts where it is defined in both languages."""
    values = kendall_pairs(scores)
    known = ~np.isnan(values)
    return mean_of(name_pairs(list(scores)), np.where(known, values, 0), known)
