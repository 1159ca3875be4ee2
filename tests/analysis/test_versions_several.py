"""Three wordings, each with the first; changes by relation."""

import json

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

from polyprobe.analysis.compare.folders import compare_folders
from polyprobe.analysis.compare.match import find_versions, split_wording
from polyprobe.analysis.compare.options import ComparisonOptions
from polyprobe.analysis.compare.sentences.compare import compare_versions
from polyprobe.analysis.compare.sentences.deltas import (
    Pearson,
    compute_pearson,
    find_answer_text,
    split_by_relation,
)
from polyprobe.analysis.figures.compute import find_results
from polyprobe.analysis.options import Bootstrap
from polyprobe.cli import app
from polyprobe.report.findings.comparison import (
    make_changes_table,
    make_comparison_finding,
    make_several_finding,
)
from polyprobe.report.show import format_table
from polyprobe.schema.run.folder import Run
from polyprobe.system.messages import PolyprobeError
from tests.making.predictions import FIRST, write_predictions
from tests.making.versions import best_ranks, rename, write_versions, write_wordings

FEW = {"n_resamples": 99}
OPTIONS = ComparisonOptions(n_resamples=99)


@pytest.fixture
def runs(tmp_path):
    return write_wordings(tmp_path)


@pytest.mark.parametrize(
    ("config", "name", "wording"),
    [
        ("ru", "tiny/ru", "template"),
        ("ru-sentence", "tiny/ru", "sentence"),
        ("ru-chatgpt", "tiny/ru", "chatgpt"),
        ("ru-wide", "tiny/ru-wide", "template"),
        ("ru-sentence-wide", "tiny/ru-wide", "sentence"),
        ("ru-chatgpt-wide", "tiny/ru-wide", "chatgpt"),
    ],
)
def test_a_configuration_is_split_into_name_and_wording(runs, config, name, wording, tmp_path):
    assert split_wording(rename(runs[0], tmp_path / "copy", config)) == (name, wording)


def test_two_of_three_wordings_may_lack_the_template(runs):
    _, sentence, chatgpt = runs
    for pair, sides in (
        ((sentence, chatgpt), ("sentence", "chatgpt")),
        ((chatgpt, sentence), ("chatgpt", "sentence")),
    ):
        versions = find_versions(*pair)
        assert versions == (sentence, chatgpt, sides)
        assert versions.wordings == ("sentence", "chatgpt")


def test_narrow_and_wide_are_not_wordings_of_one_configuration(runs, tmp_path):
    wide = rename(runs[1], tmp_path / "wide", "small-sentence-wide")
    assert find_versions(runs[0], wide) is None


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)])
def test_each_wording_is_compared_with_the_template(runs, order):
    outcomes = compare_folders([runs[k] for k in order], OPTIONS)
    pairs = [compare_folders([runs[k], runs[0]], OPTIONS)[0] for k in (1, 2)]
    assert [found.as_json() for found in outcomes] == [pair.as_json() for pair in pairs]
    sentence, chatgpt = (found.as_json()["versions"] for found in outcomes)
    recall = chatgpt["ranks"]["recall@1"]["macro"]["mean"]
    assert recall["difference"] == 0  # ChatGPT's scores are copies
    assert recall["template"] == recall["chatgpt"]
    assert sentence["difference"] == "sentence - template"


def test_each_pair_has_its_tables(runs):
    outcomes = compare_folders(runs, OPTIONS)
    several = make_several_finding(outcomes)
    tables = [table for x in outcomes for table in make_comparison_finding(x).tables]
    assert [*map(format_table, several.tables)] == [*map(format_table, tables)]
    titles = [part.title for part in several.parts]
    assert len({*titles}) == len(titles)
    assert several.settings == [runs[k].settings().signature for k in (1, 0, 2)]


def test_two_runs_name_the_direction_of_their_order(runs, tmp_path):
    """Two runs: the first less the second; the JSON and the table say so."""
    template, sentence, _ = (str(run.folder) for run in runs)
    for pair, direction in (
        ((template, sentence), "template - sentence"),
        ((sentence, template), "sentence - template"),
    ):
        out = tmp_path / "two.json"
        words = ["compare", *pair, "--resamples", "99", "--json", str(out)]
        result = CliRunner().invoke(app, words, env={"COLUMNS": "120"})
        text, (first, second) = " ".join(result.output.split()), direction.split(" - ")
        assert f"difference (Δ): {direction}" in text
        assert f"┃ {first} ┃ {second} ┃ Δ ┃" in text
        for figure in ("recall@1 mean (macro)", "recall@1 mean (micro)", "accuracy mean (micro)"):
            assert figure in text
        found = json.loads(out.read_text())
        assert found["difference"] == " - ".join(found["names"])
        assert found["versions"]["difference"] == direction
        row = found["versions"]["ranks"]["recall@1"]["macro"]["mean"]
        assert row["difference"] == pytest.approx(row[first] - row[second]) != 0
        one, other = (find_results(Run(x), Bootstrap(0))["mean"]["accuracy"] for x in pair)
        assert found["differences"]["accuracy"]["mean"]["difference"] == pytest.approx(one - other)


def test_the_command_takes_three(runs, tmp_path):
    folders = [str(run.folder) for run in runs]
    out = tmp_path / "c.json"
    result = CliRunner().invoke(app, ["compare", *folders, "--resamples", "99", "--json", str(out)])
    assert result.exit_code == 0, result.output
    assert result.output.count("difference (Δ): ") == 2
    found = [x["versions"]["difference"] for x in json.loads(out.read_text())]
    assert found == ["sentence - template", "chatgpt - template"]


def test_other_runs_are_refused(runs, tmp_path):
    other = rename(runs[0], tmp_path / "other", "large")
    for wrong in ([*runs[:2], other], [*runs[:2], runs[1]]):
        with pytest.raises(PolyprobeError, match="wordings of one configuration"):
            compare_folders(wrong, OPTIONS)
    folders = [str(run.folder) for run in runs]
    result = CliRunner().invoke(app, ["compare", *folders, "--output", "page.html"])
    assert "--output is for two runs" in str(result.exception)


def test_free_predictions_of_three_wordings_are_compared_by_fact(tmp_path):
    template = write_predictions(tmp_path / "template", FIRST)
    sentence = rename(template, tmp_path / "sentence", "default-sentence")
    chatgpt = rename(template, tmp_path / "chatgpt", "default-chatgpt")
    outcomes = compare_folders([chatgpt, template, sentence], OPTIONS)
    assert [x.comparison.names for x in outcomes] == [
        ["synthetic (sentence)", "synthetic (template)"],
        ["synthetic (chatgpt)", "synthetic (template)"],
    ]
    for outcome in outcomes:
        assert outcome.wording is None  # it has no ranks
        counts = {(x.language, x.part): x[2:6] for x in outcome.comparison.decodings.counts}
        assert counts["en", "all"] == (4, 0, 0, 2)  # the runs are copies


@pytest.mark.parametrize(
    ("wording", "forms", "answer"),
    [
        ("template", ["Рим", "Риме", "Риму"], "Рим"),
        ("sentence", ["Рим", "Риме", "Риму"], "Риме"),
        ("chatgpt", ["Рим", "Риме", "Риму"], "Риму"),
        ("chatgpt", ["Рим", "Риме"], "Риме"),
        ("sentence", ["Рим"], "Рим"),
    ],
)
def test_the_answer_in_each_wording(wording, forms, answer):
    row = {"candidates": forms, "answers": [*range(len(forms))], "answer_forms": forms}
    assert find_answer_text(row, wording) == answer


# Changes by relation and their correlations, against scipy, statsmodels' formulas and by hand.


def test_means_of_rows_then_of_relations():
    relations = ["a", "b", "a", "b", "c"]
    values = {
        "recall@1": np.array([[1.0], [0.0], [0.0], [-1.0], [1.0]]),
        "QE": np.array([[2.0], [np.nan], [4.0], [6.0], [np.nan]]),
        "unknown": np.full((5, 1), np.nan),
    }
    found = split_by_relation(relations, values, ["ru"])["ru"]
    assert found.n_queries == {"a": 2, "b": 2, "c": 1}
    assert found.figures == {
        "recall@1": {"a": 1 / 2, "b": -1 / 2, "c": 1},
        "QE": {"a": (2 + 4) / 2, "b": 6, "c": None},
    }
    assert found.means == {"recall@1": pytest.approx((1 / 2 - 1 / 2 + 1) / 3), "QE": (3 + 6) / 2}
    assert found.correlations == {"QE": Pearson(2)}


def test_each_language_has_its_own_column():
    values = {"recall@1": np.array([[1.0, 0.0], [0.0, 1.0]])}
    found = split_by_relation(["a", "b"], values, ["ru", "uk"])
    assert found["ru"].figures["recall@1"] == {"a": 1, "b": 0}
    assert found["uk"].figures["recall@1"] == {"a": 0, "b": 1}


@pytest.mark.parametrize("n", [4, 8, 15])
def test_r_p_and_interval_by_their_formulas(n):
    """Student's t with n - 2 degrees of freedom; Fisher's z with the error 1 / sqrt(n - 3)."""
    random = np.random.default_rng(n)
    x, y = random.normal(size=(2, n))
    y = np.append(y + x, np.nan)
    found = compute_pearson(np.append(x, 1.0), y)
    r = np.cov(x, y[:-1])[0, 1] / np.sqrt(np.var(x, ddof=1) * np.var(y[:-1], ddof=1))
    t = r * np.sqrt((n - 2) / (1 - r**2))
    z = np.arctanh(r) + np.array([-1, 1]) * stats.norm.ppf(0.975) / np.sqrt(n - 3)
    assert (found.n, found.r) == (n, pytest.approx(r))
    assert found.p == pytest.approx(2 * stats.t.sf(abs(t), n - 2))
    assert found.ci == pytest.approx(np.tanh(z))


def test_without_enough_relations_or_variation_r_is_undefined():
    assert compute_pearson(np.arange(2.0), np.arange(2.0)) == Pearson(2)
    assert compute_pearson(np.arange(5.0), np.ones(5)) == Pearson(5)
    assert compute_pearson(np.arange(3.0), np.array([0.0, 1, 0])).ci is None


def test_the_paper_s_stars_fit_15_and_8_relations():
    """Table 5: of these printed values of r those with a star have p < .05 (SPEC-2, P1)."""
    table = {15: {.608: True, .498: False, .788: True, .26: False, .78: True, .613: True,
                  .741: True, .206: False},
             8: {.436: False, .408: False, .135: False, .592: False, .838: True}}  # fmt: skip
    for n, cells in table.items():
        for r, star in cells.items():
            x, noise = stats.zscore(np.arange(n)), np.random.default_rng(0).normal(size=n)
            noise = noise - noise.mean() - x * (noise @ x) / (x @ x)
            y = r * x + np.sqrt(1 - r**2) * stats.zscore(noise)
            found = compute_pearson(x, y)
            assert found.r == pytest.approx(r)
            assert (found.p < 0.05) == star


@pytest.mark.parametrize("order", [1, -1])
def test_changes_are_those_of_the_other_wording_in_any_order(tmp_path, order):
    runs = write_versions(tmp_path)
    found = compare_versions(find_versions(*runs[::order]), **FEW).by_relation
    template, sentence = (best_ranks(run.read("ru")) for run in runs)
    relations = np.array(runs[0].read("ru")["relation"].to_pylist())
    for relation, change in found["ru"].figures["recall@1"].items():
        rows = relations == relation
        assert change == pytest.approx((sentence[rows] == 1).mean() - (template[rows] == 1).mean())
    change = found["ru"].means["mean_rank"]
    by_hand = [(sentence - template)[relations == name].mean() for name in ("P19", "P20")]
    assert change == pytest.approx(np.mean(by_hand))
    assert 0 < found["ru"].means["chrF"] < 100
    assert "prompt_log_probability" not in found["ru"].means  # not in these runs


def test_the_command_prints_relations_if_asked(tmp_path):
    folders = [str(run.folder) for run in write_versions(tmp_path)]
    outputs = []
    for extra in ([], ["--by-relation"], ["--by-relation", "--chrf-on", "prompt"]):
        out = tmp_path / "c.json"
        arguments = ["compare", *folders, "--resamples", "99", "--json", str(out), *extra]
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, result.output
        outputs.append((result.output, json.loads(out.read_text())["versions"]))
    titles = ["ru, by relation: sentence - template" in text for text, _ in outputs]
    assert titles == [False, True, True]
    chrf = [values["by_relation"]["ru"]["means"]["chrF"] for _, values in outputs]
    assert chrf[0] == chrf[1] != chrf[2]
    assert [values["chrf"]["compared"] for _, values in outputs] == [
        "sentence",
        "sentence",
        "prompt",
    ]
    result = CliRunner().invoke(app, ["compare", *folders, "--chrf-on", "word"])
    assert "--chrf-on" in str(result.exception)


def test_the_table_ends_in_means_and_correlations():
    values = {"recall@1": np.arange(4.0)[:, None], "QE": np.array([[1.0], [3], [2], [4]])}
    found = split_by_relation(list("abcd"), values, ["ru"])["ru"]
    rows = format_table(make_changes_table(found))[1]
    assert rows[:2] == [["a", "1", "0.000", "1.000"], ["b", "1", "1.000", "3.000"]]
    assert rows[4] == ["mean", "4", "1.500", "2.500"]
    assert rows[5] == ["r with recall@1", "", "", "0.800"]
    assert [row[0] for row in rows[6:]] == ["p", "95% from", "95% to", "relations"]
