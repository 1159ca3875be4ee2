"""Two runs on the same facts: matched rows, excluded rows, paired figures."""

import json

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from polyprobe.analysis.compare.folders import compare_folders
from polyprobe.analysis.compare.match import match_facts
from polyprobe.analysis.compare.options import ComparisonOptions
from polyprobe.analysis.compare.runs import compare_runs
from polyprobe.analysis.figures.compute import compute_results
from polyprobe.analysis.figures.units import Bootstrap, read_clusters, resolve_clusters
from polyprobe.cli import app
from polyprobe.system.errors import PolyprobeError
from tests.making.facts import write_facts
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


def test_rows_have_a_level_and_a_weighting(run):
    options = ComparisonOptions(resamples=99, by_relation=True)
    outcome = compare_folders([run("a"), run("b", WRONG)], options)
    rows = [(row.level, row.difference.name) for row in outcome.rows if row.figure == "accuracy"]
    names = [("name", x) for x in ("en", "ru", "zh_hans")]
    assert rows == [*names, ("mean", "mean"), ("relation", "P36"), ("relation", "P37")]
    assert {row.weighting for row in outcome.rows} == {""}


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
    assert match_facts(twice, table.take([1, 0]), (first, second), "en") == ([0, 2], [1, 0])


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
    with pytest.raises(PolyprobeError, match="b/scores: NaN among the scores of query 2 in 'ru'"):
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
    assert Bootstrap().resolve(table, 10).n_resamples == 10_000  # 45 pairs
    assert Bootstrap().resolve(table, 11).n_resamples == 1_000  # 55 pairs
    assert Bootstrap(n_resamples=7).resolve(table, 11).n_resamples == 7


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
