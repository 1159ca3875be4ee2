"""The repair of one row: candidates, position of the answer, sentence."""

import csv
import re
from collections import Counter

import polars as pl
import pytest

from polyprobe.builder.facts import FACTS, Fact
from polyprobe.builder.facts.truths import Knowledge, find_implied, learn
from polyprobe.builder.recipes.bmlama import (
    draw_again,
    find_correct,
    move_answer,
    repair_query,
    write_row,
)
from polyprobe.builder.sources import curated as readers
from polyprobe.builder.sources.bmlama import (
    REPAIRS,
    Columns,
    Entity,
    Linked,
    PublishedQuery,
    choose_entity,
    link_rows,
    restore,
)
from tests.builder.tiny_facts import make_facts

# Labels in two languages; the two Athens share one in the first, the Brests except for case.
LABELS = {
    "Q1": ("Athens", "Athen"),
    "Q2": ("Athens", "Athens (Georgia)"),
    "Q3": ("Paris", "Paris"),
    "Q4": ("Rome", "Rom"),
    "Q5": ("Brest", "Brest"),
    "Q6": ("brest", "Brest (Weißrussland)"),
    "Q7": ("Oslo", "Oslo"),
    "Q8": ("Bresty", "Brest (Weißrussland)"),
    "Q99": ("Nafplio", "Nauplia"),
}
NOTHING = Knowledge({}, {})


def make_entity(name, labels, published=True):
    return Entity(name, labels, labels, published)


def entities(*published, wide=()):
    return {
        name: make_entity(name, LABELS[name], name in published) for name in (*published, *wide)
    }


def right(*names):
    return [make_entity(name, LABELS.get(name, ("Elsewhere", "Anderswo"))) for name in names]


def query(*candidates, answer="Q1", subject="Q99"):
    return PublishedQuery("17:0001", "P190", subject, answer, candidates)


def test_a_sound_row_stays_as_it_is():
    sound = query("Q3", "Q4", "Q1")
    assert repair_query(sound, entities("Q1", "Q3", "Q4", "Q7"), right("Q1")) == sound


@pytest.mark.parametrize(
    ("candidates", "rights", "pool", "expected", "code"),
    [
        # Paris is also correct; only Rome can replace it
        (("Q3", "Q7", "Q1"), {"Q1", "Q3"}, ("Q1", "Q3", "Q4", "Q7"), ("Q4", "Q7", "Q1"),
         "second_answer"),
        # no replacement: Q99 is the subject, and not in the relation
        (("Q3", "Q7", "Q1"), {"Q1", "Q3"}, ("Q1", "Q3", "Q7"), ("Q7", "Q1"),
         "second_answer_removed"),
        # a correct answer must not become a replacement
        (("Q3", "Q7", "Q1"), {"Q1", "Q3", "Q4"}, ("Q1", "Q3", "Q4", "Q7"), ("Q7", "Q1"),
         "second_answer_removed"),
        # the other Athens: its name is the answer's in one language
        (("Q2", "Q7", "Q1"), {"Q1"}, ("Q1", "Q2", "Q4", "Q7"), ("Q4", "Q7", "Q1"),
         "duplicate_label"),
        # Brest twice, except for case: the second one is removed
        (("Q5", "Q6", "Q1"), {"Q1"}, ("Q1", "Q4", "Q5", "Q6"), ("Q5", "Q4", "Q1"),
         "duplicate_label"),
        (("Q5", "Q6", "Q1"), {"Q1"}, ("Q1", "Q5", "Q6"), ("Q5", "Q1"),
         "duplicate_label_removed"),
        # the subject does not answer itself
        (("Q99", "Q7", "Q1"), {"Q1"}, ("Q1", "Q4", "Q7", "Q99"), ("Q4", "Q7", "Q1"), "subject"),
        (("Q99", "Q7", "Q1"), {"Q1"}, ("Q1", "Q7", "Q99"), ("Q7", "Q1"), "subject_removed"),
        # one candidate: all allowed candidates are added
        (("Q1",), {"Q1", "Q3"}, ("Q1", "Q3", "Q4"), ("Q1", "Q4"), "filled"),
    ],
)  # fmt: skip
def test_a_fault_is_corrected_and_reported(candidates, rights, pool, expected, code):
    repaired_query = repair_query(query(*candidates), entities(*pool), right(*rights))
    assert repaired_query.candidates == expected
    assert repaired_query.repairs == (code,)
    assert code in REPAIRS


def test_every_code_but_those_of_one_language_has_its_case_above():
    [mark] = test_a_fault_is_corrected_and_reported.pytestmark
    cases = {case[-1] for case in mark.args[1]}
    others = {
        "drawn_again",
        "answer_moved",
        "parallel",
        "label",
        "template",
        "invisible_characters",
        "mixed_alphabets",
        "simplified",
    }
    assert cases | others == set(REPAIRS)


def test_a_row_that_nothing_can_fill_is_dropped():
    assert repair_query(query("Q1"), entities("Q1", "Q3"), right("Q1", "Q3")) is None
    assert repair_query(query("Q3", "Q1"), entities("Q1", "Q3"), right("Q1", "Q3")) is None


def test_the_subject_never_comes_in():
    assert repair_query(query("Q1", subject="Q4"), entities("Q1", "Q4"), right("Q1")) is None


def test_answers_of_the_relation_come_in_before_other_objects():
    faulty = query("Q3", "Q1")
    for other in ("Q4", "Q5", "Q7"):
        wide = {"Q4", "Q5", "Q7"} - {other}
        repaired_query = repair_query(
            faulty, entities("Q1", "Q3", other, wide=sorted(wide)), right("Q1", "Q3")
        )
        assert repaired_query.candidates == (other, "Q1")


def test_a_distractor_is_drawn_as_often_as_it_is_an_answer():
    """Paris, Rome and Oslo have 3, 2 and 1 answers: expected in 1/2, 1/3 and 1/6 of 6,000 rows.

    χ² with 2 degrees of freedom stays below 15.2 (p = .0005).
    """
    block = entities("Q1", "Q3", "Q4", "Q7")
    answers = ["Q7", "Q3", "Q1", "Q4", "Q3", "Q4", "Q3", "Q1"]
    drawn = Counter()
    for number in range(6000):
        asked = query("Q5", "Q1", subject=f"Q{100 + number}")
        made = draw_again(asked, block, right("Q1"), answers)
        assert (len(made.candidates), made.repairs) == (2, ("drawn_again",))
        drawn.update({*made.candidates} - {"Q1"})
    expected = {"Q3": 3000, "Q4": 2000, "Q7": 1000}
    assert set(drawn) == set(expected)
    assert sum((drawn[name] - n) ** 2 / n for name, n in expected.items()) < 15.2


def test_the_places_of_drawn_candidates_say_nothing():
    """Paris is drawn first in most of 2,000 rows, but precedes Oslo in half of them (3.5 sigma)."""
    block = entities("Q1", "Q3", "Q7")
    answers = ["Q3"] * 30 + ["Q7"]
    asked = (query("Q5", "Q6", "Q1", subject=f"Q{100 + number}") for number in range(2000))
    made = [draw_again(one, block, right("Q1"), answers).candidates for one in asked]
    before = sum(names.index("Q3") < names.index("Q7") for names in made)
    assert abs(before - 1000) < 3.5 * (2000 / 4) ** 0.5


@pytest.mark.parametrize(
    ("candidates", "rights", "answers", "others", "expected"),
    [
        # Rome is also correct, Nafplio the subject, and the second Athens has the answer's label
        ("Q7 Q1 Q4", "Q1 Q4", "Q2 Q3 Q4 Q5 Q99", "", ["Q1 Q3 Q5"]),
        # the two Brests share a label
        ("Q3 Q7 Q1", "Q1", "Q5 Q6 Q7", "", ["Q1 Q5 Q7", "Q1 Q6 Q7"]),
        # other entities only if more are needed
        ("Q2 Q5 Q1", "Q1", "Q7", "Q3 Q4", ["Q1 Q3 Q7", "Q1 Q4 Q7"]),
        # the second Brest, drawn first, excludes both others: the query keeps its own
        ("Q5 Q8 Q1", "Q1", "Q6", "Q5 Q8", ["Q1 Q5 Q8"]),
    ],
)
def test_only_valid_distractors_are_drawn(candidates, rights, answers, others, expected):
    block = entities("Q1", *answers.split(), wide=others.split())
    found = set()
    for number in range(20):
        asked = query(*candidates.split())._replace(relation=f"P{number}")
        made = draw_again(asked, block, right(*rights.split()), answers.split())
        found.add(" ".join(sorted(made.candidates)))
    assert sorted(found) == expected


def test_the_answers_place_is_drawn_by_the_facts_id():
    places = []
    for number in range(600):
        moved = move_answer(query("Q3", "Q4", "Q1", subject=f"Q{number}"))
        assert [name for name in moved.candidates if name != "Q1"] == ["Q3", "Q4"]
        places.append(moved.candidates.index("Q1"))
        assert moved.repairs == (() if places[-1] == 2 else ("answer_moved",))
    assert all(abs(places.count(place) - 200) < 4 * (600 * 2 / 9) ** 0.5 for place in range(3))


PUBLISHED = Columns(
    prompt=["Nafplio ist eine Zwillingsschwester von [Y]."],
    answer=["Athen"],
    candidates=[("Oslo", "Rom", "Athen")],
    subject=["Nafplio"],
)


def write(made, published=PUBLISHED, templates=None):
    """Return the row of a repaired query in the second language."""
    rows = {"en": PUBLISHED, "de": published}
    block = entities("Q1", "Q4", "Q7")
    linked = Linked(rows, [query("Q7", "Q4", "Q1")], {"P190": block}, pl.DataFrame())
    row = write_row(linked, "de", 0, made, templates or {})
    return {name: value for name, value in row._asdict().items() if name != "flags"}


def test_a_row_is_written_in_one_language():
    assert write(query("Q1", "Q4", "Q7")) == {
        "fact_id": "P190:Q99:Q1",
        "relation": "P190",
        "subject_id": "Q99",
        "object_id": "Q1",
        "subject": "Nafplio",
        "prompt": "Nafplio ist eine Zwillingsschwester von [Y].",
        "candidates": ["Athen", "Rom", "Oslo"],
        "candidate_ids": ["Q1", "Q4", "Q7"],
        "answers": [0],
        "answer_forms": ["Athen"],
        "template_id": "P190",
        "repairs": [],
        "published_row": "17:0001",
    }


def test_what_concerns_one_language_is_reported_there():
    spoiled = PUBLISHED._replace(subject=["Naf\u00adplio"], candidates=[("Oslo", "Bonn", "Athen")])
    templates = {"P190": {"de": "[X] und [Y] sind Partnerstädte."}}
    row = write(query("Q1", "Q4", "Q7"), spoiled, templates)
    assert row["prompt"] == "Nafplio und [Y] sind Partnerstädte."
    assert row["template_id"] == "polyprobe:P190"
    assert row["repairs"] == ["parallel", "template", "invisible_characters"]
    assert row["subject"] == "Nafplio"
    mixed = PUBLISHED._replace(prompt=["Nafpli\u03bf und [Y]."])  # a Greek o
    row = write(query("Q1", "Q4", "Q7"), mixed)
    assert row["prompt"] == "Nafplio und [Y]."
    assert row["repairs"] == ["mixed_alphabets"]


def test_a_right_answer_outside_the_relation_bars_its_name():
    """Brazil and the Kingdom of the Netherlands: `Netherlands` is not a fair distractor."""
    stranger = make_entity("Q50", ("", "Oslo"))  # known in one of the languages only
    repaired_query = repair_query(
        query("Q7", "Q1"), entities("Q1", "Q4", "Q7"), [*right("Q1"), stranger]
    )
    assert repaired_query.candidates == ("Q4", "Q1")
    assert repaired_query.repairs == ("second_answer",)


def test_languages_decide_between_homonyms():
    states = [
        make_entity("Q230", ("Georgia", "Georgien", "Géorgie")),
        make_entity("Q1428", ("Georgia", "Georgia", "Géorgie")),
    ]
    assert choose_entity(states, ("Georgia", "Georgia", "Géorgie")) == "Q1428"
    assert choose_entity(states, ("Georgia", "Georgien", "Géorgie")) == "Q230"
    assert choose_entity(states, ("Georgia", "Florida", "Texas")) == "Q230"  # equal: the first


def facts(*triples):
    return pl.DataFrame(triples, schema=FACTS, orient="row")


@pytest.mark.parametrize(
    ("known", "asked", "objects"),
    [
        (("P530", "Q1", "Q2"), ("P530", "Q2"), {"Q1"}),  # symmetric
        (("P36", "Q1", "Q2"), ("P1376", "Q2"), {"Q1"}),  # inverse
        (("P361", "Q1", "Q2"), ("P527", "Q2"), {"Q1"}),
        (("P19", "Q1", "Q2"), ("P19", "Q2"), set()),
    ],
)
def test_facts_are_read_both_ways_where_they_are_true_both_ways(known, asked, objects):
    truths = learn({"wiki": facts(known)}).truths
    assert truths.get(asked, frozenset()) == objects
    assert known[2] in truths[known[0], known[1]]


def test_what_follows_is_right_too():
    known = facts(("P131", "london", "england"), ("P17", "england", "uk"), ("P30", "uk", "europe"),
                  ("P279", "opera", "music"), ("P361", "uk", "uk"))  # fmt: skip
    edges = learn({"wiki": known}).edges
    wider = {"london", "england", "uk", "europe"}
    assert find_implied("P937", "Q1", {"london"}, edges) == wider
    assert find_implied("P17", "london", {"uk"}, edges) == {"england", "uk", "europe"}
    assert find_implied("P136", "Q1", {"opera"}, edges) == {"opera", "music"}
    assert find_implied("P530", "Q1", {"london"}, edges) == {"london"}
    assert find_implied("P140", "Q1", {"Q432"}, edges) == {"Q432", "Q47740"}
    assert find_implied("P527", "Q1", {"Q623"}, edges) == {"Q623", "Q9121"}  # carbon, atom


def test_what_readers_found_is_sorted_and_explained():
    lines = list(csv.DictReader(readers.FOUND.read_text(encoding="utf-8").splitlines()))
    facts = [(line["relation"], line["subject_id"], line["object_id"]) for line in lines]
    assert facts == sorted(set(facts))
    for line in lines:
        assert re.fullmatch(r"P\d+", line["relation"])
        assert re.fullmatch(r"Q\d+", line["subject_id"])
        assert re.fullmatch(r"Q\d+", line["object_id"])
        assert line["verdict"] in ("found", "possible", "unfit")
        assert line["reason"].isascii()
        assert len(line["reason"].split()) > 1


def test_nothing_follows_from_what_is_only_arguable():
    known = {"wiki": facts(("P17", "Q1", "Q2")), "readers": facts(("P30", "Q2", "Q3"))}
    knowledge = learn(known)
    assert knowledge.complete({"Q2"}, [("P17", "Q1")]) == {"Q2"}
    assert knowledge.complete([], [("P30", "Q2")]) == {"Q3"}
    assert learn({**known, "sure": known["readers"]}).complete([], [("P17", "Q1")]) == {"Q2", "Q3"}


def test_another_rows_answer_is_right_where_the_prompts_are_one_in_any_language():
    first, second = PUBLISHED._replace(prompt=["A: [Y]"]), PUBLISHED._replace(prompt=["B: [Y]"])
    same = PUBLISHED._replace(prompt=["C: [Y]"])
    one, two = query("Q1", "Q3"), query("Q4", answer="Q4", subject="Q8")
    other = link(two, en=second, de=same)
    assert find_correct(link(one, en=first, de=same), [other], NOTHING) == [{"Q1", "Q4"}]
    assert find_correct(link(one, en=first), [other], NOTHING) == [{"Q1"}]


def link(asked, **rows):
    return Linked(rows, [asked], {}, pl.DataFrame())


@pytest.mark.parametrize(
    ("relation", "name", "label", "whole", "shown"),
    [
        ("P463", "Q7809", "Organisation", "Organisation, Bildung", "Organisation, Bildung"),
        ("P190", "Q1", "Providence", "Providence, Rhode Island", "Providence"),
        ("P190", "Q1", "Dallas (sa Texas", "Dallas (sa Texas, USA)", "Dallas (sa Texas, USA)"),
        ("P463", "Q1", "Nato", "NATO", "Nato"),  # another spelling is not a damage
        ("P140", "Q131036", "Ciencias", "Scientology", "Scientology"),
    ],
)
def test_spoiled_labels_are_restored(relation, name, label, whole, shown):
    assert [*restore(relation, name, {"en": label}, {("en", name): whole})] == [shown]
    assert [*restore(relation, "Q5", {"en": label}, {})] == [label]


# Rows are linked to the fact named by the labels of most languages.

# Two Georgias that share a name in English and French, not in German and Spanish.
LABELLED = {
    "en": {"Q1": "Russia", "Q230": "Georgia", "Q1428": "Georgia", "Q812": "Florida"},
    "fr": {"Q1": "Russie", "Q230": "Géorgie", "Q1428": "Géorgie", "Q812": "Floride"},
    "de": {"Q1": "Russland", "Q230": "Georgien", "Q1428": "Georgia", "Q812": "Florida"},
    "es": {"Q1": "Rusia", "Q230": "Georgia", "Q1428": "Georgia (EE.UU.)", "Q812": "Florida"},
}
TRIPLES = [("P47", "Q1", "Q230"), ("P47", "Q812", "Q1428"), ("P530", "Q1", "Q230")]


def link_row(*labels):
    """Link one row with these (subject, answer), one per language."""
    rows = {
        language: Columns([""], [answer], [()], [subject])
        for language, (subject, answer) in zip(LABELLED, labels, strict=True)
    }
    [found] = link_rows(["P47"], rows, make_facts(TRIPLES, LABELLED, {}))
    return found


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (  # all agree
            [("Russia", "Georgia"), ("Russie", "Géorgie"), ("Russland", "Georgien"),
             ("Rusia", "Georgia")],
            Fact("P47", "Q1", "Q230"),
        ),
        (  # English has changed its label since: three of four
            [("Russian Federation", "Georgia"), ("Russie", "Géorgie"), ("Russland", "Georgien"),
             ("Rusia", "Georgia")],
            Fact("P47", "Q1", "Q230"),
        ),
        (  # one language of four is enough without contrary evidence
            [("Russian Federation", "Georgia"), ("x", "y"), ("x", "y"), ("Rusia", "Georgia")],
            Fact("P47", "Q1", "Q230"),
        ),
    ],
)  # fmt: skip
def test_languages_vote(labels, expected):
    assert link_row(*labels) == expected


@pytest.mark.parametrize(
    "labels",
    [
        [("Russian Federation", "Georgia")] + [("x", "y")] * 3,
        # one for each: undecided
        [("Russia", "Georgia"), ("Floride", "Géorgie"), ("x", "y"), ("x", "y")],
        # the subject of one fact with the object of another is not a fact
        [("Russia", "Florida"), ("Russie", "Floride"), ("Russland", "Florida"), ("x", "y")],
    ],
)
def test_a_row_without_a_fact_is_refused(labels):
    """The pinned release has none."""
    with pytest.raises(ValueError, match="row 0 of BMLAMA is no fact of mParaRel"):
        link_row(*labels)


def test_homonyms_of_one_language_are_distinguished_by_the_others():
    facts = make_facts([*TRIPLES, ("P47", "Q1", "Q1428")], LABELLED, {})
    rows = {
        language: Columns([""], [answer], [()], [subject])
        for language, subject, answer in (
            ("en", "Russia", "Georgia"),  # either
            ("fr", "Russie", "Géorgie"),  # either
            ("de", "Russland", "Georgia"),  # the state
            ("es", "Rusia", "Georgia (EE.UU.)"),  # the state
        )
    }
    assert link_rows(["P47"], rows, facts) == [Fact("P47", "Q1", "Q1428")]


def test_only_the_relation_asked_for_counts():
    rows = {"en": Columns([""], ["Georgia"], [()], ["Russia"])}
    facts = make_facts([*TRIPLES, ("P36", "Q1", "Q1428")], LABELLED, {})
    assert link_rows(["P530"], rows, facts) == [Fact("P530", "Q1", "Q230")]
