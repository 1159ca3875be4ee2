"""The published facts of BMLAMA in mParaRel and X-FACTR, against counts of the raw files."""

import json
import re
import zipfile
from collections import defaultdict
from types import SimpleNamespace

import polars as pl
import pytest
from typer.testing import CliRunner

from bench.bmlama_sources import REASONS, explain
from polyprobe.builder.build import build_balanced
from polyprobe.builder.facts import FACTS
from polyprobe.builder.recipes.balanced import IN_SET, LACKS, explain_published
from polyprobe.builder.recipes.balanced.material import gather
from polyprobe.builder.recipes.requests import BalancedRequest
from polyprobe.builder.sources import bmlama
from polyprobe.cli import app
from tests.builder.tiny_facts import CAPITALS, make_facts, serve


def read_lines(folder, pattern):
    """Yield (names in the path, line) of every JSON line of an archive."""
    [archive] = folder.glob(pattern[0])
    with zipfile.ZipFile(archive) as content:
        for name in content.namelist():
            if match := re.search(pattern[1], name):
                for line in content.read(name).decode("utf-8").splitlines():
                    yield match.groups(), json.loads(line)


@pytest.mark.acceptance
def test_as_many_as_the_raw_tuples_have(upstream):
    linked = bmlama.read_linked(upstream)
    names, facts = defaultdict(set), set()
    # BMLAMA's zh is zh-hans, or zh-hant where that lacks a label.
    pattern = ("coastalcph__mpararel*.zip", r"/tuples/([^/]+)/(P\d+)\.jsonl$")
    for (language, relation), row in read_lines(upstream, pattern):
        facts.add((relation, row["sub_uri"], row["obj_uri"]))
        for end in ("sub", "obj"):
            if row[f"{end}_label"].strip():
                names[language.partition("-")[0]].add(row[f"{end}_uri"])
    material = gather(BalancedRequest("mpararel"), upstream)
    for part in linked.values():
        expected = [
            (query.relation, query.subject_id, query.answer) in facts
            and all({query.subject_id, query.answer} <= names[x] for x in part.rows)
            for query in part.queries
        ]
        reasons = explain(part.queries, material.coverage, [*part.rows])
        assert [reason == IN_SET for reason in reasons] == expected
        assert 0 < sum(expected) < len(expected)


@pytest.mark.acceptance
def test_why_not_is_what_the_raw_samples_of_xfactr_say(upstream):
    pattern = ("jzbjyb__X-FACTR*.zip", r"/data/([^/]+)/sub/(P\d+)\.jsonl$")
    facts = {(r, x["sub_uri"], x["obj_uri"]) for (_, r), x in read_lines(upstream, pattern)}
    assert facts
    subjects = {fact[:2] for fact in facts}
    queries = bmlama.read_linked(upstream)["17"].queries
    material = gather(BalancedRequest("xfactr"), upstream)
    reasons = explain(queries, material.coverage, ["en", "ca"])  # xfactr has no Catalan
    for query, reason in zip(queries, reasons, strict=True):
        fact = (query.relation, query.subject_id, query.answer)
        place = 4 if fact in facts else 3 if fact[:2] in subjects else 2
        assert reason == REASONS[place]


# Of CAPITALS, Clarke County has no Greek label; the relation of another fact has no template, and
# of a third no second object.
WORLD = make_facts(
    [*CAPITALS.facts.iter_rows(), ("P17", "Q2", "Q20"), ("P30", "Q1", "Q10")],
    {x: dict(CAPITALS.labels.filter(language=x)["id", "label"].iter_rows()) for x in ("en", "el")},
    {"en": {"P36": "[X]: [Y]", "P30": "[Y], [X]"}, "el": {"P36": "[X]; [Y]", "P30": "[Y]; [X]"}},
)
REASON_OF = {
    ("P36", "Q1", "Q10"): IN_SET,
    ("P36", "Q2", "Q20"): IN_SET,
    ("P0", "Q1", "Q10"): LACKS[0],
    ("P36", "Q0", "Q10"): LACKS[1],
    ("P36", "Q1", "Q0"): LACKS[2],
    ("P36", "Q3", "Q30"): LACKS[3],
    ("P17", "Q2", "Q20"): LACKS[4],
    ("P30", "Q1", "Q10"): LACKS[5],
}
QUERIES = [bmlama.PublishedQuery("", *fact, (fact[2],)) for fact in REASON_OF]


@pytest.fixture
def tiny_bmlama(monkeypatch) -> None:
    """Serve WORLD as the source `tiny`, and its published facts as BMLAMA-17 in two languages."""
    serve(monkeypatch, "tiny", WORLD)
    monkeypatch.setattr("polyprobe.builder.recipes.balanced.material.FALLBACK", "tiny")
    monkeypatch.setattr(
        bmlama, "list_paths", lambda config: ["en", "el", *["ru"][: config == "53"]]
    )
    linked = {"17": SimpleNamespace(queries=QUERIES)}
    monkeypatch.setattr(bmlama, "read_linked", lambda mirror: linked)


def test_each_reason_by_hand(tiny_bmlama):
    coverage = gather(BalancedRequest("tiny")).coverage
    published = pl.DataFrame([*REASON_OF], FACTS, orient="row")
    reasons = explain_published(published, coverage, ["en", "el"], published[:2])
    assert reasons == [*REASON_OF.values()]
    # Distractors do not concern the bench, and a language of no source has no labels.
    complete = explain(QUERIES, coverage, ["en", "el"])
    assert complete == [*reasons[:-1], IN_SET]
    assert explain(QUERIES[:1], coverage, ["en", "xx"]) == [LACKS[3]]


TABLE = """\
| BMLAMA-17 | published | in the set | relation not in the source or not requested \
| subject not in the relation | object not with this subject | no label in a language \
| no template in a language | no distractor, or over --max-per-relation |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
| P0 | 1 | 0 | 1 | 0 | 0 | 0 | 0 | 0 |
| P17 | 1 | 0 | 0 | 0 | 0 | 0 | 1 | 0 |
| P30 | 1 | 0 | 0 | 0 | 0 | 0 | 0 | 1 |
| P36 | 5 | 2 | 0 | 1 | 1 | 1 | 0 | 0 |
| in total | 8 | 2 | 1 | 1 | 1 | 1 | 1 | 1 |
"""


def test_the_build_and_the_card_show_the_published_facts(tiny_bmlama, tmp_path):
    words = ["build", "balanced", "--source", "tiny", "--output", str(tmp_path)]
    command = [*words, "--languages", "el,en"]
    result = CliRunner().invoke(app, command, env={"COLUMNS": "300"}, catch_exceptions=False)
    lines = [[x.strip() for x in line.split("│")[1:-1]] for line in result.stdout.splitlines()]
    for line in TABLE.splitlines()[2:]:
        assert [x.strip() for x in line.split("|")[1:-1]] in lines
    assert TABLE in (tmp_path / "README.md").read_text()


def test_other_languages_than_those_of_bmlama_are_not_compared(tiny_bmlama, tmp_path):
    folder, notes = build_balanced(BalancedRequest("tiny", ("en",)), None, tmp_path)
    assert notes.published.is_empty()
    assert "BMLAMA-17" not in (folder / "README.md").read_text()


@pytest.mark.acceptance
def test_bmlama_17_built_from_xfactr_and_mpararel(upstream, tmp_path):
    """Against the rows that were built; bench/bmlama_sources.md has 6,224 complete facts."""
    queries = bmlama.read_linked(upstream)["17"].queries
    request = BalancedRequest("xfactr,mpararel", tuple(bmlama.list_paths("17")))
    folder, notes = build_balanced(request, upstream, tmp_path)
    made = {*pl.read_parquet(folder / "data" / request.name / "ca.parquet")["fact_id"]}
    for relation, size, count, *_ in notes.published.iter_rows():
        facts = [x.fact_id for x in queries if relation in (x.relation, "in total")]
        assert (size, count) == (len(facts), len(made.intersection(facts)))
    assert notes.published.row(-1) == ("in total", 6_792, 6_220, 568, 4)
