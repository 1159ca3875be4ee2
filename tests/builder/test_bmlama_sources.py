"""The published facts of BMLAMA in mParaRel and X-FACTR, against counts of the raw files."""

import json
import re
import zipfile
from collections import defaultdict

import pytest

from bench.bmlama_sources import HIT, REASONS, explain
from polyprobe.builder.recipes.balanced.material import gather
from polyprobe.builder.recipes.requests import BalancedRequest
from polyprobe.builder.sources import bmlama
from tests.builder.tiny_facts import CAPITALS, serve


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
        reasons = explain(part.queries, material, [*part.rows])
        assert [reason == HIT for reason in reasons] == expected
        assert 0 < sum(expected) < len(expected)


@pytest.mark.acceptance
def test_why_not_is_what_the_raw_samples_of_xfactr_say(upstream):
    pattern = ("jzbjyb__X-FACTR*.zip", r"/data/([^/]+)/sub/(P\d+)\.jsonl$")
    facts = {(r, x["sub_uri"], x["obj_uri"]) for (_, r), x in read_lines(upstream, pattern)}
    assert facts
    subjects = {fact[:2] for fact in facts}
    queries = bmlama.read_linked(upstream)["17"].queries
    material = gather(BalancedRequest("xfactr"), upstream)
    reasons = explain(queries, material, ["en", "ca"])  # xfactr has no Catalan
    for query, reason in zip(queries, reasons, strict=True):
        fact = (query.relation, query.subject_id, query.answer)
        place = 5 if fact in facts else 4 if fact[:2] in subjects else 3
        assert reason == REASONS[place]


def test_each_reason_by_hand(monkeypatch):
    """Of CAPITALS, Norway has no Greek label, and the relation of a fact may have no template."""
    serve(monkeypatch, "tiny", CAPITALS)
    material = gather(BalancedRequest("tiny"))
    facts = [tuple(fact) for fact in material.coverage.facts.iter_rows()]
    (relation, subject, answer), lacking = facts[0], facts[2]
    rows = [
        (relation, subject, answer), (relation, "", answer), ("P0", subject, answer),
        (relation, "Q0", answer), (relation, subject, "Q0"), lacking,
    ]  # fmt: skip
    queries = [bmlama.PublishedQuery("", *row, (row[2],)) for row in rows]
    assert explain(queries, material, ["en", "el"]) == [*REASONS[:6]]
    assert explain(queries[:1], material, ["en", "xx"]) == [REASONS[5]]
