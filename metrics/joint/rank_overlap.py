"""The alternatives to RankC for every pair of languages: RBO and Kendall's tau-b.

The module rank_overlap has the definitions, query by query; here all pairs are one matrix product.
"""

from collections.abc import Mapping

import numpy as np

from polyprobe.metrics.joint.figures import Figure, mean_of, name_pairs
from polyprobe.metrics.rank_overlap.rank_overlap import kendall_pairs, rbo_weights
from polyprobe.metrics.rankc.rankc import rankc_pairs
from polyprobe.metrics.shared.rows import Scores


def find_rbo(scores: Mapping[str, Scores]) -> Figure:
    """Return RBO_EXT (p = .9) by pair: overlapping tops as in RankC, with geometric weights."""
    values = rankc_pairs(scores, rbo_weights)
    return mean_of(name_pairs(list(scores)), values, np.ones(len(values)))


def find_kendall(scores: Mapping[str, Scores]) -> Figure:
    """Return Kendall's tau-b by pair, over the facts where it is defined in both languages."""
    values = kendall_pairs(scores)
    known = ~np.isnan(values)
    return mean_of(name_pairs(list(scores)), np.where(known, values, 0), known)
