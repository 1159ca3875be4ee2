"""Measures of a run from the kernels of the metrics: by language, by pair, of all languages.

A fact is drawn for all languages at once: the intervals of all pairs and of their mean contain the
dependence between languages. One call takes 1,000 resamples of all 1,378 pairs of 53 languages.
Languages break ties independently of each other: each figure of all languages is an expectation,
and a plain count without ties.

RankC is claimed to be independent of accuracy. `condition_rankc` and `find_excess` test the claim:
RankC over the facts that both languages, one, or neither answers correctly, and the RankC that two
unrelated rankings with the same accuracies reach.

>>> from polyprobe.metrics.shared.intervals import estimate_figure
>>> right = {"en": [1, 1, 0, 1], "fr": [1, 0, 0, 1]}
>>> estimate_figure(find_right_counts(right), n_resamples=0)
{'right_in_all': 0.5, 'right_in_any': 0.75, 'right_in_none': 0.25}
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from polyprobe.metrics.rank_overlap.rank_overlap import rbo_weights
from polyprobe.metrics.rankc.rankc import rank_weights, rankc_pairs
from polyprobe.metrics.shared.intervals import Figure, add_mean, mean_of, name_pairs
from polyprobe.metrics.shared.rows import Scores

Right = Mapping[str, Sequence[float] | np.ndarray]

OUTCOMES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "right_right": lambda first, second: first * second,
    "right_wrong": lambda first, second: first + second - 2 * first * second,
    "wrong_wrong": lambda first, second: (1 - first) * (1 - second),
}
"""Outcome → its probability, from the probability that each language is correct."""


def find_rbo(scores: Mapping[str, Scores]) -> Figure:
    """Return RBO_EXT (p = .9) by pair: overlapping tops as in RankC, with geometric weights."""
    values = rankc_pairs(scores, rbo_weights)
    return mean_of(name_pairs(list(scores)), values, np.ones(len(values)), share=True)


def find_right_counts(right: Right) -> Figure:
    """Return the shares of facts correct in all languages (PolyFact's TotCons), in any, in none."""
    counts = count_right(right)
    values = np.column_stack([counts[:, -1], 1 - counts[:, 0], counts[:, 0]])
    names = ["right_in_all", "right_in_any", "right_in_none"]
    figure = mean_of(names, values, np.ones(len(values)), share=True)
    return figure._replace(names=names, statistic=lambda sums: figure.statistic(sums)[..., :-1])


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


def condition_rankc(right: Right, values: np.ndarray, outcome: str) -> Figure:
    """Return RankC by pair over the facts correct in both languages, in one, or in neither.

    `values` are those of `rankc_pairs`. A fact that is correct with a probability (ties at rank 1)
    has this probability as its weight in each outcome, ties taken independently; the RankC of the
    fact itself stays the expectation over all orders.
    """
    table = np.column_stack(list(right.values())).astype(np.float64)
    one, other = np.triu_indices(table.shape[1], 1)
    weight = OUTCOMES[outcome](table[:, one], table[:, other])
    return mean_of(name_pairs(list(right)), weight * values, weight, share=True)


def find_excess(
    right: Right, values: np.ndarray, kinds: np.ndarray, weights: str = "softmax"
) -> Figure:
    """Return RankC minus the RankC of unrelated rankings with the same two accuracies@1, by pair.

    `values` are those of `rankc_pairs`, `kinds` the numbers of candidates and of correct ones of
    each fact [facts, 2]. Facts of a kind have the accuracy of that kind, so that guessing gives 0
    in pools of any size; each resample has its own accuracies. A value above 0 is not explained by
    rank 1: a correct answer may still be second in both languages, or wrong candidates may be
    shared.
    """
    table = np.column_stack(list(right.values())).astype(np.float64)
    known, codes = np.unique(kinds, axis=0, return_inverse=True)
    one, other = np.triu_indices(table.shape[1], 1)
    member = codes.ravel()[:, None] == np.arange(len(known))
    correct = (member[:, :, None] * table[:, None, :]).reshape(len(table), -1)

    def statistic(sums: np.ndarray) -> np.ndarray:
        rankc, counts, hits = np.split(sums, [len(one), len(one) + len(known)], axis=-1)
        hits = hits.reshape(*counts.shape, table.shape[1])
        accuracies = hits / np.maximum(counts, 1)[..., None]
        n = counts.sum(axis=-1, keepdims=True)
        matched = matched_chance(accuracies, known, counts / n, weights)[..., one, other]
        return add_mean(rankc / n - matched)

    names = [*name_pairs(list(right)), "mean"]
    return Figure(names, np.concatenate([values, member, correct], axis=1), statistic)


def matched_chance(
    accuracies: np.ndarray, kinds: np.ndarray, shares: np.ndarray, weights: str = "softmax"
) -> np.ndarray:
    """Return the expected RankC of unrelated rankings with given accuracies [..., L, L].

    Rank 1 has one of the m correct candidates with the probability `accuracy`, else one of the N -
    m wrong ones, independently in both languages; which of them, and all other ranks, are random.
    The top j then contain on average

        U_j = a (1 + (j-1) (m-1) / (N-1)) + (1-a) (j-1) m / (N-1)

    correct ones, all equally likely, and the expected overlap of the tops is
    U_j U'_j / m + (j - U_j) (j - U'_j) / (N - m). At chance accuracy m / N it is `rankc_chance`.

    Args:
        accuracies: [..., K, L], accuracy@1 of L languages on the facts of each kind.
        kinds: [K, 2], the numbers N and m that occur.
        shares: [..., K], how frequent each of them is; they sum to 1.
        weights: of the ranks, as in `rankc.rank_weights`.
    """
    total = 0.0
    for i, (size, right) in enumerate(kinds.tolist()):
        depth = np.arange(1, size + 1)
        share = rank_weights(size, weights) / depth
        hits = _right_in_top(accuracies[..., i, :, None], depth, size, right)
        overlap = (hits * share / right) @ np.swapaxes(hits, -1, -2)
        if size > right:
            rest = depth - hits
            overlap = overlap + (rest * share / (size - right)) @ np.swapaxes(rest, -1, -2)
        total = total + shares[..., i, None, None] * overlap
    return np.asarray(total)


def _right_in_top(accuracy: np.ndarray, depth: np.ndarray, size: int, right: int) -> np.ndarray:
    """Return the expected number of correct candidates in the top j, [..., N]."""
    if size == right:
        return np.ones_like(accuracy) * depth
    further = (depth - 1) / (size - 1)
    return accuracy * (1 + further * (right - 1)) + (1 - accuracy) * further * right
