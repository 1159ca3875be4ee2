"""Turn the results of a metric into the entries of a Space: by group, or with the mean over all.

Queries are resampled for all languages or pairs at once. The interval of their mean is therefore
the one in results.json of a run.

>>> values = np.array([[1, 1], [0, np.nan]])
>>> found = list_means([("en",), ("es",)], "mean", "accuracy", values, [0.5, 0.5])
>>> [(entry.label, entry.value, entry.n) for entry in found]
[('mean', 0.75, 2), ('en', 0.5, 2), ('es', 1.0, 1)]
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from polyprobe.metrics.joint.figures import Figure, estimate_figure, mean_of
from polyprobe.metrics.shared.intervals import Labels
from polyprobe.metrics.space.output import Entry

Of = tuple[str, ...]


class Measure(NamedTuple):
    """A figure in the result of a metric.

    Attributes:
        key: its name in the result.
        name: its name in the Space; None: `key`.
        n: the key of its number of queries.
        chance: as in `Entry`.
    """

    key: str
    name: str | None = None
    n: str = "n_queries"
    chance: float | None = None


def pick(
    result: Mapping[str, Any],
    of: Of,
    name: str,
    n: int,
    chance: float | None = None,
    key: str | None = None,
) -> Entry:
    """Return the figure `key` (default: `name`) of a result, with its interval `KEY_ci` if any."""
    key = key or name
    return Entry(of, name, result[key], result.get(f"{key}_ci"), chance, n)


def list_groups(result: Mapping[str, Any], whole: str, measures: Sequence[Measure]) -> list[Entry]:
    """Return the entries of all queries, named `whole`, and of each group."""
    return [
        pick(part, (name,), m.name or m.key, part[m.n], m.chance, m.key)
        for name, part in [(whole, result), *result["by_group"].items()]
        for m in measures
    ]


def list_means(
    of: Sequence[Of],
    whole: str,
    name: str,
    values: np.ndarray,
    chances: Sequence[float | None],
    **options: Labels,
) -> list[Entry]:
    """Return the mean of each column of values [queries, of]; NaN is left out.

    For several columns the first entry, named `whole`, is the mean of the means. `options` are
    groups and clusters of `intervals.Resampling`.
    """
    known = ~np.isnan(values)
    # A run has one column of counts where all are equal; the same table gives the same draws.
    counts = known if (known != known[:, :1]).any() else known[:, 0]
    names = [str(column) for column in range(len(of))]
    figure = mean_of(names, np.where(known, values, 0), counts)
    return list_figure(figure, of, whole, name, known, chances, **options)


def list_figure(
    figure: Figure,
    of: Sequence[Of],
    whole: str,
    name: str,
    known: np.ndarray,
    chances: Sequence[float | None],
    **options: Labels,
) -> list[Entry]:
    """Return the entries of a joint figure: its mean, if it has several names, then each name.

    `known` [queries, of] marks the queries that define a value.
    """
    names = [str(column) for column in range(len(of))]
    found = estimate_figure(figure._replace(names=[*names, "mean"]), **options)
    rows = [*zip(names, of, known.sum(axis=0).tolist(), chances, strict=True)]
    if len(of) > 1:
        levels = [level for level in chances if level is not None]
        chance = float(np.mean(levels)) if levels else None
        rows.insert(0, ("mean", (whole,), int(known.any(axis=1).sum()), chance))
    entries = [pick(found, place, name, n, chance, key) for key, place, n, chance in rows]
    return [e if e.n > 1 else e._replace(interval=None) for e in entries]


def interleave(*measures: Sequence[Entry]) -> list[Entry]:
    """Merge the entries of several measures, sorted by language or pair first."""
    return [entry for entries in zip(*measures, strict=True) for entry in entries]
