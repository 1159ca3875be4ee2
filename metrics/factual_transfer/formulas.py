"""Measure how well facts of a language's own country are known in the other languages (X-FaKT).

A cell is a language and a country, its value the share of wrong answers. A is the mean of the cells
in which the language is the country's own (associative), N that of all others:

    FRS = 3/2 (1 / (A + N + 1) - 1/3)    KTS = 2 (1 / (|A - N| + 1) - 1/2)
    X-FaKT = 2 FRS KTS / (FRS + KTS)

from Aggarwal et al. 2025 (arXiv:2502.17955), section 3; 1 is best.

>>> result = measure_transfer([[1, 0], [0, 1]], ["en", "fr"], ["en", "fr"], n_resamples=0)
>>> result["associative"], result["others"], round(result["recall"], 4), result["transfer"]
(1.0, 0.0, 0.25, 0.0)
"""

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import ttest_ind

from polyprobe.metrics.shared.intervals import Figure, divide_by, estimate_figure
from polyprobe.metrics.shared.rows import Choices, check_length, name_languages, read_choices

NAMES = ["recall", "transfer", "x_fakt", "associative", "others"]


def measure_transfer(
    predictions: Choices,
    languages: Sequence[str] | None = None,
    references: Sequence[str] = (),
    digits: int | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Compute FRS (`recall`), KTS (`transfer`), X-FaKT and its t-test over the cells.

    `associative` and `others` are accuracies, 1 - A and 1 - N. `digits` rounds the cells, as the
    authors' program does (2).
    """
    right = read_choices(predictions)
    for query in np.flatnonzero((right > 1).any(axis=1))[:1]:
        raise ValueError(
            f"query {query} of 'predictions' has {right[query].max()}; expected 0 or 1"
        )
    check_length(references, len(right), "references")
    if languages is None:
        raise ValueError("pass languages=[…], the language of each column")
    names = name_languages(languages, right.shape[1])
    places = find_places(references, names)
    if digits is not None and (type(digits) is not int or not 0 <= digits < 16):
        raise ValueError(f"digits is {digits!r:.60}; expected an integer from 0 to 15")
    n = len(names)
    of_country = np.eye(n)[places]  # [queries, countries]
    cells = (1 - right)[:, :, None] * of_country[:, None]
    table = np.column_stack([cells.reshape(len(cells), -1), of_country])

    def statistic(sums: np.ndarray) -> np.ndarray:
        return combine_cells(divide_cells(sums, n, digits))

    sizes = of_country.sum(axis=0)
    weights = np.full((len(right), len(NAMES)), np.nan)  # the accuracies alone are shares
    weights[:, -2:] = 1 / sizes[places][:, None]
    result = estimate_figure(Figure(NAMES, table, statistic, weights), **options)
    exact = divide_cells(table.sum(axis=0), n)
    return {**result, **compare_cells(exact), "n_queries": len(right)}


def find_places(references: Sequence[str], names: Sequence[str]) -> np.ndarray:
    """Find the column of each query's own language; each column is that of a query."""
    for query, name in enumerate(references):
        if name not in names:
            raise ValueError(f"query {query} of 'references' has {name!r:.60}, not in 'languages'")
    for name in names:
        if name not in references:
            raise ValueError(f"{name!r} in 'languages' is in no query of 'references'")
    return np.array([names.index(name) for name in references])


def divide_cells(sums: np.ndarray, n: int, digits: int | None = None) -> np.ndarray:
    """Compute the shares of wrong answers [..., languages, countries]; NaN without queries."""
    wrong = sums[..., : n * n].reshape(*sums.shape[:-1], n, n)
    values = divide_by(wrong, sums[..., None, n * n :])
    return values if digits is None else np.round(values, digits)


def combine_cells(cells: np.ndarray) -> np.ndarray:
    """Compute `NAMES` [..., 5] from cells; a country without queries is left out."""
    home: np.ndarray = np.eye(cells.shape[-1], dtype=bool)
    a, n = (
        divide_by(
            np.nansum(cells * part, axis=(-2, -1)), (~np.isnan(cells) & part).sum(axis=(-2, -1))
        )
        for part in (home, ~home)
    )
    recall = 1.5 * (1 / (a + n + 1) - 1 / 3)
    transfer = 2 * (1 / (np.abs(a - n) + 1) - 1 / 2)
    joint = divide_by(2 * recall * transfer, recall + transfer)
    return np.stack([recall, transfer, joint, 1 - a, 1 - n], axis=-1)


def compare_cells(cells: np.ndarray) -> dict[str, float | None]:
    """Compute Student's t of associative and other cells, equal variances, and its two-sided p."""
    home: np.ndarray = np.eye(len(cells), dtype=bool)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # cells that are all equal
        test = ttest_ind(cells[home], cells[~home])
    figures = {"t": float(test.statistic), "p_value": float(test.pvalue)}
    return {name: x if math.isfinite(x) else None for name, x in figures.items()}
