"""Figures of all languages together: Fleiss' kappa, number of languages with a correct answer.

Languages break ties independently of each other: each figure is an expectation, and a plain count
without ties.
"""

from collections.abc import Mapping

import numpy as np

from polyprobe.metrics.answer_agreement.answer_agreement import agreement_per_query, compute_kappa
from polyprobe.metrics.joint.figures import Figure, Right, mean_of, name_pairs
from polyprobe.metrics.shared.rows import Scores, read_languages, split_by_size


def choose(scores: Mapping[str, Scores]) -> np.ndarray:
    """Return the probability that each candidate is chosen [languages, facts, most candidates].

    The best-scored candidates share it equally; the padding of smaller pools has 0.
    """
    languages, sizes = read_languages(scores)
    chosen = np.zeros((len(languages), len(sizes), sizes.max()))
    for size, queries, items in split_by_size(sizes):
        for i, flat in enumerate(languages):
            values = flat[items]
            best = values == values.max(axis=1, keepdims=True)
            chosen[i, queries, :size] = best / best.sum(axis=1, keepdims=True)
    return chosen


def find_agreement(scores: Mapping[str, Scores]) -> Figure:
    """Return the share of facts on which both languages of a pair choose the same candidate."""
    values = agreement_per_query(scores)
    return mean_of(name_pairs(list(scores)), values, np.ones(len(values)))


def find_kappa(scores: Mapping[str, Scores]) -> Figure:
    """Return Fleiss' kappa (Fleiss 1971) of all languages; categories are candidates' places."""
    agreement = agreement_per_query(scores).mean(axis=1)
    table = np.column_stack([agreement, choose(scores).mean(axis=0)])
    return Figure(["fleiss_kappa"], table, compute_kappa)


def find_right_counts(right: Right) -> Figure:
    """Return the shares of facts correct in all languages (PolyFact's TotCons), in any, in none."""
    counts = count_right(right)
    values = np.column_stack([counts[:, -1], 1 - counts[:, 0], counts[:, 0]])
    names = ["right_in_all", "right_in_any", "right_in_none"]
    figure = mean_of(names, values, np.ones(len(values)))
    return Figure(names, figure.table, lambda sums: figure.statistic(sums)[..., :-1])


def count_right(right: Right) -> np.ndarray:
    """Return the probability that each fact is correct in exactly k languages [facts, 0 … L]."""
    table = np.column_stack(list(right.values()))
    counts = np.zeros((len(table), table.shape[1] + 1))
    counts[:, 0] = 1
    for share in table.T:
        moved = counts[:, :-1] * share[:, None]
        counts *= 1 - share[:, None]
        counts[:, 1:] += moved
    return counts
