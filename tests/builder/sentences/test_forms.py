"""The candidates of a sentence: the answer as written, the others inflected accordingly."""

import pytest

from polyprobe.builder.recipes.sentences import (
    COLLISION,
    FOUND,
    NO_OBJECT,
    Outcome,
    inflect_candidates,
    keep_source,
    resolve_collisions,
)
from polyprobe.schema.columns import Row

# Hungarian cities; -ban, -en: in.
LABELS = {"p": "Párizs", "b": "Budapest", "l": "London", "r": "Róma"}


def row(entities: str, answer: str, relation="P36", ids=True, labels=LABELS) -> Row:
    return Row(
        *("f", relation, "s", answer, "S", "[Y]"),
        candidates=[labels[e] for e in entities],
        candidate_ids=list(entities) if ids else [],
        answers=[entities.index(answer)],
        answer_forms=[labels[answer]],
        template_id="t",
    )


def outcome(number: int, label: str, form: str) -> Outcome:
    status = FOUND if form else NO_OBJECT
    return Outcome("hu", number, "f", "e", "t", label, form, 0, 1, 99.0, status)


def word(rows, forms):
    outcomes = [
        outcome(n, r.candidates[r.answers[0]], form)
        for n, (r, form) in enumerate(zip(rows, forms, strict=True))
    ]
    return inflect_candidates(rows, outcomes)


def test_distractors_take_the_form_they_had_as_answers():
    rows = [row("pbl", "p"), row("pbl", "b"), row("lbp", "l")]
    inflected = word(rows, ["Párizsban", "Budapesten", "Londonban"])
    assert inflected.candidates == {
        0: ["Párizsban", "Budapesten", "Londonban"],
        1: ["Párizsban", "Budapesten", "Londonban"],
        2: ["Londonban", "Budapesten", "Párizsban"],
    }


@pytest.mark.parametrize("ids", [True, False])
def test_without_ids_entities_are_their_labels(ids):
    rows = [row("pb", "p", ids=ids), row("pb", "b", ids=ids)]
    assert word(rows, ["Párizsban", "Budapesten"]).candidates[0] == ["Párizsban", "Budapesten"]


def test_the_most_frequent_form_is_taken_and_of_equals_the_first():
    answers = [row("pb", "b")] * 3 + [row("pb", "p")]
    often = word(answers, ["Budapestnek", "Budapesten", "Budapesten", "Párizsban"])
    assert often.candidates[3] == ["Párizsban", "Budapesten"]
    tied = word(answers[1:], ["Budapestnek", "Budapesten", "Párizsban"])
    assert tied.candidates[2] == ["Párizsban", "Budapestnek"]


def test_forms_of_another_relation_are_none():
    rows = [row("pb", "p"), row("pb", "b", relation="P19")]
    assert word(rows, ["Párizsban", "Budapesten"]).candidates[0] == ["Párizsban", "Budapest"]


def test_an_answer_that_was_not_found_lends_no_form_and_has_no_candidates():
    inflected = word([row("pb", "p"), row("pb", "b")], ["Párizsban", ""])
    assert inflected.candidates == {0: ["Párizsban", "Budapest"]}
    assert [o.status for o in inflected.outcomes] == [FOUND, NO_OBJECT]


def test_where_the_frame_asks_for_no_inflection_distractors_keep_their_labels():
    """Paris is uninflected here and inflected in row 1."""
    rows = [row("pb", "p"), row("pb", "p"), row("pb", "b")]
    inflected = word(rows, ["Párizs", "Párizsban", "Budapesten"])
    assert inflected.candidates[0] == ["Párizs", "Budapest"]
    assert inflected.candidates[1] == ["Párizsban", "Budapesten"]


def test_where_the_answer_is_inflected_a_distractor_passes_over_its_label():
    rows = [row("pb", "b"), row("pb", "b"), row("pb", "b"), row("pb", "p")]
    inflected = word(rows, ["Budapest", "Budapest", "Budapesten", "Párizsban"])
    assert inflected.candidates[3] == ["Párizsban", "Budapesten"]


def test_where_the_answer_is_inflected_nowhere_a_distractor_takes_its_usual_form():
    rows = [row("pb", "b"), row("pb", "b"), row("pb", "b"), row("pb", "p")]
    assert word(rows, ["Budapest", "Budapesten", "Budapesten", "Párizs"]).candidates[3] == [
        "Párizs",
        "Budapesten",
    ]


def test_capitals_are_no_inflection_and_follow_the_answer():
    """A sentence may begin with `euro`; this does not decide whether a frame inflects."""
    labels = {"e": "euro", "d": "dollár", "k": "Kuna"}
    rows = [row("edk", answer, labels=labels) for answer in "eed"]
    inflected = word(rows, ["euro", "Euro", "dollárban"])
    assert inflected.candidates == {
        0: ["euro", "dollárban", "Kuna"],
        1: ["Euro", "Dollárban", "Kuna"],
        2: ["euro", "dollárban", "Kuna"],  # no form of euro is inflected
    }
    begun = word([row("ed", answer, labels=labels) for answer in "ed"], ["Euro", "dollár"])
    assert begun.candidates == {0: ["Euro", "Dollár"], 1: ["euro", "dollár"]}


def test_a_form_that_is_another_candidate_goes_back_to_its_label():
    """A form of Rome equals a form of the Roma in another case."""
    labels = {**LABELS, "x": "Rómában"}
    rows = [row("prx", "p", labels=labels), row("prx", "r", labels=labels)]
    assert word(rows, ["Párizsban", "rómában"]).candidates[0] == ["Párizsban", "Róma", "Rómában"]


def test_two_forms_that_are_alike_both_go_back():
    assert resolve_collisions(row("pbl", "p"), ["Párizsban", "X-ben", "x-BEN"]) == [
        "Párizsban",
        "Budapest",
        "London",
    ]


def test_where_labels_collide_too_the_fact_is_left_out_and_counted():
    labels = {**LABELS, "x": "párizsban"}
    inflected = word([row("pbx", "p", labels=labels)], ["Párizsban"])
    assert inflected.candidates == {}
    [left] = inflected.outcomes
    assert (left.status, left.reason) == (COLLISION, "two candidates read 'Párizsban'")


def test_the_source_language_keeps_its_candidates():
    rows = [row("pbl", "b"), row("pbl", "p")._replace(prompt="[X] in [Y]")]
    inflected = keep_source(rows, "hu")
    assert [outcome.status for outcome in inflected.outcomes] == [FOUND, "bad-slot"]
    assert inflected.candidates == {0: ["Párizs", "Budapest", "London"]}
