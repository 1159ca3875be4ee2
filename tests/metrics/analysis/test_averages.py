"""Averages over relations and facts, compared with plain loops: same resamples, and all swaps."""

from itertools import product

import numpy as np
import pytest
from scipy.special import ndtr, stdtrit

from polyprobe.metrics.joint.significance import compare_averages
from polyprobe.metrics.shared.intervals import Ratio

LANGUAGES = ["en", "fr"]
RANDOM = np.random.default_rng(3)
RELATIONS = ["P19"] * 11 + ["P20"] * 6 + ["P36"] * 3
FIRST, SECOND = RANDOM.random((2, 20, 2))
ALIKE = np.ones((20, 1))


def compare(first=FIRST, second=SECOND, relations=RELATIONS, **options):
    pair = (Ratio(first, np.ones((len(first), 1))), Ratio(second, np.ones((len(second), 1))))
    found = compare_averages(LANGUAGES, {"x": pair}, relations, **{"n_resamples": 99} | options)
    return found["x"]


def macro(values, relations):
    """The unweighted mean over relations, then over languages, in plain loops."""
    means = []
    for column in np.asarray(values).T:
        groups = {}
        for value, relation in zip(column, relations, strict=True):
            groups.setdefault(relation, []).append(value)
        means.append(sum(sum(g) / len(g) for g in groups.values()) / len(groups))
    return [*means, sum(means) / len(means)]


def micro(values, relations):
    means = [sum(column) / len(column) for column in np.asarray(values).T]
    return [*means, sum(means) / len(means)]


BY_HAND = {"macro": macro, "micro": micro}


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_values_are_those_of_plain_loops(average):
    rows = compare()[average]
    assert [row.name for row in rows] == ["en", "fr", "mean"]
    mean = BY_HAND[average]
    assert [row.first for row in rows] == pytest.approx(mean(FIRST, RELATIONS))
    assert [row.second for row in rows] == pytest.approx(mean(SECOND, RELATIONS))
    differences = np.subtract(mean(FIRST, RELATIONS), mean(SECOND, RELATIONS))
    assert [row.difference for row in rows] == pytest.approx(differences)


@pytest.fixture(params=[1, 10**9], ids=["sparse", "dense"])
def product_of_tables(request, monkeypatch):
    """Have tables multiplied as if their zeros were many, or few."""
    monkeypatch.setattr("polyprobe.metrics.shared.intervals._SPARSE", request.param)


@pytest.mark.usefixtures("product_of_tables")
@pytest.mark.parametrize("average", ["macro", "micro"])
def test_intervals_are_those_of_a_plain_bootstrap_with_the_same_seed(average):
    draws = np.random.default_rng(7).integers(20, size=(400, 19))
    mean, samples = BY_HAND[average], {"first_ci": [], "second_ci": [], "ci": []}
    for rows in draws.tolist():
        kept = [RELATIONS[row] for row in rows]
        one, other = mean(FIRST[rows], kept), mean(SECOND[rows], kept)
        samples["first_ci"].append(one)
        samples["second_ci"].append(other)
        samples["ci"].append(np.subtract(one, other))
    tail = ndtr(stdtrit(19, 0.025))
    found = compare(n_resamples=400, seed=7)[average]
    for name, values in samples.items():
        bounds = np.quantile(values, [tail, 1 - tail], axis=0).T
        np.testing.assert_allclose([getattr(row, name) for row in found], bounds)


@pytest.mark.usefixtures("product_of_tables")
@pytest.mark.parametrize("average", ["macro", "micro"])
def test_p_is_that_of_all_swaps(average):
    rows = [0, 1, 2, 3, 11, 12, 13, 17, 18]
    one, other, kept = FIRST[rows], SECOND[rows], [RELATIONS[row] for row in rows]
    mean, null = BY_HAND[average], []
    for swaps in product([False, True], repeat=len(rows)):
        mask = np.array(swaps)[:, None]
        parts = np.where(mask, other, one), np.where(mask, one, other)
        null.append(np.subtract(*(mean(part, kept) for part in parts)))
    observed = np.subtract(mean(one, kept), mean(other, kept))
    exact = (np.abs(null) >= np.abs(observed) - 1e-12).mean(axis=0)
    found = compare(one, other, kept, n_resamples=20_000, correction="none")[average]
    assert [row.p for row in found] == pytest.approx(exact, abs=0.012)
    holm = compare(one, other, kept, n_resamples=999)[average]
    small, large = sorted(row.p for row in holm[:2])
    adjusted = sorted(row.p_adjusted for row in holm[:2])
    assert adjusted == pytest.approx([min(1, 2 * small), min(1, max(2 * small, large))])
    assert holm[2].p_adjusted == holm[2].p


def test_facts_of_a_cluster_are_drawn_together():
    copies = np.repeat(np.arange(20), 3)
    relations = [RELATIONS[place] for place in copies]
    whole = compare(FIRST[copies], SECOND[copies], relations, clusters=copies.tolist())
    for one, other in zip(whole["macro"], compare()["macro"], strict=True):
        assert one.ci == pytest.approx(other.ci)
        assert one.p == pytest.approx(other.p, abs=0.02)


def test_facts_count_by_language_and_an_undefined_language_is_in_no_mean():
    counted = np.array([[1.0, 0.0]] * 10 + [[0.0, 0.0]] * 10)
    pair = (Ratio(FIRST * counted, counted), Ratio(SECOND * counted, counted))
    found = compare_averages(LANGUAGES, {"x": pair}, RELATIONS, n_resamples=99)
    english, french, mean = found["x"]["macro"]
    assert english.first == pytest.approx(FIRST[:10, 0].mean())  # all of them P19
    assert french[1:] == (None,) * 9
    assert mean[1:4] == english[1:4]


def test_a_language_defined_in_one_run_alone_is_in_no_mean():
    counted = np.ones((20, 2)) * [1, 0]
    pair = (Ratio(FIRST, np.ones((20, 2))), Ratio(SECOND * counted, counted))
    rows = compare_averages(LANGUAGES, {"x": pair}, RELATIONS, n_resamples=99)["x"]["micro"]
    assert rows[1].first is None
    assert rows[2].first == pytest.approx(FIRST[:, 0].mean())


def test_measures_that_are_drawn_apart_are_as_those_drawn_together(monkeypatch):
    pairs = {"x": (Ratio(FIRST, ALIKE), Ratio(SECOND, ALIKE))}
    pairs["y"] = (Ratio(1 - FIRST, ALIKE), Ratio(SECOND**2, ALIKE))
    together = compare_averages(LANGUAGES, pairs, RELATIONS, n_resamples=99)
    monkeypatch.setattr("polyprobe.metrics.joint.significance._SUMS", 1)
    apart = compare_averages(LANGUAGES, pairs, RELATIONS, n_resamples=99)
    for measure, averages in together.items():
        for average, rows in averages.items():
            for one, other in zip(rows, apart[measure][average], strict=True):
                assert (one.first, one.difference) == pytest.approx((other.first, other.difference))
                assert (one.p, *one.ci) == pytest.approx((other.p, *other.ci))
