"""Measure how often the best-scored candidate is correct (accuracy@1).

>>> right_probability([[0.1, 0.9], [0.5, 0.5]], references=[[1], [0]])
array([1. , 0.5])
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polyprobe.metrics.shared.intervals import Figure, check_name, mean_of, share, summarize
from polyprobe.metrics.shared.rows import TIES, Answers, Rows, Scores, mark_right, read_rows


def right_probability(
    scores: Scores, references: Answers | None, ties: str = "expected"
) -> np.ndarray:
    """Compute for each query the probability that its best-scored candidate is correct.

    Scores are as `rows.read_rows` takes them. `expected`: the share of right ones among the t + 1
    candidates with the best score (1 / (t + 1) for a single right one). `released`: the earliest of
    them is chosen, as the authors' stable sort does; 0 or 1.
    """
    rows = Rows(*read_rows(scores, "predictions"))
    return rate_first(rows, mark_right(references, rows.sizes), ties)


def rate_first(rows: Rows, right: np.ndarray, ties: str = "expected") -> np.ndarray:
    """Compute `right_probability` from the marks of the correct candidates, flat."""
    flat, sizes = rows
    starts = sizes.cumsum() - sizes
    best = _find_best(flat, sizes)
    if ties == "expected":
        return np.add.reduceat(best & right, starts, dtype=np.float64) / _count(best, starts)
    check_name(ties, TIES, "ties")
    first = np.minimum.reduceat(np.where(best, np.arange(len(flat)), len(flat)), starts)
    return right[first].astype(np.float64)


def chance_accuracy(scores: Scores, references: Answers | None) -> np.ndarray:
    """Compute the share of correct candidates of each query, the expected score of a guess."""
    sizes = read_rows(scores, "predictions")[1]
    return _count(mark_right(references, sizes), sizes.cumsum() - sizes) / sizes


def measure_accuracy(
    predictions: Scores, references: Answers | None = None, ties: str = "expected", **options: Any
) -> dict[str, Any]:
    """Compute accuracy@1 with its chance level, intervals and the counts they come from."""
    rows = Rows(*read_rows(predictions, "predictions"))
    right = right_probability(rows, references, ties)
    best = _count(_find_best(*rows), rows.sizes.cumsum() - rows.sizes)
    chance = chance_accuracy(rows, references)
    counts = {"n_queries": len(right), "n_tied": int((best > 1).sum())}
    return {**summarize({"accuracy_at_1": share(right), "chance": chance}, **options), **counts}


def find_accuracy(right: Mapping[str, np.ndarray | Sequence[float]]) -> Figure:
    """Compute accuracy by language, from the probability that each fact is correct."""
    values = np.column_stack(list(right.values()))
    return mean_of(list(right), values, np.ones(len(values)), share=True)


def _count(marks: np.ndarray, starts: np.ndarray) -> np.ndarray:
    return np.add.reduceat(marks, starts, dtype=np.intp)


def _find_best(flat: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Mark every candidate that has its query's best score."""
    return flat == np.repeat(np.maximum.reduceat(flat, sizes.cumsum() - sizes), sizes)
