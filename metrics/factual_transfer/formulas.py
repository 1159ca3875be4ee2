"""Measure how well facts of a language's own country are known in the other languages (X-FaKT).

A cell is a language and a country, its value the share of wrong answers. A is the mean of the cells
in which the language is the country's own (associative), N that of all others:

    FRS = 3/2 (1 / (A + N + 1) - 1/3)    KTS = 2 (1 / (|A - N| + 1) - 1/2)
    X-FaKT = 2 FRS KTS / (FRS + KTS)

from Aggarwal et al. 2025 (arXiv:2502.17955), section 3; 1 is best.

>>> found = measure_transfer([[1, 0], [0, 1]], ["en", "fr"], ["en", "fr"], n_resamples=0)
>>> found["associative"], found["others"], round(found["recall"], 4), round(found["transfer"], 4)
(1.0, 0.0, 0.25, 0.0)
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import ttest_ind

from polyprobe.metrics.shared.intervals import Figure, estimate_figure

NAMES = ["recall", "transfer", "x_fakt", "associative", "others"]


def measure_transfer(
    predictions: Sequence[Sequence[int]] | np.ndarray,
    languages: Sequence[str],
    references: Sequence[str],
    digits: int | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Compute FRS (`recall`), KTS (`transfer`), X-FaKT and its t-test over the cells.

    `associative` and `others` are accuracies, 1 - A and 1 - N. `digits` rounds the cells, as the
    authors' program does (2).
    """
    right, n = np.asarray(predictions, dtype=np.float64), len(languages)
    if right.ndim != 2 or right.shape != (len(references), n) or not np.isin(right, (0, 1)).all():
        raise ValueError(
            f"'predictions' has the shape {right.shape}; expected 0 or 1 for each "
            f"of {n} languages in each of {len(references)} queries"
        )
    if missing := {*languages} ^ {*references}:
        raise ValueError(
            f"{min(missing)!r} is in 'languages' or 'references' alone; each country "
            "has a language, and each language a country"
        )
    places = np.array([[*languages].index(x) for x in references])
    owned = np.eye(n)[places]  # [queries, countries]
    cells = (1 - right)[:, :, None] * owned[:, None]
    table = np.column_stack([cells.reshape(len(cells), -1), owned])

    def divide(sums: np.ndarray) -> np.ndarray:
        values = sums[..., : n * n].reshape(*sums.shape[:-1], n, n) / sums[..., None, n * n :]
        return values if digits is None else np.round(values, digits)

    def statistic(sums: np.ndarray) -> np.ndarray:
        values = divide(sums)
        own = np.trace(values, axis1=-2, axis2=-1) / n
        rest = (values.sum(axis=(-2, -1)) - own * n) / (n * n - n)
        recall = 1.5 * (1 / (own + rest + 1) - 1 / 3)
        transfer = 2 * (1 / (np.abs(own - rest) + 1) - 1 / 2)
        with np.errstate(invalid="ignore"):
            joint = 2 * recall * transfer / (recall + transfer)
        return np.stack([recall, transfer, joint, 1 - own, 1 - rest], axis=-1)

    result = estimate_figure(Figure(NAMES, table, statistic), **options)
    exact = table[:, : n * n].sum(axis=0).reshape(n, n) / owned.sum(axis=0)
    test = ttest_ind(np.diag(exact), exact[~np.eye(n, dtype=bool)])
    return {
        **result,
        "t": float(test.statistic),
        "p_value": float(test.pvalue),
        "n_queries": len(right),
    }
