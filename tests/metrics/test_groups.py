"""Right and wrong by group against scipy, statsmodels, full enumeration and a planted null."""

import doctest
from itertools import permutations
from math import nan, sqrt

import numpy as np
import pytest
from scipy.stats import chi2_contingency
from statsmodels.stats.multitest import multipletests

from polyprobe.metrics.joint import groups
from polyprobe.metrics.joint.groups import (
    compare_counts,
    compare_pairs,
    find_chi2,
    permute_groups,
    share_errors,
)


def test_the_examples():
    assert doctest.testmod(groups).failed == 0


@pytest.mark.parametrize("size", [2, 3, 7])
@pytest.mark.parametrize("fractions", [False, True])
def test_the_statistic_is_that_of_scipy(size, fractions):
    random = np.random.default_rng(size)
    for _ in range(20):
        counts = random.integers(1, 40, (size, 2)) / (3 if fractions else 1)
        want, found = chi2_contingency(counts), compare_counts(counts)
        assert found.chi2 == pytest.approx(want.statistic, abs=1e-12)
        assert (found.dof, found.p) == (want.dof, pytest.approx(want.pvalue))
        assert found.least_expected == pytest.approx(want.expected_freq.min())
        assert found.cramers_v == pytest.approx(sqrt(want.statistic / counts.sum()))


def test_many_tables_at_once():
    tables = np.random.default_rng(0).integers(1, 40, (5, 4, 2)).astype(float)
    assert find_chi2(tables).tolist() == [compare_counts(table).chi2 for table in tables]


@pytest.mark.parametrize("counts", [[[5, 0], [7, 0]], [[0, 5], [0, 7]], [[5, 7]], [[5, 0]]])
def test_tables_with_an_empty_margin_or_one_group_are_undefined(counts):
    counts = np.array(counts, dtype=float)
    assert compare_counts(counts) == (None, len(counts) - 1, None, None, None)
    assert permute_groups(counts, np.arange(len(counts))) == (None, 0, False)


def test_a_group_of_one():
    """2 x 2, expected 1/2 and 1/2 in the first row: Yates' correction takes the whole distance."""
    found = compare_counts(np.array([[1.0, 0.0], [4.0, 5.0]]))
    assert found.chi2 == pytest.approx(0)
    assert found.least_expected == 0.5


def test_the_share_of_the_errors():
    """50 rows with 40 errors of 60, in 150: 100 (40 / 60 - 50 / 150) / (50 / 150) = 100."""
    found = share_errors(np.array([[10.0, 40.0], [80.0, 20.0]]))
    assert found.tolist() == [pytest.approx(100), pytest.approx(-50)]
    assert np.isnan(share_errors(np.array([[3.0, 0.0], [4.0, 0.0]]))).all()


UNITS = np.array([[5, 1], [3, 3], [4, 2], [0, 6], [2.5, 3.5], [1, 4], [1, 4]])


@pytest.mark.parametrize(
    "codes", [[0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 2, 2, 1], [0, 1, 2, 2, 2, 2, 2]]
)
def test_all_assignments_are_those_of_brute_force(codes):
    observed = chi2_contingency(_sum(codes)).statistic
    assignments = {*permutations(codes)}
    null = [chi2_contingency(_sum(one)).statistic for one in assignments]
    reached = sum(value >= observed - 1e-9 for value in null)
    found = permute_groups(UNITS, np.array(codes))
    assert found == (pytest.approx(reached / len(null)), len(assignments), True)


def _sum(codes):
    return _sum_of(UNITS, np.array(codes))


def test_one_unit_among_thousands_has_as_many_assignments_as_units():
    units = np.column_stack([np.arange(3000) % 7, np.full(3000, 3)]).astype(float)
    codes = (np.arange(3000) == 6).astype(int)  # 6 right, 3 wrong: as extreme as each seventh
    found = permute_groups(units, codes)
    assert (found.n, found.exact) == (3000, True)
    statistics = [find_chi2(np.array([units.sum(axis=0) - unit, unit])) for unit in units[:7]]
    extreme = sum(value >= statistics[6] for value in statistics)
    assert found.p == pytest.approx(extreme / 7, abs=1 / 1000)


def test_random_assignments_approach_all_of_them():
    codes = np.array([0, 0, 1, 1, 2, 2, 1])
    exact = permute_groups(UNITS, codes).p
    drawn = permute_groups(UNITS, codes, 200)
    assert (drawn.n, drawn.exact) == (200, False)
    assert drawn.p == pytest.approx(exact, abs=3 * sqrt(exact * (1 - exact) / 200))
    many = np.tile(UNITS, (30, 1))
    assert permute_groups(many, np.tile([0, 1, 1], 70), seed=1).n == 10_000


@pytest.mark.parametrize("n_groups", [3, 9])
def test_tables_and_shuffles_are_of_one_law(n_groups):
    """30 units of 5 kinds: 3 x 5 cells are drawn as a table, of 9 x 5 the units are shuffled."""
    units = np.tile([[5, 1], [3, 3], [4, 2], [0, 6], [2, 2]], (6, 1)).astype(float)
    codes = np.arange(30) * 7 % 30 * n_groups // 30
    random = np.random.default_rng(1)
    observed = chi2_contingency(_sum_of(units, codes)).statistic
    null = [
        chi2_contingency(_sum_of(units, random.permutation(codes))).statistic for _ in range(2000)
    ]
    want = np.mean(np.array(null) >= observed - 1e-9)
    assert permute_groups(units, codes).p == pytest.approx(want, abs=0.04)


def _sum_of(units, codes):
    return np.array([units[codes == code].sum(axis=0) for code in range(max(codes) + 1)])


def test_equal_units_have_p_1():
    assert permute_groups(np.ones((40, 2)), np.arange(40) % 2).p == 1


def test_pairs_are_corrected_by_holm():
    random = np.random.default_rng(3)
    units = np.column_stack([random.integers(0, 6, 60), np.full(60, 5)]).astype(float)
    codes = np.arange(60) % 4
    found = compare_pairs(units, codes, 500)
    assert [row[:2] for row in found] == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    for row in found:
        rows = np.isin(codes, row[:2])
        counts = np.array([units[codes == code].sum(axis=0) for code in row[:2]])
        assert row.test.p == pytest.approx(chi2_contingency(counts).pvalue)
        own = (codes[rows] == row.second).astype(int)
        assert row.permutation == permute_groups(units[rows], own, 500)
    for raw, adjusted in (
        ([row.test.p for row in found], [row.p_adjusted for row in found]),
        ([row.permutation.p for row in found], [row.permuted_p_adjusted for row in found]),
    ):
        assert adjusted == pytest.approx(multipletests(raw, method="holm")[1].tolist())


def test_pairs_without_a_value_are_not_counted():
    units = np.array([[4.0, 0.0], [5.0, 0.0], [2.0, 6.0]])
    both, first, second = compare_pairs(units, np.arange(3), 0)
    assert (both.test.p, both.p_adjusted, both.permutation) == (None, None, None)
    assert first.p_adjusted == pytest.approx(2 * min(first.test.p, second.test.p))
    assert nan not in [row.p_adjusted for row in (first, second)]


def draw_null(random, n_facts=100, n_languages=20):
    """Return the rows of facts, and groups that have nothing to do with them.

    A fact's rows in 20 languages are alike: each is right with the fact's own probability.
    """
    skill = random.beta(0.5, 0.5, n_facts)
    right = random.binomial(n_languages, skill).astype(float)
    return np.column_stack([right, n_languages - right]), random.integers(0, 3, n_facts)


def test_type_1_error_under_a_planted_null():
    """1,000 samples at .05: standard error .7%. Rows in 20 languages deceive the plain test."""
    random = np.random.default_rng(0)
    plain, permuted = [], []
    for seed in range(1000):
        units, codes = draw_null(random)
        counts = np.array([units[codes == code].sum(axis=0) for code in range(3)])
        plain.append(compare_counts(counts).p < 0.05)
        permuted.append(permute_groups(units, codes, 199, seed).p < 0.05 + 1e-9)
    assert np.mean(permuted) == pytest.approx(0.05, abs=0.01)
    assert np.mean(plain) > 0.5
