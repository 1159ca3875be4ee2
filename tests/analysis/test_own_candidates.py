"""Languages whose facts have other candidates, in another number: no figure compares rankings."""

import csv
from functools import partial

import numpy as np
import pytest
from typer.testing import CliRunner

from polyprobe.analysis.compare.runs import compare_runs
from polyprobe.analysis.figures.compute import find_results
from polyprobe.analysis.figures.options import MetricOptions
from polyprobe.analysis.options import Bootstrap
from polyprobe.cli import app
from polyprobe.eval import evaluate_model
from polyprobe.eval.callback import ConsistencyCallback
from polyprobe.publish.export import export_run
from polyprobe.report.page.runs import write_report
from polyprobe.schema.run.folder import Run
from polyprobe.schema.run.rows import make_choice
from polyprobe.system.messages import PolyprobeError
from tests.making.facts import CITIES, write_facts
from tests.making.trainers import make_trainer, save_once

LANGUAGES = list(CITIES)
NONE = Bootstrap(0)
UNRANKED = {"accuracy", "accuracy_gain", "coverlap"}
RANKED = {"rankc", "rankc_adjusted", "agreement", "rbo", "kendall_tau_b", "kappa", "p_values"}


def drop_some(language, made):
    """Leave out the last candidate of the first two rows in Russian."""
    if language != "ru":
        return made
    return [
        row._replace(candidates=row.candidates[:-1], candidate_ids=row.candidate_ids[:-1])
        if number < 2
        else row
        for number, row in enumerate(made)
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(write_facts(tmp_path_factory.mktemp("own") / "facts", drop_some))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return partial(save_once, tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def run(scorers, folder, tmp_path_factory):
    output = tmp_path_factory.mktemp("own") / "run"
    evaluate_model(scorers("gpt2", "contrastive"), folder, output=output)
    return Run(output)


def test_each_language_has_the_figures_of_its_own_run(run, folder, scorers, tmp_path):
    results = find_results(run, NONE)
    assert results["own_candidates"]
    assert not RANKED & {*results} - {"p_values"}
    for language in LANGUAGES:
        alone = evaluate_model(
            scorers("gpt2", "contrastive"), folder, output=tmp_path / language, languages=language
        )
        for name in ("accuracy", "contrastive_knowledge", "calibration", "recall_at_k"):
            found, expected = results[name][language], alone[name][language]
            if isinstance(found, dict):
                found = {key: x for key, x in found.items() if not key.endswith("_ci")}
                expected = {key: expected[key] for key in found}
            assert found == expected, (language, name)


def share_right(row, scores):
    """Return the share of right answers among the best candidates."""
    return np.isin(np.flatnonzero(np.equal(scores, max(scores))), row["answers"]).mean()


def leave_out_answers(row, scores):
    """Return the share of right answers without the donor's."""
    return share_right(
        row, [-np.inf if k in row["donor_answers"] else x for k, x in enumerate(scores)]
    )


def test_pairs_and_chance_by_hand(run):
    results, right, chance = find_results(run, NONE), {}, []
    for language in LANGUAGES:
        rows = run.read(language).to_pylist()
        right[language] = np.array([share_right(row, row["scores"]) for row in rows])
        chance += [1 / len(row["scores"]) for row in rows]
    assert results["chance"] == {"accuracy": pytest.approx(np.mean(chance))}
    one, other = right["en"], right["ru"]
    both = (one * other).sum() / (one + other - one * other).sum()
    assert results["coverlap"]["en-ru"] == pytest.approx(both)
    relation = [row["relation"] == "P36" for row in run.read("en").to_pylist()]
    part = results["by_relation"]["P36"]
    assert part["accuracy"]["ru"] == pytest.approx(right["ru"][relation].mean())
    assert set(part["mean"]) == UNRANKED


def test_a_language_added_later_ends_the_comparison_of_rankings(scorers, folder, tmp_path):
    scorer = scorers("gpt2", "contrastive")
    first = evaluate_model(scorer, folder, output=tmp_path, languages=["en", "zh_hans"])
    assert "rankc" in first
    assert "own_candidates" not in first
    second = evaluate_model(scorer, folder, output=tmp_path, languages="ru")
    assert second["own_candidates"]
    assert "rankc" not in second
    assert second["accuracy"]["zh_hans"] == first["accuracy"]["zh_hans"]


def test_runs_are_compared_by_the_other_figures(run, folder, scorers, tmp_path):
    evaluate_model(scorers("bert", "contrastive"), folder, output=tmp_path)
    found = compare_runs(run, Run(tmp_path), n_resamples=100)
    assert set(found.differences) == UNRANKED


def test_the_command_says_so_and_the_report_is_refused(run):
    done = CliRunner().invoke(app, ["metrics", str(run.folder)])
    assert done.exit_code == 0, done.output
    assert "languages have other candidates: no figure compares their rankings" in done.output
    assert "RankC" not in done.output.partition("no report")[0]
    with pytest.raises(PolyprobeError, match="has other candidates in each language, so no RankC"):
        write_report([run.folder], run.folder / "report.html")
    with pytest.raises(PolyprobeError, match="--figures kappa needs the same candidates in every"):
        find_results(run, NONE, options=MetricOptions(figures=["kappa"]))


@pytest.mark.parametrize("scoring", ["bmlama", "object"])
def test_protocols_that_compare_rankings_refuse_them(scoring, folder, scorers, tmp_path):
    with pytest.raises(PolyprobeError, match="row 0 .*the number of candidates differs"):
        evaluate_model(scorers("gpt2", scoring), folder, output=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_rows_that_hide_the_difference_are_refused(folder, scorers, tmp_path):
    options = {"output": tmp_path / "out", "relations": "P36"}
    evaluate_model(scorers("gpt2", "contrastive"), folder, **options)
    with pytest.raises(PolyprobeError, match="other candidates in 2 rows, .* none of the 2 chosen"):
        evaluate_model(
            scorers("gpt2", "contrastive"),
            str(write_facts(tmp_path / "facts", _reverse)),
            output=tmp_path / "few",
            limit=2,
        )


def test_rows_chosen_later_stay_unmatched(run):
    found = find_results(run, NONE, make_choice(relations=["P37"]))
    sizes = [[len(row) for row in run.read(x)["scores"].to_pylist()[3::2]] for x in LANGUAGES]
    assert sizes[0] == sizes[1] == sizes[2]  # in these rows
    assert found["own_candidates"]
    assert not {"rankc", "agreement", "kappa"} & {*found}
    both = compare_runs(run, run, choice=make_choice(relations=["P37"]), n_resamples=9)
    assert set(both.differences) == UNRANKED


def test_rows_that_hide_the_difference_are_refused_language_by_language(scorers, tmp_path):
    data, scorer = str(write_facts(tmp_path / "facts", _reverse)), scorers("gpt2", "contrastive")
    options = {"output": tmp_path / "few", "limit": 2, "donor": False}
    evaluate_model(scorer, data, languages="en", **options)
    with pytest.raises(PolyprobeError, match="other candidates in 2 rows, .* none of the 2 chosen"):
        evaluate_model(scorer, data, languages="ru", **options)


def test_second_questions_by_language_remain(run):
    results = find_results(run, NONE)
    assert set(results["accuracy_gain"]) == {*LANGUAGES}
    leaves = [run.read(x)["donor_answers"].to_pylist() for x in LANGUAGES]
    asked = [None not in row for row in zip(*leaves, strict=True)]
    assert asked == [False] * 2 + [True] * 6  # two have fewer candidates in Russian
    for language in LANGUAGES:
        rows = [r for r, a in zip(run.read(language).to_pylist(), asked, strict=True) if a]
        right = [leave_out_answers(row, row["donor_scores"]) for row in rows]
        assert results["accuracy_donor"][language] == pytest.approx(np.mean(right))
    named = {"rankc_donor", "rankc_difference", "rankc_subject", "rankc_right"}
    assert not named & {*results}
    assert not named & {x for values in results["floors"].values() for x in values}


def test_other_candidates_of_any_language_are_no_pair_of_runs(run, scorers, tmp_path):
    data = str(write_facts(tmp_path / "facts"))
    evaluate_model(scorers("gpt2", "contrastive"), data, output=tmp_path / "run")
    with pytest.raises(PolyprobeError, match="^ru, fact P36:C0:0: other candidates in "):
        compare_runs(run, Run(tmp_path / "run"))


@pytest.mark.parametrize("limit", [None, 2])
def test_a_training_follows_the_other_figures(limit, saved, tmp_path):
    data = str(write_facts(tmp_path / "facts", _reverse))
    trainer, _ = make_trainer(saved("gpt2"), tmp_path)
    callback = ConsistencyCallback(trainer, data, scoring="contrastive", limit=limit)
    figures = {name.split("/")[1].split(".")[0] for name in callback._measure(0)}
    assert figures == {"accuracy", "accuracy_gain"}


def test_an_export_has_the_chance_of_the_mean_alone(run, tmp_path):
    export_run(run.folder, "csv", tmp_path / "run.csv")
    with open(tmp_path / "run.csv", encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["figure"] == "accuracy"]
    assert [bool(row["chance"]) for row in rows if not row["relation"]] == [False] * 3 + [True]


def _reverse(language, made):
    return drop_some(language, made)[::-1]
