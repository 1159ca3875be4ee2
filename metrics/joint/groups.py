"""Right and wrong rows by group, and tests of differences between the groups.

Schott et al. (2023, figure 1) test counts of right and wrong rows by the script of the language
with Pearson's chi-squared. That test assumes independent rows. But a fact has rows in 20 languages,
and the rows of a language share the model's skill in it: the p-values are far too small. Here the
labels are also permuted over whole facts, subjects or languages.

>>> counts = np.array([[30.0, 10.0], [20.0, 20.0]])
>>> round(compare_counts(counts).chi2, 3), round(compare_counts(counts).p, 3)  # Yates: 2 x 2
(4.32, 0.038)
>>> share_errors(counts).round(1).tolist()  # 10 of 30 errors are in half of the rows
[-33.3, 33.3]
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc, gammaln
from scipy.stats import random_table

from polyprobe.metrics.shared.intervals import divide_by, sum_by

from .significance import correct_values

N_PERMUTATIONS = 10_000
_CELLS = 2**22  # of tables in memory at once
_YATES = 0.5


class ChiSquare(NamedTuple):
    """Pearson's test of a table [groups, 2]; None where undefined."""

    chi2: float | None  # with Yates' correction for 2 x 2
    dof: int  # degrees of freedom, groups - 1
    p: float | None  # by the chi-squared distribution
    cramers_v: float | None  # sqrt(chi2 / (N (min(groups, 2) - 1))), from 0 to 1
    least_expected: float | None  # smallest expected count; the distribution is inexact below 5


class Permutation(NamedTuple):
    """The permutation test of the statistic."""

    p: float | None  # share of the assignments with a statistic at least as large
    n: int  # of assignments: all distinct ones if `exact`, else random ones
    exact: bool


class Pair(NamedTuple):
    """The test of two groups, p-values corrected by Holm over all pairs."""

    first: int
    second: int
    test: ChiSquare
    p_adjusted: float | None
    permutation: Permutation | None  # None if no labels were permuted
    permuted_p_adjusted: float | None


def find_chi2(counts: np.ndarray) -> np.ndarray:
    """Compute Pearson's statistic of tables [..., groups, 2]; NaN if a margin is 0.

    Counts may be fractions: a tie at rank 1 counts with its probability of being right. As in
    `scipy.stats.chi2_contingency`, Yates' correction of a 2 x 2 table moves a count by at most its
    distance from the expected count.
    """
    expected = _expect(counts)
    gaps = np.abs(counts - expected)
    if counts.shape[-2] == 2:
        gaps -= np.minimum(_YATES, gaps)
    return divide_by(gaps**2, expected).sum(axis=(-2, -1))


def _expect(counts: np.ndarray) -> np.ndarray:
    rows, columns = counts.sum(axis=-1, keepdims=True), counts.sum(axis=-2, keepdims=True)
    return rows * columns / np.maximum(counts.sum(axis=(-2, -1), keepdims=True), 1e-300)


def compare_counts(counts: np.ndarray) -> ChiSquare:
    """Test right and wrong counts [groups, 2]; undefined for one group or one kind of rows."""
    dof = len(counts) - 1
    chi2 = float(find_chi2(counts)) if dof else np.nan
    if np.isnan(chi2):
        return ChiSquare(None, dof, None, None, None)
    v = float(np.sqrt(chi2 / counts.sum()))  # min(groups, 2) - 1 is 1
    return ChiSquare(chi2, dof, float(chdtrc(dof, chi2)), v, float(_expect(counts).min()))


def share_errors(counts: np.ndarray) -> np.ndarray:
    """Compute by how many percent each group's share of the errors exceeds its share of the rows.

    100 (e_g / E - n_g / N) / (n_g / N) of counts [groups, 2] (right, wrong); NaN without errors.
    """
    rates = counts[:, 1] / counts.sum(axis=1)
    errors, rows = counts[:, 1].sum(), counts.sum()
    return 100 * (rates * rows / errors - 1) if errors else np.full(len(counts), np.nan)


def permute_groups(
    units: np.ndarray, codes: np.ndarray, n: int = N_PERMUTATIONS, seed: int = 0
) -> Permutation:
    """Compute the p-value of `find_chi2` under permutations of the labels over whole units.

    If there are at most `n` distinct assignments of labels to units, all are enumerated, and the
    p-value is exact. Otherwise n are drawn, and p = (b + 1) / (n + 1), where b is the number of
    statistics at least as large as the observed one. `units` has right and wrong rows [units, 2],
    `codes` the number of each unit's group, 0 … groups - 1; every group has a unit.
    """
    sizes = np.bincount(codes)
    if len(sizes) < 2 or np.isnan(observed := find_chi2(sum_by(codes, units))):
        return Permutation(None, 0, False)
    # The multinomial coefficient, as a logarithm: it overflows from some 170 units on.
    exact = bool(gammaln(len(codes) + 1) - gammaln(sizes + 1).sum() <= np.log(n) + 1e-9)
    if exact:
        # The largest group has the units that are left; χ² does not depend on the order.
        small = np.sort(sizes)[:-1]
        orders = np.array([*_list_orders(range(len(units)), small.tolist())])
        sums = np.add.reduceat(units[orders], small.cumsum() - small, axis=1)
        rest = units.sum(axis=0) - sums.sum(axis=1, keepdims=True)
        null = find_chi2(np.concatenate([sums, rest], axis=1))
    else:
        null = np.concatenate([find_chi2(part) for part in _draw_tables(units, sizes, n, seed)])
    # equal statistics must count as equal, whatever the order in which their rows were summed
    reached = int((null >= observed * (1 - 1e-9) - 1e-9).sum())
    p = (reached + (not exact)) / (len(null) + (not exact))
    return Permutation(p, len(null), exact)


def _list_orders(units: Sequence[int], sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield the units of the first group, of the second one, and so on, in all distinct ways."""
    for members in combinations(units, sizes[0]):
        if len(sizes) == 1:
            yield members
            continue
        rest = [unit for unit in units if unit not in members]
        yield from ((*members, *order) for order in _list_orders(rest, sizes[1:]))


def _draw_tables(units: np.ndarray, sizes: np.ndarray, n: int, seed: int) -> Iterator[np.ndarray]:
    """Yield tables [draws, groups, 2] of random assignments."""
    random, starts = np.random.default_rng(seed), sizes.cumsum() - sizes
    distinct, times = np.unique(units, axis=0, return_counts=True)
    # Units with equal counts are interchangeable, so their numbers in each group are drawn as a
    # random table with fixed margins, unless a shuffled list of units has fewer cells to draw.
    shuffled = len(sizes) * len(times) > len(units)
    if len(times) == 1:  # scipy 1.17 draws negative cells of a single column
        distinct, times = distinct.repeat(2, axis=0), np.append(times, 0)
    step = max(1, _CELLS // (len(units) if shuffled else len(sizes) * len(times)))
    for start in range(0, n, step):
        size = min(step, n - start)
        if shuffled:
            orders = random.permuted(np.tile(np.arange(len(units)), (size, 1)), axis=1)
            yield np.add.reduceat(units[orders], starts, axis=1)
        else:
            yield random_table.rvs(sizes, times, size=size, random_state=random) @ distinct


def compare_pairs(
    units: np.ndarray, codes: np.ndarray, n: int = N_PERMUTATIONS, seed: int = 0
) -> list[Pair]:
    """Test all pairs of groups, as `permute_groups` over their units only; n = 0: not permuted."""
    counts = sum_by(codes, units)
    pairs = [*combinations(range(len(counts)), 2)]
    tests = [compare_counts(counts[[*pair]]) for pair in pairs]
    permuted: list[Permutation | None] = [None] * len(pairs)
    for place, (_, second) in enumerate(pairs if n else ()):
        rows = np.isin(codes, pairs[place])
        permuted[place] = permute_groups(units[rows], (codes[rows] == second).astype(int), n, seed)
    adjusted = correct_values([test.p for test in tests], "holm")
    permuted_adjusted = correct_values([result and result.p for result in permuted], "holm")
    firsts, seconds = zip(*pairs, strict=True) if pairs else ((), ())
    return [*map(Pair, firsts, seconds, tests, adjusted, permuted, permuted_adjusted)]
