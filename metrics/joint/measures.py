"""Measures of a run from the kernels of the metrics: by language, by pair, of all languages.

A fact is drawn for all languages at once: the intervals of all pairs and of their mean contain the
dependence between languages. Languages break ties independently of each other: each figure of all
languages is an expectation, and a plain count without ties.

>>> from polyprobe.metrics.shared.intervals import estimate_figure
>>> right = {"en": [1, 1, 0, 1], "fr": [1, 0, 0, 1]}
>>> estimate_figure(find_right_counts(right), n_resamples=0)
{'right_in_all': 0.5, 'right_in_any': 0.75, 'right_in_none': 0.25}
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, permutations
from typing import Any

import numpy as np

from polyprobe.metrics.rank_overlap.formulas import rbo_weights
from polyprobe.metrics.rankc.formulas import rankc_pairs
from polyprobe.metrics.shared.intervals import Figure, mean_of, name_pairs
from polyprobe.metrics.shared.rows import Scores

Right = Mapping[str, Sequence[float] | np.ndarray]

OUTCOMES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "right_right": lambda first, second: first * second,
    "right_wrong": lambda first, second: first + second - 2 * first * second,
    "wrong_wrong": lambda first, second: (1 - first) * (1 - second),
}
"""Outcome → its probability, from the probability that each language is correct."""


def find_rbo(scores: Mapping[str, Scores]) -> Figure:
    """Make RBO_EXT (p = .9) by pair: overlapping tops as in RankC, with geometric weights."""
    values = rankc_pairs(scores, rbo_weights)
    return mean_of(name_pairs(list(scores)), values, np.ones(len(values)), share=True)


def find_right_counts(right: Right) -> Figure:
    """Make the shares of facts correct in all languages (PolyFact's TotCons), in any, in none."""
    counts = count_right(right)
    values = np.column_stack([counts[:, -1], 1 - counts[:, 0], counts[:, 0]])
    names = ["right_in_all", "right_in_any", "right_in_none"]
    figure = mean_of(names, values, np.ones(len(values)), share=True)
    return figure._replace(names=names, statistic=lambda sums: figure.statistic(sums)[..., :-1])


def find_right_in_both(right: Right) -> Figure:
    """Make P(a and b) by pair: the share of facts correct in both languages.

    `right` has the probability that each fact is correct, NaN for facts that a language does not
    have; a pair's share is over the facts of both.
    """
    first, second, names = _take_pairs(right)
    intersections = first * second
    return mean_of(names, np.nan_to_num(intersections), ~np.isnan(intersections), share=True)


def find_right_given_right(right: Right) -> Figure:
    """Make P(a | b) by ordered pair a-b: correct in both / correct in b (Schott et al. 2023)."""
    first, second, names = _take_pairs(right, ordered=True)
    intersections = first * second
    weights = np.where(np.isnan(intersections), 0, second)
    return mean_of(names, np.nan_to_num(intersections), weights, share=True)


def find_right_alone(right: Right) -> Figure:
    """Make P(a and not b) by ordered pair a-b: the share of facts correct in a alone of both."""
    first, second, names = _take_pairs(right, ordered=True)
    differences = first * (1 - second)
    return mean_of(names, np.nan_to_num(differences), ~np.isnan(differences), share=True)


def _take_pairs(right: Right, ordered: bool = False) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Take the values of the first and of the second language of all pairs, and their names."""
    table = np.column_stack(list(right.values())).astype(np.float64)
    choose = permutations if ordered else combinations
    i, j = np.array([*choose(range(len(right)), 2)], dtype=np.intp).reshape(-1, 2).T
    return table[:, i], table[:, j], [*map("-".join, choose(right, 2))]


def count_right(right: Right) -> np.ndarray:
    """Compute the probability that each fact is correct in exactly k languages [facts, 0 … L]."""
    table = np.column_stack(list(right.values()))
    counts = np.zeros((len(table), table.shape[1] + 1))
    counts[:, 0] = 1
    for share in table.T:
        gains = counts[:, :-1] * share[:, None]
        counts *= 1 - share[:, None]
        counts[:, 1:] += gains
    return counts


def count_correct(right: Right) -> dict[str, Any]:
    """Count the facts correct in exactly 0, 1, … L languages, `k_correct`; see `share_right`."""
    counts = count_right(right).sum(axis=0).tolist()
    return {"k_correct": counts, "k_share": share_right(counts)}


def share_right(counts: Sequence[float]) -> list[float] | None:
    """Compute the shares of facts correct in exactly 1 … L languages, of those correct in any."""
    somewhere = sum(counts[1:])  # X-FACTR, figure 5
    return [count / somewhere for count in counts[1:]] if somewhere else None


def condition_rankc(right: Right, values: np.ndarray, outcome: str) -> Figure:
    """Make RankC by pair over the facts correct in both languages, in one, or in neither.

    `values` are those of `rankc_pairs`. A fact that is correct with a probability (ties at rank 1)
    has this probability as its weight in each outcome, ties taken independently; the RankC of the
    fact itself stays the expectation over all orders.
    """
    first, second, names = _take_pairs(right)
    weight = OUTCOMES[outcome](first, second)
    return mean_of(names, weight * values, weight, share=True)
