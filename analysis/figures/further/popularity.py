"""Accuracy by the popularity of the facts, a column of the dataset, in fifths of the rows."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from polyprobe.analysis.figures.units import Units
from polyprobe.metrics.shared.intervals import Resampling, share, summarize
from polyprobe.metrics.shared.rows import take
from polyprobe.schema.identity import place_rows
from polyprobe.schema.run.folder import Run, load_again
from polyprobe.system.errors import PolyprobeError

COLUMN = "popularity"
PARTS = 5


def read_popularity(run: Run, tables: Mapping[str, pa.Table]) -> dict[str, np.ndarray]:
    """Read the popularity of rows of a run by language, NaN where it is unknown."""
    values, splits = {}, load_again(run.settings(), list(tables))
    for language, table in tables.items():
        split = splits[language]
        kind = split.schema.field(COLUMN).type if COLUMN in split.column_names else None
        if kind is None or not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            reason = "has none" if kind is None else f"has {kind}"
            raise PolyprobeError(
                f"--popularity needs a column '{COLUMN}' of numbers; '{language}' of the dataset "
                f"{reason}; leave it out"
            )
        column = split[COLUMN].cast(pa.float64()).to_numpy(zero_copy_only=False)
        values[language] = column[place_rows(split, table["fact_id"].to_pylist())]
    return values


def measure_popularity(
    popularity: Mapping[str, np.ndarray], right: Mapping[str, np.ndarray], units: Units
) -> dict[str, Any]:
    """Compute the accuracy of each fifth of the facts, from the least to the most popular.

    `right` is the probability that each fact is right [facts], NaN for facts that were not asked.
    """
    return {x: _measure(values, right[x], units.rows) for x, values in popularity.items()}


def split_popularity(values: np.ndarray) -> np.ndarray:
    """Find the fifth of each value, 0 … 4; equal values are in one.

    >>> split_popularity(np.array([1, 2, 2, 2, 5, 6, 7, 8, 9, 9]))
    array([0, 0, 0, 0, 2, 2, 3, 3, 4, 4])
    """
    edges = np.quantile(values, np.arange(1, PARTS) / PARTS, method="inverted_cdf")
    return np.asarray(np.searchsorted(edges, values, side="left"))


def _measure(values: np.ndarray, right: np.ndarray, options: Resampling) -> dict[str, Any]:
    rows = np.flatnonzero(~np.isnan(values) & ~np.isnan(right))
    unknown = {"n_unknown": len(values) - len(rows)}
    if not len(rows):
        return {"parts": [], **unknown}
    values, fifths = values[rows], split_popularity(values[rows])
    clusters = take(options.clusters, rows.tolist())
    options = options._replace(groups=fifths.tolist(), clusters=clusters)
    figures = summarize({"accuracy": share(right[rows])}, **options._asdict())["by_group"]
    parts = [
        {
            "from": float(values[fifths == part].min()),
            "to": float(values[fifths == part].max()),
            "n": figures[part]["n_queries"],
            "accuracy": figures[part]["accuracy"],
            "ci": figures[part].get("accuracy_ci"),
        }
        for part in sorted(figures)
    ]
    return {"parts": parts, **unknown}
