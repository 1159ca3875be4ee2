"""Measure how high a correct candidate ranks: recall@k and mean rank (Semenov and Sennrich 2025).

The rank of a query is the best one, counted from 1, of all its correct candidates in the one list.
Where the best correct score is shared by `equal` candidates, `right` of them right, and `better`
ones are above, all orders of the equal ones are as likely. With m = clip(k - better, 0, equal):

    P(rank <= k) = 1 - C(equal - right, m) / C(equal, m)
    E(rank)      = better + (equal + 1) / (right + 1)

>>> standing = find_standing([[0.1, 0.9, 0.9, 0.5], [0.5, 0.1]], references=[[1], [1]])
>>> recall_probability(standing, [1, 2])
array([[0.5, 0. ],
       [1. , 1. ]])
>>> expected_rank(standing)
array([1.5, 2. ])
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from polyprobe.metrics.shared.intervals import check_name, share, summarize
from polyprobe.metrics.shared.rows import TIES, Answers, Scores, mark_right, read_depths, read_rows


class Standing(NamedTuple):
    """The position of the best correct candidate: counts of candidates, arrays over queries."""

    better: np.ndarray  # above it, all of them wrong
    equal: np.ndarray  # at its score, itself included
    right: np.ndarray  # the correct ones of these
    earlier: np.ndarray  # those of these that precede the first correct one in the list
    pool: np.ndarray  # all
    answers: np.ndarray  # all correct ones


def find_standing(predictions: Scores, references: Answers) -> Standing:
    """Find the position of the best correct candidate of each query."""
    flat, sizes = read_rows(predictions, "predictions")
    right, starts = mark_right(references, sizes), sizes.cumsum() - sizes
    # The best correct candidate decides; all others at its score may precede it.
    best = np.maximum.reduceat(np.where(right, flat, -np.inf), starts).repeat(sizes)
    equal, places = flat == best, np.arange(len(flat))
    first = np.minimum.reduceat(np.where(equal & right, places, len(flat)), starts)
    earlier = equal & (places < first.repeat(sizes))
    marks_by_kind = (flat > best, equal, equal & right, earlier, np.ones_like(right), right)
    return Standing(*(np.add.reduceat(marks, starts, dtype=np.intp) for marks in marks_by_kind))


def sort_stably(standing: Standing) -> Standing:
    """Make the standing where, of equal candidates, the earlier in the list ranks higher."""
    ones = np.ones_like(standing.better)
    return standing._replace(better=standing.better + standing.earlier, equal=ones, right=ones)


def shuffle(standing: Standing) -> Standing:
    """Make the standing that constant scores have, where any order of the pool is as likely."""
    nothing = np.zeros_like(standing.better)
    return standing._replace(better=nothing, equal=standing.pool, right=standing.answers)


def recall_probability(standing: Standing, k: Sequence[int]) -> np.ndarray:
    """Compute the probability that a correct candidate is among the first k [ks, queries].

    Right candidates are placed one by one: where the first i of r are not among the m first places
    of e, the next is with m / (e - i). r and m may change places, so the steps are at most k. All
    terms are positive, so nothing cancels or overflows (relative error of some 1e-15).
    """
    # Of the first k, `better` are wrong for certain; the rest are drawn from the equal ones.
    places = np.clip(np.array(k)[:, None] - standing.better, 0, standing.equal)
    smaller, larger = np.minimum(places, standing.right), np.maximum(places, standing.right)
    probability = np.zeros(places.shape)
    for i in range(smaller.max()):
        share = np.minimum(larger / np.maximum(standing.equal - i, 1), 1)
        probability += np.where(i < smaller, (1 - probability) * share, 0)
    return probability


def expected_rank(standing: Standing) -> np.ndarray:
    """Compute the expected rank, from 1, of the best correct candidate of each query."""
    return standing.better + (standing.equal + 1) / (standing.right + 1)


def measure_recall(
    predictions: Scores,
    references: Answers,
    k: int | Sequence[int] = (1, 5, 10),
    ties: str = "expected",
    **options: Any,
) -> dict[str, Any]:
    """Compute recall at each k and the mean rank, their chance levels, intervals and counts."""
    check_name(ties, TIES, "ties")
    depths = read_depths(k)
    standing = find_standing(predictions, references)
    figures: dict[str, Any] = {}
    values = _name_figures(standing if ties == "expected" else sort_stably(standing), depths)
    for name, column in values.items():
        figures[name] = column if name == "mean_rank" else share(column)
    for name, column in _name_figures(shuffle(standing), depths).items():
        figures[f"{name}_chance"] = column
    n_tied = int((standing.equal > standing.right).sum())
    return {**summarize(figures, **options), "n_queries": len(standing.pool), "n_tied": n_tied}


def recall_per_query(
    predictions: Scores, references: Answers, k: Sequence[int], ties: str = "expected"
) -> dict[str, np.ndarray]:
    """Compute recall at each k and the rank, one value for each query."""
    standing = find_standing(predictions, references)
    return _name_figures(standing if ties == "expected" else sort_stably(standing), k)


def _name_figures(standing: Standing, depths: Sequence[int]) -> dict[str, np.ndarray]:
    recalls = zip(depths, recall_probability(standing, depths), strict=True)
    return {**{f"recall@{k}": row for k, row in recalls}, "mean_rank": expected_rank(standing)}
