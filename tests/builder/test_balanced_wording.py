"""Balanced sets in two wordings: a source's own sentences and templates, for the same facts."""

import polars as pl
import pytest

from polyprobe.builder.facts import TEMPLATES
from polyprobe.builder.recipes.balanced import build as balanced
from polyprobe.builder.recipes.balanced import material
from polyprobe.builder.recipes.balanced.request import BalancedRequest
from polyprobe.system.errors import PolyprobeError
from tests.builder.tiny_facts import make_facts


def name(subject, thing):
    numbers = range(1, 5)
    return {f"Q{n}": f"{subject} {n}" for n in numbers} | {
        f"Q{n}0": f"{thing} {n}" for n in numbers
    }


# Objects are declined in the second language; the fourth fact has no sentence there, the fifth no
# template.
KNOWN = make_facts(
    facts=[*(("P1", f"Q{n}", f"Q{n}0") for n in range(1, 5)), ("P2", "Q1", "Q20")],
    labels={
        "en": name("town", "land"),
        "cs": name("město", "země"),
    },
    templates={"en": {"P1": "[X] is in [Y]."}, "cs": {"P1": "[X] je v [Y]."}},
    prompts=[
        *(("en", "P1", f"Q{n}", f"Q{n}0", f"Town {n} lies in [Y].", "") for n in range(1, 5)),
        ("cs", "P1", "Q1", "Q10", "Leží v [Y] 1.", "zemi 1"),
        ("cs", "P1", "Q2", "Q20", "Leží v [Y] 2.", "zemi 2"),
        ("cs", "P1", "Q3", "Q30", "Leží v [Y] 3.", "země 3"),
        ("en", "P2", "Q1", "Q20", "It is [Y].", ""),
        ("cs", "P2", "Q1", "Q20", "Je to [Y].", "země 2"),
    ],
)  # fmt: skip


def build(wording):
    request = BalancedRequest("tiny", ("en", "cs"), wording=wording)
    made = material.assemble(request, KNOWN, pl.DataFrame(schema=TEMPLATES), ["cs", "en"])
    return balanced.balance(request, made)


def test_sentence_versions_have_the_same_facts_and_candidates():
    template, sentence = build("template"), build("sentence")
    for language in ("en", "cs"):
        for one, other in zip(template.rows[language], sentence.rows[language], strict=True):
            same = ("fact_id", "subject", "candidate_ids", "answers")
            assert all(getattr(one, name) == getattr(other, name) for name in same)
    assert [row.fact_id for row in template.rows["cs"]] == ["P1:Q1:Q10", "P1:Q2:Q20", "P1:Q3:Q30"]
    assert [row.prompt for row in template.rows["cs"]] == [
        f"město {n} je v [Y]." for n in (1, 2, 3)
    ]
    assert [row.prompt for row in sentence.rows["cs"]] == [f"Leží v [Y] {n}." for n in (1, 2, 3)]
    assert template.notes.left_out.rows() == sentence.notes.left_out.rows() == [
        ("no template or no sentence", "", 2),
        ("no template or no sentence", "P1", 1),
        ("no template or no sentence", "P2", 1),
    ]  # fmt: skip


def test_of_a_sentence_the_answer_and_what_can_be_is_inflected():
    first, _, third = build("sentence").rows["cs"]
    assert first.candidates[first.answers[0]] == "zemi 1"
    assert first.answer_forms == ["země 1", "zemi 1"]
    assert {"zemi 1", "zemi 2"} < set(first.candidates) <= {"zemi 1", "zemi 2", "země 3", "země 4"}
    assert third.candidates[third.answers[0]] == "země 3"
    assert build("template").rows["cs"][0].answer_forms == ["země 1"]
    assert {name[:4] for row in build("template").rows["cs"] for name in row.candidates} == {"země"}


def test_without_a_wording_sentences_come_first_and_templates_fill_up():
    prompts = {row.fact_id: row.prompt for row in build(None).rows["en"]}
    assert prompts["P1:Q3:Q30"] == "Town 3 lies in [Y]."
    assert prompts["P1:Q4:Q40"] == "town 4 is in [Y]."


@pytest.mark.parametrize(
    ("wording", "config", "name"),
    [
        (None, "", "tiny-2"),
        ("template", "", "tiny-2"),
        ("sentence", "", "tiny-2-sentence"),
        ("sentence", "own", "own-sentence"),
        ("sentence", "own-sentence", "own-sentence"),
    ],
)
def test_names_of_sentence_versions(wording, config, name):
    request = BalancedRequest("tiny", ("en", "cs"), wording=wording, config=config)
    assert request.name == name
    assert (f" --wording {wording} " in request.command) == bool(wording)


def test_what_does_not_go_together():
    with pytest.raises(PolyprobeError, match="unknown --wording 'sentences'; did you mean"):
        BalancedRequest("xfactr", wording="sentences")
    with pytest.raises(PolyprobeError, match="--templates 2: with --wording a fact has one row"):
        BalancedRequest("xfactr", wording="template", templates=2)
