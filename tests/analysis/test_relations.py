"""Figures by relation: in results.json, tables, pages, exports and comparisons."""

import csv
import json

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from polyprobe.analysis.compare.runs import compare_runs
from polyprobe.analysis.figures.compute import find_results
from polyprobe.analysis.figures.predictions import PredictedFacts, summarize_predictions
from polyprobe.analysis.figures.units import Units
from polyprobe.analysis.options import Bootstrap
from polyprobe.cli import app
from polyprobe.publish.export import RUN_FORMATS, export_run
from polyprobe.report.findings.run import make_relations_table
from polyprobe.report.show import format_table
from polyprobe.schema.run.rows import make_choice
from polyprobe.system.messages import PolyprobeError
from tests.making.facts import write_facts
from tests.making.relations import LANGUAGES, RELATIONS, N, write_scores
from tests.making.tables import make_predictions as predictions

REPORTED = {"accuracy", "rankc_subject", "rankc", "rankc_adjusted", "coverlap", "accuracy_gain"}


CLUSTERS = ("none", "subject", "relation")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return write_facts(tmp_path_factory.mktemp("data") / "facts", copies=10)


@pytest.fixture(scope="module")
def run(dataset, tmp_path_factory):
    run = write_scores(tmp_path_factory.mktemp("runs") / "a", dataset, 1)
    run.write_results(find_results(run))
    return run


@pytest.fixture(scope="module")
def other(dataset, tmp_path_factory):
    run = write_scores(tmp_path_factory.mktemp("runs") / "b", dataset, 2)
    run.write_results(find_results(run))
    return run


@pytest.mark.parametrize("clusters", CLUSTERS)
def test_figures_of_a_relation_are_those_of_its_rows_alone(run, clusters):
    options = {"n_resamples": 200, "seed": 3}
    found = find_results(run, Bootstrap(clusters=clusters, **options))["by_relation"]
    assert [*found] == ["P36", "P19", "P530"]
    within = "none" if clusters == "relation" else clusters
    for relation, figures in found.items():
        choice = make_choice([relation])
        alone = find_results(run, Bootstrap(clusters=within, **options), choice)
        assert set(figures["mean"]) == REPORTED
        assert figures["n_queries"] == alone["n_queries"] == RELATIONS.count(relation)
        for name in REPORTED:
            assert figures["mean"][name] == alone["mean"][name]
            assert figures["intervals"][name] == pytest.approx(alone["intervals"]["mean"][name])
            defined = figures["intervals"][name] is not None
            assert defined or (name == "rankc_subject" and relation == "P530")  # of 8 facts
        assert figures["accuracy"] == alone["accuracy"]
        assert figures["floors"] == {"frequency": alone["floors"]["frequency"]}


def test_accuracy_is_counted_by_hand(run):
    found = find_results(run, Bootstrap(0))["by_relation"]
    for relation, figures in found.items():
        rows = [n for n in range(N) if RELATIONS[n] == relation]
        for language in LANGUAGES:
            table = run.read(language).take(rows).to_pylist()
            right = [int(np.argmax(row["scores"])) == row["answers"][0] for row in table]
            assert figures["accuracy"][language] == pytest.approx(sum(right) / len(rows))
        mean = sum(figures["accuracy"].values()) / 3
        assert figures["mean"]["accuracy"] == pytest.approx(mean)
        level = sum(n % 7 / 6 for n in rows) / len(rows)
        assert figures["floors"]["frequency"]["accuracy"] == pytest.approx(level)
        assert figures["intervals"] == {}


def test_free_predictions_are_counted_by_hand():
    tables = {
        "en": predictions(["gold", "gold", "x", "gold"]),  # P36, P36, P36, P19
        "fr": predictions(["gold", "x", "gold", None], single=(True, True, True, None)),
    }
    found = summarize_predictions(PredictedFacts(tables), Units())["by_relation"]
    assert found["P36"]["accuracy"] == {"en": pytest.approx(2 / 3), "fr": pytest.approx(2 / 3)}
    assert found["P36"]["mean"] == {"accuracy": pytest.approx(2 / 3), "coverlap": 1 / 3}
    assert found["P19"]["accuracy"] == {"en": 1.0, "fr": None}
    assert found["P19"]["mean"] == {"accuracy": 1.0, "coverlap": None}
    drawn = summarize_predictions(PredictedFacts(tables), Units(40))["by_relation"]
    assert drawn["P36"]["intervals"]["accuracy"][0] < drawn["P36"]["intervals"]["accuracy"][1]


def run_command(*arguments):
    return CliRunner().invoke(
        app, [str(a) for a in arguments], env={"COLUMNS": "200"}, catch_exceptions=False
    )


def test_metrics_print_a_row_for_each_relation(run, tmp_path):
    output = run_command("metrics", run.folder, "--by-relation", "--resamples", "20").output
    results = run.read_results()
    head, rows = format_table(make_relations_table(results))
    assert head == ["relation", "facts", "accuracy", "frequent answers", "gain", "centred",
                    "RankC", "adjusted", "COverlap"]  # fmt: skip
    cells = [[c.strip() for c in line.split("│")[1:-1]] for line in output.splitlines()]
    assert [row for row in cells if len(row) == len(head)][: len(rows)] == rows
    p36 = results["by_relation"]["P36"]
    assert rows[0][:4] == ["P36", "8", f"{p36['mean']['accuracy']:.3f}",
                           f"{p36['floors']['frequency']['accuracy']:.3f}"]  # fmt: skip
    assert "frequent answers" not in run_command("metrics", run.folder).output


def test_metrics_of_some_relations_are_recorded_and_not_exported(run):
    before = (run.folder / "results.json").read_bytes()
    output = run_command("metrics", run.folder, "--relations", "P36,P19").output
    assert "figures of a part of the scored rows: relations P19, P36" in output
    assert "8 rows left out: other relations" in output
    results = run.read_results()
    assert results["subset"] == {"relations": ["P19", "P36"], "exclude": []}
    assert results["left_out"]["rows"] == {"other relations": 8}
    for name in RUN_FORMATS:
        with pytest.raises(PolyprobeError, match=r"part of the scored rows \(relations P19, P36\)"):
            export_run(run.folder, name, dataset_id="someone/facts")
    run_command("metrics", run.folder)
    assert (run.folder / "results.json").read_bytes() == before


def test_the_report_has_the_table_and_takes_a_choice(run, tmp_path):
    page, part = tmp_path / "page.html", tmp_path / "part.html"
    before = (run.folder / "results.json").read_bytes()
    run_command("report", run.folder, "--output", page)
    text = page.read_text(encoding="utf-8")
    assert "by relation</summary>" in text
    assert '<td>P530</td><td class="figure-cell">8</td>' in text
    run_command("report", run.folder, "--output", part, "--exclude", "second_answers")
    text = part.read_text(encoding="utf-8")
    assert "<td>P530</td>" not in text
    assert "8 rows left out: second_answers." in text
    assert "figures of a part of the scored rows: without second_answers." in text
    assert examples(text) == {"P36", "P19"} < examples(page.read_text(encoding="utf-8"))
    assert (run.folder / "results.json").read_bytes() == before


def examples(text):
    data = json.loads(text.partition('id="data">')[2].partition("</script>")[0])
    (one,) = data["runs"]
    return {fact["relation"] for fact in one["facts"]}


def test_a_report_of_a_recorded_choice_has_its_examples(run, tmp_path):
    page = tmp_path / "page.html"
    run_command("metrics", run.folder, "--relations", "P19")
    run_command("report", run.folder, "--output", page)
    assert examples(page.read_text(encoding="utf-8")) == {"P19"}
    run_command("metrics", run.folder)


def test_the_table_for_spreadsheets_has_a_column_relation(run):
    results = run.read_results()
    with export_run(run.folder, "csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["relation"]]
    assert len(rows) == 3 * (len(REPORTED) + len(LANGUAGES))
    for row in rows:
        figures = results["by_relation"][row["relation"]]
        if row["language"] != "mean":
            assert float(row["value"]) == figures["accuracy"][row["language"]]
            continue
        assert float(row["value"]) == figures["mean"][row["figure"]]
        assert [float(row["low"]), float(row["high"])] == figures["intervals"][row["figure"]]
        floor = row["figure"] == "accuracy" and figures["floors"]["frequency"]["accuracy"]
        assert row["floor"] == (str(floor) if floor else "")
        counted = row["figure"] in ("accuracy", "rankc")
        assert row["n"] == (str(figures["n_queries"]) if counted else "")


def holm(values):
    """Return p-values adjusted as in Holm (1979), one hypothesis at a time."""
    adjusted, highest = dict.fromkeys(values), 0.0
    values = {x: p for x, p in values.items() if p is not None}
    for step, name in enumerate(sorted(values, key=values.get)):
        highest = max(highest, min(1.0, values[name] * (len(values) - step)))
        adjusted[name] = highest
    return adjusted


@pytest.mark.parametrize("test", ["randomisation", "bootstrap"])
def test_comparison_by_relation(run, other, test):
    options = {"n_resamples": 300, "seed": 1, "test": test}
    found = compare_runs(run, other, by_relation=True, **options)
    assert found.relations == {x: RELATIONS.count(x) for x in ("P36", "P19", "P530")}
    assert set(found.by_relation) == REPORTED
    raw = {}
    for relation in found.relations:
        alone = compare_runs(run, other, choice=make_choice([relation]), **options)
        assert alone.left_out_rows == {"other relations": N - RELATIONS.count(relation)}
        for figure, rows in found.by_relation.items():
            (row,) = [row for row in rows if row.name == relation]
            mean = alone.differences[figure][-1]
            assert row[1:6] == mean[1:6]
            raw.setdefault(figure, {})[relation] = row.p
    for figure, rows in found.by_relation.items():
        assert {row.name: row.p_adjusted for row in rows} == pytest.approx(holm(raw[figure]))


def test_compare_prints_and_stores_relations(run, other, tmp_path):
    file = tmp_path / "c.json"
    given = ["compare", run.folder, other.folder, "--resamples", "99", "--json", file]
    output = run_command(*given, "--by-relation", "--exclude", "second_answers").output
    assert "accuracy P36" in output
    assert "P530" not in output
    assert "8 rows left out: second_answers" in output
    stored = json.loads(file.read_text())
    assert stored["settings"]["exclude"] == ["second_answers"]
    assert (stored["n_queries"], stored["left_out_rows"]) == (32, {"second_answers": 8})
    assert stored["relations"] == {"P36": 8, "P19": 24}
    expected = compare_runs(
        run, other, choice=make_choice(["P36", "P19"]), by_relation=True, n_resamples=99
    )
    for figure, rows in expected.by_relation.items():
        for row in rows:
            kept = stored["by_relation"][figure][row.name]
            assert (kept["difference"], kept["p"]) == (row.difference, row.p)
    run_command(*given)
    stored = json.loads(file.read_text())
    assert (stored["relations"], stored["by_relation"], stored["left_out_rows"]) == ({}, {}, {})


def test_donors_of_both_runs_link_the_units(run, other, dataset, tmp_path):
    third = write_scores(tmp_path / "third", dataset, 3)
    donors = {}
    for language in LANGUAGES:
        table = third.read(language)
        facts = table["fact_id"].to_pylist()
        donors = {fact: facts[n ^ 4] for n, fact in enumerate(facts)}
        place = table.column_names.index("donor")
        third.write(language, table.set_column(place, "donor", pa.array(donors.values())))
    for second, links in ((other, {}), (third, donors)):
        columns = run.read("en").to_pydict()
        units = {fact: {fact} for fact in columns["fact_id"]}
        pairs = [*zip(columns["fact_id"], columns["donor"], strict=True), *links.items()]
        for fact, donor in pairs:
            if donor:
                joint = units[fact] | units[donor]
                units |= dict.fromkeys(joint, joint)
        n_units = len({frozenset(unit) for unit in units.values()})
        found = compare_runs(run, second, n_resamples=9, clusters="none")
        assert (found.n_units, found.n_linked) == (N, n_units)
        assert n_units < N
