"""The judged disagreements with Fluent-mLAMA's objects: consistency of the files."""

import csv
import re
from collections import Counter
from pathlib import Path

import pytest

PATH = Path(__file__).parents[2] / "bench" / "objects_judged.csv"
ALIKE = PATH.with_name("objects_alike.csv")
COLUMNS = [
    "language", "relation", "subject_id", "object_id", "run", "start", "end", "verdict", "reason",
]  # fmt: skip


@pytest.fixture(scope="module")
def lines():
    with PATH.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, strict=True)
        assert reader.fieldnames == COLUMNS
        return list(reader)


def test_every_line_is_of_its_kind_and_agrees_with_itself(lines):
    counts = Counter(line["language"] for line in lines)
    assert set(counts) == {"ru", "uk"}
    assert min(counts.values()) >= 50
    kinds = {
        "relation": r"P\d+", "subject_id": r"Q\d+", "object_id": r"Q\d+", "start": r"\d*",
        "end": r"\d*", "run": "stanza|simplemma|none|fuzzy", "verdict": "ours|paper|both|neither",
        "reason": r"[a-z][a-z ;,]{5,79}",
    }  # fmt: skip
    for line in lines:
        for column, kind in kinds.items():
            assert re.fullmatch(kind, line[column]), line
        assert bool(line["start"]) == bool(line["end"])
        assert not line["end"] or int(line["start"]) < int(line["end"])
        assert line["start"] or line["verdict"] in ("paper", "neither"), line
        # a reason against one side alone contradicts a verdict for that side
        reason, verdict = line["reason"], line["verdict"]
        assert not reason.startswith("ours takes") or verdict == "paper", line
        if reason.startswith("paper takes"):
            assert verdict == ("neither" if ";" in reason else "ours"), line
        assert not reason.endswith("keeps the head noun") or verdict == "both", line
    answers = {tuple(line[column] for column in COLUMNS[:4] + COLUMNS[5:7]) for line in lines}
    assert len(answers) == len(lines)


def test_rows_wrong_alike_are_facts_once_with_a_reason():
    with ALIKE.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, strict=True)
        assert reader.fieldnames == [*COLUMNS[:4], "reason"]
        rows = list(reader)
    facts = {tuple(row[column] for column in COLUMNS[:4]) for row in rows}
    assert len(facts) == len(rows) > 0
    for language, *ids in facts:
        assert language in ("ru", "uk")
        assert re.fullmatch(r"P\d+ Q\d+ Q\d+", " ".join(ids))
    assert all(re.fullmatch(r"the subject taken, [a-z ]{5,50}", row["reason"]) for row in rows)


def test_no_row_is_wrong_alike_that_stanza_has_otherwise(lines):
    with ALIKE.open(encoding="utf-8", newline="") as file:
        alike = {tuple(row.values())[:4] for row in csv.DictReader(file)}
    stanza = {tuple(line.values())[:4] for line in lines if line["run"] == "stanza"}
    assert not alike & stanza
