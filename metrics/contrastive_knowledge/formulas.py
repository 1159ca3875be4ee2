"""Measure how often a fact is more probable than its counterfacts (Schott et al. 2023).

For a fact and its counterfacts, with probabilities p of the object (or of its first sub-word) after
the stem, contrastive knowledge assessment (Dong et al. 2022) is the ratio

    CKA = p(fact) / mean of p(counterfact)

and the fact counts as recalled where it is above 1. (It is not centred kernel alignment.)

>>> compare_contrasts([[0.6, 0.1, 0.3], [0.2, 0.1, 0.3], [0.1, 0.4]])
array([ 1,  0, -1], dtype=int8)
"""

from fractions import Fraction
from typing import Any

import numpy as np

from polyprobe.metrics.shared.intervals import check_name, share, summarize
from polyprobe.metrics.shared.rows import Scores, read_rows

TIE_VALUES = ("wrong", "half")

_LARGEST = 1e300  # sums of larger values may overflow


def compare_contrasts(predictions: Scores, log: bool = False) -> np.ndarray:
    """Compute for each row the sign (1, 0, -1) of p(fact) - mean of p(counterfact), without error.

    0 is a tie of the numbers as they are stored or as they are written: 0.2 ties with 0.1 and 0.3,
    though no double is any of these. Only the order matters, so the scale does not: percentages do
    as well. Negative and infinite values are errors, as are rows of one value and rows that
    `rows.read_rows` rejects. With `log` the values are exp(predictions): a tie of more than two
    values then depends on their rounding, unless all are equal.
    """
    if not isinstance(log, bool | np.bool_):
        raise ValueError(f"log is {log!r:.60}; expected True or False")
    flat, sizes = read_rows(predictions, "predictions")
    starts = sizes.cumsum() - sizes
    flat = flat.astype(np.float64)
    if log:
        largest = np.maximum.reduceat(flat, starts)
        for query in np.flatnonzero(largest == np.inf)[:1]:
            raise ValueError(f"inf in query {query} of 'predictions'; expected log-probabilities")
        # Each row divided by its largest value: only the order matters.
        flat = np.exp(flat - np.where(np.isinf(largest), 0, largest).repeat(sizes))
    _check(flat, sizes)
    # With n counterfacts the sign is that of n p(fact) - p(counterfact) - …, which rounding puts
    # wrong by less than (n + 1) 2^-52 times the sum of the terms' sizes. Margins nearer to 0 than
    # that is done in fractions, but for the difference of two numbers, whose sign is never wrong.
    terms = -flat
    terms[starts] *= 1 - sizes
    margins = np.add.reduceat(terms, starts)
    bounds = sizes * 2.0**-52 * np.add.reduceat(np.abs(terms), starts)
    signs = np.sign(margins).astype(np.int8)
    for row in np.flatnonzero((np.abs(margins) <= bounds) & (sizes > 2)).tolist():
        fact, *variants = flat[starts[row] : starts[row] + sizes[row]].tolist()
        # Exactly, of the numbers as stored; 0 if they tie as written.
        binary = len(variants) * Fraction(fact) - sum(map(Fraction, variants))
        decimal = len(variants) * Fraction(repr(fact)) - sum(Fraction(repr(x)) for x in variants)
        signs[row] = (binary > 0) - (binary < 0) if decimal else 0
    return signs


def measure_knowledge(
    predictions: Scores, ties: str = "wrong", log: bool = False, **options: Any
) -> dict[str, Any]:
    """Compute the share of recalled facts and of ties, with intervals and the number of facts."""
    check_name(ties, TIE_VALUES, "ties")
    signs = compare_contrasts(predictions, log)
    recalled = np.where(signs == 0, 0.5 if ties == "half" else 0, signs > 0)
    measures = {"accuracy": share(recalled), "tie_share": share(signs == 0)}
    result = summarize(measures, **{"n_resamples": 10_000, **options})
    if "accuracy_ci" in result:
        for figures in (result, *result.get("by_group", {}).values()):
            bounds = figures["accuracy_ci"]
            figures["half_width"] = None if bounds is None else (bounds[1] - bounds[0]) / 2
    return {**result, "n_queries": len(signs)}


def _check(flat: np.ndarray, sizes: np.ndarray) -> None:
    for query in np.flatnonzero(sizes == 1)[:1]:
        raise ValueError(
            f"query {query} of 'predictions' has no counterfact; expected [p(fact), "
            "p(counterfact), …]"
        )
    wrong = (flat < 0) | (flat > _LARGEST)
    for query in np.repeat(np.arange(len(sizes)), sizes)[wrong][:1]:
        raise ValueError(
            f"{flat[wrong][0]} among the values of query {query} in 'predictions'; expected "
            "probabilities (of log-probabilities pass log=True)"
        )
