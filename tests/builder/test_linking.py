"""Rows are linked to the fact named by the labels of most languages."""

import pytest

from polyprobe.builder.sources.bmlama.files import Columns
from polyprobe.builder.sources.bmlama.linked import Link, link_rows
from tests.builder.tiny_facts import make_facts

# Two Georgias that share a name in English and French, not in German and Spanish.
LABELLED = {
    "en": {"Q1": "Russia", "Q230": "Georgia", "Q1428": "Georgia", "Q812": "Florida"},
    "fr": {"Q1": "Russie", "Q230": "Géorgie", "Q1428": "Géorgie", "Q812": "Floride"},
    "de": {"Q1": "Russland", "Q230": "Georgien", "Q1428": "Georgia", "Q812": "Florida"},
    "es": {"Q1": "Rusia", "Q230": "Georgia", "Q1428": "Georgia (EE.UU.)", "Q812": "Florida"},
}
TRIPLES = [("P47", "Q1", "Q230"), ("P47", "Q812", "Q1428"), ("P530", "Q1", "Q230")]


def link(*labels):
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
            Link("Q1", "Q230", 4 / 4),
        ),
        (  # English has changed its label since: three of four
            [("Russian Federation", "Georgia"), ("Russie", "Géorgie"), ("Russland", "Georgien"),
             ("Rusia", "Georgia")],
            Link("Q1", "Q230", 3 / 4),
        ),
        (  # one language of four is enough without contrary evidence
            [("Russian Federation", "Georgia"), ("x", "y"), ("x", "y"), ("Rusia", "Georgia")],
            Link("Q1", "Q230", 1 / 4),
        ),
        ([("Russian Federation", "Georgia")] + [("x", "y")] * 3, None),
        (  # one for each: undecided
            [("Russia", "Georgia"), ("Floride", "Géorgie"), ("x", "y"), ("x", "y")],
            None,
        ),
        (  # the subject of one fact with the object of another is not a fact
            [("Russia", "Florida"), ("Russie", "Floride"), ("Russland", "Florida"), ("x", "y")],
            None,
        ),
    ],
)  # fmt: skip
def test_languages_vote(labels, expected):
    assert link(*labels) == expected


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
    assert link_rows(["P47"], rows, facts) == [Link("Q1", "Q1428", 4 / 4)]


def test_only_the_relation_asked_for_counts():
    rows = {"en": Columns(["", ""], ["Georgia", "Georgia"], [(), ()], ["Florida", "Russia"])}
    facts = make_facts(TRIPLES, LABELLED, {})
    assert link_rows(["P530", "P530"], rows, facts) == [None, Link("Q1", "Q230", 1.0)]
