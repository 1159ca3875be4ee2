"""Figures of single languages from score tables, by hand."""

from itertools import product

import numpy as np
import pytest

from polyprobe.analysis.figures.facts import ScoredFacts
from polyprobe.analysis.figures.modules import measure_modules
from polyprobe.analysis.figures.units import Units, read_clusters
from polyprobe.metrics.coverlap.formulas import compare_right
from polyprobe.system.messages import PolyprobeError
from tests.making.tables import EVERY, make_predictions, make_scores, measure_predictions


def measure(rows, scoring="bmlama-eq10"):
    return {
        name: found["en"]
        for name, found in measure_modules(
            ScoredFacts({"en": make_scores(rows)}, scoring=scoring), Units().modules, EVERY
        ).items()
    }


def test_recall_is_a_mean_over_relations():
    rows = [("P36:a:b", [0], [3, 2, 1]), ("P36:c:d", [1], [3, 2, 1]), ("P19:e:f", [2], [3, 2, 1])]
    found = measure(rows)
    assert found["recall_at_k"]["recall@1"] == ((1 + 0) / 2 + 0) / 2
    assert found["recall_at_k"]["mean_rank"] == ((1 + 2) / 2 + 3) / 2
    assert set(found) == {"recall_at_k"}


def test_contrast_is_with_the_mean_of_probabilities():
    """.3 is more than (.5 + 0) / 2 and less than .5: the mean counts."""
    log = [float(x) for x in np.log([0.3, 0.5, 1e-9])]
    rows = [("P36:a:b", [0], log), ("P36:c:d", [2], log)]
    found = measure(rows, "contrastive")["contrastive_knowledge"]
    assert (found["accuracy"], found["n_queries"]) == (1 / 2, 2)


def test_a_row_without_a_wrong_candidate_is_left_out_and_counted():
    rows = [("P36:a:b", [0], [-1.0]), ("P36:c:d", [0], [-1.0, -2.0])]
    found = measure(rows, "contrastive")["contrastive_knowledge"]
    assert (found["accuracy"], found["n_queries"], found["n_without_contrast"]) == (1, 1, 1)
    found = measure(rows[:1], "contrastive")["contrastive_knowledge"]
    assert (found["accuracy"], found["n_without_contrast"]) == (None, 1)


def test_rows_of_one_fact_are_its_templates():
    """Predicted 0 0 1: one pair of three agrees, two of three are correct."""
    rows = [("P36:a:b", [0], [2, 1]), ("P36:a:b", [0], [2, 1]), ("P36:a:b", [0], [1, 2])]
    found = measure(rows)["paraphrase_consistency"]
    assert found["consistency"] == pytest.approx(1 / 3)
    assert found["accuracy"] == pytest.approx(2 / 3)
    assert found["consistency_accuracy"] == pytest.approx(1 / 3)


def test_of_equal_candidates_the_one_of_fewest_tokens_is_predicted():
    tied = ("P36:a:b", [1], [2, 2, 2], [2, 1, 1])
    assert measure([tied, tied])["paraphrase_consistency"]["accuracy"] == 1


def test_a_subject_with_several_objects_is_left_out():
    rows = [(f"P36:a:{o}", [i], [2, 1]) for i, o in enumerate("bc") for _ in range(2)]
    rows += [("P36:d:b", [0], [2, 1])] * 2
    found = measure(rows)["paraphrase_consistency"]
    assert (found["n_queries"], found["n_ambiguous"]) == (1, 2)


def test_clusters_are_drawn_whole():
    """ScoredFacts of one subject in three relations: by subject the interval is wider."""
    random = np.random.default_rng(0)
    rows = []
    for subject, relation in product(range(40), ("P36", "P19", "P27")):
        right = (0.8 if subject % 2 else 0.1) > random.random(2)
        for one in right:
            rows.append((f"{relation}:{subject}:o", [0], [2, 1] if one else [1, 2]))
    made = make_scores(rows)
    widths = {}
    for kind in ("none", "subject"):
        units = Units(500, clusters=read_clusters(made, kind))
        found = measure_modules(ScoredFacts({"en": made}), units.modules, EVERY)
        low, high = found["paraphrase_consistency"]["en"]["accuracy_ci"]
        widths[kind] = high - low
    assert widths["subject"] > 1.3 * widths["none"]


def test_rows_of_one_fact_are_drawn_together():
    made = make_scores([("P36:a:b", [0], [2, 1])] * 2 + [("P36:c:d", [0], [2, 1])])
    assert read_clusters(made, "none") == ["P36:a:b", "P36:a:b", "P36:c:d"]
    assert read_clusters(made.slice(1), "none") is None


def test_templates_with_other_candidates_cannot_be_compared():
    with pytest.raises(PolyprobeError, match="fact P36:a:b: its templates have other candidates"):
        measure([("P36:a:b", [0], [2, 1]), ("P36:a:b", [1], [2, 1])])


# Free predictions of a model, counted by hand.


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
