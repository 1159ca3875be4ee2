"""Gaps between languages in two protocols: planted, by hand, and against a bootstrap of loops."""

import json

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import ndtr, ndtri, stdtrit
from typer.testing import CliRunner

from polyprobe.analysis.compare.runs import compare_gaps, compare_runs
from polyprobe.analysis.figures.facts import ScoredFacts
from polyprobe.cli import app
from polyprobe.report.findings.comparison import list_notes_of_gaps
from polyprobe.schema.run.folder import Run, fill_columns
from tests.making.facts import write_facts
from tests.making.runs import SCORES, reseal, scores, write_run

LANGUAGES = ["en", "de", "el"]


def as_facts(right, languages=LANGUAGES):
    """Return facts of two candidates from [facts, languages], 1 where the first one, is right."""
    n, tables = len(right), {}
    for place, language in enumerate(languages):
        values = [[float(x), 0.5] for x in right[:, place]]
        columns = {
            "fact_id": [f"f{k}" for k in range(n)],
            "relation": ["P1"] * n,
            "answers": pa.array([[0]] * n, pa.list_(pa.int32())),
            "scores": pa.array(values, pa.list_(pa.float32())),
            "n_tokens": pa.array([[1, 1]] * n, pa.list_(pa.int32())),
        }
        tables[language] = fill_columns(pa.table(columns))
    return ScoredFacts(tables)


def count(*shares):
    """Return 20 facts, the first 20 x share of them right in each language."""
    return np.array([[k < 20 * share for share in shares] for k in range(20)], float)


def test_gaps_and_shares_by_hand():
    one, other = count(0.5, 1.0, 0.2), count(0.8, 0.9, 0.6)  # de is best: 1.9 / 2
    found = compare_gaps((as_facts(one), as_facts(other)), None, n_resamples=500)
    assert found.best == "de"
    en, el, mean = found.rows
    values = [(row.gap.name, row.gap.first, row.gap.second) for row in (en, el, mean)]
    assert values == [
        ("en", pytest.approx(1.0 - 0.5), pytest.approx(0.9 - 0.8)),
        ("el", pytest.approx(1.0 - 0.2), pytest.approx(0.9 - 0.6)),
        ("mean", pytest.approx((0.5 + 0.8) / 2), pytest.approx((0.1 + 0.3) / 2)),
    ]
    assert en.share == pytest.approx((0.5 - 0.1) / 0.5)
    assert el.share == pytest.approx((0.8 - 0.3) / 0.8)
    assert mean.share == pytest.approx((0.65 - 0.2) / 0.65)


def test_the_language_that_is_best_in_both_together_is_the_reference():
    one, other = count(0.9, 0.8, 0.1), count(0.5, 0.7, 0.2)  # 1.4, 1.5, 0.3
    assert compare_gaps((as_facts(one), as_facts(other)), None, n_resamples=50).best == "de"
    assert compare_gaps((as_facts(other), as_facts(one)), None, n_resamples=50).best == "de"
    assert compare_gaps((as_facts(one), as_facts(one)), None, n_resamples=50).best == "en"
    equal = as_facts(count(0.5, 0.5, 0.5))
    assert compare_gaps((equal, equal), None, n_resamples=50).best == "en"


def test_a_gap_that_may_be_0_has_no_share():
    one, other = count(0.55, 0.5, 0.0), count(0.9, 0.5, 0.0)
    de, el, _ = compare_gaps((as_facts(one), as_facts(other)), None, n_resamples=500).rows
    assert de.first_ci[0] <= 0
    assert (de.share, de.share_ci) == (None, None)
    assert el.first_ci[0] > 0
    assert el.share == pytest.approx((0.55 - 0.9) / 0.55)  # the second protocol widens the gap
    few = compare_gaps((as_facts(one), as_facts(other)), None, n_resamples=9).rows
    assert {(row.first_ci, row.share) for row in few} == {(None, None)}


def test_a_run_at_its_floor_is_named():
    one, other = count(0.9, 0.8, 0.1), count(0.6, 0.55, 0.3)  # of two candidates: chance is 0.5
    found = compare_gaps((as_facts(one), as_facts(other)), None, n_resamples=500)
    assert found.above_floor == (True, False)
    notes = [*list_notes_of_gaps(found, ("A", "B"))]
    assert "B is not above its floor in en: its gaps are small, whatever the model knows" in notes
    assert not [note for note in notes if note.startswith("A ")]
    known = []
    for facts in map(as_facts, (one, other)):
        tables = {
            x: table.set_column(7, table.schema.field(7), pa.array([0.95] * 20, pa.float32()))
            for x, table in facts.tables.items()
        }
        known.append(ScoredFacts(tables, scoring=facts.scoring))
    assert compare_gaps(tuple(known), None, n_resamples=500).above_floor == (False, False)
    few = compare_gaps((as_facts(one), as_facts(other)), None, n_resamples=9)
    assert few.above_floor == (None, None)


def draw(random, n, rates):
    """Return answers of two protocols [n, languages] that are right together more often."""
    common = random.random((n, 1, 1))  # how well known a fact is
    own = random.random((n, 2, len(rates[0])))
    mixed = ndtr(ndtri(common) * 0.6 + ndtri(own) * 0.8)  # uniform again
    right = (mixed < np.array(rates)).astype(float)
    return right[:, 0], right[:, 1]


RATES = [(0.9, 0.7, 0.4), (0.8, 0.7, 0.6)]  # gaps .2, .5, mean .35; .1, .2, mean .15
CHANGES, PARTS = [0.1, 0.3, 0.2], [0.1 / 0.2, 0.3 / 0.5, 0.2 / 0.35]


def test_intervals_are_those_of_a_bootstrap_of_loops():
    one, other = draw(np.random.default_rng(3), 300, RATES)
    found = compare_gaps((as_facts(one), as_facts(other)), None, n_resamples=20_000, seed=1)
    assert found.best == "en"
    random, drawn = np.random.default_rng(8), []
    for _ in range(20_000):
        rows = random.integers(300, size=299)  # n - 1 of n
        means = one[rows].mean(axis=0), other[rows].mean(axis=0)
        gaps = [[m[0] - m[1], m[0] - m[2], m[0] - (m[1] + m[2]) / 2] for m in means]
        drawn.append([*gaps[0], *gaps[1]])
    drawn = np.array(drawn)
    first, second = drawn[:, :3], drawn[:, 3:]
    tail = ndtr(stdtrit(299, 0.025))
    assert (first > 0).all()
    shares = (first - second) / first
    columns = {
        "first_ci": first, "second_ci": second, "ci": first - second, "share_ci": shares
    }  # fmt: skip
    for place, row in enumerate(found.rows):
        for name, samples in columns.items():
            want = np.quantile(samples[:, place], [tail, 1 - tail])
            got = getattr(row.gap if name == "ci" else row, name)
            width = want[1] - want[0]
            assert got == pytest.approx(want, abs=0.04 * width), (row.gap.name, name)


@pytest.mark.acceptance
def test_planted_changes_and_shares_are_in_their_intervals():
    inside = []
    for seed in range(600):
        one, other = draw(np.random.default_rng(seed), 250, RATES)
        pair = as_facts(one), as_facts(other)
        rows = compare_gaps(pair, None, n_resamples=400, seed=seed).rows
        truths = zip(rows, CHANGES, PARTS, strict=True)
        inside.append(
            [
                (low <= truth <= high)
                for row, change, part in truths
                for (low, high), truth in ((row.gap.ci, change), (row.share_ci, part))
            ]
        )
    covered = np.mean(inside, axis=0)
    assert all(0.93 <= share <= 0.97 for share in covered), covered


@pytest.fixture
def runs(tmp_path):
    facts = write_facts(tmp_path / "facts")
    wrong = {**SCORES, "ru": scores((1, 0, 0, 0, 1, 0, 1, 0))}
    first, second = (
        write_run(tmp_path / name, facts, values).folder
        for name, values in (("one", SCORES), ("two", wrong))
    )
    return first, second


def test_gaps_are_compared_if_the_protocol_alone_differs(runs):
    first, second = runs
    assert compare_runs(Run(first), Run(second), n_resamples=50).gaps is None
    reseal(second, scoring="letters")
    found = compare_runs(Run(first), Run(second), n_resamples=50)
    assert found.gaps.best == "en"
    accuracy = {row.name: row for row in found.differences["accuracy"]}
    for row in found.gaps.rows[:-1]:
        pair = accuracy["en"], accuracy[row.gap.name]
        assert row.gap.first == pytest.approx(pair[0].first - pair[1].first)
        assert row.gap.difference == pytest.approx(pair[0].difference - pair[1].difference)
    reseal(second, scoring="letters", sample=3)
    assert compare_runs(Run(first), Run(second), n_resamples=50).gaps
    further = {"chat": "on", "product": "onednn"}
    reseal(second, scoring="letters", sample=None, further=further)
    assert compare_runs(Run(first), Run(second), n_resamples=50).gaps
    reseal(second, scoring="letters", further={"adapter": "a"})
    assert compare_runs(Run(first), Run(second), n_resamples=50).gaps is None
    reseal(second, scoring="letters", further={}, model="another")
    assert compare_runs(Run(first), Run(second), n_resamples=50).gaps is None


def test_the_command_shows_and_writes_the_gaps(runs, tmp_path):
    reseal(runs[1], scoring="letters")
    arguments = ["compare", *map(str, runs), "--resamples", "200", "--json", str(tmp_path / "c")]
    shown = CliRunner().invoke(app, arguments, env={"COLUMNS": "80"})
    assert shown.exit_code == 0, shown.output
    assert "en −: accuracy of en, the best by the mean of both runs" in shown.output
    table = shown.output[shown.output.index("en −") :]
    written = json.loads((tmp_path / "c").read_text(encoding="utf-8"))["gaps"]
    assert written["best"] == "en"
    assert [*written["gaps"]] == ["ru", "zh_hans", "mean"]
    for name, values in written["gaps"].items():
        assert values["difference"] == pytest.approx(values["first"] - values["second"])
        [line] = [line for line in table.splitlines() if line[2:].startswith(f"{name} ")]
        assert f"{values['difference']:.3f}" in line
        assert (values["share"] is None) == (values["first_ci"][0] <= 0)
        assert ("–" if values["share"] is None else f"{values['share']:.0%} (") in line
