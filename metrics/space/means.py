"""Average figures over languages or pairs, the facts drawn for all of them at once.

So an interval of the mean holds that languages answer the same facts, and it is the one that
results.json of a run has. The folders of metrics/ hold this file as a link, so that each of them is
whole.

>>> values = np.array([[1, 1], [0, np.nan]])
>>> found = estimate_means(["en", "es"], values)
>>> found["en"], found["es"], found["mean"]
(0.5, 1.0, 0.75)
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from polyprobe.metrics.shared.intervals import (
    Labels,
    Ratio,
    Resampling,
    Statistic,
    divide,
    estimate,
)


def estimate_means(names: Sequence[str], values: np.ndarray, **options: Labels) -> dict[str, Any]:
    """Return the means of values [queries, names], their `mean`, and NAME_ci of each.

    NaN is left out; a name without any value is None and in no mean. `options` are groups and
    clusters of `intervals.Resampling`.
    """
    known, k = ~np.isnan(values), len(names)
    # one column of counts where one will do: the table, and so the draws, are those of a run
    counts = known if (known != known[:, :1]).any() else known[:, 0]
    table = np.column_stack([np.where(known, values, 0), counts])

    def statistic(sums: np.ndarray) -> np.ndarray:
        counts = np.broadcast_to(sums[..., k:], sums[..., :k].shape)
        return divide(np.concatenate([sums[..., :k], counts], axis=-1))

    return _estimate(names, table, statistic, known, options)


def estimate_overlap(names: Sequence[str], right: np.ndarray, **options: Labels) -> dict[str, Any]:
    """Return COverlap of all pairs, their `mean`, and NAME_ci, from probabilities to be right.

    `right` is [queries, languages]; languages break ties independently of each other.
    """
    ratio, (one, other) = split_right(right), np.triu_indices(right.shape[1], 1)

    def statistic(sums: np.ndarray) -> np.ndarray:
        both, alone = np.split(sums, [len(one)], axis=-1)
        either = alone[..., one] + alone[..., other] - both
        return divide(np.concatenate([both, either], axis=-1))

    table = np.column_stack([ratio.numerators, right])
    return _estimate(names, table, statistic, ratio.denominators > 0, options)


def split_right(right: np.ndarray) -> Ratio:
    """Return the probabilities to be right in both and in either language [queries, pairs]."""
    one, other = (right[:, part] for part in np.triu_indices(right.shape[1], 1))
    return Ratio(one * other, one + other - one * other)


def _estimate(
    names: Sequence[str],
    table: np.ndarray,
    statistic: Statistic,
    known: np.ndarray,
    options: dict[str, Labels],
) -> dict[str, Any]:
    """Return what `intervals.estimate` does; what a single query defines has no interval."""
    found = estimate(
        table, [*names, "mean"], lambda sums: _add_mean(statistic(sums)), Resampling(**options),
        by_group=False,
    )  # fmt: skip
    counts = [*known.sum(axis=0), known.any(axis=1).sum()]
    for name in (name for name, n in zip([*names, "mean"], counts, strict=True) if n < 2):
        found[f"{name}_ci"] = None
    return found


def _add_mean(values: np.ndarray) -> np.ndarray:
    """Return [..., k] values and behind them the mean of those that are not NaN."""
    known = ~np.isnan(values)
    sums = np.stack([np.nan_to_num(values).sum(axis=-1), known.sum(axis=-1)], axis=-1)
    return np.concatenate([values, divide(sums)], axis=-1)
