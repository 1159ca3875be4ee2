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
    divide_by,
    name_pairs,
    summarize,
    weigh,
)
from polyprobe.metrics.shared.rows import Answers, check_answers, find_right, read_indices
from polyprobe.metrics.shared.verdicts import number_answers


def compare_right(
    predictions: Sequence[int],
    references: Sequence[int],
    answers: Answers | None = None,
    languages: Sequence[str] | None = None,
    names: Any = None,
    **options: Any,
) -> dict[str, Any]:
    """Compute COverlap with its interval and the counts it comes from; None for 0/0.

    With `names`, the pool of `verdicts.read_pool`, predictions and references are free answers in
    two `languages`, and answers the right entities.
    """
    if names is not None:
        if answers is None:
            raise ValueError("no answers; pass answers=[[right entities of query 0], …]")
        texts = [*zip(predictions, references, strict=True)]
        numbers, answers = number_answers(texts, languages, names, answers, "answers")
        predictions, references = numbers.T
    answers = check_answers(answers, len(predictions), "answers")
    columns = {"predictions": predictions, "references": references}
    choices = np.column_stack([read_indices(column, name) for name, column in columns.items()])
    right = find_right(choices, answers)
    intersection, union = np.asarray(right.all(axis=1)), np.asarray(right.any(axis=1))
    counts = {"both": int(intersection.sum()), "either": int(union.sum()), "n_queries": len(right)}
    return {**summarize({"coverlap": Ratio(intersection, union, share=True)}, **options), **counts}


def find_coverlap(right: Mapping[str, np.ndarray | Sequence[float]]) -> Figure:
    """Compute COverlap by pair: correct in both / correct in either, expectations under ties."""
    values = np.column_stack(list(right.values())).astype(np.float64)
    i, j = np.triu_indices(values.shape[1], 1)

    def statistic(sums: np.ndarray) -> np.ndarray:
        intersections, counts = np.split(sums, [len(i)], axis=-1)
        unions = counts[..., i] + counts[..., j] - intersections
        return add_mean(divide_by(intersections, unions))

    products = values[:, i] * values[:, j]
    weights = weigh(values[:, i] + values[:, j] - products)
    table = np.concatenate([products, values], axis=1)
    return Figure([*name_pairs(list(right)), "mean"], table, statistic, weights)
