"""Test whether two models differ on the same facts, for every language and every pair at once.

The facts are paired: both models answered each. Two tests, both two-sided:

- approximate randomisation (Noreen 1989): under the null hypothesis the two models' answers to a
  fact may be swapped; p = (1 + swaps with a difference as large) / (1 + swaps);
- paired bootstrap (Efron and Tibshirani 1993): facts are resampled, and the interval of level 1 - p
  just reaches 0: p < .05 if 0 is outside the 95 % interval. It is too liberal with few clusters;
  randomisation is not.

Over many pairs, p-values are corrected: Holm (1979) for the chance of a single false claim,
Benjamini and Hochberg (1995) for the share of false claims.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri, stdtr
from scipy.stats import false_discovery_control

from polyprobe.metrics.joint.figures import Figure, add_mean
from polyprobe.metrics.shared.intervals import (
    Resampling,
    index_labels,
    interval,
    resample,
    sum_by,
    thin_out,
)

TESTS = ("randomisation", "bootstrap")
CORRECTIONS = ("holm", "bh", "none")
_SWAPS = 2**22  # at once


class Difference(NamedTuple):
    """The values of one name of a figure (a language, a pair, the mean) in two models.

    Attributes:
        name: as in the figure.
        first, second: the two models' values; None where undefined. Means are over the names that
            are defined in both.
        difference: first - second.
        ci: its 95 % bootstrap interval.
        p: of the test, uncorrected; None where undefined.
        p_adjusted: corrected over all names but `mean`, a single claim, which is not corrected.
    """

    name: str
    first: float | None
    second: float | None
    difference: float | None
    ci: list[float] | None
    p: float | None
    p_adjusted: float | None


def compare_figures(
    first: Figure,
    second: Figure,
    *,
    test: str = "randomisation",
    correction: str = "holm",
    n_resamples: int = 10_000,
    seed: int = 0,
    clusters: Sequence[object] | None = None,
) -> list[Difference]:
    """Return the differences of two models' figures over the same facts, in the figure's order.

    With `clusters` whole clusters are swapped and drawn. A p-value is at least 1 / (1 + resamples):
    after Holm over k names it is at least k / (1 + resamples).
    """
    _check(test, TESTS, "test")
    _check(correction, CORRECTIONS, "correction")
    if n_resamples < 1:
        raise ValueError(f"n_resamples is {n_resamples}; expected 1 or more")
    if first.names != second.names or first.table.shape != second.table.shape:
        raise ValueError("the two figures have different languages or facts")
    units = index_labels(clusters, len(first.table), "clusters")[1]
    units = np.arange(len(first.table)) if clusters is None else units
    tables = (sum_by(units, first.table), sum_by(units, second.table))
    values = _pair(first, second, tables[0].sum(axis=0), tables[1].sum(axis=0))
    observed = values[0] - values[1]
    random = np.random.default_rng(seed)
    drawn, freedom = _bootstrap(first, second, units, n_resamples, seed)
    if test == "bootstrap":
        p = invert_intervals(drawn, freedom)
    else:
        p = p_value(_randomise(first, second, tables, n_resamples, random), observed)
    adjusted: np.ndarray = np.append(correct(p[:-1], correction), p[-1:])
    intervals = [interval(column, freedom) for column in drawn.T]
    columns = (*values, observed, p, adjusted)
    rows = zip(first.names, intervals, *(map(_known, column) for column in columns), strict=True)
    return [Difference(name, a, b, d, ci, raw, new) for name, ci, a, b, d, raw, new in rows]


def p_value(null: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Return the two-sided p-values of observed [names] under a null sample [resamples, names].

    Resamples in which a figure is undefined are left out; NaN where the observed one is.
    """
    known = ~np.isnan(null)
    # equal differences must count as equal, whatever the order in which they were summed
    reached = known & (np.abs(null) >= np.abs(observed) * (1 - 1e-9) - 1e-12)
    p = (1 + reached.sum(axis=0)) / (1 + known.sum(axis=0))
    return np.where(np.isnan(observed), np.nan, p)


def invert_intervals(drawn: np.ndarray, freedom: float) -> np.ndarray:
    """Return the two-sided p-values at which the intervals of drawn differences reach 0.

    The levels are those of `intervals.interval`; NaN for no interval.
    """
    known = ~np.isnan(drawn)
    beyond = np.minimum((known & (drawn <= 0)).sum(axis=0), (known & (drawn >= 0)).sum(axis=0))
    tail = np.minimum((1 + beyond) / (1 + known.sum(axis=0)), 0.5)
    defined = known.any(axis=0) & (freedom > 0)
    return np.where(defined, 2 * stdtr(max(freedom, 1), ndtri(tail)), np.nan)


def correct(p: np.ndarray, correction: str) -> np.ndarray:
    """Return p-values adjusted by `holm`, `bh` or `none`; NaN stays NaN and is not counted."""
    adjusted, known = p.copy(), ~np.isnan(p)
    if correction == "none" or not known.any():
        return adjusted
    if correction == "bh":
        adjusted[known] = false_discovery_control(p[known])
        return adjusted
    order = np.argsort(p[known], kind="stable")
    factors = np.arange(len(order), 0, -1)
    steps = np.maximum.accumulate(p[known][order] * factors)
    adjusted[np.flatnonzero(known)[order]] = np.minimum(steps, 1)
    return adjusted


def _pair(
    first: Figure, second: Figure, one: np.ndarray, other: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return both figures [..., names] from their sums; means are over names defined in both."""
    values = (first.statistic(one)[..., :-1], second.statistic(other)[..., :-1])
    undefined = np.isnan(values[0]) | np.isnan(values[1])
    means = [add_mean(np.where(undefined, np.nan, value))[..., -1:] for value in values]
    return (
        np.concatenate([values[0], means[0]], axis=-1),
        np.concatenate([values[1], means[1]], axis=-1),
    )


def _bootstrap(
    first: Figure, second: Figure, units: np.ndarray, n: int, seed: int
) -> tuple[np.ndarray, float]:
    """Return the differences [resamples, names] over units drawn for both models at once."""
    both = np.concatenate([first.table, second.table], axis=1)
    drawn = resample(both, np.zeros_like(units), units, Resampling(n_resamples=n, seed=seed))
    one, other = np.split(drawn.sums[:, 0], [first.table.shape[1]], axis=1)
    return np.subtract(*_pair(first, second, one, other)), drawn.freedom_of_all


def _randomise(
    first: Figure,
    second: Figure,
    tables: tuple[np.ndarray, np.ndarray],
    n: int,
    random: np.random.Generator,
) -> np.ndarray:
    """Return the differences [resamples, names] after swapping the models in half of the units."""
    change = tables[1] - tables[0]
    totals = [table.sum(axis=0) for table in tables]
    null, weighed = np.empty((n, len(first.names))), thin_out(change)
    step = max(1, _SWAPS // len(change))
    for start in range(0, n, step):
        part = null[start : start + step]
        swapped = random.integers(2, size=(len(part), len(change))).astype(np.float64)
        moved = swapped @ weighed
        part[:] = np.subtract(*_pair(first, second, totals[0] + moved, totals[1] - moved))
    return null


def _check(value: str, known: Sequence[str], name: str) -> None:
    if value not in known:
        raise ValueError(f"unknown {name} {value!r}; known: {', '.join(known)}")


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
