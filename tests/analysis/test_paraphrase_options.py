"""Paraphrase consistency: subjects with several objects, and reviewed templates."""

from itertools import combinations, product
from statistics import fmean

import numpy as np
import pyarrow as pa
import pytest

from polyprobe.analysis.figures.compute import summarize_facts
from polyprobe.analysis.figures.facts import ScoredFacts
from polyprobe.analysis.figures.modules import measure_paraphrases
from polyprobe.analysis.figures.options import RankingOptions
from polyprobe.analysis.figures.units import Units
from polyprobe.schema.columns import read_text_lists
from polyprobe.schema.run.folder import SCORES
from polyprobe.schema.run.protocol import as_asked, mark_repeated
from polyprobe.system.messages import PolyprobeError

# Subject, its label, object, its label, in the relation P19.
TUPLES = (
    ("Q1", "Jean-Paul", "Q9", "Paris"),  # with the next one: labels up to the hyphen
    ("Q2", "Jean-Luc", "Q9", "Paris"),
    ("Q3", "Ann", "Q8", "Ulm"),  # two objects
    ("Q3", "Ann", "Q9", "Paris"),
    ("Q4", "Bob", "Q8", "Ulm"),  # with the next one: one tuple by labels
    ("Q5", "Bob", "Q7", "Ulm"),
    ("Q6", "Eve", "Q8", "Ulm"),
)
REVIEWED = (True, True, False, True)  # templates
KEPT = {  # numbers of tuples
    "id": [0, 1, 4, 5, 6],
    "label": [4, 6],
    "keep": [0, 1, 2, 3, 4, 5, 6],
}


def make_rows(reviewed=REVIEWED) -> pa.Table:
    rows = [
        {
            "fact_id": f"P19:{subject_id}:{object_id}",
            "relation": "P19",
            "object_id": object_id,
            "subject": subject,
            "prompt": f"{subject} {number} [Y].",
            "candidates": [label],
            "candidate_ids": [object_id],
            "answers": [0],
            "reviewed": mark,
        }
        for (subject_id, subject, object_id, label), (number, mark) in product(
            TUPLES, enumerate(reviewed)
        )
    ]
    return pa.Table.from_pylist(rows)


OPTIONS = Units().modules


def score(table: pa.Table, best, **options) -> ScoredFacts:
    """Return scores that put candidate `best[row]` first."""
    asked = as_asked({"en": table}, "mpararel")["en"]
    size = len(asked["candidates"][0])
    columns = {name: asked[name] for name in SCORES.names if name in asked.column_names}
    columns |= {
        "scores": [[float(k == one) for k in range(size)] for one in best],
        "n_tokens": [[1] * size] * len(best),
    }
    empty = [None] * len(best)
    columns = {name: columns.get(name, empty) for name in SCORES.names}
    return ScoredFacts(
        {"en": pa.table(columns, schema=SCORES)}, RankingOptions(**options), "mpararel"
    )


@pytest.mark.parametrize(("repeated", "templates"), [*product(KEPT, ("all", "reviewed"))])
def test_figures_equal_loops_over_the_tuples_and_templates_that_count(repeated, templates):
    objects = ["Q9", "Q8", "Q7"]  # candidates in the order of first occurrence
    best = np.random.default_rng(7).integers(len(objects), size=len(TUPLES) * len(REVIEWED))
    facts = score(make_rows(), best, repeated_subjects=repeated, templates=templates)
    found = measure_paraphrases(facts, "en", OPTIONS)
    counted = [n for n, mark in enumerate(REVIEWED) if mark or templates == "all"]
    same, right, both = [], [], []
    for number in KEPT[repeated]:
        gold = objects.index(TUPLES[number][2])
        given = [int(best[number * len(REVIEWED) + template]) for template in counted]
        pairs = list(combinations(given, 2))
        same.append(fmean(one == other for one, other in pairs))
        right.append(fmean(one == gold for one in given))
        both.append(fmean(one == other == gold for one, other in pairs))
    assert found["consistency"] == pytest.approx(fmean(same))
    assert found["accuracy"] == pytest.approx(fmean(right))
    assert found["consistency_accuracy"] == pytest.approx(fmean(both))
    assert found["n_queries"] == len(KEPT[repeated])
    left_out = {"id": 2, "label": 4, "keep": 0}
    assert found["n_ambiguous"] == left_out[repeated]
    assert found.get("n_same_labels") == (1 if repeated == "label" else None)


def test_spread_over_relations():
    """Relations with consistencies of 1/3 and 1: mean 2/3, population sd 1/3."""
    rows = make_rows((None,) * 3).slice(12)  # without repeated subjects: Bob, Bob, Eve
    relations = pa.array(["P19"] * 6 + ["P20"] * 3)
    pairs = zip(rows["fact_id"].to_pylist(), relations.to_pylist(), strict=True)
    ids = [fact.replace("P19", relation) for fact, relation in pairs]
    rows = rows.set_column(0, "fact_id", pa.array(ids)).set_column(1, "relation", relations)
    facts = score(rows, [0, 0, 1, 0, 1, 1, 0, 0, 0])
    found = measure_paraphrases(facts, "en", OPTIONS)
    assert found["consistency"] == pytest.approx(2 / 3)
    assert found["consistency_sd"] == pytest.approx(1 / 3)
    assert found["accuracy_sd"] == pytest.approx((1 - (2 / 3 + 2 / 3) / 2) / 2)


def test_marks_are_of_facts_and_of_the_whole_split():
    marks = mark_repeated(make_rows()).to_pylist()
    each = len(REVIEWED)
    assert all(marks[k * each : (k + 1) * each] == [marks[k * each]] * each for k in range(7))
    assert marks[::each] == [*[["subject"]] * 4, [], ["twin"], []]


def test_what_a_run_does_not_have_is_refused_in_one_line():
    facts = score(make_rows([False, False]), [0] * 14, templates="reviewed")
    with pytest.raises(PolyprobeError, match="'en' has no reviewed template \\(none is\\)"):
        measure_paraphrases(facts, "en", OPTIONS)
    table = facts.tables["en"]
    for name in ("reviewed", "repeated"):
        place = table.column_names.index(name)
        table = table.set_column(place, name, pa.nulls(len(table), SCORES.field(name).type))
    facts.tables["en"] = table
    with pytest.raises(PolyprobeError, match="it is not known which ones are"):
        measure_paraphrases(facts, "en", OPTIONS)
    facts.options = RankingOptions(repeated_subjects="label")
    with pytest.raises(PolyprobeError, match="the scores of 'en' have no labels of subjects"):
        measure_paraphrases(facts, "en", OPTIONS)


def test_no_tuple_left_gives_null():
    rows = make_rows().slice(0, 2 * len(REVIEWED))  # both have the subject "Jean"
    found = summarize_facts(score(rows, [0] * 8, repeated_subjects="label"), Units())
    figures = found["paraphrase_consistency"]["en"]
    assert (figures["consistency"], figures["n_queries"], figures["n_ambiguous"]) == (None, 0, 2)


def test_equal_lists_of_candidates_are_one_object():
    """A relation's objects are the candidates of all its rows: thousands of copies otherwise."""
    rows = [["a", "b"], ["c"], ["a", "b"], None] * 200
    lists = read_text_lists(pa.chunked_array([pa.array(rows, pa.list_(pa.string()))]))
    assert lists == [row or [] for row in rows]
    assert len({id(row) for row in lists}) == 3
