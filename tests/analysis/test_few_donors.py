"""Runs with few donors or none, few facts, one language, or ties: stated and counted, no NaN."""

import json

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from polyprobe.analysis.figures.compute import compute_results
from polyprobe.analysis.figures.results import explain_missing
from polyprobe.cli import app
from polyprobe.eval import evaluate_model
from polyprobe.schema.run.folder import SCORES, Run
from tests.making import tiny
from tests.making.subjects import write_subjects

# Relations as in `write_subjects`; facts that do not count.
DATASETS = {
    "one subject": ([("P36", 1, 6, (2,))], 1),
    "one subject beside others": ([("P36", 12, 6, (5,)), ("P37", 1, 6, (2,))], 1),
    "one answer": ([("P36", 8, 1, (3,))], 8),
    "one answer beside others": ([("P36", 12, 6, (5,)), ("P38", 5, 1, (2,))], 5),
    # the wrong candidate is often the only other answer, and would leave one
    "two candidates": ([("P36", 6, 2, (1,))], 2),
    "30 facts": ([("P36", 30, 6, (5,))], 0),
}
FIGURES = ("rankc_subject", "rankc_right", "rankc_beyond", "rankc_interaction", "accuracy_gain")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("place")
    tiny.save_model("gpt2", folder / "model")
    for name, (relations, _) in DATASETS.items():
        write_subjects(folder / name, relations=relations)
    return folder


def evaluate(place, name, output, languages=None):
    model, facts = str(place / "model"), str(place / name)
    evaluate_model(model, facts, output=output, languages=languages)
    return read(output)


def read(folder):
    """Return the results as the file has them, and the words of the command."""
    text = (folder / "results.json").read_text()
    assert "NaN" not in text
    assert "Infinity" not in text
    done = CliRunner().invoke(app, ["metrics", str(folder)], env={"COLUMNS": "300"})
    assert done.exit_code == 0, done.exception
    assert (folder / "report.html").exists()
    assert "nan" not in done.output
    assert (folder / "results.json").read_text() == text
    return json.loads(text), done.output


@pytest.mark.parametrize("languages", [None, ["en"]], ids=["three", "one"])
@pytest.mark.parametrize("name", DATASETS)
def test_facts_that_do_not_count_are_counted(name, languages, place, tmp_path):
    n = DATASETS[name][1]
    results, words = evaluate(place, name, tmp_path / "run", languages)
    assert results["left_out"]["rankc_subject"] == n
    line = "without a donor, or with one candidate left: not in centred RankC and gain"
    assert (f"{n} facts {line}" in words) is (n > 0)
    counted = results["n_queries"] - n
    assert (results["donors"]["n_donors"] > 0) is (counted > 0)
    for figure in FIGURES:
        of_language = figure == "accuracy_gain"
        if not counted or (languages and not of_language):
            assert results["mean"][figure] is None
            assert figure not in results["p_values"]
        else:
            assert of_language <= (results["mean"][figure] is not None)
    remedy = (
        f"no centred RankC and gain of {n} of {n} facts: no subject of their relation with another"
    )
    assert (remedy in words) is (not counted and not languages)
    if languages:
        assert results["rankc_subject"] == {}
        assert results["left_out"]["rankc_independent"] == 0
        assert "at least two languages are needed for RankC" in words


def test_a_run_without_second_questions_says_so(place, tmp_path):
    folder = tmp_path / "run"
    facts = str(place / "30 facts")
    results = evaluate_model(str(place / "model"), facts, output=folder, donor=False)
    line = "no centred RankC and gain: no fact was asked about another subject; score again without"
    assert line in read(folder)[1]
    board = CliRunner().invoke(app, ["board", str(folder)], env={"COLUMNS": "300"})
    assert f"model: {line}" in board.output
    imported = explain_missing(results | {"signature": f"{results['signature']}|imported:table"})
    assert imported.endswith(
        "import scores with a donor too, as of the second task of `polyprobe export`"
    )


def test_thirty_facts_have_all_figures(place, tmp_path):
    results, words = evaluate(place, "30 facts", tmp_path / "run")
    for figure in FIGURES:
        low, high = results["intervals"]["mean"][figure]
        assert low - 1e-9 <= results["mean"][figure] <= high + 1e-9
    assert results["left_out"]["rankc_independent"] == 0
    assert results["donors"] == {
        "n_donors": 30, "effective_donors": 30, "n_units": 15, "effective_units": 15
    }  # fmt: skip
    assert "30 donors (30 effective); 15 units (15 effective)" in words


def invent(place, output, change):
    """Return the run of 30 facts with other scores: `change` maps a row's to its own."""
    evaluate(place, "30 facts", output)
    run = Run(output)
    for language in run.settings().languages:
        rows = run.read(language).to_pylist()
        for row in rows:
            for name in ("scores", "donor_scores"):
                row[name] = change(len(row[name]))
        run.write(language, pa.Table.from_pylist(rows, SCORES))
    compute_results(run)
    return read(output)


def test_ties_everywhere_are_zero(place, tmp_path):
    results, _ = invent(place, tmp_path / "run", lambda n: [0.5] * n)
    for figure in ("rankc_subject", "rankc_interaction", "rankc_right", "accuracy_gain"):
        assert results["mean"][figure] == pytest.approx(0, abs=1e-12)
        assert results["intervals"]["mean"][figure] == pytest.approx([0, 0], abs=1e-12)
    assert set(results["p_values"]["rankc_interaction"].values()) == {1}


def test_one_ranking_for_all_subjects_is_not_defined_and_said_so(place, tmp_path):
    results, words = invent(place, tmp_path / "run", lambda n: [float(k) for k in range(n)])
    assert set(results["rankc_subject"].values()) == {results["mean"]["rankc_subject"]} == {None}
    assert results["mean"]["rankc_interaction"] == pytest.approx(0, abs=1e-12)
    assert results["mean"]["rankc_donor"] == pytest.approx(1)
    assert "centred RankC is not defined for 3 pairs" in words
