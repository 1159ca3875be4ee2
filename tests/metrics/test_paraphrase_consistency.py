import json
import math
from itertools import combinations
from pathlib import Path
from statistics import fmean

import evaluate
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyprobe.metrics.paraphrase_consistency.formulas import (
    find_ambiguous,
    measure_consistency,
    share_pairs,
)

FOLDER = Path(__file__).resolve().parents[2] / "metrics" / "paraphrase_consistency"
FIGURES = ("consistency", "accuracy", "consistency_accuracy")


@pytest.fixture
def metric(tmp_path, monkeypatch):
    monkeypatch.setattr(evaluate.config, "HF_UPDATE_DOWNLOAD_COUNTS", False)
    return evaluate.load(str(FOLDER), cache_dir=str(tmp_path))


@pytest.mark.filterwarnings("error")
def test_shares_of_fewer_than_two_templates_are_undefined():
    shares = share_pairs([["A"], [], ["A", "A"]], ["A"] * 3)
    for share in shares.values():
        assert np.isnan(share).tolist() == [True, True, False]


def loop_over_templates(tuples):
    """A relation's three figures as equation 1 has them; None without a tuple of two templates."""
    rows = []
    for answers, right in tuples:
        if len(answers) < 2:
            continue
        agree = [one == other for one, other in combinations(answers, 2)]
        both = [one == other == right for one, other in combinations(answers, 2)]
        rows.append((fmean(agree), fmean(answer == right for answer in answers), fmean(both)))
    return [fmean(column) for column in zip(*rows, strict=True)] or [None] * 3


LABELS = st.sampled_from("ABCé")
TUPLES = st.lists(
    st.tuples(st.lists(LABELS, max_size=7), LABELS, st.sampled_from(["P19", "P36", "P17"])),
    min_size=1,
    max_size=12,
)


@settings(max_examples=150, deadline=None)
@given(tuples=TUPLES)
def test_figures_are_those_of_a_double_loop_over_templates(tuples):
    predictions, references, groups = map(list, zip(*tuples, strict=True))
    result = measure_consistency(predictions, references, groups=groups, n_resamples=0)
    loops = {
        group: loop_over_templates([(row, right) for row, right, g in tuples if g == group])
        for group in groups
    }
    assert result["by_group"].keys() == loops.keys()
    for group, expected in loops.items():
        assert [result["by_group"][group][name] for name in FIGURES] == pytest.approx(expected)
    for i, name in enumerate(FIGURES):
        known = [figures[i] for figures in loops.values() if figures[i] is not None]
        assert result[name] == (pytest.approx(fmean(known)) if known else None)
    assert result["n_queries"] == sum(len(row) > 1 for row in predictions)
    assert result["n_single_template"] == sum(len(row) < 2 for row in predictions)
    micro = measure_consistency(
        predictions, references, groups=groups, average="micro", n_resamples=0
    )
    plain = loop_over_templates([(row, right) for row, right, _ in tuples])
    assert [micro[name] for name in FIGURES] == pytest.approx(plain)


AMBIGUOUS = [  # relation, subject, object
    ("P37", "Belgium", "French", True),
    ("P37", "Belgium", "Dutch", True),
    ("P37", "Kenya", "Swahili", False),
    ("P30", "Belgium", "Europe", False),  # one object in this relation
    ("P30", "Kenya", "Africa", False),
    ("P30", "Kenya", "Africa", False),  # the same tuple again
    ("P36", "Guinea", "Conakry", False),
    ("P36", "Guinea-Bissau", "Bissau", False),  # "Guinea" again up to the hyphen
]


def test_subjects_with_several_objects_in_their_group_are_ambiguous():
    groups, subjects, objects, expected = map(list, zip(*AMBIGUOUS, strict=True))
    assert find_ambiguous(subjects, objects, groups).tolist() == expected
    over_all = [subject in ("Belgium", "Kenya") for subject in subjects]
    assert find_ambiguous(subjects, objects).tolist() == over_all
    released = find_ambiguous([s.split("-")[0] for s in subjects], objects, groups)
    assert released.tolist() == [*expected[:6], True, True]


def test_ambiguous_tuples_are_left_out_after_prediction_and_counted():
    groups, subjects, objects, ambiguous = map(list, zip(*AMBIGUOUS, strict=True))
    predictions = [[right, right, "French"] for right in objects]
    predictions[0] = ["French"]  # ambiguous, and of one template
    predictions[2] = ["Swahili"]
    predictions[3] = ["Europe", "Asia"]
    result = measure_consistency(predictions, objects, subjects=subjects, groups=groups)
    left_out = [x or len(row) < 2 for x, row in zip(ambiguous, predictions, strict=True)]
    kept = [i for i, out in enumerate(left_out) if not out]
    without = [[column[i] for i in kept] for column in (predictions, objects, groups)]
    expected = measure_consistency(*without[:2], groups=without[2])
    assert result["by_group"].pop("P37") == dict.fromkeys(
        [key for name in FIGURES for key in (name, f"{name}_ci")]
    ) | {"n_queries": 0}
    assert result == {**expected, "n_single_template": 1, "n_ambiguous": 2}
    assert result["consistency"] == pytest.approx(((0 + 1 / 3 + 1 / 3) / 3 + 1 / 3) / 2)
    assert [g["n_queries"] for g in result["by_group"].values()] == [3, 2]


def test_clusters_go_with_the_tuples_that_count():
    predictions = [["A", "A"], ["A"], ["A", "A"], ["A", "B"], ["B", "C"]]
    subjects = ["s", "t", "s", "u", "u"]
    whole = measure_consistency(predictions, ["A"] * 5, clusters=subjects)
    kept = [row for row in predictions if len(row) > 1]
    expected = measure_consistency(kept, ["A"] * 4, clusters=["s", "s", "u", "u"])
    assert whole == {**expected, "n_single_template": 1}
    assert whole["consistency_ci"] == pytest.approx([0, 1], abs=0.002)  # two subjects, 1 and 0
    assert measure_consistency(kept, ["A"] * 4, clusters=["s", "t", "u", "v"]) != expected


def test_relation_without_a_tuple_that_counts_is_left_out_or_counts_zero():
    case = {"predictions": [["A", "A"], ["A"]], "references": ["A", "A"], "groups": ["P1", "P2"]}
    assert measure_consistency(**case)["consistency"] == 1
    assert measure_consistency(**case, empty="zero")["consistency"] == (1 + 0) / 2


def test_a_single_tuple_has_no_interval_and_no_template_no_value():
    one = measure_consistency([["A", "A"]], ["A"])
    assert (one["consistency"], one["consistency_ci"], one["n_queries"]) == (1, None, 1)
    none = measure_consistency([[], ["A"]], ["A", "A"])
    assert (none["accuracy"], none["accuracy_ci"]) == (None, None)
    assert (none["n_queries"], none["n_single_template"]) == (0, 2)


ERRORS = {
    "none": ({"predictions": [["A", None]]}, "None in query 0 of 'predictions'; expected a text"),
    "nan": ({"predictions": [["A"], [math.nan]]}, "nan in query 1 of 'predictions'; expected"),
    "number": ({"predictions": [["A"], ["A", 3]]}, "3 in query 1 of 'predictions'; expected a te"),
    "string": ({"predictions": [["A"], "AB"]}, "query 1 of 'predictions' is 'AB'; expected a list"),
    "no right": ({"references": ["A", None]}, "query 1 of 'references' is None; expected a text"),
    "lists of right": ({"references": [["A"], ["B"]]}, r"query 0 of 'references' is \['A'\]; exp"),
    "no references": ({"references": None}, "'references' is None; expected a list with an entry"),
    "subjects": ({"subjects": ["s"]}, "2 queries in 'predictions', 1 in 'subjects'"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case, metric):
    changes, message = ERRORS[case]
    inputs = {"predictions": [["A", "A"], ["A"]], "references": ["A", "B"], **changes}
    with pytest.raises(ValueError, match=message) as raised:
        metric.compute(**inputs)
    assert "\n" not in str(raised.value)


def test_batches_with_an_error_between_and_json(metric):
    metric.add_batch(predictions=[["A", "A"]], references=["A"])
    with pytest.raises(ValueError, match="query 0 of 'predictions' is 'AB'"):
        metric.add(prediction="AB", reference="A")
    metric.add(prediction=np.array(["A", "B"]), reference="A")
    result = metric.compute(groups=["P1", "P2"], n_resamples=10)
    assert result["consistency"] == (1 + 0) / 2
    assert json.loads(json.dumps(result)) == result
