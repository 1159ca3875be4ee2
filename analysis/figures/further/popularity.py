"""Accuracy by the popularity of the facts, a column of the dataset, in fifths of the rows."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from polyprobe.metrics.shared.intervals import share, summarize
from polyprobe.metrics.shared.rows import take
from polyprobe.schema.identity import key_rows
from polyprobe.schema.run.dataset import load_again
from polyprobe.schema.run.folder import Run
from polyprobe.system.errors import PolyprobeError

COLUMN = "popularity"
PARTS = 5


def read_popularity(run: Run, tables: Mapping[str, pa.Table]) -> dict[str, np.ndarray]:
    """Return the popularity of rows of a run by language, NaN where it is unknown.

    Raises:
        PolyprobeError: a dataset that cannot be read, has changed, or has no such column of
            numbers.
    """
    splits = load_again(run.settings(), list(tables))
    return {
        language: _read(splits[language], table, language) for language, table in tables.items()
    }


def measure_popularity(
    popularity: Mapping[str, np.ndarray],
    right: Mapping[str, np.ndarray],
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the accuracy of each fifth of the facts, from the least to the most popular.

    Args:
        popularity: of the facts by language [facts], from `read_popularity`.
        right: probability that each is right [facts]; NaN for facts that were not asked.
        options: `n_resamples`, `seed` and `clusters` of the intervals.

    Returns:
        By language `parts`, each with `from` and `to` (the least and the largest popularity), `n`,
        `accuracy` and `ci` (None without an interval), and `n_unknown`, the facts without a number
        or not asked. Facts with equal numbers are in one part, so that parts may differ in size and
        one may be missing.
    """
    return {x: _measure(values, right[x], options) for x, values in popularity.items()}


def _read(split: pa.Table, table: pa.Table, language: str) -> np.ndarray:
    """Return the popularity of each row of a run, NaN where it is unknown."""
    kind = split.schema.field(COLUMN).type if COLUMN in split.column_names else None
    if kind is None or not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        found = "has none" if kind is None else f"has {kind}"
        raise PolyprobeError(
            f"--popularity needs a column '{COLUMN}' of numbers; '{language}' of the dataset "
            f"{found}; leave it out"
        )
    values = split[COLUMN].cast(pa.float64()).to_numpy(zero_copy_only=False)
    keys = key_rows(split["fact_id"].to_pylist())
    known = dict(zip(keys, values.tolist(), strict=True))
    return np.array([known[key] for key in key_rows(table["fact_id"].to_pylist())])


def split_popularity(values: np.ndarray) -> np.ndarray:
    """Return the fifth of each value, 0 … 4; equal values are in one.

    >>> split_popularity(np.array([1, 2, 2, 2, 5, 6, 7, 8, 9, 9]))
    array([0, 0, 0, 0, 2, 2, 3, 3, 4, 4])
    """
    edges = np.quantile(values, np.arange(1, PARTS) / PARTS, method="inverted_cdf")
    return np.asarray(np.searchsorted(edges, values, side="left"))


def _measure(values: np.ndarray, right: np.ndarray, options: Mapping[str, Any]) -> dict[str, Any]:
    rows = np.flatnonzero(~np.isnan(values) & ~np.isnan(right))
    unknown = {"n_unknown": len(values) - len(rows)}
    if not len(rows):
        return {"parts": [], **unknown}
    kept, labels = values[rows], split_popularity(values[rows])
    found = summarize(
        {"accuracy": share(right[rows])},
        groups=labels.tolist(),
        clusters=take(options["clusters"], rows.tolist()),
        n_resamples=options["n_resamples"],
        seed=options["seed"],
    )["by_group"]
    parts = [
        {
            "from": float(kept[labels == part].min()),
            "to": float(kept[labels == part].max()),
            "n": found[part]["n_queries"],
            "accuracy": found[part]["accuracy"],
            "ci": found[part].get("accuracy_ci"),
        }
        for part in sorted(found)
    ]
    return {"parts": parts, **unknown}
