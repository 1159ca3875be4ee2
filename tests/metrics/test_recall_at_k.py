import math
from fractions import Fraction
from itertools import permutations
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.stats import hypergeom

from polyprobe.metrics.accuracy_at_1.formulas import right_probability
from polyprobe.metrics.recall_at_k.formulas import (
    Standing,
    expected_rank,
    find_standing,
    measure_recall,
    recall_probability,
    shuffle,
    sort_stably,
)
from tests.metrics.definitions import draw_queries


def rank_stably(scores, right):
    """Return the 1-based rank of the first correct candidate after a stable sort."""
    order = sorted(range(len(scores)), key=lambda i: scores[i], reverse=True)
    return 1 + min(order.index(i) for i in right)


def rank_in_all_orders(scores, right):
    orders = permutations(range(len(scores)))
    return [rank_stably([scores[i] for i in o], [o.index(i) for i in right]) for o in orders]


@settings(max_examples=100, deadline=None)
@given(queries=draw_queries(largest=6))
def test_expectations_are_means_of_the_stable_sort_over_all_orders(queries):
    scores, answers = queries
    standing, ks = find_standing(scores, answers), range(1, 8)
    constant = [[0.0] * len(row) for row in scores]
    for given_scores, found in ((scores, standing), (constant, shuffle(standing))):
        recall, rank = recall_probability(found, ks), expected_rank(found)
        for query, row in enumerate(given_scores):
            ranks = rank_in_all_orders(row, answers[query])
            assert rank[query] == pytest.approx(fmean(ranks))
            for i, k in enumerate(ks):
                assert recall[i, query] == pytest.approx(fmean(r <= k for r in ranks))
    assert recall_probability(standing, [1])[0] == pytest.approx(right_probability(scores, answers))
    released = [rank_stably(row, right) for row, right in zip(scores, answers, strict=True)]
    assert expected_rank(sort_stably(standing)).tolist() == released
    padding = np.arange(6) >= np.array([[len(row)] for row in scores])
    masked = np.ma.array([row + [9.0] * (6 - len(row)) for row in scores], mask=padding)
    for one, other in zip(find_standing(masked, answers), standing, strict=True):
        assert one.tolist() == other.tolist()


def stand(better, equal, right):
    zero = np.zeros(1, dtype=int)
    return Standing(
        zero + better, zero + equal, zero + right, zero, zero + better + equal, zero + right
    )


@pytest.mark.parametrize(
    ("equal", "right", "m"),
    [
        (51, 2, 1),
        (51, 3, 10),
        (10_000, 1, 1),
        (10_000, 300, 200),
        (10_000, 9_000, 5),
        (10**9, 7, 40),
    ],
)
def test_large_ties_are_as_exact_as_floats_are(equal, right, m):
    missed = Fraction(math.comb(equal - right, m), math.comb(equal, m))
    value = recall_probability(stand(3, equal, right), [m + 3])[0, 0]
    assert value == pytest.approx(float(1 - missed), rel=1e-14)
    if equal < 10**6:
        assert value == pytest.approx(hypergeom.sf(0, equal, right, m), rel=1e-9)


CASE = {
    "predictions": [[3, 2, 1], [3, 2, 1, 0], [5, 5], [9, 8, 7, 6, 5]],
    "references": [[1], [0, 3], [1], [4]],
}


def test_result_with_chance_and_counts():
    result = measure_recall(**CASE, k=[1, 2, 2], n_resamples=0)
    assert result == {
        "recall@1": pytest.approx((0 + 1 + 1 / 2 + 0) / 4),
        "recall@2": pytest.approx((1 + 1 + 1 + 0) / 4),
        "mean_rank": pytest.approx((2 + 1 + 3 / 2 + 5) / 4),
        "recall@1_chance": pytest.approx((1 / 3 + 2 / 4 + 1 / 2 + 1 / 5) / 4),
        "recall@2_chance": pytest.approx((2 / 3 + (1 - 1 / 6) + 1 + 2 / 5) / 4),
        "mean_rank_chance": pytest.approx((4 / 2 + 5 / 3 + 3 / 2 + 6 / 2) / 4),
        "n_queries": 4,
        "n_tied": 1,
    }
    released = measure_recall(**CASE, k=1, ties="released", n_resamples=0)
    assert (released["recall@1"], released["n_tied"]) == (1 / 4, 1)
    assert released["recall@1_chance"] == result["recall@1_chance"]


def test_several_of_one_tie_count_once_and_repeated_indices_too():
    result = measure_recall([[1, 1, 0]], [[0, 1, 1]], n_resamples=0)
    assert (result["recall@1"], result["mean_rank"], result["n_tied"]) == (1, 1, 0)
    assert result["mean_rank_chance"] == pytest.approx(4 / 3)


ERRORS = {
    "k of 0": ([[1, 2]], [[0]], {"k": [1, 0]}, "depth 0 in 'k' is invalid; expected integers"),
    "ties": ([[1, 2]], [[0]], {"ties": "first"}, "unknown ties 'first'; known: expected, released"),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case):
    predictions, references, options, message = ERRORS[case]
    with pytest.raises(ValueError, match=message) as raised:
        measure_recall(predictions, references, **options)
    assert "\n" not in str(raised.value)
