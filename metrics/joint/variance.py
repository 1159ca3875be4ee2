"""Split the inconsistency of answers into language, template and interactions with the fact.

A fact f is asked in languages l with wordings w. Its answers are random effects around a mean
(generalizability theory: Brennan 2001, chapters 2 and 3; Searle, Casella and McCulloch 1992):

    y[f, l, w] = mean + fact + language + template + fact x language + residual

y has the probability of each outcome, and 1 - y y' is the probability that two answers differ. An
expected disagreement is the sum of the components that two questions do not share:

    same fact, same language, another wording      template + residual
    same fact, another language and wording        language + fact x language + template + residual

The components are solved from the mean disagreements of five kinds of pairs (Koch 1967,
Technometrics 9). The estimates are unbiased, so they can be below 0.

>>> en, fr = np.eye(3)[[0, 1, 2, 2]], np.eye(3)[[0, 0, 1, 1]]  # 2 facts x 2 wordings
>>> measure_disagreement([en, fr], np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])).tolist()
[0.25, 0.75, 1.0, 1.0, 0.75]
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, vstack
from scipy.special import stdtrit

from polyprobe.metrics.shared.intervals import sum_by
from polyprobe.metrics.shared.rows import Rows

COMPONENTS = ("fact", "language", "template", "fact_language", "residual")
SHARES = ("languages", "templates", *COMPONENTS[1:])
NAMES = ("within", "between", *COMPONENTS, *(f"share_{name}" for name in SHARES))
_FEWEST, _FEW = 2, 5  # relations of an interval; fewer than _FEW are too few for a bootstrap
_LEVEL = 0.95


class Asked(NamedTuple):
    """The answers to the questions of a relation; row i is the same question in every language."""

    outcomes: Sequence[np.ndarray | csr_array]  # probabilities [rows, outcomes] in each language
    facts: np.ndarray  # number of each row's fact, from 0
    wordings: np.ndarray  # and of its wording; the rows of a fact have different ones


def split_inconsistency(
    relations: Sequence[Asked], n_resamples: int = 1_000, seed: int = 0
) -> dict[str, Any]:
    """Compute the components, averaged over relations with equal weights, with 95% intervals."""
    # The intervals are for other relations, with their own facts and templates. One relation has
    # none: its few templates do not show how much others would differ. Each of `NAMES` (None if
    # undefined, as with one language) has `NAME_ci`: `within` and `between`, the disagreements
    # within a language and between languages; the COMPONENTS; their shares of `between`, where
    # `share_languages` is that of language and fact x language, `share_templates` that of template
    # and residual. `n_left_out` relations have no two facts or wordings of a fact.
    values = np.stack([measure_disagreement(*answers) for answers in relations])
    defined = np.isfinite(values).sum(axis=1)
    complete = values[(defined == defined.max()) & np.isfinite(values[:, 0])]
    counts = {"n_relations": len(complete), "n_left_out": len(values) - len(complete)}
    point = find_components(complete.mean(axis=0) if len(complete) else np.full(5, np.nan))
    bounds = np.full((len(NAMES), 2), np.nan)
    if n_resamples and len(complete) >= _FEWEST:
        bounds = bound_means(complete, n_resamples, seed)
    return {**_report(point, bounds), **counts}


def choose_first(rows: Rows, outcomes: np.ndarray) -> csr_array:
    """Compute the probability [rows, outcomes] that the candidate of each outcome is first."""
    # Ties share it equally. `outcomes` has the number, from 0, of each candidate, row after row.
    # Only the best candidates of a row have a probability: the array is sparse.
    starts = rows.sizes.cumsum() - rows.sizes
    best = rows.flat == np.repeat(np.maximum.reduceat(rows.flat, starts), rows.sizes)
    counts = np.add.reduceat(best, starts, dtype=np.intp)
    ends: np.ndarray = np.append(0, counts.cumsum())
    shape = (len(starts), outcomes.max() + 1)
    return csr_array((np.repeat(1 / counts, counts), outcomes[best], ends), shape=shape)


def measure_disagreement(
    outcomes: Sequence[np.ndarray | csr_array], facts: np.ndarray, wordings: np.ndarray
) -> np.ndarray:
    """Compute the mean disagreement of five kinds of pairs of a relation's answers, see `Asked`."""
    # In this order: one language, one fact; two languages and wordings, one fact; one language, one
    # wording of two facts; one language, two facts and wordings; two languages, two facts and
    # wordings. NaN without a pair.
    if not len(facts):
        return np.full(5, np.nan)
    count, size = len(outcomes), wordings.max() + 1
    answers = vstack([csr_array(part) for part in outcomes])
    language: np.ndarray = np.repeat(np.arange(count), len(facts))
    fact, wording = np.tile(facts, count), np.tile(wordings, count)
    # A question with itself is no pair.
    diagonal = np.square(answers.data).sum()

    def pairs(codes: np.ndarray) -> np.ndarray:
        """Count the pairs of questions with equal codes, and those of them that agree."""
        agreeing = np.square(sum_by(codes, answers).data).sum() - diagonal
        return np.array([(np.bincount(codes) ** 2).sum() - len(codes), agreeing]) / 2

    within, alike = pairs(fact * count + language), pairs(wording * count + language)
    between = pairs(fact) - within - pairs(fact * size + wording)
    apart = pairs(language) - within - alike
    same_wording = pairs(wording) - alike  # in two languages
    distant = pairs(np.zeros_like(fact)) - pairs(language) - between - same_wording
    n, agreeing = np.stack([within, between, alike, apart, distant], axis=1)
    return 1 - np.divide(agreeing, n, out=np.full(5, np.nan), where=n > 0)


def find_components(disagreement: np.ndarray) -> np.ndarray:
    """Compute the values of NAMES [..., 13] from disagreements [..., 5]; NaN if undefined."""
    above, below = _divide(disagreement)
    return np.divide(above, below, out=np.full_like(above, np.nan), where=below > 0)


def _divide(disagreement: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute numerators and denominators of NAMES [..., 13]; 1 unless NAMES is a share."""
    within, between, alike, apart, distant = np.moveaxis(disagreement, -1, 0)
    template, language = apart - alike, distant - apart
    residual, fact_language = within - template, between - within - language
    fact = alike - fact_language - residual
    effects = [language, template, fact_language, residual]
    shares = [between - within, within, *effects]
    above = np.stack([within, between, fact, *effects, *shares], axis=-1)
    below = np.ones_like(above)
    below[..., -len(SHARES) :] = between[..., None]
    return above, below


def bound_means(relations: np.ndarray, n_resamples: int, seed: int) -> np.ndarray:
    """Compute the intervals [13, 2] of NAMES, from relations [n, 5] of equal weight."""
    # An interval is value ± q s: s is the linearised standard error of a ratio of means, q the 95%
    # quantile of |t| in a bootstrap of the relations (symmetric bootstrap-t: Hall 1988). In skewed
    # samples q is above Student's quantile. NaN if too many resamples consist of equal relations.
    # Linearise the ratio of two means: its standard error needs no resampling.
    above, below = _divide(relations)
    count = len(relations)
    value, error = _estimate(np.ones((1, count)), above, below)
    limit = np.full(len(NAMES), -stdtrit(count - 1, (1 - _LEVEL) / 2))
    if count >= _FEW:
        shares = np.full(count, 1 / count)
        counts = np.random.default_rng(seed).multinomial(count, shares, n_resamples)
        values, errors = _estimate(counts, above, below)
        t = np.where(values == value, 0, np.inf)
        np.divide(np.abs(values - value), errors, out=t, where=errors > 0)
        limit = np.quantile(t, _LEVEL, axis=0, method="higher")
    half = np.where(np.isfinite(limit), limit, np.nan) * error[0]
    return np.stack([value[0] - half, value[0] + half], axis=1)


def _estimate(
    counts: np.ndarray, above: np.ndarray, below: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Compute ratios of sums and standard errors [resamples, k]; `counts` are [resamples, n]."""
    size = counts[0].sum()
    base = counts @ below
    ratio = np.divide(counts @ above, base, out=np.full_like(base, np.nan), where=base > 0)
    squares = [counts @ (x * y) for x, y in ((above, above), (above, below))]
    rest = squares[0] - 2 * ratio * squares[1] + ratio**2 * (counts @ below**2)
    error = np.sqrt(np.maximum(rest, 0) * size / (size - 1))
    return ratio, np.divide(error, base, out=np.zeros_like(base), where=base > 0)


def _report(point: np.ndarray, bounds: np.ndarray) -> dict[str, Any]:
    report: dict[str, Any] = {}
    for name, value, ends in zip(NAMES, point.tolist(), bounds.tolist(), strict=True):
        report[name] = None if np.isnan(value) else value
        report[f"{name}_ci"] = None if np.isnan([value, *ends]).any() else ends
    return report
