"""`polyprobe metrics --figures`: named figures are printed, or refused with what they need."""

import json
import re
from itertools import combinations, permutations
from statistics import fmean

import pytest
from typer.testing import CliRunner

from polyprobe.analysis.figures.compute import find_results
from polyprobe.analysis.figures.options import MetricOptions
from polyprobe.analysis.options import Bootstrap
from polyprobe.cli import app
from polyprobe.system.messages import PolyprobeError
from tests.making.facts import write_facts
from tests.making.relations import LANGUAGES, write_scores
from tests.making.runs import write_run


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return write_facts(tmp_path_factory.mktemp("data") / "facts", copies=10)


@pytest.fixture(scope="module")
def run(dataset, tmp_path_factory):
    return write_scores(tmp_path_factory.mktemp("runs") / "a", dataset, 1, scoring="object")


@pytest.fixture
def alone(dataset, tmp_path):
    """A run of one language, all right, of facts with one template and no second questions."""
    sizes = [(4, 2)[n // 4 % 2] for n in range(40)]
    scores = [[float(k == n % size) for k in range(size)] for n, size in enumerate(sizes)]
    return write_run(tmp_path / "one", dataset, {"en": scores})


def call(folder, *words):
    done = CliRunner().invoke(app, ["metrics", str(folder), "--resamples", "0", *words])
    assert done.exit_code == 0, done.output
    return " ".join(done.output.split())


def find_right(run):
    """Return whether each fact's answer has the best score, by language, without our kernels."""
    tables = {x: run.read(x).to_pydict() for x in LANGUAGES}
    return {
        x: [s[a[0]] == max(s) for s, a in zip(t["scores"], t["answers"], strict=True)]
        for x, t in tables.items()
    }


def test_named_figures_of_pairs_and_of_all_languages_have_a_line(run):
    right = find_right(run)
    both = fmean(
        fmean(x and y for x, y in zip(right[one], right[two], strict=True))
        for one, two in combinations(LANGUAGES, 2)
    )
    given = fmean(
        sum(x and y for x, y in zip(right[one], right[two], strict=True)) / sum(right[two])
        for one, two in permutations(LANGUAGES, 2)
    )
    everywhere = fmean(map(all, zip(*right.values(), strict=True)))
    words = call(run.folder, "--figures", "default,right_in_both,right_given_right,right_in_all")
    assert f"right in both: mean {both:.3f} " in words
    assert f"right where another is: mean {given:.3f} " in words
    assert f"right in all: {everywhere:.3f} " in words
    assert "kappa" not in words
    found = find_results(run, Bootstrap(100), options=MetricOptions(figures=("kappa",)))
    done = CliRunner().invoke(
        app, ["metrics", str(run.folder), "--figures", "kappa", "--resamples", "100"]
    )
    low, high = found["kappa_ci"]
    assert low < high
    assert f"kappa (free-marginal): {found['kappa']:.3f} ({low:z.3f} to {high:z.3f})" in done.output
    assert "┃" not in done.output  # no table without a column


def test_no_named_figures_are_the_default(run):
    assert "options:" not in call(run.folder, "--figures", "")
    assert "options" not in json.loads((run.folder / "results.json").read_text())


def test_named_figures_of_modules_have_a_line_of_each_language_and_the_mean(run):
    right = {x: fmean(marks) for x, marks in find_right(run).items()}
    words = call(run.folder, "--average", "micro", "--figures", "default,recall_at_k.recall@1")
    values = ", ".join(f"{language} {share:.3f}" for language, share in right.items())
    assert f"recall@1: {values}; mean {fmean(right.values()):.3f} signature" in words
    whole = call(run.folder, "--figures", "recall_at_k,calibration")
    for title in ("recall@1", "calibration error"):
        [line] = re.findall(rf"{title}: ([^:]*); mean \d", whole)
        assert [x for x in LANGUAGES if f"{x} " in f" {line}"] == [*LANGUAGES]
    assert "calibration error, one token" not in whole
    assert "recall@1" not in call(run.folder)


def test_a_star_is_explained_below_the_table_of_no_columns(alone):
    done = CliRunner().invoke(app, ["metrics", str(alone.folder), "--figures", "recall_at_k"])
    assert "1.000*)" in done.output
    assert "*: all resamples have this value" in done.output


@pytest.mark.parametrize(
    ("options", "need"),
    [
        ({"figures": ("default", "rankc")}, "--figures rankc needs at least two languages,"),
        ({"figures": ("kappa",)}, "--figures kappa needs at least two languages,"),
        ({"figures": ("right_alone",)}, "--figures right_alone needs at least two languages,"),
        ({"figures": ("accuracy_gain",)}, "accuracy_gain needs a question about another subject"),
        ({"figures": ("paraphrase_consistency",)}, "needs a dataset with several templates of a"),
        ({"figures": ("contrastive_knowledge",)}, "needs --scoring contrastive,"),
        ({"figures": ("position_bias.range",)}, "needs --scoring letters in several orders,"),
        ({"figures": ("factual_accuracy",)}, "factual_accuracy needs --scoring xfactr,"),
        ({"figures": ("calibration.ece_multi",)}, "ece_multi needs --scoring xfactr,"),
        ({"figures": ("calibration.ece",)}, "ece needs --scoring object or contrastive,"),
        ({"figures": ("calibration",)}, "calibration needs --scoring object or contrastive,"),
        ({"repeated_subjects": "keep"}, "--repeated-subjects needs a dataset with several temp"),
        ({"repeated_subjects": "label"}, "--repeated-subjects needs a dataset with several temp"),
        ({"templates": "reviewed"}, "--templates needs a dataset with several templates of a f"),
    ],
)
def test_figures_that_a_run_cannot_have_are_refused(alone, options, need):
    with pytest.raises(PolyprobeError, match=f"{need}.*which {alone.folder} does not have; leave"):
        find_results(alone, Bootstrap(0), options=MetricOptions(**options))


def test_figures_of_every_run_are_not_refused(alone):
    found = find_results(alone, Bootstrap(0), options=MetricOptions(figures=("default",)))
    assert found["rankc"] == {}
    named = ("recall_at_k", "accuracy")
    assert find_results(alone, Bootstrap(0), options=MetricOptions(figures=named))


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"max_masks": 0}, "--max-masks must be at least 1, got 0"),
        ({"figures": "rankc"}, "--figures must be a list of texts or None, got 'rankc'"),
    ],
)
def test_options_of_python_are_checked(options, error):
    with pytest.raises(PolyprobeError, match=error):
        MetricOptions(**options)


def test_a_report_of_some_figures_names_the_remedy(run, tmp_path):
    words = call(run.folder, "--figures", "rankc")
    remedy = f"run `polyprobe metrics {run.folder}` again without --figures"
    assert f"no accuracy, rankc_adjusted, coverlap, which the report needs; {remedy}" in words
    report = ["report", str(run.folder), "--output", str(tmp_path / "page.html")]
    with pytest.raises(PolyprobeError, match=remedy):
        CliRunner().invoke(app, report, catch_exceptions=False)
    call(run.folder)  # the remedy
    assert CliRunner().invoke(app, report).exit_code == 0
    assert (tmp_path / "page.html").exists()
