"""The headline of a page with several languages: their mean, as in results.json."""

import doctest

import numpy as np
import pyarrow as pa
import pytest

from polyprobe.analysis.figures.compute import summarize_facts
from polyprobe.analysis.figures.facts import ScoredFacts
from polyprobe.analysis.figures.units import Bootstrap, Units
from polyprobe.metrics.space import entries
from polyprobe.schema.run.folder import fill_columns
from tests.metrics.spaces import compute, import_app, write_table

LANGUAGES = ["en", "es", "ru"]
SPACES = [
    *("accuracy_at_1", "recall_at_k", "rankc", "rankc_subject", "rank_overlap", "coverlap"),
    "answer_agreement",
]


def make_tables(templates, ties):
    """Make a run of 3 languages: two relations of unequal size, pools of 1 to 4 candidates."""
    random = np.random.default_rng(7)
    sizes = [1, *random.integers(2, 5, size=23)]
    facts = [f"P1:Q{i // templates}:Q{i}" for i in range(24)]
    columns = {
        "fact_id": [facts[i - i % templates] for i in range(24)],
        "relation": ["P1"] * 16 + ["P2"] * 8,
        "answers": [[0] for _ in sizes],
        "n_tokens": [[1] * size for size in sizes],
    }
    tables = {}
    for language in LANGUAGES:
        scores = [random.permutation(size).astype(float).tolist() for size in sizes]
        if ties:
            scores = [[min(score, 1.0) for score in row] for row in scores]
            scores[LANGUAGES.index(language) + 1] = [0.0] * sizes[LANGUAGES.index(language) + 1]
        donor = [random.permutation(size).astype(float).tolist() for size in sizes]
        scored = {**columns, "scores": pa.array(scores, pa.list_(pa.float32()))}
        table = fill_columns(pa.table(scored))
        place = table.schema.get_field_index("donor_scores")
        tables[language] = table.set_column(
            place, "donor_scores", pa.array(donor, pa.list_(pa.float32()))
        )
    return tables


def find_in_results(results, figure):
    """Return value and interval of a figure of a page in results.json; None if it has none."""
    known = {"accuracy_at_1": "accuracy", "difference": "rankc_difference"}
    name = known.get(figure.name, figure.name)
    if name in results["mean"]:
        if figure.of[0].startswith("all "):
            return results["mean"][name], results["intervals"]["mean"][name]
        key = "-".join(figure.of)
        return results[name][key], results["intervals"][name][key]
    recall = results["recall_at_k"].get(figure.of[0], {})
    return (recall[name], recall[f"{name}_ci"]) if name in recall else None


def measure(tables):
    table = next(iter(tables.values()))
    units = Units.read(table, Bootstrap().resolve(table, len(tables)))
    return summarize_facts(ScoredFacts(tables, scoring="bmlama-eq10"), units)


@pytest.mark.parametrize("templates", [1, 2])
@pytest.mark.parametrize(
    ("name", "ties"),
    # the page of agreement uses the first of tied candidates, as it states
    [
        (name, ties)
        for name in SPACES
        for ties in (False, True)
        if (name, ties) != (SPACES[-1], True)
    ],
)
def test_the_files_of_a_run_give_its_results(name, ties, templates, tmp_path):
    tables = make_tables(templates, ties)
    results = measure(tables)
    app = import_app(name)
    files = [
        write_table(tmp_path / f"{x}.parquet", table.to_pydict()) for x, table in tables.items()
    ]
    choices = {"k": "1, 5, 10"} if name == "recall_at_k" else {}
    figures = compute(app, files=files, **choices).entries
    assert figures[0].of in (("all languages",), ("all pairs",))
    compared = [(f, find_in_results(results, f)) for f in figures]
    compared = [(f, found) for f, found in compared if found is not None]
    assert len(compared) >= 3
    for figure, (value, interval) in compared:
        assert figure.value == pytest.approx(value, abs=1e-9)
        assert figure.interval == pytest.approx(interval, abs=1e-9)


def test_recall_of_all_languages_is_the_mean_of_theirs(tmp_path):
    tables = make_tables(1, True)
    results = measure(tables)["recall_at_k"]
    app = import_app("recall_at_k")
    files = [
        write_table(tmp_path / f"{x}.parquet", table.to_pydict()) for x, table in tables.items()
    ]
    first = compute(app, files=files).entries[0]
    assert (first.label, first.name) == ("all languages", "recall@1")
    assert first.value == pytest.approx(np.mean([results[x]["recall@1"] for x in LANGUAGES]))
    low, high = first.interval
    assert low < first.value < high


def test_tau_of_all_pairs_is_the_mean_of_the_pairs():
    """A query undefined in one pair counts in the other pairs."""
    app = import_app("rank_overlap")
    found = {
        f.label: f
        for f in compute(app, app.PAGE.examples["three languages"]).entries
        if f.name == "kendall_tau_b"
    }
    # Random ties all candidates of the second query
    pairs = [((5 - 1) / 6 + 1) / 2, (2 - 4) / 6, (1 - 5) / 6]
    assert [f.value for f in found.values()] == pytest.approx([sum(pairs) / 3, *pairs])
    assert [f.n for f in found.values()] == [2, 2, 1, 1]
    low, high = found["all pairs"].interval
    assert low < found["all pairs"].value < high


def test_a_pair_without_any_value_is_in_no_mean():
    text = "query,right,en,es,ru\nq,a,a,b,b\nr,a,a,b,b\ns,a,b,b,b"
    app = import_app("coverlap")
    found = {f.label: f for f in compute(app, text).entries}
    assert found["es – ru"].value is None
    assert found["all pairs"].value == 0
    assert found["all pairs"].n == 2


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("accuracy_at_1", "query,candidate,right,en\nq,a,1,2\nr,b,1,1"),
        ("recall_at_k", "query,candidate,right,en\nq,a,1,2\nr,b,1,1"),
        ("rankc", "query,candidate,en,es\nq,a,1,2\nr,b,1,1"),
        ("rank_overlap", "query,candidate,en,es\nq,a,1,2\nr,b,1,1"),
        ("coverlap", "query,right,en,es\nq,a,a,b\nr,b,b,b"),
    ],
)
def test_a_single_language_or_pair_is_not_averaged(name, text):
    figures = compute(import_app(name), text).entries
    languages = ("en",) if "right,en\n" in text else ("en", "es")
    assert {f.of for f in figures} == {languages}


def test_the_example_of_means():
    assert doctest.testmod(entries) == (0, 4)
