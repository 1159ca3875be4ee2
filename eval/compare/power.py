"""The least p-value that a comparison can reach."""

from scipy.special import ndtri, stdtr

from .runs import Comparison

LEVEL = 0.05


def find_least(test: str, n_units: int, n_resamples: int) -> float:
    """Return the least uncorrected p-value, that of a difference which no resample reaches.

    n units can be swapped in 2^n ways, of which the observed one and the one that swaps all reach
    any difference: 2^(1 - n). The bootstrap is bound by its degrees of freedom, at most n - 1
    (`significance.invert_intervals`); with a single unit it has no p-value, which counts as 1.
    """
    drawn = 1 / (1 + n_resamples)
    if test == "randomisation":
        return max(drawn, 2.0 ** (1 - n_units))
    return float(2 * stdtr(n_units - 1, ndtri(min(drawn, 0.5)))) if n_units > 1 else 1.0


def explain_least(found: Comparison, correction: str, n_resamples: int) -> str | None:
    """Return a line on the figures whose p-values cannot fall below .05; None if all can.

    Holm multiplies the least of k p-values by k; Benjamini-Hochberg leaves k equal ones unchanged.
    """
    least = find_least(found.settings["test"], found.n_units, n_resamples)
    bounds = {}
    for figure, rows in found.differences.items():
        tested = sum(row.p_adjusted is not None for row in rows[:-1])
        bounds[figure] = least * (tested if correction == "holm" else min(tested, 1))
    bound = [f"{figure} {min(p, 1):.2g}" for figure, p in bounds.items() if p >= LEVEL]
    if not bound:
        return None
    clusters = found.settings["clusters"]
    units = "rows" if clusters == "none" else f"{clusters}s"
    return (
        f"p ({correction}) cannot fall below .05 with {found.n_units:,} {units} and "
        f"{n_resamples:,} resamples; least possible p: {', '.join(bound)}"
    )
