"""`polyprobe metrics --average --weights --ties --figures`, compared with the modules."""

import json
import re
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import softmax
from typer.testing import CliRunner

from polyprobe.analysis.figures.compute import find_results
from polyprobe.analysis.figures.facts import ScoredFacts
from polyprobe.analysis.figures.modules import measure_modules
from polyprobe.analysis.figures.options import MetricOptions
from polyprobe.analysis.figures.predictions import PredictedFacts, summarize_predictions
from polyprobe.analysis.figures.units import Units
from polyprobe.analysis.options import Bootstrap
from polyprobe.cli import app
from polyprobe.metrics.accuracy_at_1.formulas import measure_accuracy
from polyprobe.metrics.rankc.formulas import measure_rankc
from polyprobe.metrics.rankc_subject.formulas import measure_rankc_subject
from polyprobe.metrics.recall_at_k.formulas import measure_recall
from polyprobe.metrics.shared.ranks import WEIGHTS
from polyprobe.publish.export import RUN_FORMATS, export_run
from polyprobe.schema.run.folder import SCORES
from polyprobe.system.messages import PolyprobeError
from tests.analysis.definitions import error_of
from tests.making.facts import write_facts
from tests.making.relations import LANGUAGES, RELATIONS, write_scores
from tests.making.tables import EVERY, make_scores
from tests.making.tables import make_predictions as predictions
from tests.metrics.logs import logs

__all__ = ["logs"]

QUICK = Bootstrap(0)
PAIRS = [*combinations(LANGUAGES, 2)]
N = len(RELATIONS)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return write_facts(tmp_path_factory.mktemp("data") / "facts", copies=10)


@pytest.fixture(scope="module")
def run(dataset, tmp_path_factory):
    """A run with many ties: scores are rounded to whole numbers."""
    run = write_scores(tmp_path_factory.mktemp("runs") / "a", dataset, 1, scoring="object")
    for language in LANGUAGES:
        columns = run.read(language).to_pydict()
        for name in ("scores", "donor_scores"):
            columns[name] = [row and [float(round(x)) for x in row] for row in columns[name]]
        run.write(language, pa.table(columns, schema=SCORES))
    run.write_results(find_results(run))
    return run


def read(run, column):
    return {x: run.read(x)[column].to_pylist() for x in LANGUAGES}


@pytest.mark.parametrize("ties", ["expected", "released"])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_rankc_is_that_of_the_module(run, weights, ties):
    found = find_results(run, QUICK, options=MetricOptions(weights=weights, ties=ties))
    scores = read(run, "scores")
    alone = {
        f"{one}-{two}": measure_rankc(scores[one], scores[two], weights, ties, n_resamples=0)
        for one, two in PAIRS
    }
    for pair, figures in alone.items():
        assert found["rankc"][pair] == pytest.approx(figures["rankc"])
        assert found["rankc_adjusted"][pair] == pytest.approx(figures["rankc_adjusted"])
    assert found["chance"]["rankc"] == pytest.approx(alone["en-ru"]["chance"])
    default = find_results(run, QUICK)
    if (weights, ties) != ("softmax", "expected"):
        assert found["mean"]["rankc"] != pytest.approx(default["mean"]["rankc"], abs=1e-4)
    if weights != "softmax":  # chance and floors follow
        assert found["chance"]["rankc"] != pytest.approx(default["chance"]["rankc"], abs=1e-3)
        one, other = (x["floors"]["length"]["rankc"] for x in (found, default))
        assert one != pytest.approx(other, abs=1e-3)


@pytest.mark.parametrize("ties", ["expected", "released"])
@pytest.mark.parametrize("weights", ["softmax", "norm2-released"])
def test_centred_rankc_is_that_of_the_module(run, weights, ties):
    found = find_results(run, QUICK, options=MetricOptions(weights=weights, ties=ties))
    columns = [read(run, x) for x in ("scores", "donor_scores", "answers", "donor_answers")]
    places = [n for n in range(N) if columns[1]["en"][n] is not None]
    for one, two in PAIRS:
        scores = [[x[y][n] for n in places] for x in columns[:2] for y in (one, two)]
        answers = [[x[one][n] for n in places] for x in columns[2:]]
        options = {"weights": weights, "ties": ties, "n_resamples": 0, "average": "micro"}
        options["groups"] = [RELATIONS[n] for n in places]
        alone = measure_rankc_subject(*scores, *answers, **options)
        for name in {*alone} & {*found} - {"rankc", "n_queries"}:
            assert found[name][f"{one}-{two}"] == pytest.approx(alone[name]), name
        assert {"rankc_subject", "rankc_right", "rankc_beyond"} < {*alone} & {*found}


def test_released_ties_are_those_of_the_other_modules(run):
    found = find_results(run, QUICK, options=MetricOptions(ties="released"))
    scores, answers = read(run, "scores"), run.read("en")["answers"].to_pylist()
    for language in LANGUAGES:
        alone = measure_accuracy(scores[language], answers, "released", n_resamples=0)
        assert found["accuracy"][language] == pytest.approx(alone["accuracy_at_1"])
        first = [row.index(max(row)) in right for row, right in
                 zip(scores[language], answers, strict=True)]  # fmt: skip
        assert found["accuracy"][language] == pytest.approx(sum(first) / N)
        default = measure_accuracy(scores[language], answers, n_resamples=0)
        assert alone["accuracy_at_1"] != default["accuracy_at_1"]
    default = find_results(run, QUICK)
    for name in ("rbo", "kendall_tau_b"):  # ties of these measures are their own
        assert found[name] == default[name]
    assert found["agreement"] != default["agreement"]


def test_calibration_has_the_scores_as_given_with_any_ties(run, dataset, tmp_path):
    """Ties change which answer counts as right, never the confidence."""
    expected, released = (
        find_results(run, QUICK, options=MetricOptions(ties=x))["calibration"]
        for x in ("expected", "released")
    )
    scores, answers = read(run, "scores"), run.read("en")["answers"].to_pylist()
    for language in LANGUAGES:
        for name in ("n", "confidence"):
            assert released[language]["bins"][name] == expected[language]["bins"][name]
        assert released[language]["ece"] != expected[language]["ece"]
        sure = [max(softmax(row)) for row in scores[language]]
        for found, count in ((expected, share_of_ties), (released, first_of_ties)):
            right = [count(row, a) for row, a in zip(scores[language], answers, strict=True)]
            assert found[language]["ece"] == pytest.approx(error_of(sure, right))
    other = write_scores(tmp_path / "b", dataset, 2, scoring="object")  # without ties
    expected, released = (
        find_results(other, QUICK, options=MetricOptions(ties=x))["calibration"]
        for x in ("expected", "released")
    )
    assert released == expected


def share_of_ties(row, answers):
    best = [k for k, value in enumerate(row) if value == max(row)]
    return sum(k in answers for k in best) / len(best)


def first_of_ties(row, answers):
    return row.index(max(row)) in answers


def test_micro_is_the_mean_over_rows(run):
    macro, micro = (
        find_results(run, QUICK, options=MetricOptions(average=x)) for x in ("macro", "micro")
    )
    scores, answers = read(run, "scores"), run.read("en")["answers"].to_pylist()
    for language in LANGUAGES:
        kept = {"groups": RELATIONS, "n_resamples": 0}
        alone = measure_recall(scores[language], answers, average="micro", **kept)
        for name in ("recall@1", "recall@5", "mean_rank"):
            assert micro["recall_at_k"][language][name] == pytest.approx(alone[name])
        assert micro["recall_at_k"][language]["recall@1"] == micro["accuracy"][language]
        assert macro["recall_at_k"][language]["recall@1"] != micro["accuracy"][language]
    assert micro["accuracy"] == macro["accuracy"]  # the mean over rows in both


def test_micro_of_free_predictions():
    """Three facts of one relation right, one of another wrong: 1/2 by relation, 3/4 by fact."""
    rows = predictions(["gold"] * 3 + ["x"])
    for average, expected in (("macro", 1 / 2), ("micro", 3 / 4)):
        found = summarize_predictions(PredictedFacts({"en": rows}), Units(average=average))
        assert found["accuracy"] == {"en": expected}
        assert found["mean"]["accuracy"] == expected


def test_micro_of_consistency_is_the_mean_over_facts():
    """Two facts of P36 with equal answers to both templates, one of P19 with different ones."""
    rows = [(f, [0], s) for f in ("P36:a:b", "P36:c:d") for s in ([2.0, 1.0], [3.0, 0.0])]
    rows += [("P19:e:f", [0], [2.0, 1.0]), ("P19:e:f", [0], [1.0, 2.0])]
    for average, expected in (("macro", (1 + 0) / 2), ("micro", 2 / 3)):
        facts, units = ScoredFacts({"en": make_scores(rows)}), Units(average=average)
        found = measure_modules(facts, units.modules, EVERY)["paraphrase_consistency"]["en"]
        assert found["consistency"] == pytest.approx(expected)


def test_micro_of_the_authors_logs_is_the_printed_accuracy(logs):
    """Polyglot or Not counts rows alike, whatever their relation.

    A run has logarithms, which break exact ties of BLOOM's float16 probabilities below 1e-6: 5 of
    the 46,340 facts differ.
    """
    differing, counted = 0, 0
    for items, summary in logs.values():
        with np.errstate(divide="ignore"):
            logged = [np.log([x["p_true"], *x["p_false_list"]]).tolist() for x in items]
        rows = [(f"P{n % 7}:{n}:b", [0], scores) for n, scores in enumerate(logged)]
        facts = ScoredFacts({"en": make_scores(rows)}, scoring="contrastive")
        figures = measure_modules(facts, Units(average="micro").modules, EVERY)
        found = figures["contrastive_knowledge"]["en"]
        recalled, size = map(int, re.search(r"predicted (\d+)/(\d+) facts", summary).groups())
        differing += abs(round(found["accuracy"] * size) - recalled)
        counted += found["n_queries"]
    assert (differing, counted) == (5, 46_340)


def test_only_the_chosen_figures_are_computed(run):
    chosen = ("rankc", "recall_at_k", "right_in_all")
    found = find_results(run, QUICK, options=MetricOptions(figures=chosen))
    whole = find_results(run, QUICK)
    assert [*found["mean"]] == ["rankc"]
    kept = {"languages", "n_queries", "k_correct", "k_share"}
    kept |= {"definition", "signature", "subset", "resampling", "donors"}
    assert {name for name in found if name in whole} - {"options"} == kept | {
        *chosen, "chance", "mean", "intervals", "by_relation", "floors", "floors_by_place",
        "p_values", "left_out"
    }  # fmt: skip
    for name in (*chosen, *kept):
        assert found[name] == whole[name]
    assert found["chance"] == {"rankc": whole["chance"]["rankc"]}
    assert {*found["floors"]["length"]} == {"rankc"}
    assert found["options"] == {"figures": [*chosen]}


def test_the_default_leaves_no_options(run):
    assert find_results(run) == run.read_results()
    assert "options" not in run.read_results()
    named = find_results(run, options=MetricOptions(figures=("default",)))
    del named["options"]
    assert named == run.read_results()


def call(*words):
    return CliRunner().invoke(app, ["metrics", *map(str, words)])


def test_the_command_writes_the_options(run):
    given = ["--weights", "norm1", "--ties", "released", "--average", "micro"]
    done = call(run.folder, "--resamples", 0, *given)
    options = {"average": "micro", "weights": "norm1", "ties": "released"}
    results = json.loads((run.folder / "results.json").read_text())
    assert results["options"] == options
    assert "options: average micro; weights norm1; ties released" in done.output
    page = (run.folder / "report.html").read_text()
    assert "options: average micro; weights norm1; ties released" in page
    listed = "average:micro|weights:norm1|ties:released"
    for name in RUN_FORMATS:
        extra = {"dataset_id": "me/facts"}
        text = export_run(run.folder, name, None, **extra).read_text()
        known = [listed in text, '"weights": "norm1"' in text, "weights: norm1" in text]
        assert any(known), name
    assert call(run.folder, "--resamples", 0).exit_code == 0
    assert "options" not in json.loads((run.folder / "results.json").read_text())


def test_figures_of_a_report_with_other_options_are_not_compared(run, dataset, tmp_path):
    other = write_scores(tmp_path / "b", dataset, 2, scoring="object")
    call(run.folder, "--resamples", 0)
    call(other.folder, "--resamples", 0, "--weights", "norm1")
    words = ["report", str(run.folder), str(other.folder), "--output", str(tmp_path / "x.html")]
    assert CliRunner().invoke(app, words).exit_code == 0
    page = (tmp_path / "x.html").read_text()
    assert "not compared: their results.json have other options" in page
    assert "These runs differ in options" in page


def test_the_page_of_a_comparison_has_the_default_figures(run, dataset, tmp_path):
    other = write_scores(tmp_path / "b", dataset, 2, scoring="object")
    default = find_results(run, QUICK)
    for folder in (run.folder, other.folder):
        call(folder, "--resamples", 0, "--weights", "norm2")
    page = tmp_path / "x.html"
    words = ["compare", str(run.folder), str(other.folder), "--resamples", "100"]
    done = CliRunner().invoke(app, [*words, "--output", str(page)])
    assert done.exit_code == 0, done.output
    assert f"{default['mean']['rankc']:.3f}" in page.read_text()
    assert "options: " not in page.read_text()
    call(run.folder, "--resamples", 0)


def test_an_unknown_figure_is_refused(run):
    error = "unknown --figures 'rankC'; did you mean 'rankc'?"
    assert error in str(call(run.folder, "--figures", "rankC,acc").exception)


def test_free_predictions_have_no_rankings():
    with pytest.raises(PolyprobeError, match="--weights is for runs that score candidates; r hol"):
        MetricOptions(weights="norm1").check_kind("predictions", "r")
    MetricOptions(average="micro").check_kind("predictions", "r")
