"""Two runs on the same facts: matched rows, excluded rows, paired figures."""

import itertools
import json
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binomtest
from typer.testing import CliRunner

from polyprobe.analysis.compare.folders import compare_folders
from polyprobe.analysis.compare.match import match_facts
from polyprobe.analysis.compare.options import ComparisonOptions
from polyprobe.analysis.compare.runs import Comparison, compare_runs, find_mcnemar_p
from polyprobe.analysis.figures.compute import compute_results
from polyprobe.analysis.figures.units import read_clusters, resolve_bootstrap, resolve_clusters
from polyprobe.analysis.options import Bootstrap
from polyprobe.cli import app
from polyprobe.metrics.joint.significance import (
    Difference,
    correct_values,
    invert_intervals,
    p_value,
)
from polyprobe.report.findings.comparison import explain_least, make_comparison_finding
from polyprobe.system.messages import PolyprobeError
from tests.making.facts import write_facts
from tests.making.predictions import FIRST, RELATIONS, SECOND, write_predictions
from tests.making.runs import PICKS, SCORES, scores, write_run


@pytest.fixture
def dataset(tmp_path):
    return write_facts(tmp_path / "facts")


@pytest.fixture
def run(tmp_path, dataset):
    def write(name, values=SCORES, **options):
        return write_run(tmp_path / name, tmp_path / "facts", values, **options)

    return write


WRONG = {
    language: scores([1 - (pick or 0) % 2 for pick in picks]) for language, picks in PICKS.items()
}


def test_differences_are_those_of_the_results(run):
    first, second = run("a"), run("b", WRONG)
    found = compare_runs(first, second, n_resamples=99)
    results = [r.read_results() for r in (first, second)]
    for figure, rows in found.differences.items():
        *named, mean = rows
        for row in named:
            assert (row.first, row.second) == tuple(r[figure][row.name] for r in results)
        assert (mean.first, mean.second) == tuple(r["mean"][figure] for r in results)
    accuracy = {row.name: row for row in found.differences["accuracy"]}
    assert accuracy["en"].difference == accuracy["en"].first - accuracy["en"].second
    assert found.left_out == (0, 0)


def test_tables_have_languages_of_accuracy_means_and_relations(run):
    options = ComparisonOptions(n_resamples=99, by_relation=True)
    [outcome] = compare_folders([run("a"), run("b", WRONG)], options)
    names = [[name for name, *_ in x.rows] for x in make_comparison_finding(outcome).tables[:2]]
    assert names[0][:4] == [f"accuracy {x}" for x in ("en", "ru", "zh_hans", "mean")]
    assert {name.split()[-1] for name in names[0][4:]} == {"mean"}
    assert names[1][:2] == ["accuracy P36", "accuracy P37"]


def test_a_run_does_not_differ_from_itself(run):
    found = compare_runs(run("a"), run("b"), n_resamples=99)
    assert {row.p for rows in found.differences.values() for row in rows} == {1.0}
    text = show(run("c").folder, run("d").folder, "--resamples", 99)
    assert "0.000 to 0.000*" in text
    assert "*: all resamples have this value" in text
    assert "Δ: synthetic (c) less synthetic (d); equal settings" in text


def test_facts_and_languages_that_one_lacks_are_left_out_and_counted(run):
    short = {language: values[:5] for language, values in list(SCORES.items())[:2]}
    found = compare_runs(run("a"), run("b", short, rows=5), n_resamples=99)
    assert found.languages == ["en", "ru"]
    assert (found.n_queries, found.left_out) == (5, (3, 0))


def test_one_language_has_accuracy_alone(run):
    one = {"en": SCORES["en"]}
    assert [*compare_runs(run("a", one), run("b", one), n_resamples=9).differences] == ["accuracy"]


def test_no_common_language(run):
    pair = run("a", {"en": SCORES["en"]}), run("b", {"ru": SCORES["ru"]})
    with pytest.raises(PolyprobeError, match=r"no language in common \(en; ru\)"):
        compare_runs(*pair)


def test_other_facts_and_other_candidates(run):
    first, second = run("a"), run("b")
    table = first.read("en")
    ids = table.column("fact_id").to_pylist()
    others = table.set_column(0, "fact_id", [[f"x{i}" for i in ids]])
    with pytest.raises(PolyprobeError, match="have no fact in common"):
        match_facts(table, others, (first, second), "en")
    answers = pa.array([[0]] * len(table), table.schema.field(2).type)
    other = table.set_column(2, table.schema.field(2), answers)
    with pytest.raises(
        PolyprobeError, match=rf"en, fact {ids[1]}: other candidates in .*a \(row 1"
    ):
        match_facts(table, other, (first, second), "en")


def test_rows_of_one_fact_are_matched_in_their_order(run):
    first, second = run("a"), run("b")
    table = first.read("en")
    twice = table.take([0, 0, 1])
    assert match_facts(twice, table.take([1, 0]), (first, second), "en") == ([0, 2], [1, 0], 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"clusters": "object"},
            "unknown --cluster 'object'; did you mean 'subject'. known: auto, none, relation",
        ),
    ],
)
def test_unknown_options(run, options, message):
    with pytest.raises(PolyprobeError, match=message):
        compare_runs(run("a"), run("b"), **options)


def test_a_score_that_is_not_a_number(run):
    second = run("b")
    table = second.read("ru")
    values = table["scores"].to_pylist()
    values[2][0] = float("nan")
    column = pa.array(values, table.schema.field(3).type)
    second.write("ru", table.set_column(3, table.schema.field(3), column))
    with pytest.raises(PolyprobeError, match="ru.parquet: .*, row 3: scores has a number"):
        compare_runs(run("a"), second)


def test_clusters_and_resamples_of_a_run(run):
    made = run("a")
    by_fact = made.read_results()["intervals"]
    by_relation = compute_results(made, Bootstrap(clusters="relation"))["intervals"]
    assert by_relation["mean"]["accuracy"] != by_fact["mean"]["accuracy"]
    assert compute_results(made, Bootstrap(n_resamples=0))["intervals"] == {}


def test_ids_without_a_subject(run):
    table = run("a").read("en")
    published = table.set_column(0, "fact_id", [[f"17:{i:04}" for i in range(len(table))]])
    with pytest.raises(PolyprobeError, match="--cluster subject: the fact id '17:0000' names no"):
        read_clusters(published, "subject")
    assert read_clusters(table, "subject")[:2] == ["C0", "C1"]


def test_subjects_are_drawn_where_all_ids_name_one(run):
    table = run("a").read("en")
    assert resolve_clusters(table, "auto") == "subject"
    assert read_clusters(table, "auto") == read_clusters(table, "subject")
    some = [*table["fact_id"].to_pylist()[:-1], "17:0007"]
    assert resolve_clusters(table.set_column(0, "fact_id", [some]), "auto") == "none"
    assert resolve_clusters(table, "none") == "none"


def test_results_and_comparisons_say_what_was_drawn(run):
    made = run("a")
    default = {"n_resamples": 10_000, "seed": 0, "clusters": "subject"}
    assert made.read_results()["resampling"] == default
    given = compute_results(made, Bootstrap(n_resamples=99, clusters="none"))["resampling"]
    assert given == {"n_resamples": 99, "seed": 0, "clusters": "none"}
    found = compare_runs(made, run("b"), n_resamples=9)
    subjects = {fact.split(":")[1] for fact in made.read("en")["fact_id"].to_pylist()}
    assert (found.settings["clusters"], found.n_units) == ("subject", len(subjects))


def test_wide_runs_have_fewer_resamples():
    table = pa.table({"fact_id": ["P1:Q1:Q2"] * 1_000})
    assert resolve_bootstrap(Bootstrap(), table, 10).n_resamples == 10_000  # 45 pairs
    assert resolve_bootstrap(Bootstrap(), table, 11).n_resamples == 1_000  # 55 pairs
    assert resolve_bootstrap(Bootstrap(n_resamples=7), table, 11).n_resamples == 7


def show(*arguments):
    result = CliRunner().invoke(app, ["compare", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


def test_the_command_says_what_was_tested_and_where_nothing_can_come_out(run, tmp_path):
    pair = run("a").folder, run("b", {"en": WRONG["en"], "ru": WRONG["ru"]}).folder
    file = tmp_path / "c.json"
    text = show(*pair, "--resamples", 200, "--cluster", "none", "--json", file)
    assert "8 rows, 2 languages: en, ru; randomisation, 200 resamples of 8 facts" in text
    assert "excluded (only in one run): languages zh_hans" in text
    written = json.loads(file.read_text())
    assert written["differences"]["accuracy"]["en"]["p"] < 0.05
    assert written["names"] == ["synthetic (a)", "synthetic (b)"]
    assert "Δ: synthetic (a) less synthetic (b); differ in: other languages zh_hans / none" in text
    few = show(*pair, "--cluster", "relation", "--correction", "none")
    assert "10,000 resamples of 2 relations" in few
    said = "p (none) cannot fall below .05 with 2 relations and 10,000 resamples; least possible p:"
    figures = ("accuracy", "RankC", "adjusted", "COverlap", "agreement")
    assert few.count("cannot fall below") == 1
    assert few.endswith(f"{said} {', '.join(f'{name} 0.5' for name in figures)}")


def test_columns_have_the_names_of_the_runs(run):
    first, second = run("a", model="acme/small"), run("b", WRONG, model="acme/large")
    text = show(first.folder, second.folder, "--resamples", 9)
    assert "┃ figure ┃ small ┃ large ┃ Δ ┃" in text
    assert "Δ: small less large; differ in: model acme/small / acme/large" in text
    assert "model:acme" not in text  # no signatures


# Possible p-values of two runs, compared with all swaps of their facts.

CORRECTIONS = ("holm", "bh", "none")


@pytest.mark.parametrize("resamples", [0, 1, 39])
def test_with_few_resamples_nothing_is_tested(resamples, run):
    rows = compare_runs(run("a"), run("b"), n_resamples=resamples).differences["accuracy"]
    assert all(row.difference is not None and row.p is row.ci is None for row in rows)
    text = show(run("c").folder, run("d").folder, "--resamples", resamples)
    assert "neither tests nor intervals: they need 40 resamples" in text
    assert "differ at p" not in text


def explained(n_units, names, correction, resamples, *, test="randomisation", clusters="none"):
    """Return the message for a number of names per figure; the names do not matter."""
    row = Difference("x", 1.0, 0.0, 1.0, None, 0.5, 0.5)
    differences = {figure: [row] * (n + 1) for figure, n in names.items()}
    settings = {"test": test, "correction": correction, "n_resamples": resamples}
    settings["clusters"] = clusters
    sizes = (n_units, n_units, n_units, (0, 0))
    found = Comparison(("", ""), ("", ""), "", [], [], *sizes, differences, settings, {}, {}, {})
    return explain_least(found)


def least_of_all_swaps(n):
    """One run is correct in all n facts, the other in none: the share of equally large swaps."""
    sums = np.array([sum(signs) for signs in product((-1, 1), repeat=n)])
    return np.mean(np.abs(sums) >= n)


def least(test, n_units, n_resamples):
    """The smallest p-value by the functions that compute p-values, without extreme swaps."""
    if test == "bootstrap":
        return invert_intervals(np.ones((n_resamples, 1)), n_units - 1.0)[0]
    drawn = p_value([np.zeros((n_resamples, 1))], np.ones(1))[0]
    return max(drawn, least_of_all_swaps(min(n_units, 14)))


def reached(test, correction, n_units, n_resamples, names):
    """Whether the smallest p-values, corrected, are below .05."""
    p = np.full(names, least(test, n_units, n_resamples))
    return min(correct_values(p, correction)) < 0.05


@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize("names", [1, 3, 10])
def test_what_is_reported_is_what_all_swaps_allow(correction, names):
    for n, resamples in product(range(1, 13), (5, 19, 20, 59, 60, 500)):
        told = explained(n, {"accuracy": names}, correction, resamples)
        assert (told is None) == reached("randomisation", correction, n, resamples, names)


@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize("clusters", ["none", "relation"])
def test_what_is_reported_is_what_the_bootstrap_allows(correction, clusters):
    for n, resamples, names in product((2, 4, 5, 6, 8, 11), (5, 30, 60, 500, 10_000), (1, 3, 8)):
        options = {"test": "bootstrap", "clusters": clusters}
        told = explained(n, {"rankc": names}, correction, resamples, **options)
        assert (told is None) == reached("bootstrap", correction, n, resamples, names)


def test_few_facts_are_reported_once():
    five = {"accuracy": 2, "rankc": 1, "coverlap": 1}
    assert explained(5, five, "holm", 500) == (
        "p (holm) cannot fall below .05 with 5 rows and 500 resamples; "
        "least possible p: accuracy 0.12, RankC 0.062, COverlap 0.062"
    )  # 2 * 2^-4 and 2^-4
    assert "accuracy 0.062" in explained(6, five, "holm", 500)
    assert explained(9, {"accuracy": 0}, "none", 1) is None


# Two free predictions of the same facts, compared fact by fact.


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
