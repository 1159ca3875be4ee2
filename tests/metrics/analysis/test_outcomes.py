"""RankC by outcome compared with plain loops."""

import numpy as np
import pytest

from polyprobe.metrics.joint.measures import condition_rankc
from polyprobe.metrics.rankc.formulas import rankc_per_query
from polyprobe.metrics.shared.intervals import estimate_figure


def draw(n, shift, shared, seed=0):
    """Scores of 6 candidates in two languages: raised for the answer, else partly common."""
    random = np.random.default_rng(seed)
    common = shared * random.normal(size=(n, 6))
    scores = {x: common + random.normal(size=(n, 6)) for x in ("en", "fr")}
    for values in scores.values():
        values[:, 0] += shift
    right = {x: (values.argmax(1) == 0).astype(float) for x, values in scores.items()}
    return scores, right


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
