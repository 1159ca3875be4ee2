from itertools import permutations
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings

from polyprobe.metrics.accuracy_at_1.formulas import (
    chance_accuracy,
    measure_accuracy,
    right_probability,
)
from tests.metrics.definitions import draw_queries


def sort_stably(scores):
    return sorted(range(len(scores)), key=lambda i: scores[i], reverse=True)[0]


@settings(max_examples=200, deadline=None)
@given(queries=draw_queries(largest=5))
def test_expectation_is_the_mean_of_the_stable_sort_over_all_orders(queries):
    scores, answers = queries
    expected = []
    for row, right in zip(*queries, strict=True):
        orders = permutations(range(len(row)))
        expected.append(fmean(o[sort_stably([row[i] for i in o])] in right for o in orders))
    assert right_probability(scores, answers) == pytest.approx(expected, abs=1e-12)
    released = [sort_stably(row) in right for row, right in zip(*queries, strict=True)]
    assert right_probability(scores, answers, ties="released").tolist() == released
    padding = np.arange(5) >= np.array([[len(row)] for row in scores])
    masked = np.ma.array([row + [9.0] * (5 - len(row)) for row in scores], mask=padding)
    assert (right_probability(masked, answers) == right_probability(scores, answers)).all()


def test_counts_and_chance():
    assert measure_accuracy([[2, 1], [1, 1, 1], [0, 0, 3]], [[0], [1, 2], [0]], n_resamples=0) == {
        "accuracy_at_1": pytest.approx((1 + 2 / 3 + 0) / 3),
        "chance": pytest.approx((1 / 2 + 2 / 3 + 1 / 3) / 3),
        "n_queries": 3,
        "n_tied": 1,
    }


def test_constant_scores_give_chance():
    answers = [[0], [2, 3], [5]]
    constant = [[0.0] * n for n in (1, 4, 9)]
    assert right_probability(constant, answers).tolist() == [1, 2 / 4, 1 / 9]
    assert chance_accuracy(constant, answers).tolist() == [1, 2 / 4, 1 / 9]


ERRORS = {
    "one dimension": (np.ones(2), [[0], [0]], "query 0 of .* is .*; expected a list"),
    "no answers": ([[1, 2]], None, "no references; pass references="),
    "answer no list": (
        [[1, 2]],
        [1.5],
        "references of query 0 are 1.5; expected a list",
    ),
    "too large": (
        [[1], [1, 2]],
        [[0], [2]],
        "answer 2 of query 1 is out of range; expected 0 to 1",
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case):
    predictions, answers, message = ERRORS[case]
    with pytest.raises(ValueError, match=message) as raised:
        measure_accuracy(predictions, answers)
    assert "\n" not in str(raised.value)


def test_error_of_unknown_ties_lists_the_known_ones():
    with pytest.raises(ValueError, match="unknown ties 'first'; known: expected, released"):
        right_probability([[1, 2]], [[0]], ties="first")
