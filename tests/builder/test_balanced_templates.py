"""Balanced sets with paraphrases: a fact in several templates, the same in every language."""

import json
import zipfile
from dataclasses import replace

import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from polyprobe.builder.build import build_balanced
from polyprobe.builder.facts import TEMPLATES
from polyprobe.builder.recipes import balanced
from polyprobe.builder.recipes import balanced as balanced_card
from polyprobe.builder.recipes.balanced import level_templates, material
from polyprobe.builder.recipes.requests import BalancedRequest
from polyprobe.builder.sources import bmlama, read_source
from polyprobe.cli import app
from polyprobe.system.messages import PolyprobeError
from tests.builder.tiny_facts import CAPITALS, make_facts, serve
from tests.builder.worlds import balance

GREEK = ["[X]: πρωτεύουσα [Y].", "[Y], πρωτεύουσα: [X]"]
# The first and the third are equal once the zero-width space is gone, the last one's case counts.
ENGLISH = [
    "The capital of [X] is [Y].",
    "[Y] is the capital of [X].",
    "The capital of \u200b[X] is [Y].",
    "[X], capital [Y]",
    "[X], CAPITAL [Y]",
]


def tell(templates: dict[str, dict[str, list[str]]], source: str = "tiny") -> pl.DataFrame:
    """Return TEMPLATES of {language: {relation: texts}}, numbered from 0."""
    rows = [
        (lang, relation, f"{source}:{relation}:{number}", text)
        for lang, part in sorted(templates.items())
        for relation, texts in sorted(part.items())
        for number, text in enumerate(texts)
    ]
    return pl.DataFrame(rows, TEMPLATES, orient="row")


SEVERAL = CAPITALS._replace(
    templates=tell({"en": {"P36": ENGLISH}, "el": {"P36": GREEK}, "fr": {"P36": ["[X] : [Y]"]}})
)


def list_rows(made: balanced.Balanced, language: str) -> list[tuple[str, str, str]]:
    return [(row.fact_id, row.template_id, row.prompt) for row in made.rows[language]]


def test_rows_by_hand():
    """English has 4 distinct templates, Greek 2: both use 2, for 3 facts."""
    made = balance(SEVERAL, BalancedRequest("tiny", ("en", "el"), templates=3))
    assert list_rows(made, "en") == [
        ("P36:Q1:Q10", "tiny:P36:0", "The capital of Greece is [Y]."),
        ("P36:Q1:Q10", "tiny:P36:1", "[Y] is the capital of Greece."),
        ("P36:Q2:Q20", "tiny:P36:0", "The capital of Peru is [Y]."),
        ("P36:Q2:Q20", "tiny:P36:1", "[Y] is the capital of Peru."),
        ("P36:Q4:Q40", "tiny:P36:0", "The capital of Chad is [Y]."),
        ("P36:Q4:Q40", "tiny:P36:1", "[Y] is the capital of Chad."),
    ]
    assert list_rows(made, "el")[2:4] == [
        ("P36:Q2:Q20", "tiny:P36:0", "Περού: πρωτεύουσα [Y]."),
        ("P36:Q2:Q20", "tiny:P36:1", "[Y], πρωτεύουσα: Περού"),
    ]
    for english, greek in zip(made.rows["en"], made.rows["el"], strict=True):
        assert english.candidate_ids == greek.candidate_ids
        assert english.answers == greek.answers
    for one, other in zip(made.rows["el"][::2], made.rows["el"][1::2], strict=True):
        kept = {"prompt": "", "template_id": ""}
        assert one._replace(**kept) == other._replace(**kept)
    assert (made.notes.facts, made.notes.rows) == (3, 6)
    assert made.notes.used_templates.rows() == [("P36", 2, 3, 6)]


def test_the_rows_of_one_template_are_those_of_several_less_the_further_ones():
    one = balance(SEVERAL, BalancedRequest("tiny", ("en", "el")))
    several = balance(SEVERAL, BalancedRequest("tiny", ("en", "el"), templates=2))
    assert {x: rows[::2] for x, rows in several.rows.items()} == one.rows
    assert one.notes.used_templates.is_empty()
    assert one.notes.left_out.rows() == several.notes.left_out.rows()
    assert set(json.loads(balanced_card.dump(one.notes))) == {
        *("command", "source_facts", "rows", "left_out", "lent", "repairs", "costs", "sources")
    }


def test_a_fact_with_a_sentence_of_its_own_keeps_one_row():
    """Three facts: the one with a sentence in both languages has 1 row, the others 2 each."""
    prompts = [
        ("en", "P36", "Q1", "Q10", "Greece is ruled from [Y].", ""),
        ("el", "P36", "Q1", "Q10", "Ζουν [Y].", "Αθήνας"),
        ("el", "P36", "Q2", "Q20", "Ζουν [Y].", ""),  # and none in English
    ]
    known = SEVERAL._replace(prompts=make_facts([], {}, {}, prompts).prompts)
    made = balance(known, BalancedRequest("tiny", ("en", "el"), templates=2))
    numbers = [row.template_id.removeprefix("tiny:P36:") for row in made.rows["el"]]
    assert numbers == ["sentence", "0", "1", "0", "1"]
    assert made.notes.used_templates.rows() == [("P36", 2, 3, 5)]


def test_what_a_further_template_makes_right_is_not_a_distractor():
    """Q11 is correct for Q1 only by P2, whose second template equals the third of P1."""
    names = {i: f"entity {i}" for i in ("Q1", "Q2", "Q3", "Q10", "Q11", "Q12")}
    facts = [("P1", "Q1", "Q10"), ("P1", "Q2", "Q11"), ("P1", "Q3", "Q12")]
    known = make_facts([*facts, ("P2", "Q1", "Q11")], {"en": names}, {})._replace(
        templates=tell(
            {
                "en": {
                    "P1": ["[X] a [Y]", "[X] b [Y]", "[X] c [Y]"],
                    "P2": ["[X] d [Y]", "[X] C [Y]"],
                }
            }
        )
    )
    drawn = {
        n: balance(known, BalancedRequest("tiny", ("en",), exclude=("P2",), templates=n)).rows[
            "en"
        ][0]
        for n in (1, 2, 3)
    }
    assert {n: set(row.candidate_ids) for n, row in drawn.items()} == {
        1: {"Q10", "Q11", "Q12"},
        2: {"Q10", "Q11", "Q12"},
        3: {"Q10", "Q12"},
    }


USED_TEMPLATES = st.dictionaries(
    st.sampled_from(["en", "el"]),
    st.dictionaries(
        st.sampled_from(["P1", "P2"]),
        st.lists(st.sampled_from(["a", "b\u200b", "b", "c "]), max_size=5),
    ),
)


@settings(deadline=None)
@given(USED_TEMPLATES, USED_TEMPLATES, st.integers(1, 4))
def test_the_choice_of_templates_against_brute_force(own, lent, most):
    made = material.assemble(
        BalancedRequest("tiny"), CAPITALS._replace(templates=tell(own)), tell(lent), ("en", "el")
    )
    found: dict[tuple[str, str], list[str]] = {}
    for x, relation, _, text in level_templates(made.templates, ("en", "el"), most).iter_rows():
        found.setdefault((relation, x), []).append(text)
    expected = {}
    for relation in ("P1", "P2"):
        texts = {}
        for x in ("en", "el"):
            raw = own.get(x, {}).get(relation) or lent.get(x, {}).get(relation) or []
            texts[x] = list(dict.fromkeys(t.replace("\u200b", "").strip() for t in raw))
        size = min([most, *(len(part) for part in texts.values() if part)])
        expected |= {(relation, x): part[:size] for x, part in texts.items() if part}
    assert found == expected


def test_name_and_command_tell_the_templates_where_there_are_several():
    one, five = (BalancedRequest("tiny", ("en", "el"), templates=n) for n in (1, 5))
    assert (one.name, five.name) == ("tiny-2", "tiny-2-5t")
    assert "--templates" not in one.command
    assert five.command == (
        "polyprobe build balanced --source tiny --languages en,el --candidates 10 --templates 5 "
        "--draw frequency --seed 0 --config tiny-2-5t"
    )
    assert replace(five, config="own").name == "own"


def test_the_command_builds_the_same_and_the_card_says_that_facts_repeat(monkeypatch, tmp_path):
    serve(monkeypatch, "tiny", SEVERAL)
    folder, _ = build_balanced(BalancedRequest("tiny", ("en", "el")), None, tmp_path / "a")
    plain = (folder / "README.md").read_text()
    build_balanced(BalancedRequest("tiny", ("en", "el"), templates=3), None, folder)
    card = (folder / "README.md").read_text()
    assert "templates. The same row" not in plain
    assert (
        "| relation | templates | facts | rows |\n| --- | --- | --- | --- |\n| P36 | 2 | 3 | 6 |"
        in card
    )
    assert "3 of 4 facts of the source.\n\n6 rows per language: a fact has one for each" in card
    assert "With `--templates N`, a fact has a row for each of the first N templates" in card
    given = BalancedRequest("tiny", ("en", "el"), templates=3).command.split()[1:]
    result = CliRunner().invoke(app, [*given, "--output", str(tmp_path / "b")])
    assert "6 rows of 3 facts; templates (relations): 2 (1)\n" in result.stdout
    for path in ("data/tiny-2-3t/en.parquet", "data/tiny-2-3t/el.parquet"):
        assert (folder / path).read_bytes() == (tmp_path / "b" / path).read_bytes()
    assert pq.read_table(folder / "data/tiny-2-3t/el.parquet").num_rows == 6


@pytest.mark.acceptance
def test_mpararel_in_three_templates(upstream):
    """Prompts are the first three distinct lines of each language's file, read independently.

    In these languages no line needs repair. A relation without a file in one of them uses BMLAMA's
    single template there, so it has one template in all of them.
    """
    folders = {"en": "en", "de": "de", "ru": "ru", "zh": "zh-hans"}
    known = read_source("mpararel", upstream, list(folders))
    request = BalancedRequest("mpararel", tuple(folders), templates=3, max_per_relation=8)
    fallback = pl.DataFrame(
        bmlama.read_fallback_templates(upstream), schema=TEMPLATES, orient="row"
    )
    made = balance(known, request, fallback)
    patterns = read_patterns(upstream / "coastalcph__mpararel@7153b7bdc869.zip")
    counts = {
        relation: min(3, *(len(patterns.get((x, relation), ["only"])) for x in folders.values()))
        for relation in {row.relation for row in made.rows["en"]}
    }
    assert sorted(set(counts.values())) == [1, 2, 3]
    for language, folder in folders.items():
        facts: dict[str, list] = {}
        for row in made.rows[language]:
            facts.setdefault(row.fact_id, []).append(row)
        assert [r for rows in facts.values() for r in rows] == made.rows[language]  # together
        for rows in facts.values():
            assert len(rows) == counts[rows[0].relation]
            told = patterns.get((folder, rows[0].relation))
            if told:
                expected = [pattern.replace("[X]", rows[0].subject) for pattern in told]
                assert [row.prompt for row in rows] == expected[: len(rows)]
            assert len({tuple(row.candidates) for row in rows}) == 1
        ids = [(row.fact_id, row.candidate_ids, row.answers) for row in made.rows[language]]
        assert ids == [(row.fact_id, row.candidate_ids, row.answers) for row in made.rows["en"]]
    assert made.notes.facts == len(facts) > 300
    assert made.notes.rows == len(ids) > 2.5 * len(facts)


def read_patterns(path) -> dict[tuple[str, str], list[str]]:
    """Return {(folder, relation): distinct lines} of mParaRel's archive."""
    with zipfile.ZipFile(path) as archive:
        found = {}
        for name in archive.namelist():
            *_, kind, folder, file = name.split("/")
            if kind == "patterns" and file.endswith(".jsonl"):
                lines = archive.read(name).decode("utf-8").splitlines()
                texts = dict.fromkeys(json.loads(line)["pattern"] for line in lines)
                found[folder, file.removesuffix(".jsonl")] = list(texts)
    return {key: texts for key, texts in found.items() if texts}


# Balanced sets in two wordings: a source's own sentences and templates, for the same facts.


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
