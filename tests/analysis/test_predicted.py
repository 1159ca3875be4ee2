"""Free predictions of a model, counted by hand."""

import pytest

from polyprobe.metrics.coverlap.formulas import compare_right
from tests.making.tables import make_predictions, measure_predictions


def test_accuracy_is_a_mean_over_relations():
    found = measure_predictions({"en": make_predictions(["gold", "Gold", "x", "gold"])})
    assert found["accuracy"] == {"en": pytest.approx((2 / 3 + 1) / 2)}
    figures = found["factual_accuracy"]["en"]
    assert (figures["single"], figures["multi"]) == (1.0, (0 + 1) / 2)
    assert (found["k_correct"], found["k_share"]) == ([1, 3], [1.0])
    assert found["intervals"] == {}


def test_coverlap_is_over_facts_asked_in_both():
    english = make_predictions(["gold", "gold", "x", "gold"])
    french = make_predictions(["gold", "x", "gold", None], single=(True, True, True, None))
    found = measure_predictions({"en": english, "fr": french})
    right = [0, 0, 1], [0, 1, 0]
    expected = compare_right(*right, answers=[[0]] * 3, n_resamples=0)
    assert found["coverlap"] == {"en-fr": expected["coverlap"]} == {"en-fr": 1 / 3}
    assert found["left_out"]["facts"] == {"en": 0, "fr": 1}
    assert found["accuracy"]["fr"] == pytest.approx(2 / 3)  # P19 has no queries
    assert found["mean"]["accuracy"] == pytest.approx((5 / 6 + 2 / 3) / 2)


def test_an_english_full_stop_is_forgiven_behind_the_slot():
    rows = {"forms": "Apple Inc.", "prompt": "It is [Y] ."}
    assert measure_predictions({"en": make_predictions(["apple inc"] * 4, **rows)})["accuracy"] == {
        "en": 1.0
    }
    assert measure_predictions({"fr": make_predictions(["apple inc"] * 4, **rows)})["accuracy"] == {
        "fr": 0.0
    }


def test_a_language_in_which_nothing_was_asked():
    nothing = make_predictions([None] * 4, single=[None] * 4)
    found = measure_predictions({"en": make_predictions(["gold"] * 4), "zh": nothing})
    assert found["accuracy"] == {"en": 1.0, "zh": None}
    assert found["mean"] == {"accuracy": 1.0, "coverlap": None}
    assert found["left_out"] == {"coverlap": 1, "facts": {"en": 0, "zh": 4}}
