"""Regressions of figures on model size, and correlations of figures, over a board's rows."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import linregress, pearsonr, t

LEAST = 3  # models: fewer give no interval


class Slope(NamedTuple):
    """A regression on the number of doublings.

    Attributes:
        n: number of models.
        slope: change of the figure per doubling of the parameters.
        low, high: 95% interval of the slope, by Student's t with n - 2 degrees of freedom.
        intercept: value of the line at one parameter.
        r: Pearson's correlation; None if all values are equal.
        p: two-sided p-value of the slope.
    """

    n: int
    slope: float
    low: float
    high: float
    intercept: float
    r: float | None
    p: float | None


class Correlation(NamedTuple):
    """Pearson's r over n models, its 95% interval (Fisher's z) and two-sided p-value."""

    n: int
    r: float
    low: float
    high: float
    p: float


def fit_doublings(
    parameters: Sequence[float | None], values: Sequence[float | None]
) -> Slope | None:
    """Return the least-squares line of values on log2 of the parameters.

    Models without a parameter count or a value are ignored. Figure 4 of Qi et al. (2023) shows
    the same regression.

    Returns:
        None for fewer than three models, or if all have the same size.
    """
    sizes, known = _pair(parameters, values)
    if len(sizes) < LEAST or np.ptp(sizes) == 0:
        return None
    found, constant = linregress(np.log2(sizes), known), bool(np.ptp(known) == 0)
    half = 0.0 if constant else float(t.ppf(0.975, len(sizes) - 2)) * found.stderr
    return Slope(
        len(sizes),
        float(found.slope),
        float(found.slope - half),
        float(found.slope + half),
        float(found.intercept),
        None if constant else float(found.rvalue),
        None if constant else float(found.pvalue),
    )


def correlate(one: Sequence[float | None], other: Sequence[float | None]) -> Correlation | None:
    """Return Pearson's r of two figures over the models that have both.

    Returns:
        None for fewer than three models, or if all values of a figure are equal.
    """
    first, second = _pair(one, other)
    if len(first) < LEAST or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    found = pearsonr(first, second)
    low, high = found.confidence_interval(0.95)
    return Correlation(len(first), *map(float, (found.statistic, low, high, found.pvalue)))


def _pair(
    one: Sequence[float | None], other: Sequence[float | None]
) -> tuple[np.ndarray, np.ndarray]:
    known = [(x, y) for x, y in zip(one, other, strict=True) if x is not None and y is not None]
    first, second = np.array(known, dtype=float).reshape(-1, 2).T
    return first, second
