"""The module of verdicts; the rules themselves are tested in test_verdicts.py."""

import evaluate
import pytest

from polyprobe.metrics.answer_match.formulas import match_answers
from polyprobe.metrics.shared.verdicts import KINDS, Judge
from tests.metrics.cases import METRICS

POOL = {
    "Q142": {"en": ["France", "French"], "ru": ["Франция"], "tr": ["Fransa"]},
    "Q41": {"en": "Greece", "ru": "Греция"},  # a single name
}
ANSWERS = ["Во Франции", "France", "Fransa'da", "В Греции", "В Индии", "Не знаю", " "]
NONE = {"entity": "", "language": "", "text": ""}


def test_figures_and_verdicts_of_every_kind():
    references = ["Q142"] * len(ANSWERS)
    groups = ["a"] * 4 + ["b"] * 3
    found = match_answers(ANSWERS, references, "ru", names=POOL, groups=groups, average="micro")
    kinds = [verdict.pop("kind") for verdict in found["verdicts"]]
    assert kinds == [*KINDS]
    assert found["verdicts"][2] == {"entity": "Q142", "language": "tr", "text": "Fransa'da"}
    assert found["verdicts"][-1] == NONE
    assert {name: found[name] for name in KINDS} == pytest.approx(dict.fromkeys(KINDS, 1 / 7))
    assert found["accuracy"] == pytest.approx(3 / 7)
    assert found["accuracy_ci"][0] < 3 / 7 < found["accuracy_ci"][1]
    assert (found["by_group"]["a"]["accuracy"], found["by_group"]["b"]["accuracy"]) == (3 / 4, 0)


def test_verdicts_are_those_of_a_judge_by_language():
    answers = ["France", "Франция", "В Греции"]
    codes, right = ["en", "ru", "en"], [["Q142"], ["Q142", "Q41"], ["Q41"]]
    found = match_answers(answers, right, languages=codes, names=POOL, n_resamples=0)["verdicts"]
    pool = {"Q142": POOL["Q142"], "Q41": {"en": ["Greece"], "ru": ["Греция"]}}
    rows = zip(codes, answers, right, strict=True)
    expected = [Judge(pool, code).read(answer, "", of)._asdict() for code, answer, of in rows]
    assert found == expected


def test_without_a_pool_it_is_that_of_the_accepted_names():
    answers, right = ["Bern", "in Ulm", "in Ulm"], [["Bern", "Ulm"], ["Bern"], ["Ulm"]]
    found = match_answers(answers, right, "de", n_resamples=0)
    kinds = [(verdict["kind"], verdict["entity"]) for verdict in found["verdicts"]]
    assert kinds == [("right", "Bern"), ("another", "Ulm"), ("right", "Ulm")]


def test_a_repetition_of_the_question_does_not_count():
    asked = {"predictions": ["A neighbour of France: Greece"], "references": ["Q142"]}
    options = {"language": "en", "names": POOL, "n_resamples": 0}
    assert match_answers(**asked, **options)["right"] == 1
    question = ["Name a neighbour of France!"]
    assert match_answers(**asked, questions=question, **options)["another"] == 1


def test_containment_misses_an_inflected_name():
    asked = {"predictions": ["Во Франции", "Франция, Париж"], "references": ["Франция"] * 2}
    found = [
        match_answers(**asked, language="ru", match=match, n_resamples=0)["accuracy"]
        for match in ("names", "contains")
    ]
    assert found == [1, 1 / 2]


ERRORS = {
    "no language": ({}, r"pass language=, of all answers, or languages=\[…\]"),
    "both": ({"language": "en", "languages": ["en"]}, "pass language=, of all answers, or"),
    "languages": ({"languages": ["en", "fr"]}, "1 queries in 'predictions', 2 in 'languages'"),
    "no code": ({"languages": [7]}, "query 0 of 'languages' is 7; expected a text"),
    "questions": ({"language": "en", "questions": [None]}, "query 0 of 'questions' is None"),
    "match": ({"language": "en", "match": "name"}, "match is 'name'; expected names or contains"),
    "blank": ({"language": "en", "references": [[" "]]}, r"query 0 of 'references' is \[' '\]"),
    "no names": ({"language": "en", "references": [[]]}, r"query 0 of 'references' is \[\]"),
    "unknown": ({"language": "en", "names": POOL}, "query 0 of 'references' has 'Bern', not in"),
    "no answer": ({"predictions": [None]}, "query 0 of 'predictions' is None; expected a text"),
    "no pool": ({"language": "en", "names": {}}, "'names' is {}; expected {entity: {language: "),
    "entity": ({"language": "en", "names": {"Q1": ["x"]}}, r"'Q1' in 'names' is \['x'\]; expected"),
    "name": (
        {"language": "en", "names": {"Q1": {"en": ["x", ""]}}},
        r"'Q1' in 'names' has \['x', ''\] in 'en'; expected names",
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case, tmp_path, monkeypatch):
    monkeypatch.setattr(evaluate.config, "HF_UPDATE_DOWNLOAD_COUNTS", False)
    metric = evaluate.load(str(METRICS / "answer_match"), cache_dir=str(tmp_path))
    options, message = ERRORS[case]
    with pytest.raises(ValueError, match=message) as raised:
        metric.compute(**{"predictions": ["x"], "references": [["Bern"]], **options})
    assert "\n" not in str(raised.value)
