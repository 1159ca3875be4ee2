"""Languages whose facts have other candidates, in another number: no figure compares rankings."""

import numpy as np
import pytest
from typer.testing import CliRunner

from polyprobe.cli import app
from polyprobe.eval import evaluate_model
from polyprobe.eval.compare.runs import compare_runs
from polyprobe.eval.report.runs import write_report
from polyprobe.eval.results.compute import find_results
from polyprobe.eval.results.options import Bootstrap, MetricOptions
from polyprobe.eval.run.folder import Run
from polyprobe.system.errors import PolyprobeError
from tests.eval.facts import CITIES, write_facts

LANGUAGES = list(CITIES)
NONE = Bootstrap(0)
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


def test_pairs_and_chance_by_hand(run):
    results, right, chance = find_results(run, NONE), {}, []
    for language in LANGUAGES:
        rows = run.read(language).to_pylist()
        best = [np.flatnonzero(np.equal(row["scores"], max(row["scores"]))) for row in rows]
        right[language] = np.array(
            [np.isin(x, row["answers"]).mean() for x, row in zip(best, rows, strict=True)]
        )
        chance += [1 / len(row["scores"]) for row in rows]
    assert results["chance"] == {"accuracy": pytest.approx(np.mean(chance))}
    one, other = right["en"], right["ru"]
    both = (one * other).sum() / (one + other - one * other).sum()
    assert results["coverlap"]["en-ru"] == pytest.approx(both)
    relation = [row["relation"] == "P36" for row in run.read("en").to_pylist()]
    part = results["by_relation"]["P36"]
    assert part["accuracy"]["ru"] == pytest.approx(right["ru"][relation].mean())
    assert set(part["mean"]) == {"accuracy", "coverlap"}


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
    assert set(found.differences) == {"accuracy", "coverlap"}


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


def _reverse(language, made):
    return drop_some(language, made)[::-1]
