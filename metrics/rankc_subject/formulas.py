"""Measure how much of the consistency of two languages depends on the subject of the question.

Each query is asked a second time, about a donor: another subject of the same relation, none of
whose answers is among the candidates. With C the RankC of one query, s its subject, d the donor:

    R = mean C(r_l(s), r_l2(s))
    P = mean (C(r_l(s), r_l2(d)) + C(r_l(d), r_l2(s))) / 2
    rankc_subject = (R - P) / (1 - P), 0 where P = 1

>>> right = [[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]]
>>> donor = [[2.0, 1.0, 3.0], [2.0, 3.0, 1.0]]
>>> found = measure_rankc_subject(right, right, donor, donor, n_resamples=0)
>>> round(found["rankc"], 4), round(found["rankc_donor"], 4), round(found["rankc_subject"], 4)
(1.0, 0.2124, 1.0)
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from polyprobe.metrics.shared.intervals import (
    Figure,
    Resampling,
    add_mean,
    choose_resamples,
    estimate,
    index_labels,
    name_pairs,
    sum_by,
)
from polyprobe.metrics.shared.ranks import compare_rankings
from polyprobe.metrics.shared.rows import Scores, check_ties, read_languages

NAMES = ("rankc_subject", "rankc", "rankc_donor", "difference")
INPUTS = ("predictions", "references", "donor_predictions", "donor_references")
_ROOM = 1e-9  # P this close to 1 leaves nothing to correct
_FLIPS = 2**22  # at once


def measure_rankc_subject(
    predictions: Scores,
    references: Scores,
    donor_predictions: Scores,
    donor_references: Scores,
    weights: str = "softmax",
    ties: str = "expected",
    **options: Any,
) -> dict[str, Any]:
    """Compute RankC, RankC with another subject, their difference and the corrected value."""
    columns = (predictions, references, donor_predictions, donor_references)
    subject, donor = rankc_subject_per_query(*columns, weights, ties)
    if options.get("n_resamples") is None:  # the same number for the test
        options["n_resamples"] = choose_resamples(len(subject), 1)
    resampling = Resampling(**options)
    table = np.column_stack([subject, donor, np.ones(len(subject))])
    shares = np.array([[np.nan, 1, 1, np.nan]]) * np.ones((len(subject), 1))
    result = estimate(Figure([*NAMES], table, _compare, shares), resampling)
    p = None
    if resampling.n_resamples:
        groups = resampling.groups if resampling.average == "macro" else None
        codes = index_labels(groups, len(subject), "groups")[1]
        weighed = ((subject - donor) / np.bincount(codes)[codes])[:, None]
        draws = (resampling.clusters, resampling.n_resamples, resampling.seed)
        p = float(flip_signs(weighed, *draws)[0])
    return {**result, "p_value": p, "n_queries": len(subject)}


def rankc_subject_per_query(
    predictions: Scores,
    references: Scores,
    donor_predictions: Scores,
    donor_references: Scores,
    weights: str = "softmax",
    ties: str = "expected",
) -> tuple[np.ndarray, np.ndarray]:
    """Compute R and P of each query, two arrays [queries]."""
    check_ties(ties)
    columns = (predictions, references, donor_predictions, donor_references)
    scores, sizes = read_languages(dict(zip(INPUTS, columns, strict=True)))
    first, second, first_donor, second_donor = scores
    subject = compare_rankings(first, second, sizes, weights, ties)
    # The donor is in one language at a time: what remains does not depend on the subject.
    ways = ((first, second_donor), (first_donor, second))
    crossed = [compare_rankings(*pair, sizes, weights, ties) for pair in ways]
    return subject, np.mean(crossed, axis=0)


def _compare(sums: np.ndarray) -> np.ndarray:
    """Compute the figures of NAMES from sums of R, of P and of queries."""
    counts = np.where(sums[..., 2] > 0, sums[..., 2], np.nan)
    subject, donor = sums[..., 0] / counts, sums[..., 1] / counts
    return np.stack([correct(subject, donor), subject, donor, subject - donor], axis=-1)


def correct(subject: np.ndarray, donor: np.ndarray) -> np.ndarray:
    """Compute (R - P) / (1 - P), 0 where P is 1; NaN stays NaN."""
    room: np.ndarray = 1 - donor
    tight = room < _ROOM
    return np.where(tight, 0, (subject - donor) / np.where(tight, 1, room)) + 0 * donor


def find_rankc_subject(
    languages: Sequence[str], subject: np.ndarray, donor: np.ndarray, mask: np.ndarray
) -> Figure:
    """Compute the corrected RankC by pair, over the counted queries.

    `subject` and `donor` are RankC of each query [queries, pairs] with the right subject, and with
    another one in one of the languages; `mask` marks the queries that have both [queries].
    """

    def statistic(sums: np.ndarray) -> np.ndarray:
        counts = np.where(sums[..., -1:] > 0, sums[..., -1:], np.nan)
        first, second = np.split(sums[..., :-1] / counts, 2, axis=-1)
        return add_mean(correct(first, second))

    weight = np.asarray(mask, dtype=np.float64)[:, None]
    table = np.concatenate([weight * subject, weight * donor, weight], axis=1)
    return Figure([*name_pairs(languages), "mean"], table, statistic)


def flip_signs(
    differences: np.ndarray, clusters: Sequence[Any] | None, n_resamples: int, seed: int = 0
) -> np.ndarray:
    """Compute the two-sided p-value of each column's mean difference from 0 [columns].

    The sign-flip test (Fisher's randomisation test for paired differences): the signs of a query's
    differences, or of a cluster's, are flipped together in all columns;
    p = (1 + flips with a mean as far from 0) / (1 + flips). It is exact for differences that are
    symmetric about 0; R - P is so on average only, and p approximate for few queries.
    """
    codes = index_labels(clusters, len(differences), "clusters")[1]
    units = differences if clusters is None else sum_by(codes, differences)
    observed, random = np.abs(units.sum(axis=0)), np.random.default_rng(seed)
    reached = np.zeros(units.shape[1])
    step = max(1, _FLIPS // len(units))
    for start in range(0, n_resamples, step):
        signs = random.integers(2, size=(min(step, n_resamples - start), len(units))) * 2.0 - 1
        # equal sums must count as equal, whatever the order of summation
        reached += (np.abs(signs @ units) >= observed * (1 - 1e-9) - 1e-12).sum(axis=0)
    return (1 + reached) / (1 + n_resamples)
