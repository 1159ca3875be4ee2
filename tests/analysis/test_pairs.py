"""Pairs of languages: directed shares, high-consistency pairs, best partners."""

import json
from itertools import combinations, permutations

import numpy as np
import pytest
from typer.testing import CliRunner

from polyprobe.analysis.figures.compute import find_results
from polyprobe.analysis.figures.options import MetricOptions
from polyprobe.analysis.figures.results import (
    find_high_pairs,
    find_partners,
)
from polyprobe.analysis.options import Bootstrap
from polyprobe.cli import app
from polyprobe.eval import evaluate_model
from polyprobe.metrics.joint.measures import (
    find_right_alone,
    find_right_given_right,
    find_right_in_both,
)
from polyprobe.metrics.shared.intervals import estimate_figure
from polyprobe.publish.export import export_run
from polyprobe.report.findings.run import make_pairs_part
from polyprobe.system.messages import PolyprobeError
from tests.making.browser import open_page
from tests.making.facts import write_facts
from tests.making.runs import SCORES, write_run

DIRECTED = ("right_in_both", "right_given_right", "right_alone")
LANGUAGES = ("en", "fr", "ru", "zh")


def test_shares_are_counted_fact_by_fact():
    """Also where a language has not all facts (NaN), as in Polyglot or Not."""
    random = np.random.default_rng(0)
    facts = range(60)
    had = {x: {n for n in facts if random.random() < 0.8} for x in LANGUAGES}
    known = {x: {n for n in had[x] if random.random() < p} for x, p in
             zip(LANGUAGES, (0.8, 0.6, 0.4, 0.2), strict=True)}  # fmt: skip
    right = {x: [float(n in known[x]) if n in had[x] else np.nan for n in facts] for x in LANGUAGES}
    found = [
        estimate_figure(find(right), n_resamples=200)
        for find in (find_right_in_both, find_right_given_right, find_right_alone)
    ]
    for a, b in permutations(LANGUAGES, 2):
        common, both = had[a] & had[b], known[a] & known[b]
        if f"{a}-{b}" in found[0]:
            assert found[0][f"{a}-{b}"] == pytest.approx(len(both) / len(common))
        assert found[1][f"{a}-{b}"] == pytest.approx(len(both) / len(known[b] & had[a]))
        alone = (known[a] - known[b]) & common
        assert found[2][f"{a}-{b}"] == pytest.approx(len(alone) / len(common))
        for values in found[1:]:
            low, high = values[f"{a}-{b}_ci"]
            assert 0 <= low < values[f"{a}-{b}"] < high <= 1
    assert len(found[0]) == 2 * (6 + 1)
    assert [len(values) for values in found[1:]] == [2 * (12 + 1)] * 2


def test_a_share_of_nothing_is_undefined():
    right = {"en": [1, 1], "la": [0, 0]}
    found = estimate_figure(find_right_given_right(right), n_resamples=0)
    assert found == {"en-la": None, "la-en": 0.0, "mean": 0.0}


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path / "run", write_facts(tmp_path / "facts"), SCORES)


def test_directed_shares_are_computed_if_they_are_named(run):
    assert not {*DIRECTED} & {*run.read_results()}
    options = MetricOptions(figures=("default", *DIRECTED))
    found = find_results(run, Bootstrap(100), options=options)
    both = 1 + 1 + 1 + 0 + 0 + 0.5 + 1 + 1  # runs.PICKS: en has all facts, ru half of a tie
    assert found["right_in_both"]["en-ru"] == pytest.approx(both / 8)
    assert found["right_given_right"]["en-ru"] == pytest.approx(1)
    assert found["right_given_right"]["ru-en"] == pytest.approx(both / 8)
    assert found["right_alone"]["en-ru"] == pytest.approx(1 - both / 8)
    assert found["right_alone"]["ru-en"] == pytest.approx(0)
    assert len(found["intervals"]["right_given_right"]) == 6
    run.write_results(found)
    rows = export_run(run.folder, "csv").read_text().splitlines()
    assert [row for row in rows if row.startswith("right_given_right,ru,en,")]
    assert [row for row in rows if row.startswith("right_given_right,en,ru,")]


# RankC, COverlap of six pairs: means .5 and .4
RESULTS = {
    "languages": [*LANGUAGES],
    "rankc": dict(zip(map("-".join, combinations(LANGUAGES, 2)),
                      (0.8, 0.5, 0.5, 0.3, 0.5, 0.4), strict=True)),
    "coverlap": dict(zip(map("-".join, combinations(LANGUAGES, 2)),
                         (0.9, 0.3, 0.4, 0.4, None, 0.0), strict=True)),
    "mean": {"rankc": 3.0 / 6, "coverlap": 2.0 / 5},
    "intervals": {"rankc": {"en-fr": [0.7, 0.9]}},
}  # fmt: skip


def test_high_pairs_are_at_or_above_the_mean():
    found = find_high_pairs(RESULTS, "rankc", "coverlap")
    assert found == [["en-fr", "en-zh"], ["en-ru", "fr-zh"], ["fr-ru"]]
    assert make_pairs_part(RESULTS, ("rankc", "coverlap")).blocks[1:] == [
        "pairs at or above the mean of all, 0.500 by RankC, 0.400 by COverlap:",
        "by both: 2: en-fr, en-zh",
        "by RankC alone: 2: en-ru, fr-zh",
        "by COverlap alone: 1: fr-ru",
    ]


def test_the_best_partner_is_the_highest_of_a_language():
    found = find_partners(RESULTS, "rankc")
    assert [(x, y.language, y.value) for x, y in found.items()] == [
        ("en", "fr", 0.8), ("fr", "en", 0.8), ("ru", "en", 0.5), ("zh", "en", 0.5)
    ]  # fmt: skip
    assert found["en"].interval == [0.7, 0.9]
    assert found["ru"].interval is None
    given = dict.fromkeys(("en-fr", "en-ru", "fr-en", "ru-en", "ru-fr"), 0.5)
    given |= {"en-ru": 0.9, "ru-fr": None}
    ways = {"languages": ["en", "fr", "ru"], "intervals": {}, "right_given_right": given}
    assert [(x, y.language) for x, y in find_partners(ways, "right_given_right").items()] == [
        ("en", "ru"), ("fr", "en"), ("ru", "en")
    ]  # fmt: skip


def call(*words):
    return CliRunner().invoke(app, ["metrics", *map(str, words)], catch_exceptions=False)


def test_the_command_prints_pairs_and_partners(run):
    done = call(run.folder, "--resamples", 0, "--pairs", "rankc,coverlap")
    results = json.loads((run.folder / "results.json").read_text())
    for line in make_pairs_part(results, ("rankc", "coverlap")).blocks[1:]:
        assert line in done.output
    assert "best by" in done.output
    page = (run.folder / "report.html").read_text(encoding="utf-8")
    best = next(iter(find_partners(results, "rankc").values()))
    assert f"{best.language} {best.value:.3f}" in page


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--pairs", "rankc,accuracy"], "unknown --pairs 'accuracy'; known: rankc_subject, rankc"),
        (["--pairs", "rankc,coverlap", "--figures", "rankc"], "coverlap is not among the figures"),
    ],
)
def test_mistakes_are_refused(run, words, error):
    with pytest.raises(PolyprobeError, match=error):
        call(run.folder, "--resamples", 0, *words)


def test_a_figure_that_a_run_lacks_is_named(run, tmp_path, scorers):
    folder, data = tmp_path / "other", str(write_facts(tmp_path / "small"))
    evaluate_model(scorers("gpt2", "bmlama"), data, output=folder, donor=False)
    with pytest.raises(
        PolyprobeError, match="--pairs: .*other has no rankc_subject; choose another"
    ):
        call(folder, "--resamples", 0, "--pairs", "rankc_subject,rankc")


def test_a_browser_draws_squares(run, browser):
    call(run.folder, "--resamples", 0, "--figures", ",".join(("default", *DIRECTED)))
    page = open_page(browser, run.folder / "report.html")
    results = json.loads((run.folder / "results.json").read_text())
    figure = page.locator(".figure:has(.cells)")
    chosen = 2  # cells of the chosen pair are framed too
    assert figure.locator(".frames path").count() == chosen
    page.select_option("select[data-label=measure]", "RankC")
    page.select_option("select[data-label='high by']", "COverlap")
    high, first, second = find_high_pairs(results, "rankc", "coverlap")
    count = 2 * len([*high, *first, *second])
    assert figure.locator(".frames path").count() == count + chosen > chosen
    both, single = page.locator(".framed").inner_text().splitlines()
    for line, pairs in ((both, high), (single, [*first, *second])):
        assert f"{len(pairs)} pairs" in line
        assert all(pair in line for pair in pairs)
    page.select_option("select[data-label=measure]", "right where another is")
    assert figure.locator(".frames path").count() == chosen
    value = results["right_given_right"]["ru-en"]
    tip = figure.locator("[data-pair='ru/en'] title").text_content()
    assert f"right where another is {value:.3f}" in tip
