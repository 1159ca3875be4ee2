"""Two free predictions of the same facts, compared fact by fact."""

import itertools
import json

import pytest
from scipy.stats import binomtest
from typer.testing import CliRunner

from polyprobe.analysis.compare.decodings import find_mcnemar_p
from polyprobe.analysis.compare.runs import compare_runs
from polyprobe.cli import app
from polyprobe.system.errors import PolyprobeError
from tests.making.facts import write_facts
from tests.making.predictions import FIRST, RELATIONS, SECOND, write_predictions
from tests.making.runs import SCORES, write_run


@pytest.fixture
def both(tmp_path):
    return write_predictions(tmp_path / "a", FIRST), write_predictions(tmp_path / "b", SECOND)


def test_counts_by_hand(both):
    found = compare_runs(*both, n_resamples=99).decodings
    counts = {row[:2]: row[2:6] for row in found.counts}
    assert counts == {
        ("en", "all"): (1, 3, 1, 1),
        ("en", "single"): (1, 1, 1, 0),  # rows 0, 2, 4
        ("en", "multi"): (0, 2, 0, 1),
        ("el", "all"): (0, 1, 1, 3),  # row 1 was not asked in the first run
        ("el", "single"): (0, 1, 1, 1),
        ("el", "multi"): (0, 0, 0, 2),
    }
    p = {row[:2]: row.p for row in found.counts}
    assert p["en", "all"] == 2 * (1 + 4) / 2**4
    assert p["en", "multi"] == 2 / 2**2
    assert p["el", "multi"] is None
    assert found.not_asked == {"en": 0, "el": 1}
    by_relation = {name: tuple(row.values()) for name, row in found.by_relation["en"].items()}
    assert by_relation == {"P36": (3, 2, 0), "P19": (2, 1, 1), "P20": (1, 0, 0)}
    assert found.by_relation["el"]["P36"] == {"n_queries": 2, "only_first": 1, "only_second": 0}


def test_facts_that_one_run_knows_are_listed_one_of_each_relation_first(both):
    found = compare_runs(*both, n_resamples=99).decodings
    names = [(fact.language, fact.knows, fact.fact_id) for fact in found.one_sided]
    assert names == [
        ("en", "first", "P36:Q1:Q9"), ("en", "first", "P19:Q3:Q9"), ("en", "first", "P36:Q4:Q9"),
        ("en", "second", "P19:Q2:Q9"), ("el", "first", "P36:Q0:Q9"), ("el", "second", "P19:Q2:Q9"),
    ]  # fmt: skip
    assert (found.one_sided[2].first, found.one_sided[2].second) == ("golden", "z")


def test_accuracy_is_tested_over_the_facts_asked_in_both(both):
    rows = {row.name: row for row in compare_runs(*both, n_resamples=99).differences["accuracy"]}
    assert (rows["en"].first, rows["en"].second) == (4 / 6, 2 / 6)
    assert (rows["el"].first, rows["el"].second) == (1 / 5, 1 / 5)
    by_relation = compare_runs(*both, by_relation=True, n_resamples=99).by_relation["accuracy"]
    assert {row.name: row.first for row in by_relation}["P20"] == 0


@pytest.mark.parametrize("n", range(1, 13))
def test_p_is_that_of_scipy_and_of_all_outcomes(n):
    for only_first in range(n + 1):
        p = find_mcnemar_p(only_first, n - only_first)
        assert p == pytest.approx(binomtest(only_first, n, 0.5).pvalue, rel=1e-12)
        further = abs(only_first - n / 2)
        outcomes = itertools.product((0, 1), repeat=n)
        reached = sum(abs(sum(one) - n / 2) >= further for one in outcomes)
        assert p == pytest.approx(reached / 2**n)
    assert find_mcnemar_p(0, 0) is None


def test_large_counts_are_those_of_scipy():
    for one, other in [(400, 520), (1000, 1), (3000, 3100)]:
        expected = binomtest(one, one + other, 0.5).pvalue
        assert find_mcnemar_p(one, other) == pytest.approx(expected, rel=1e-9)


def test_p_values_are_corrected_over_languages(tmp_path):
    """Holm over three languages, one of them without a p-value, by hand."""
    right, wrong = ["gold"] * 6, ["x"] * 6
    some = ["gold", *"xxxxx"]
    pair = (
        write_predictions(tmp_path / "a", {"en": right, "el": some, "fr": wrong}),
        write_predictions(tmp_path / "b", {"en": wrong, "el": wrong, "fr": wrong}),
    )
    rows = compare_runs(*pair, n_resamples=99).decodings.counts
    found = {row.language: (row.p, row.p_adjusted) for row in rows if row.part == "all"}
    assert found == {"en": (2 / 64, 2 * 2 / 64), "el": (1, 1), "fr": (None, None)}


def test_facts_are_matched_by_id(tmp_path, both):
    order = [5, 3, 1, 0]
    facts = [(k, RELATIONS[k]) for k in order]
    other = write_predictions(tmp_path / "c", {"en": [SECOND["en"][k] for k in order]}, facts=facts)
    found = compare_runs(both[0], other, n_resamples=99)
    assert found.left_out == (2, 0)
    assert found.left_out_languages == ["el"]
    assert found.decodings.counts[0][2:6] == (1, 2, 0, 1)


def test_the_command_prints_and_writes_the_comparison(both, tmp_path):
    arguments = ["compare", both[0].folder, both[1].folder, "--resamples", 99]
    arguments += ["--json", tmp_path / "out.json"]
    said = CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "120"})
    assert said.exit_code == 0, said.output
    lines = [" ".join(line.split()) for line in said.output.splitlines()]
    assert any(line.startswith("│ en all │ 1 │ 3 │ 1 │ 1 │ 1 │") for line in lines), said.output
    text = " ".join(lines)
    assert "only synthetic (b), en: en 2 is [Y]. 'gold', not 'x' (gold | golden)" in text
    assert "1 facts in el are left out: not asked in one or both runs" in text
    assert "accuracy en (micro)" in text
    assert "│ COverlap mean │" in text
    made = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["decodings"]
    assert made["counts"]["en"]["all"]["only_first"] == 3
    assert len(made["one_sided"]) == 6
    assert made["by_relation"]["en"]["P19"]["only_second"] == 1


def test_predictions_and_scores_are_not_compared(both, tmp_path):
    write_facts(tmp_path / "facts")
    scored = write_run(tmp_path / "scored", tmp_path / "facts", SCORES)
    for pair in ((both[0], scored), (scored, both[0])):
        message = "a holds free predictions, .*scored scores of candidates; compare two runs of one"
        with pytest.raises(PolyprobeError, match=message):
            compare_runs(*pair)
