"""What is done to one row: candidates, place of the answer, sentence."""

import pytest

from polyprobe.builder.repair.candidates import mend
from polyprobe.builder.repair.entities import make_entity
from polyprobe.builder.repair.query import REPAIRS, Query
from polyprobe.builder.repair.verbalise import place_answer, verbalise
from polyprobe.builder.table import Row

# Labels in two languages; the two Athens share theirs in the first alone, the two Brests in case.
LABELS = {
    "Q1": ("Athens", "Athen"),
    "Q2": ("Athens", "Athens (Georgia)"),
    "Q3": ("Paris", "Paris"),
    "Q4": ("Rome", "Rom"),
    "Q5": ("Brest", "Brest"),
    "Q6": ("brest", "Brest (Weißrussland)"),
    "Q7": ("Oslo", "Oslo"),
}


def entities(*published, wide=()):
    return {
        name: make_entity(name, LABELS[name], name in published) for name in (*published, *wide)
    }


def query(*candidates, answer="Q1", subject="Q99"):
    return Query("17:0001", "P190", subject, answer, candidates)


def test_a_sound_row_stays_as_it_is():
    sound = query("Q3", "Q4", "Q1")
    assert mend(sound, entities("Q1", "Q3", "Q4", "Q7"), {"Q1"}) == sound


@pytest.mark.parametrize(
    ("candidates", "rights", "pool", "expected", "code"),
    [
        # Paris is right as well; Rome is all that can take its place
        (("Q3", "Q7", "Q1"), {"Q1", "Q3"}, ("Q1", "Q3", "Q4", "Q7"), ("Q4", "Q7", "Q1"),
         "second_answer"),
        # nothing can: Q99 is the subject, and not in the relation
        (("Q3", "Q7", "Q1"), {"Q1", "Q3"}, ("Q1", "Q3", "Q7"), ("Q7", "Q1"),
         "second_answer_removed"),
        # what is right must not come in as a replacement either
        (("Q3", "Q7", "Q1"), {"Q1", "Q3", "Q4"}, ("Q1", "Q3", "Q4", "Q7"), ("Q7", "Q1"),
         "second_answer_removed"),
        # the other Athens: its name is the answer's in one language
        (("Q2", "Q7", "Q1"), {"Q1"}, ("Q1", "Q2", "Q4", "Q7"), ("Q4", "Q7", "Q1"),
         "duplicate_label"),
        # Brest twice, but for its case: the second one goes
        (("Q5", "Q6", "Q1"), {"Q1"}, ("Q1", "Q4", "Q5", "Q6"), ("Q5", "Q4", "Q1"),
         "duplicate_label"),
        (("Q5", "Q6", "Q1"), {"Q1"}, ("Q1", "Q5", "Q6"), ("Q5", "Q1"),
         "duplicate_label_removed"),
        # an entity that has no labels in all languages
        (("bmlama:P190:Xx", "Q7", "Q1"), {"Q1"}, ("Q1", "Q4", "Q7"), ("Q4", "Q7", "Q1"),
         "missing_label"),
        (("bmlama:P190:Xx", "Q7", "Q1"), {"Q1"}, ("Q1", "Q7"), ("Q7", "Q1"),
         "missing_label_removed"),
        # one candidate: all that may stand there comes in
        (("Q1",), {"Q1", "Q3"}, ("Q1", "Q3", "Q4"), ("Q1", "Q4"), "filled"),
    ],
)  # fmt: skip
def test_a_fault_is_mended_and_told(candidates, rights, pool, expected, code):
    mended = mend(query(*candidates), entities(*pool), rights)
    assert mended.candidates == expected
    assert mended.repairs == (code,)
    assert code in REPAIRS


def test_every_code_but_those_of_one_language_has_its_case_above():
    [mark] = test_a_fault_is_mended_and_told.pytestmark
    cases = {case[-1] for case in mark.args[1]}
    others = {"unlinked", "answer_moved", "parallel", "template", "invisible_characters"}
    assert cases | others == set(REPAIRS)


def test_a_row_that_nothing_can_fill_is_dropped():
    assert mend(query("Q1"), entities("Q1", "Q3"), {"Q1", "Q3"}) is None
    assert mend(query("Q3", "Q1"), entities("Q1", "Q3"), {"Q1", "Q3"}) is None


def test_the_subject_never_comes_in():
    assert mend(query("Q1", subject="Q4"), entities("Q1", "Q4"), {"Q1"}) is None


def test_answers_of_the_relation_come_in_before_other_objects():
    faulty = query("Q3", "Q1")
    for other in ("Q4", "Q5", "Q7"):
        wide = {"Q4", "Q5", "Q7"} - {other}
        mended = mend(faulty, entities("Q1", "Q3", other, wide=sorted(wide)), {"Q1", "Q3"})
        assert mended.candidates == (other, "Q1")


def test_the_answers_place_is_drawn_by_the_facts_id():
    places = []
    for number in range(600):
        moved = place_answer(query("Q3", "Q4", "Q1", subject=f"Q{number}"))
        assert [name for name in moved.candidates if name != "Q1"] == ["Q3", "Q4"]
        places.append(moved.candidates.index("Q1"))
        assert moved.repairs == (() if places[-1] == 2 else ("answer_moved",))
    assert all(abs(places.count(place) - 200) < 4 * (600 * 2 / 9) ** 0.5 for place in range(3))


PUBLISHED = Row(
    fact_id="17:0001",
    relation="P190",
    subject_id="",
    object_id="",
    subject="Nafplio",
    prompt="Nafplio ist eine Zwillingsschwester von [Y].",
    candidates=["Oslo", "Rom", "Athen"],
    candidate_ids=[],
    answers=[2],
    answer_forms=["Athen"],
    template_id="P190",
)


def test_a_row_is_written_in_one_language():
    row = verbalise(
        query("Q1", "Q4", "Q7"), PUBLISHED, ("Oslo", "Rom", "Athen"), ("Athen", "Rom", "Oslo"), "de"
    )
    assert row == PUBLISHED._replace(
        fact_id="P190:Q99:Q1",
        subject_id="Q99",
        object_id="Q1",
        candidates=["Athen", "Rom", "Oslo"],
        candidate_ids=["Q1", "Q4", "Q7"],
        answers=[0],
        repairs=[],
        published_row="17:0001",
    )


def test_what_concerns_one_language_is_told_there():
    spoiled = PUBLISHED._replace(subject="Naf\u00adplio", candidates=["Oslo", "Bonn", "Athen"])
    row = verbalise(
        query("Q1", "Q4", "Q7"),
        spoiled,
        ("Oslo", "Rom", "Athen"),
        ("Athen", "Rom", "Oslo"),
        "de",
        "[X] und [Y] sind Partnerstädte.",
    )
    assert row.prompt == "Nafplio und [Y] sind Partnerstädte."
    assert row.template_id == "polyprobe:P190"
    assert row.repairs == ["parallel", "template", "invisible_characters"]
    assert row.subject == "Nafplio"


def test_an_unlinked_row_keeps_the_published_id():
    unlinked = query("Q4", "Q1")._replace(repairs=("unlinked",), subject_id="")
    row = verbalise(unlinked, PUBLISHED, ("Rom", "Athen"), ("Rom", "Athen"), "de")
    assert (row.fact_id, row.subject_id) == ("17:0001", "")
    assert "unlinked" in row.repairs
