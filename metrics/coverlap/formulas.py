"""Measure how much two languages' correct answers overlap (COverlap, Jiang et al. 2020).

    COverlap(l, l2) = facts right in both languages / facts right in either

>>> overlap = compare_right([1, 0, 2], [1, 3, 0], answers=[[1], [0], [1, 2]])
>>> overlap["both"], overlap["either"], round(overlap["coverlap"], 4)
(1, 3, 0.3333)
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polyprobe.metrics.shared.intervals import (
    Figure,
    Ratio,
    add_mean,
    divide,
    name_pairs,
    summarize,
    weigh,
)
from polyprobe.metrics.shared.rows import Answers, check_answers, find_right, read_columns


def compare_right(
    predictions: Sequence[int],
    references: Sequence[int],
    answers: Answers | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Compute COverlap with its interval and the counts it comes from; None for 0/0."""
    answers = check_answers(answers, len(predictions), "answers")
    choices = read_columns({"predictions": predictions, "references": references})
    right = find_right(choices, answers)
    intersection, union = np.asarray(right.all(axis=1)), np.asarray(right.any(axis=1))
    counts = {"both": int(intersection.sum()), "either": int(union.sum()), "n_queries": len(right)}
    return {**summarize({"coverlap": Ratio(intersection, union, share=True)}, **options), **counts}


def coverlap_matrix(right: Mapping[str, np.ndarray | Sequence[float]]) -> np.ndarray:
    """Compute COverlap of every pair of languages from the probability that each query is correct.

    The probabilities (0 or 1 without ties) are those of `accuracy_at_1.right_probability`: ties
    are broken independently in each language, so a query is correct in both with a * b and
    in either with a + b - a * b; the ratio is that of the two expected counts. NaN where neither
    language is ever right (0/0). The diagonal is 1 by definition, ties and 0/0 included.

    >>> coverlap_matrix({"en": [1, 1, 0], "fr": [1, 0.5, 0], "ru": [0, 0, 0]}).round(4)
    array([[1.  , 0.75, 0.  ],
           [0.75, 1.  , 0.  ],
           [0.  , 0.  , 1.  ]])
    """
    if not right:
        raise ValueError("no languages: expected a mapping from language to probabilities")
    rows = {name: np.asarray(values, dtype=np.float64) for name, values in right.items()}
    first = next(iter(rows))
    for name, values in rows.items():
        if values.shape != rows[first].shape:
            raise ValueError(f"{len(rows[first])} queries in {first!r}, {len(values)} in {name!r}")
        for query in np.flatnonzero(~((values >= 0) & (values <= 1)))[:1]:
            text = f"query {query} of {name!r} is {values[query]}; expected a probability, 0 … 1"
            raise ValueError(text)
    table = np.stack(list(rows.values()))
    intersections = table @ table.T
    totals = table.sum(axis=1)
    unions = totals[:, None] + totals - intersections
    matrix = divide(np.concatenate([intersections, unions], axis=-1))
    np.fill_diagonal(matrix, 1.0)
    return matrix


def find_coverlap(right: Mapping[str, np.ndarray | Sequence[float]]) -> Figure:
    """Compute COverlap by pair: correct in both / correct in either, expectations under ties."""
    values = np.column_stack(list(right.values())).astype(np.float64)
    i, j = np.triu_indices(values.shape[1], 1)

    def statistic(sums: np.ndarray) -> np.ndarray:
        intersections, counts = np.split(sums, [len(i)], axis=-1)
        unions = counts[..., i] + counts[..., j] - intersections
        return add_mean(divide(np.concatenate([intersections, unions], axis=-1)))

    products = values[:, i] * values[:, j]
    weights = weigh(values[:, i] + values[:, j] - products)
    table = np.concatenate([products, values], axis=1)
    return Figure([*name_pairs(list(right)), "mean"], table, statistic, weights)
