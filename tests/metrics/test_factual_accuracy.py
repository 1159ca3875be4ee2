import math
from itertools import compress
from pathlib import Path

import evaluate
import pytest

from polyprobe.metrics.factual_accuracy.formulas import (
    find_matches,
    match,
    measure_factual_accuracy,
)

FOLDER = Path(__file__).resolve().parents[2] / "metrics" / "factual_accuracy"
STOP = "The maker of [X] is [Y] ."


@pytest.fixture
def metric(tmp_path, monkeypatch):
    monkeypatch.setattr(evaluate.config, "HF_UPDATE_DOWNLOAD_COUNTS", False)
    return evaluate.load(str(FOLDER), cache_dir=str(tmp_path))


@pytest.mark.parametrize(
    ("prediction", "accepted", "language", "right"),
    [
        ("Greek", ["Greek"], "en", True),
        ("GREEK", ["greek"], None, True),
        (" Greek\n", ["Greek "], "en", True),
        ("New  York", ["New York"], "en", False),  # inner spaces count
        ("Greek", ["Modern Greek"], "en", False),
        ("Modern Greek", ["Greek", "modern greek"], "en", True),
        ("Greek.", ["Greek"], "en", False),
        (None, ["None"], "en", False),
        ("", ["", "Greek"], "en", False),
        (" ", ["Greek"], "en", False),
        ("МОСКВА", ["Москва"], "ru", True),
        ("Москве", ["Москва", "Москве"], "ru", True),  # inflected forms are given
        ("strasse", ["Straße"], "de", False),  # lower(), not casefold()
        ("São Paulo", ["Sao Paulo"], "pt", False),
        ("Ha\u0300 No\u0323\u0302i", ["Hà Nội"], "vi", True),  # the same by Unicode
        ("İstanbul", ["İSTANBUL"], "tr", True),
        ("istanbul", ["İstanbul"], "tr", False),  # İ is lowered to i with a dot above
        ("isparta", ["ISPARTA"], "tr", True),
        ("ısparta", ["Isparta"], "tr", False),  # I is lowered to i in Turkish too
        ("北京", ["北京市", "北京"], "zh", True),
        ("東京", ["东京"], "zh", False),
        ("ᲗᲑᲘᲚᲘᲡᲘ", ["თბილისი"], "ka", True),
        ("Αθηνα", ["Αθήνα"], "el", True),
        ("Αθηνα", ["Αθήνα"], None, False),
        ("Αθηνα", ["Αθήνα"], "en", False),
        ("Αθη\u0301να", ["Αθηνα"], "el", True),
        ("Αθη\u0384να", ["Αθηνα"], "el", True),
        ("Ταϊβάν", ["ταϊβαν"], "el", True),
        ("Ταιβάν", ["Ταϊβάν"], "el", False),  # the diaeresis is not a stress mark
        ("Μαΐου", ["Μαϊου"], "el", True),
        ("Ἀθῆναι", ["Ἀθηναι"], "el", True),
        ("Ἀθῆναι", ["Αθηναι"], "el", False),  # nor is breathing
        ("ΚΎΠΡΟΣ", ["Κύπρος"], "el", True),  # Σ at the end is lowered to ς
        ("κυπροσ", ["Κύπρος"], "el", False),
        ("και", ["καὶ"], "el", True),
        ("café", ["cafe"], "el", True),  # Latin letters within Greek texts lose the acute too
    ],
)
def test_match_by_language(prediction, accepted, language, right):
    assert match(prediction, accepted, language) is right


@pytest.mark.parametrize(
    ("prediction", "accepted", "language", "prompt", "right"),
    [
        ("Apple Inc", ["Apple Inc."], "en", STOP, True),
        ("Apple Inc.", ["Apple Inc."], "en", STOP, True),
        ("apple inc ", ["Apple Inc ."], "en", STOP, True),
        ("Apple Inc", ["Apple Inc."], "en", "The maker of [X] is [Y].", True),
        ("Apple Inc.", ["Apple Inc"], "en", STOP, False),  # only the prediction has it
        ("Apple", ["Apple Inc."], "en", STOP, False),
        ("Apple Inc", ["Apple Inc.."], "en", STOP, False),
        ("Apple Inc", ["Apple Inc."], "en", "The maker of [X] is [Y]", False),
        ("Apple Inc", ["Apple Inc."], "en", "[Y] . produces [X]", False),
        ("Apple Inc", ["Apple Inc."], "en", "[Y] produces [X] .", False),
        ("Apple Inc", ["Apple Inc."], "en", None, False),
        ("Apple Inc", ["Apple Inc."], "fr", STOP, False),
        ("Apple Inc", ["Apple Inc."], None, STOP, False),
        ("", ["."], "en", STOP, False),
    ],
)
def test_full_stop_of_english(prediction, accepted, language, prompt, right):
    assert match(prediction, accepted, language, prompt) is right


FACTS = [  # relation, single, prediction, accepted
    ("P17", True, "Kenya", ["Kenya"]),
    ("P17", True, "Peru", ["Kenya"]),
    ("P17", False, "usa", ["United States", "USA"]),
    ("P17", False, None, ["South Africa"]),
    ("P17", False, "Africa", ["South Africa"]),
    ("P36", True, "Paris", ["Paris"]),
    ("P19", False, "Addis", ["Addis Ababa"]),
    ("P19", False, "Ulan Bator", ["Ulaanbaatar", "Ulan Bator"]),
]
GROUPS, SINGLE, PREDICTIONS, REFERENCES = map(list, zip(*FACTS, strict=True))


def test_macro_over_relations_for_all_single_and_multi():
    result = measure_factual_accuracy(PREDICTIONS, REFERENCES, SINGLE, groups=GROUPS, n_resamples=0)
    names = ("all", "n_queries", "single", "n_single", "multi", "n_multi")
    by_group = {
        "P17": (2 / 5, 5, 1 / 2, 2, 1 / 3, 3),
        "P36": (1, 1, 1, 1, None, 0),
        "P19": (1 / 2, 2, None, 0, 1 / 2, 2),
    }
    assert result == {
        "all": pytest.approx((2 / 5 + 1 + 1 / 2) / 3),
        "single": pytest.approx((1 / 2 + 1) / 2),
        "multi": pytest.approx((1 / 3 + 1 / 2) / 2),
        "by_group": {g: dict(zip(names, v, strict=True)) for g, v in by_group.items()},
        "n_queries": 8,
        "n_single": 3,
        "n_multi": 5,
        "n_unpredicted": 1,
    }


def test_released_macro_counts_an_empty_relation_zero():
    case = {"single_token": SINGLE, "groups": GROUPS, "empty": "zero"}
    result = measure_factual_accuracy(PREDICTIONS, REFERENCES, **case)
    assert result["all"] == pytest.approx((2 / 5 + 1 + 1 / 2) / 3)
    assert result["single"] == pytest.approx((1 / 2 + 1 + 0) / 3)
    assert result["multi"] == pytest.approx((1 / 3 + 0 + 1 / 2) / 3)
    assert result["by_group"]["P36"]["multi"] is None
    for name in ("all", "single", "multi"):
        low, high = result[f"{name}_ci"]
        assert low < result[name] < high


def test_without_flags_there_is_only_all():
    result = measure_factual_accuracy(PREDICTIONS, REFERENCES, groups=GROUPS)
    assert result.keys() == {"all", "all_ci", "by_group", "n_queries", "n_unpredicted"}
    assert result["by_group"]["P17"].keys() == {"all", "all_ci", "n_queries"}


@pytest.mark.parametrize("options", [{"groups": GROUPS}, {"clusters": GROUPS}, {}])
def test_single_and_multi_are_drawn_from_their_own_queries(options):
    result = measure_factual_accuracy(PREDICTIONS, REFERENCES, SINGLE, **options)
    inside = result.get("by_group", {}).items()
    for name, flags in (("single", SINGLE), ("multi", [not flag for flag in SINGLE])):
        part = {key: list(compress(column, flags)) for key, column in options.items()}
        kept = (list(compress(column, flags)) for column in (PREDICTIONS, REFERENCES))
        alone = measure_factual_accuracy(*kept, **part)
        assert result[name] == alone["all"]
        if not inside:
            assert result[f"{name}_ci"] == alone["all_ci"]
        for group, found in inside:  # drawn in turn: those before it differ
            bounds = alone["by_group"].get(group, {}).get("all_ci")
            assert found[f"{name}_ci"] == (bounds and pytest.approx(bounds, abs=0.02))


def test_a_relation_with_one_object_of_one_token_is_in_every_draw():
    """One of 40 facts has one token and is correct: the figure is 1 in all resamples."""
    texts = ["Paris"] + ["x"] * 39
    result = measure_factual_accuracy(
        texts, [["Paris"]] * 40, [True] + [False] * 39, groups=["P36"] * 40, empty="zero"
    )
    assert (result["single"], result["single_ci"]) == (1, None)


def test_a_blank_text_is_a_prediction():
    result = measure_factual_accuracy(["", " ", None], [["a"]] * 3, n_resamples=0)
    assert result == {"all": 0, "n_queries": 3, "n_unpredicted": 1}


def test_all_of_one_kind():
    result = measure_factual_accuracy(["a", "b"], [["a"], ["c"]], [False, False])
    assert (result["single"], result["single_ci"], result["n_single"]) == (None, None, 0)
    assert result["multi"] == result["all"] == 1 / 2
    one = measure_factual_accuracy(["a"], [["a"]])
    assert (one["all"], one["all_ci"]) == (1, None)


def test_language_and_prompts_reach_the_matching():
    texts, accepted = ["Apple Inc", "Apple Inc"], [["Apple Inc."], ["Apple Inc."]]
    prompts = [STOP, "[Y] makes [X]"]
    assert find_matches(texts, accepted, "en", prompts).tolist() == [True, False]
    result = measure_factual_accuracy(
        texts, accepted, language="en", prompts=prompts, n_resamples=0
    )
    assert result["all"] == 1 / 2


def test_none_passes_through_evaluate_in_any_place(metric):
    right = [["a"], ["a"]]
    for texts in ([None, "a"], ["a", None], [None, None]):
        expected = measure_factual_accuracy(texts, right, n_resamples=0)
        assert metric.compute(predictions=texts, references=right, n_resamples=0) == expected
        for text in texts:
            metric.add_batch(predictions=[text], references=[["a"]])
        assert metric.compute(n_resamples=0) == expected
        for text in texts:
            metric.add(prediction=text, reference=["a"])
        assert metric.compute(n_resamples=0) == expected
    assert expected == {"all": 0, "n_queries": 2, "n_unpredicted": 2}


ERRORS = {
    "nan": ({"predictions": ["a", math.nan]}, "query 1 of 'predictions' is nan; expected a text"),
    "number": ({"predictions": [1, "a"]}, "query 0 of 'predictions' is 1; expected a text or None"),
    "a list": ({"predictions": [["a"], "a"]}, r"query 0 of 'predictions' is \['a'\]; expected"),
    "a string": ({"references": [["a"], "a"]}, "query 1 of 'references' is 'a'; expected a list"),
    "no list": ({"references": [["a"], None]}, "query 1 of 'references' is None; expected a list"),
    "no text": ({"references": [["a"], ["b", None]]}, "None in query 1 of 'references'; expected"),
    "not one": ({"references": [["a"], []]}, "query 1 of 'references' is empty; expected an"),
    "no references": ({"references": None}, "'references' is None; expected a list with an entry"),
    "a flag": ({"single_token": [True, 2]}, "query 1 of 'single_token' is 2; expected true or f"),
    "no flag": ({"single_token": [None, 1]}, "query 0 of 'single_token' is None; expected true or"),
    "a prompt": ({"prompts": STOP}, "'prompts' is '.*'; expected a list with an entry for each"),
    "no prompt": ({"prompts": [STOP, None]}, "query 1 of 'prompts' is None; expected a text"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case, metric):
    changes, message = ERRORS[case]
    inputs = {"predictions": ["a", "b"], "references": [["a"], ["b"]], **changes}
    with pytest.raises(ValueError, match=message) as raised:
        metric.compute(**inputs)
    assert "\n" not in str(raised.value)
