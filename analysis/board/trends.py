"""Regressions of figures on model size, and correlations of figures, over a board's rows."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import linregress, pearsonr, t

LEAST = 3  # models: fewer give no interval


class Slope(NamedTuple):
    """A regression on the number of doublings."""

    n: int  # models
    slope: float  # change of the figure per doubling of the parameters
    low: float  # 95% interval of the slope, by Student's t with n - 2 degrees of freedom
    high: float
    intercept: float  # value of the line at one parameter
    r: float | None  # Pearson's correlation; None if all values are equal
    p: float | None  # two-sided p-value of the slope


class FigureCorrelation(NamedTuple):
    """Pearson's r over n models, its 95% interval (Fisher's z) and two-sided p-value."""

    n: int
    r: float
    low: float
    high: float
    p: float


def fit_doublings(
    parameters: Sequence[float | None], values: Sequence[float | None]
) -> Slope | None:
    """Fit the least-squares line of values on log2 of the parameters (Qi et al. 2023, figure 4).

    None for fewer than three models with both, or if all have the same size.
    """
    sizes, figures = _pair(parameters, values)
    if len(sizes) < LEAST or np.ptp(sizes) == 0:
        return None
    line, constant = linregress(np.log2(sizes), figures), bool(np.ptp(figures) == 0)
    # equal values lie on the line: rounding would give a correlation
    half = 0.0 if constant else float(t.ppf(0.975, len(sizes) - 2)) * line.stderr
    return Slope(
        len(sizes),
        float(line.slope),
        float(line.slope - half),
        float(line.slope + half),
        float(line.intercept),
        None if constant else float(line.rvalue),
        None if constant else float(line.pvalue),
    )


def correlate_figures(
    xs: Sequence[float | None], ys: Sequence[float | None]
) -> FigureCorrelation | None:
    """Compute Pearson's r of two figures over the models that have both.

    None for fewer than three models, or if all values of a figure are equal.
    """
    first, second = _pair(xs, ys)
    if len(first) < LEAST or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    result = pearsonr(first, second)
    low, high = result.confidence_interval(0.95)
    return FigureCorrelation(len(first), *map(float, (result.statistic, low, high, result.pvalue)))


def _pair(xs: Sequence[float | None], ys: Sequence[float | None]) -> tuple[np.ndarray, np.ndarray]:
    """Pair the values of the models that have both."""
    pairs = [(x, y) for x, y in zip(xs, ys, strict=True) if x is not None and y is not None]
    first, second = np.array(pairs, dtype=float).reshape(-1, 2).T
    return first, second
