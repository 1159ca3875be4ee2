"""Paired tests compared with scipy, statsmodels, full enumeration, and expected chance."""

from itertools import product

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from polyprobe.metrics.joint.significance import compare_figures, correct_values
from polyprobe.metrics.shared.intervals import mean_of

RANDOM = np.random.default_rng(0)
FIRST = RANDOM.random((60, 3))
SECOND = FIRST - [0, 0.05, 0.3] + 0.2 * RANDOM.normal(size=(60, 3))


def figure(values):
    return mean_of(["a", "b", "c"][: values.shape[1]], values, np.ones(len(values)))


def compare(first, second, **options):
    return {row.name: row for row in compare_figures(figure(first), figure(second), **options)}


def test_randomisation_is_scipys_permutation_test():
    ours = compare(FIRST, SECOND, n_resamples=20_000, correction="none")
    for column, name in enumerate("abc"):
        theirs = stats.permutation_test(
            (FIRST[:, column], SECOND[:, column]),
            lambda x, y: (x - y).mean(),
            permutation_type="samples",
            n_resamples=20_000,
            rng=1,
        )
        assert ours[name].difference == pytest.approx(theirs.statistic)
        assert ours[name].p == pytest.approx(theirs.pvalue, abs=0.012)


def test_randomisation_against_all_swaps():
    first, second = FIRST[:8, :1], SECOND[:8, :1]
    difference = (first - second)[:, 0]
    swaps = [np.mean(signs * difference) for signs in product([-1, 1], repeat=8)]
    exact = np.mean(np.abs(swaps) >= np.abs(difference.mean()) - 1e-12)
    found = compare(first, second, n_resamples=40_000)
    assert found["a"].p == pytest.approx(exact, abs=0.01)


def test_the_interval_is_scipys_paired_bootstrap():
    ours = compare(FIRST, SECOND, n_resamples=20_000)
    theirs = stats.bootstrap(
        (FIRST[:, 2], SECOND[:, 2]), lambda x, y, axis: (x - y).mean(axis=axis), paired=True,
        method="percentile", n_resamples=20_000, rng=1,
    ).confidence_interval  # fmt: skip
    width = theirs.high - theirs.low
    # 60 facts: n - 1 draws and Student's t widen it by 2.5%
    assert ours["c"].ci == pytest.approx([theirs.low, theirs.high], abs=0.04 * width)


@pytest.mark.parametrize("test", ["randomisation", "bootstrap"])
def test_equal_models_do_not_differ_and_unequal_ones_do(test):
    same = compare(FIRST, FIRST, test=test)
    assert {row.p for row in same.values()} == {1.0}
    found = compare(FIRST, SECOND, test=test, n_resamples=999)
    assert found["c"].p == (1 / 1000 if test == "randomisation" else pytest.approx(0.002, abs=2e-3))
    assert found["a"].p > 0.05
    assert found["mean"].p_adjusted == found["mean"].p


@pytest.mark.parametrize("test", ["randomisation", "bootstrap"])
def test_false_claims_are_as_many_as_announced(test):
    p = []
    for seed in range(400):
        random = np.random.default_rng(seed)
        first, second = random.random((2, 50, 1))
        p.append(compare(first, second, test=test, n_resamples=400)["a"].p)
    assert np.mean(np.array(p) < 0.05) == pytest.approx(0.05, abs=0.03)


def test_the_bootstrap_s_p_is_below_5_percent_where_0_is_outside_the_interval():
    for seed in range(40):
        random = np.random.default_rng(seed)
        first, second = random.random((2, 30, 1))
        first = first + 0.12
        row = compare(first, second, test="bootstrap", n_resamples=2000)["a"]
        if not 0.045 < row.p < 0.055:
            assert (row.p < 0.05) == (not row.ci[0] <= 0 <= row.ci[1])


@pytest.mark.parametrize("test", ["randomisation", "bootstrap"])
def test_one_cluster_proves_nothing(test):
    row = compare(FIRST, SECOND, test=test, clusters=["s"] * 60)["c"]
    assert row.ci is None
    assert row.p in (1.0, None)


def test_clusters_are_swapped_whole():
    copies = np.repeat(np.arange(20), 3)
    first, second = FIRST[:20][copies], SECOND[:20][copies]
    whole = compare(first, second, clusters=copies, n_resamples=20_000)
    alone = compare(FIRST[:20], SECOND[:20], n_resamples=20_000)
    for name in "abc":
        assert whole[name].p == pytest.approx(alone[name].p, abs=0.012)
        assert whole[name].ci == pytest.approx(alone[name].ci, abs=0.01)


@pytest.mark.parametrize(("ours", "theirs"), [("holm", "holm"), ("bh", "fdr_bh")])
def test_corrections_are_statsmodels(ours, theirs):
    p = np.random.default_rng(1).random(50) ** 3
    np.testing.assert_allclose(correct_values(p, ours), multipletests(p, method=theirs)[1])


def test_undefined_names_stay_undefined_and_do_not_count():
    p = np.array([0.01, np.nan, 0.04])
    assert correct_values(p, "holm") == correct_values([0.01, None, 0.04], "holm")
    assert correct_values(p, "holm") == [0.02, None, 0.04]
    empty = mean_of(["a"], np.zeros((5, 1)), np.zeros(5))
    row = compare_figures(empty, empty)[0]
    assert row[1:] == (None,) * 7


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"test": "t"}, "unknown test 't'; known: randomisation, bootstrap"),
        ({"correction": "x"}, "unknown correction 'x'; known: holm, bh, none"),
    ],
)
def test_errors(options, message):
    with pytest.raises(ValueError, match=message):
        compare(FIRST, SECOND, **options)


def test_other_facts_are_refused():
    with pytest.raises(ValueError, match="different languages or facts"):
        compare(FIRST, SECOND[:-1])


def test_the_mean_is_over_what_both_models_define():
    counted = np.column_stack([np.ones((60, 2)), np.zeros(60)])
    one = mean_of(["a", "b", "c"], FIRST, np.ones((60, 3)))
    other = mean_of(["a", "b", "c"], SECOND * counted, counted)
    rows = {row.name: row for row in compare_figures(one, other, n_resamples=99)}
    assert rows["c"].second is rows["c"].difference is None
    assert rows["mean"].first == pytest.approx(FIRST[:, :2].mean())
    assert rows["mean"].difference == pytest.approx((FIRST - SECOND)[:, :2].mean())
