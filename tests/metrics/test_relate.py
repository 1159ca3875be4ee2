"""Correlations of pairs against scipy, statsmodels and all orders of the languages."""

from itertools import combinations, permutations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import linregress, pearsonr, rankdata, spearmanr

from polyprobe.metrics.joint.relate import (
    Correlation,
    bound_correlations,
    correlate,
    relate_within,
)
from polyprobe.metrics.shared.intervals import Figure, estimate_figure, mean_of


def draw(size, tables=2, seed=0):
    return np.random.default_rng(seed).normal(size=(tables, size * (size - 1) // 2))


@pytest.mark.parametrize("size", [3, 5, 17, 53])
def test_plain_correlations_are_those_of_scipy(size):
    one, *others = draw(size, 4, size)
    found = correlate(one, np.array(others), n_permutations=10)
    for other, row in zip(others, found, strict=True):
        r, rho, line = pearsonr(other, one), spearmanr(other, one), linregress(other, one)
        assert row.n == len(one)
        assert (row.r, row.p) == pytest.approx((r.statistic, r.pvalue))
        assert (row.rho, row.p_rho) == pytest.approx((rho.statistic, rho.pvalue))
        assert (row.slope, row.intercept) == pytest.approx((line.slope, line.intercept))


def test_partial_correlations_are_those_of_a_regression():
    """With t of the coefficient: r = t / sqrt(t^2 + df), the same p."""
    y, x, z = draw(12, 3)
    y, x = y + 2 * z, x - z
    [row] = correlate(y, x[None], z, n_permutations=10)
    ranked = [rankdata(table) for table in (y, x, z)]
    for (a, b, c), r, p in (((y, x, z), row.r, row.p), (ranked, row.rho, row.p_rho)):
        fit = sm.OLS(a, sm.add_constant(np.column_stack([b, c]))).fit()
        assert r == pytest.approx(fit.tvalues[1] / (fit.tvalues[1] ** 2 + fit.df_resid) ** 0.5)
        assert p == pytest.approx(fit.pvalues[1])
    assert row.slope == pytest.approx(
        sm.OLS(y, sm.add_constant(np.column_stack([x, z]))).fit().params[1]
    )
    assert row.intercept is None


def in_all_orders(size, table, measure):
    """The share of all orders of the languages in which |measure| is as large as observed."""
    square = np.zeros((size, size))
    pairs = [*combinations(range(size), 2)]
    for (i, j), value in zip(pairs, table, strict=True):
        square[i, j] = square[j, i] = value
    found = [
        abs(measure(np.array([square[order[i], order[j]] for i, j in pairs])))
        for order in permutations(range(size))
    ]
    return np.mean([value >= abs(measure(table)) - 1e-12 for value in found])


@pytest.mark.parametrize("size", [4, 5, 6])
def test_mantel_is_the_enumeration_of_all_orders(size):
    y, x = draw(size, 2, size)
    [row] = correlate(y, x[None])
    assert row.p_mantel == in_all_orders(size, y, lambda moved: pearsonr(moved, x).statistic)
    ranks = rankdata(y)
    p = in_all_orders(size, ranks, lambda moved: pearsonr(moved, rankdata(x)).statistic)
    assert row.p_mantel_rho == p


def test_partial_mantel_permutes_the_residuals():
    """Freedman and Lane: residuals of y on z are permuted, and fitted again with x and z."""
    y, x, z = draw(5, 3, 3)
    y, x = y + z, x + z
    [row] = correlate(y, x[None], z)
    null = sm.OLS(y, sm.add_constant(z)).fit()

    def t_of(moved):
        new = null.fittedvalues + moved
        return sm.OLS(new, sm.add_constant(np.column_stack([x, z]))).fit().tvalues[1]

    assert row.p_mantel == in_all_orders(5, null.resid, t_of)


def test_random_orders_come_near_all_orders():
    y, x = draw(7, 2, 1)
    x = x + 0.3 * y
    exact, drawn = (correlate(y, x[None], n_permutations=n)[0] for n in (5040, 5039))
    assert drawn.p_mantel == pytest.approx(exact.p_mantel, abs=0.02)
    assert drawn.p_mantel * 5040 == pytest.approx(round(drawn.p_mantel * 5040))
    assert drawn == correlate(y, x[None], n_permutations=5039)[0]
    assert drawn != correlate(y, x[None], n_permutations=5039, seed=1)[0]


def test_a_table_of_a_language_that_shares_all_its_pairs():
    """Pairs with a common language have a common part, the tables are unrelated.

    bench/relate.md has 2,000 runs: Mantel's test rejects 5%, Pearson's far more.
    """
    size, runs, plain, permuted, partial = 10, 200, 0, 0, 0
    one, other = np.triu_indices(size, 1)
    for seed in range(runs):
        random = np.random.default_rng(seed)
        own = random.normal(size=(3, size))
        y, x, z = own[:, one] + own[:, other] + random.normal(size=(3, len(one)))
        [row] = correlate(y, x[None], n_permutations=199, seed=seed)
        plain += row.p < 0.05
        permuted += row.p_mantel <= 0.05
        [row] = correlate(y + z, (x + z)[None], z, n_permutations=199, seed=seed)
        partial += row.p_mantel <= 0.05
    assert plain / runs > 0.15
    assert 0.02 <= permuted / runs <= 0.08
    assert 0.02 <= partial / runs <= 0.08


def test_what_is_undefined_is_none():
    y, x = draw(4)
    flat = np.full(6, 0.3)
    constant, same = correlate(y, np.array([flat, y]))
    assert constant == Correlation(6)
    assert (same.r, same.p, same.slope) == pytest.approx((1, 0, 1))
    assert correlate(flat, np.array([x]))[0].r is None
    assert correlate(y, x[None], x)[0] == Correlation(6)  # nothing is left of x given x
    assert correlate(y[:1], x[None, :1]) == [Correlation(1)]
    with pytest.raises(ValueError, match="NaN among the values of pairs"):
        correlate(y, np.where(x > 0, x, np.nan)[None])


def figure_of(values):
    names = [str(place) for place in range(values.shape[1])]
    return mean_of(names, values, np.ones(len(values)))


def test_the_interval_is_2_r_less_the_quantiles():
    random = np.random.default_rng(0)
    x = random.normal(size=15)
    values = 0.1 * x + random.normal(size=(50, 15))
    figure, places = figure_of(values), [*range(9, -1, -1)]
    options = {"n_resamples": 200, "seed": 3, "clusters": [k // 2 for k in range(50)]}

    def follow(sums):
        found = figure.statistic(sums)[..., places]
        centred = found - found.mean(axis=-1, keepdims=True)
        other = x[:10] - x[:10].mean()
        norm = np.sqrt((centred**2).sum(axis=-1) * (other**2).sum())
        return ((centred @ other) / norm)[..., None]

    plain = estimate_figure(Figure(["r"], figure.table, follow), **options)
    assert plain["r"] == pytest.approx(pearsonr(values.mean(axis=0)[places], x[:10]).statistic)
    low, high = plain["r_ci"]
    [bounds] = bound_correlations(figure, [(places, x[:10])], **options)
    expected = [2 * plain["r"] - high, 2 * plain["r"] - low]
    assert bounds == pytest.approx(np.clip(expected, -1, 1))
    assert bound_correlations(figure, [(places, x[:10])], n_resamples=0) == [None]
    assert bound_correlations(figure, [(places, np.ones(10))], **options) == [None]


def test_a_table_of_the_same_facts_is_computed_again_with_them():
    random = np.random.default_rng(4)
    x = random.normal(size=15)
    values, others = 0.1 * x + random.normal(size=(2, 60, 15))
    figure, other = figure_of(values), figure_of(others)
    again = Figure(other.names[:-1], other.table, lambda sums: other.statistic(sums)[..., :-1])
    places = [*range(3, 12)]

    def follow(sums):
        one = figure.statistic(sums[..., : figure.table.shape[1]])[..., places]
        two = other.statistic(sums[..., figure.table.shape[1] :])[..., places]
        rows = zip(one.reshape(-1, 9), two.reshape(-1, 9), strict=True)
        found = np.array([np.corrcoef(*row)[0, 1] for row in rows])
        return found.reshape(*one.shape[:-1], 1)

    both = np.hstack([figure.table, other.table])
    plain = estimate_figure(Figure(["r"], both, follow), n_resamples=100, seed=5)
    low, high = plain["r_ci"]
    fixed = (places, others.mean(axis=0)[places])
    [alone, bounds] = bound_correlations(figure, [fixed, (places, again)], n_resamples=100, seed=5)
    expected = np.clip([2 * plain["r"] - high, 2 * plain["r"] - low], -1, 1)
    assert bounds == pytest.approx(expected)
    assert alone != pytest.approx(bounds, abs=0.01)


def test_languages_are_permuted_within_blocks():
    """Blocks of 3, 2 and 1 languages have 3! 2! = 12 orders."""
    random, blocks = np.random.default_rng(6), np.array([0, 1, 0, 2, 1, 0])
    one, other = random.normal(size=(2, 15))
    first, second = np.triu_indices(6, 1)
    square = np.zeros((6, 6))
    square[first, second] = square[second, first] = one
    orders = [order for order in permutations(range(6)) if (blocks[[*order]] == blocks).all()]
    assert len(orders) == 12
    drawn = [
        abs(pearsonr(square[np.ix_(order, order)][first, second], other).statistic)
        for order in orders
    ]
    share = np.mean([value >= drawn[0] - 1e-9 for value in drawn])
    assert correlate(one, other[None], None, 12, 0, blocks)[0].p_mantel == pytest.approx(share)
    found = [correlate(one, other[None], None, 11, seed, blocks)[0] for seed in range(300)]
    expected = (11 * share + 1) / 12  # of (b + 1) / (11 + 1)
    assert np.mean([row.p_mantel for row in found]) == pytest.approx(expected, abs=0.03)


def test_a_high_r_has_no_bound_above_1():
    random = np.random.default_rng(1)
    x = random.normal(size=10)
    figure = figure_of(x + 0.5 * random.normal(size=(30, 10)))
    [(low, high)] = bound_correlations(figure, [(range(10), x)], n_resamples=400)
    assert 0.5 < low < high == 1


def test_r_within_pairs_and_relations_is_that_of_a_regression_with_a_constant_of_each():
    one, other = np.random.default_rng(2).normal(size=(2, 20, 6))
    relations = np.arange(20) % 3
    other = other + 0.5 * one + np.arange(6) + 5 * relations[:, None]
    one = one - 3 * relations[:, None] * np.arange(6)
    found = estimate_figure(relate_within(one, other, relations), n_resamples=100)
    dummies = np.eye(18)[(relations[:, None] * 6 + np.arange(6)).ravel()]
    fit = sm.OLS(other.ravel(), np.column_stack([one.ravel(), dummies])).fit()
    assert found["r"] == pytest.approx(fit.tvalues[0] / (fit.tvalues[0] ** 2 + fit.df_resid) ** 0.5)
    assert found["r_ci"][0] < found["r"] < found["r_ci"][1]
    assert estimate_figure(relate_within(one * 0, other, relations), n_resamples=0)["r"] is None
