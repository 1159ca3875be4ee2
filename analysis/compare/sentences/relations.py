"""Compute changes by relation, and what goes with the change of recall (Fluent-mLAMA, 5.4).

The paper's table 5 has mean changes over relations, and Pearson's r between the change of recall@1
and that of quality estimation over relations; figure 2 has the points. It reports that the prompts'
log-probabilities and chrF do not go with recall.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import pearsonr

RECALL = "recall@1"
FEWEST = 3  # relations for a correlation


class Pearson(NamedTuple):
    """Pearson's r of a figure with the change of recall@1 over relations."""

    n: int  # relations in which the figure is defined
    r: float | None = None  # None with fewer than 3 relations, or without any variation
    p: float | None = None  # two-sided, of Student's t with n - 2 degrees of freedom
    ci: list[float] | None = None  # 95% interval of Fisher's z; None below 4 relations


class ByRelation(NamedTuple):
    """The changes of one language, variant less reference, whatever the order of the runs."""

    n_queries: dict[str, int]  # by relation
    # figure → relation → mean over its rows; `chrF` is no change but the similarity of the variant
    # to the reference
    figures: dict[str, dict[str, float | None]]
    means: dict[str, float | None]  # unweighted, over the relations with a value
    correlations: dict[str, Pearson]  # with the change of recall@1


def split_by_relation(
    relations: Sequence[str], values: Mapping[str, np.ndarray], languages: Sequence[str]
) -> dict[str, ByRelation]:
    """Average the changes of each language over the rows of each relation.

    `values` has figures of each row and language [rows, L]; NaN where not known.
    """
    names = list(dict.fromkeys(relations))
    marks = np.array([[relation == name for relation in relations] for name in names])
    counts = dict(zip(names, marks.sum(axis=1).tolist(), strict=True))
    return {
        language: _summarize(
            counts, {x: _average(table[:, place], marks) for x, table in values.items()}
        )
        for place, language in enumerate(languages)
    }


def _summarize(counts: dict[str, int], columns: Mapping[str, np.ndarray]) -> ByRelation:
    columns = {name: column for name, column in columns.items() if not np.isnan(column).all()}
    figures = {
        name: {
            relation: None if np.isnan(value) else value
            for relation, value in zip(counts, column.tolist(), strict=True)
        }
        for name, column in columns.items()
    }
    means: dict[str, float | None] = {x: float(np.nanmean(y)) for x, y in columns.items()}
    correlations = {
        x: compute_pearson(columns[RECALL], y) for x, y in columns.items() if x != RECALL
    }
    return ByRelation(counts, figures, means, correlations)


def _average(column: np.ndarray, marks: np.ndarray) -> np.ndarray:
    """Average the defined values of each relation [relations]; NaN without any."""
    defined = ~np.isnan(column)
    n = (marks & defined).sum(axis=1)
    totals = (marks * np.where(defined, column, 0)).sum(axis=1)
    return np.divide(totals, n, out=np.full(len(marks), np.nan), where=n > 0)


def compute_pearson(first: np.ndarray, second: np.ndarray) -> Pearson:
    """Compute Pearson's r over the relations in which both are defined."""
    defined = ~(np.isnan(first) | np.isnan(second))
    x, y = first[defined], second[defined]
    if len(x) < FEWEST or np.ptp(x) == 0 or np.ptp(y) == 0:
        return Pearson(len(x))
    result = pearsonr(x, y)
    bounds = result.confidence_interval(0.95) if len(x) > FEWEST else None
    ci = None if bounds is None else [float(bounds.low), float(bounds.high)]
    return Pearson(len(x), float(result.statistic), float(result.pvalue), ci)
