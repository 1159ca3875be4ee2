"""Accuracy-matched chance compared with all rankings, and RankC by outcome with plain loops."""

from itertools import permutations, product

import numpy as np
import pytest

from polyprobe.metrics.joint.measures import condition_rankc, find_excess, matched_chance
from polyprobe.metrics.rankc.rankc import rankc_chance, rankc_pairs, rankc_per_query
from polyprobe.metrics.shared.intervals import estimate_figure

ORDERS = [list(order) for order in permutations(range(4))]


def weigh(order, right, accuracy):
    """The probability of an order, if the first place is correct with the given probability."""
    first = sum(o[0] in right for o in ORDERS)
    if order[0] in right:
        return accuracy / first
    return (1 - accuracy) / (len(ORDERS) - first)


@pytest.mark.parametrize("right", [(0,), (1, 3), (0, 1, 2)])
@pytest.mark.parametrize("accuracies", [(0.9, 0.2), (1, 1), (0, 0.5)])
def test_matched_chance_against_all_rankings(right, accuracies):
    expected = 0.0
    for one, other in product(ORDERS, repeat=2):
        share = weigh(one, right, accuracies[0]) * weigh(other, right, accuracies[1])
        scores = [[[-order.index(i) for i in range(4)]] for order in (one, other)]
        expected += share * rankc_per_query(*scores)[0]
    kinds = np.array([[4, len(right)]])
    found = matched_chance(np.array([accuracies]), kinds, np.ones(1))
    assert found[0, 1] == pytest.approx(expected)
    assert found[1, 0] == pytest.approx(expected)


def test_at_chance_accuracy_it_is_chance():
    kinds = np.array([[1, 1], [2, 1], [5, 2], [3, 3]])
    for kind, expected in zip(kinds, rankc_chance(kinds[:, 0]), strict=True):
        accuracy = np.full((1, 2), kind[1] / kind[0])
        found = matched_chance(accuracy, kind[None], np.ones(1))
        np.testing.assert_allclose(found, expected)


def draw(n, shift, shared, seed=0):
    """Scores of 6 candidates in two languages: raised for the answer, else partly common."""
    random = np.random.default_rng(seed)
    common = shared * random.normal(size=(n, 6))
    scores = {x: common + random.normal(size=(n, 6)) for x in ("en", "fr")}
    for values in scores.values():
        values[:, 0] += shift
    right = {x: (values.argmax(1) == 0).astype(float) for x, values in scores.items()}
    return scores, right


def measure_excess(scores, right):
    kinds = np.tile([6, 1], (len(right["en"]), 1))
    return estimate_figure(find_excess(right, rankc_pairs(scores), kinds))


def test_accuracy_alone_leaves_no_excess():
    """Two models that share only correct answers: RankC is far above chance, excess is 0.

    The raised candidate is nearly always first or random: accuracy explains all of RankC.
    """
    random = np.random.default_rng(0)
    scores = {x: random.random((20_000, 6)) for x in ("en", "fr")}
    for values in scores.values():
        values[random.random(20_000) < 0.5, 0] += 1
    right = {x: (values.argmax(1) == 0).astype(float) for x, values in scores.items()}
    rankc = rankc_pairs(scores).mean()
    found = measure_excess(scores, right)
    assert rankc > rankc_chance([6])[0] + 0.15
    assert found["en-fr"] == pytest.approx(0, abs=0.01)
    assert found["mean_ci"] == found["en-fr_ci"]


def test_guessing_leaves_no_excess_in_pools_of_any_size():
    """Constant scores in pools of 2 and of 10: correct with probability 1/2 and 1/10, no excess."""
    sizes = [2, 10] * 50
    scores = {x: [np.zeros(n) for n in sizes] for x in ("en", "fr")}
    right = {x: [1 / n for n in sizes] for x in scores}
    kinds = np.array([[n, 1] for n in sizes])
    found = estimate_figure(find_excess(right, rankc_pairs(scores), kinds))
    assert found["en-fr"] == pytest.approx(0, abs=1e-12)
    assert found["en-fr_ci"] == pytest.approx([0, 0], abs=1e-12)


def test_shared_wrong_answers_are_excess():
    found = measure_excess(*draw(500, 1, 2))
    assert found["en-fr_ci"][0] > 0.1


def test_rankc_by_outcome_against_loops():
    scores, right = draw(200, 1, 1)
    values = rankc_per_query(scores["en"], scores["fr"])
    outcome = right["en"] + right["fr"]
    for name, count in (("right_right", 2), ("right_wrong", 1), ("wrong_wrong", 0)):
        expected = np.mean([v for v, n in zip(values, outcome, strict=True) if n == count])
        assert estimate_figure(condition_rankc(right, values[:, None], name), n_resamples=0)[
            "en-fr"
        ] == pytest.approx(expected)


def test_an_outcome_that_does_not_occur_is_undefined():
    found = condition_rankc({"en": [1, 1], "fr": [1, 1]}, np.ones((2, 1)), "wrong_wrong")
    result = estimate_figure(found)
    assert result == {"en-fr": None, "en-fr_ci": None, "mean": None, "mean_ci": None}


def test_a_tied_fact_counts_in_parts():
    values = np.array([[0.8], [0.4]])
    found = condition_rankc({"en": [0.5, 1], "fr": [1, 0.5]}, values, "right_right")
    result = estimate_figure(found, n_resamples=0)
    assert result["en-fr"] == pytest.approx((0.5 * 0.8 + 0.5 * 0.4) / 1)
