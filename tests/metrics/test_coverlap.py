from itertools import combinations, product

import evaluate
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyprobe.metrics.coverlap.formulas import compare_right, find_coverlap
from polyprobe.metrics.shared.intervals import estimate_figure
from tests.metrics.cases import METRICS


@pytest.mark.parametrize(
    ("predictions", "references", "answers", "both", "either"),
    [
        ([1, 0, 2], [1, 3, 2], [[1], [0], [1]], 1, 2),
        ([0, 0], [0, 0], [[0], [0]], 2, 2),
        ([0, 1], [1, 0], [[0], [0]], 0, 2),
        ([0], [2], [[0, 2]], 1, 1),  # different answers, both correct
        ([0, 0], [2, 2], [[1], [1]], 0, 0),
    ],
)
def test_counts(predictions, references, answers, both, either):
    assert compare_right(predictions, references, answers, n_resamples=0) == {
        "coverlap": both / either if either else None,
        "both": both,
        "either": either,
        "n_queries": len(answers),
    }


PROBABILITIES = st.lists(st.sampled_from([0, 1 / 3, 0.5, 1]), min_size=4, max_size=4)


@settings(max_examples=150, deadline=None)
@given(one=PROBABILITIES, other=PROBABILITIES)
def test_pairs_have_the_ratio_of_expected_counts(one, other):
    """Enumerate the correct queries, independently in both languages, with probabilities."""
    both = either = 0.0
    for a, b in zip(one, other, strict=True):
        for right, right2 in product([True, False], repeat=2):
            chance = (a if right else 1 - a) * (b if right2 else 1 - b)
            both += chance * (right and right2)
            either += chance * (right or right2)
    found = estimate_figure(find_coverlap({"en": one, "fr": other}), n_resamples=0)
    expected = pytest.approx(both / either, abs=1e-12) if any(one + other) else None
    assert found == {"en-fr": expected, "mean": expected}


def test_pairs_without_ties_are_those_of_choices():
    generator = np.random.default_rng(1)
    chosen = generator.integers(0, 3, (5, 40))
    answers = [[index] for index in generator.integers(0, 3, 40).tolist()]
    right = chosen == np.array(answers).T
    figure = find_coverlap({str(i): row.astype(float) for i, row in enumerate(right)})
    found = estimate_figure(figure, n_resamples=0)
    for i, k in combinations(range(5), 2):
        expected = compare_right(chosen[i], chosen[k], answers)["coverlap"]
        assert found[f"{i}-{k}"] == pytest.approx(expected)


@pytest.fixture
def metric(tmp_path, monkeypatch):
    monkeypatch.setattr(evaluate.config, "HF_UPDATE_DOWNLOAD_COUNTS", False)
    return evaluate.load(str(METRICS / "coverlap"), cache_dir=str(tmp_path))


FREE = {
    "languages": ["en", "ru"],
    "names": {
        "Q142": {"en": ["France"], "ru": ["Франция"]},
        "Q41": {"en": "Greece", "ru": "Греция"},
    },
}


def test_free_answers_are_right_if_they_name_a_right_entity(metric):
    english = ["It is France", "Greece", "I don't know", "France"]
    russian = ["Во Франции", "Франция или Греция", "В Греции", "Не в Греции, во Франции"]
    right = ["Q142", ["Q41", "Q142"], "Q41", "Q41"]
    found = metric.compute(predictions=english, references=russian, answers=right, **FREE)
    numbers = [[0, 1, 2, 0], [0, 1, 1, 0], [[0], [1, 0], [1], [1]]]
    columns = dict(zip(("predictions", "references", "answers"), numbers, strict=True))
    assert found == metric.compute(**columns)
    assert (found["both"], found["either"]) == (2, 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "'predictions' has texts; pass names="),
        ({**FREE, "languages": ["en"], "answers": ["Q41"]}, "query 0 has 2 answers, 'languages' 1"),
        ({**FREE, "answers": None}, "no answers; pass answers="),
        ({**FREE, "answers": ["Q1"]}, "query 0 of 'answers' has 'Q1', not in 'names'"),
    ],
)
def test_errors_of_free_answers(options, message, metric):
    given = {"predictions": ["a"], "references": ["b"], "answers": [0], **options}
    with pytest.raises(ValueError, match=message):
        metric.compute(**given)


ERRORS = {
    "no answers": (([0], [0], None), "no answers; pass answers="),
    "no queries": (([], [], []), "no queries in 'answers'"),
    "negative number": (([0], [0], [-2]), "answer -2 is not an index"),
    "empty answers": (([0, 0], [0, 0], [[1], []]), "query 1 has no correct answer"),
    "negative answer": (([0], [0], [[-1]]), "answer -1 is not an index"),
    "fraction": (([0], [0], [[0.5]]), "answer 0.5 is not an index"),
    "negative choice": (([0, 0], [0, -1], [[0], [0]]), "query 1 of 'references' has -1"),
    "missing choice": (([None], [0], [[0]]), "query 0 of 'predictions' is None"),
    "unequal": (([0, 0], [0, 0], [[0]]), "2 queries in 'predictions', 1 in 'answers'"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case, metric):
    (predictions, references, answers), message = ERRORS[case]
    with pytest.raises(ValueError, match=message) as raised:
        metric.compute(predictions=predictions, references=references, answers=answers)
    assert "\n" not in str(raised.value)
