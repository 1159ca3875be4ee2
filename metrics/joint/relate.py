"""Correlate tables of pairs of languages, with tests that account for shared languages.

Qi et al. (2023, tables 2, 6 and 7) correlate RankC with the similarity of two languages over all
unordered pairs, and print the two-sided p-value of Pearson's r for n = L (L - 1) / 2 independent
points. The pairs are not independent: en-fr and en-ru share English. If each language has its own
effect, that test rejects a true null hypothesis in far more than 5% of samples (bench/relate.md).

Mantel's test (1967) permutes the languages of one table, rows and columns together, which keeps
that dependence. It takes the languages as exchangeable. Related languages are not (Guillot and
Rousset 2013): permute them within blocks, such as families (bench/kinship.md). With a third table
the test permutes the residuals of the null model (Freedman and Lane 1983; method 2 of Legendre
2000): the values less their regression on the third table.

>>> x, y = np.array([[0.1, 0.2, 0.4, 0.3, 0.8, 0.9]]), np.array([1.0, 2, 4, 3, 9, 8])
>>> found = correlate(y, x)[0]
>>> found.n, round(found.r, 3), round(found.p, 4), round(found.p_mantel, 3)
(6, 0.981, 0.0005, 0.083)
"""

from collections.abc import Sequence
from itertools import chain, permutations, product
from math import factorial, prod
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr
from scipy.stats import rankdata

from polyprobe.metrics.shared.intervals import Figure, divide_by, estimate_figure, sum_by

FEWEST = 3  # languages
_AT_ONCE = 2**19  # permuted values, which fit into a cache
_EQUAL = 1e-9  # relative: sums in several orders
_NOTHING = 1e-24  # of a sum of squares: rounding


class Correlation(NamedTuple):
    """The correlation of two tables of pairs."""

    n: int  # pairs
    # Pearson's r and its two-sided p-value as in the papers, for n independent pairs; with a third
    # table the partial correlation, with one degree of freedom less.
    r: float | None = None
    p: float | None = None
    p_mantel: float | None = None  # two-sided, by Mantel's test of r
    rho: float | None = None  # Spearman's rank correlation, with the same tests
    p_rho: float | None = None
    p_mantel_rho: float | None = None
    # Regression of the first table on the second, or on both others, then without intercept.
    slope: float | None = None
    intercept: float | None = None


def correlate(
    values: np.ndarray,
    tables: np.ndarray,
    control: np.ndarray | None = None,
    n_permutations: int = 10_000,
    seed: int = 0,
    blocks: np.ndarray | None = None,
) -> list[Correlation]:
    """Correlate one table with each of several others.

    The first is [pairs], one value for each unordered pair of L languages, in the order of
    `combinations`, the others [tables, pairs]. The linear effect of a `control` [pairs] is removed
    from all. If there are at most m = `n_permutations` orders of the languages, all are enumerated,
    and p is the share with an |r| at least as large. Otherwise p = (b + 1) / (m + 1), where b is
    the number of such permutations. Languages change places within their block [L] only.

    Values are None if a table is constant or there are fewer than 3 languages. NaN raises
    ValueError.
    """
    size = round((1 + (1 + 8 * len(values)) ** 0.5) / 2)
    assert size * (size - 1) // 2 == len(values), "not the pairs of some languages"
    # All rows in one table: the first, the others, and last the control.
    every = np.vstack([values, tables] if control is None else [values, tables, control])
    if np.isnan(every).any():
        raise ValueError("NaN among the values of pairs; leave out its languages")
    n, free = len(values), len(values) - (2 if control is None else 3)
    if size < FEWEST or free < 1:
        return [Correlation(n) for _ in tables]
    blocks = np.zeros(size, dtype=np.intp) if blocks is None else blocks
    orders, exact = _list_orders(blocks, n_permutations, seed)
    # Spearman's rho is Pearson's r of ranks, partial or not.
    ranks = np.vstack([rankdata(row) for row in every])
    columns: list[np.ndarray] = []
    for table in (ranks, every):
        target, *rest = _reduce(table, control is not None)
        lines = np.array(rest).reshape(-1, n)
        r = divide_by(lines @ target, np.sqrt((lines**2).sum(axis=1) * (target @ target)))
        third = table[-1] - table[-1].mean() if control is not None else None
        with np.errstate(divide="ignore"):
            t = np.abs(r) * np.sqrt(free / np.maximum(1 - r**2, 0))
        # two-sided p-values by Student's t, and by Mantel's test
        p = np.asarray(2 * stdtr(free, -t))
        columns[:0] = [r, p, _permute(target, lines, third, r, orders, exact)]
    # of the tables themselves, the last of the loop
    products = np.array([(row @ target, row @ row) for row in rest]).reshape(-1, 2)
    slopes = divide_by(*products.T)
    intercepts = values.mean() - slopes * tables.mean(axis=1)
    columns += [slopes, intercepts if control is None else np.full_like(slopes, np.nan)]
    rows = np.array(columns).T
    return [Correlation(n, *(None if np.isnan(x) else float(x) for x in row)) for row in rows]


def bound_correlations(
    figure: Figure,
    tables: Sequence[tuple[Sequence[int], np.ndarray | Figure]],
    *,
    n_resamples: int,
    seed: int = 0,
    clusters: Sequence[object] | None = None,
) -> list[list[float] | None]:
    """Bound Pearson's r of a figure of pairs with each table, 95% over facts.

    Facts or clusters are resampled, and all pairs computed again. With few facts, noise makes r too
    small, and r of a resample smaller still: percentile intervals miss the value for many facts far
    too often. The basic interval, 2 r minus the quantiles (Davison and Hinkley 1997, equation 5.6),
    corrects for that bias. It is cut at -1 and 1. The languages are fixed: Mantel's test, not this
    interval, accounts for the choice of languages.

    `figure` has pairs, `mean` last. Each of `tables` has the pairs' places among the names, and
    their values [pairs], or a figure of all pairs from the same facts, computed again with them.
    """
    if not tables:
        return []
    names = [str(place) for place in range(len(tables))]
    parts = [figure, *(x for _, x in tables if isinstance(x, Figure))]
    ends = np.cumsum([part.table.shape[1] for part in parts])[:-1]

    def statistic(sums: np.ndarray) -> np.ndarray:
        head, *tails = np.split(sums, ends, axis=-1)
        values, rest = figure.statistic(head), iter(tails)
        columns = []
        for places, x in tables:
            second = x.statistic(next(rest))[..., [*places]] if isinstance(x, Figure) else x
            columns.append(_follow(values[..., [*places]], second))
        return np.stack(columns, axis=-1)

    resampled = Figure(names, np.hstack([part.table for part in parts]), statistic)
    estimates = estimate_figure(resampled, n_resamples=n_resamples, seed=seed, clusters=clusters)
    bounds = [(estimates[name], estimates.get(f"{name}_ci")) for name in names]
    return [
        None if ci is None else [max(2 * r - ci[1], -1.0), min(2 * r - ci[0], 1.0)]
        for r, ci in bounds
    ]


def relate_within(first: np.ndarray, second: np.ndarray, groups: np.ndarray) -> Figure:
    """Make the figure `r`: Pearson's r of two tables [facts, pairs] within pairs and groups."""
    # Relations differ in the number of candidates, so in chance RankC, and in their wording.
    sizes = np.bincount(groups)[:, None]
    x, y = (table - (sum_by(groups, table) / sizes)[groups] for table in (first, second))
    sums = np.column_stack([(x * y).sum(axis=1), (x**2).sum(axis=1), (y**2).sum(axis=1)])

    def statistic(sums: np.ndarray) -> np.ndarray:
        return divide_by(sums[..., :1], np.sqrt(sums[..., 1:2] * sums[..., 2:]))

    return Figure(["r"], sums, statistic)


def _follow(y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Compute Pearson's r of figures [..., pairs] with values [..., pairs]; NaN where undefined."""
    y, x = (values - values.mean(axis=-1, keepdims=True) for values in (y, x))
    products = [np.einsum("...p,...p->...", *factors) for factors in ((y, x), (y, y), (x, x))]
    return divide_by(products[0], np.sqrt(products[1] * products[2]))


def _list_orders(blocks: np.ndarray, n: int, seed: int) -> tuple[np.ndarray, bool]:
    """List all orders of the languages within blocks if at most n, else draw n; tell which."""
    places = [np.flatnonzero(blocks == block) for block in np.unique(blocks)]
    size, exact = len(blocks), prod(factorial(len(members)) for members in places) <= n
    if exact:
        every = product(*(permutations(members.tolist()) for members in places))
        orders = np.array([[*chain(*order)] for order in every], dtype=np.int16)
        # Permutations are listed block by block: put each at its block's places.
        orders[:, np.concatenate(places)] = orders.copy()
        return orders, exact
    orders, random = np.tile(np.arange(size, dtype=np.int16), (n, 1)), np.random.default_rng(seed)
    for members in places:
        orders[:, members] = random.permuted(orders[:, members], axis=1)
    return orders, exact


def _reduce(table: np.ndarray, controlled: bool) -> np.ndarray:
    """Subtract from rows their mean and, with `controlled`, their regression on the last one."""
    residuals = table - table.mean(axis=1, keepdims=True)
    if controlled:
        third = residuals[-1]
        slopes = divide_by(residuals[:-1] @ third, third @ third, 0.0)
        residuals = residuals[:-1] - np.outer(slopes, third)
    squares = (table[: len(residuals)] ** 2).sum(axis=1)
    residuals[(residuals**2).sum(axis=1) <= _NOTHING * squares] = 0  # differs from 0 by rounding
    return residuals


def _permute(
    target: np.ndarray,
    rest: np.ndarray,
    third: np.ndarray | None,
    observed: np.ndarray,
    orders: np.ndarray,
    exact: bool,
) -> np.ndarray:
    """Compute Mantel's p-value of each table, from permuted residuals of the first [tables]."""
    size, lengths = orders.shape[1], np.sqrt((rest**2).sum(axis=1))
    first, second = np.triu_indices(size, 1)
    # Mantel permutes languages, and rows and columns of the square table with them.
    square = np.zeros((size, size))
    square[first, second] = square[second, first] = target
    reached = np.zeros(len(rest))
    step = max(1, _AT_ONCE // len(target))
    for start in range(0, len(orders), step):
        part: np.ndarray = orders[start : start + step].T.astype(np.intp)
        permuted = square.ravel().take(part[first] * size + part[second])  # [pairs, orders]
        # What the control explains of a permuted table differs from order to order.
        variances = np.full(permuted.shape[1], target @ target)
        if third is not None:
            variances -= divide_by((third @ permuted) ** 2, third @ third, 0.0)
        scales = lengths[:, None] * np.sqrt(np.maximum(variances, 0))
        correlations = divide_by(rest @ permuted, scales)
        reached += (np.abs(correlations) >= np.abs(observed)[:, None] * (1 - _EQUAL)).sum(axis=1)
    p = reached / len(orders) if exact else (reached + 1) / (len(orders) + 1)
    return np.where(np.isnan(observed), np.nan, p)
