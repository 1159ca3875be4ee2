"""The figures of parts of the facts: of each relation, and of fifths by popularity."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from polyprobe.analysis.figures.facts import ScoredFacts
from polyprobe.analysis.figures.figures import BY_NAME, HEADLINE
from polyprobe.analysis.figures.units import Units
from polyprobe.metrics.shared.intervals import (
    Figure,
    Resampling,
    estimate,
    estimate_figure,
    index_labels,
    share,
    summarize,
)
from polyprobe.metrics.shared.rows import take
from polyprobe.schema.columns import place_rows
from polyprobe.schema.run.folder import Run, load_again
from polyprobe.system.messages import PolyprobeError

COLUMN = "popularity"
PARTS = 5


def estimate_relations(
    facts: ScoredFacts, units: Units, names: Collection[str]
) -> dict[str, dict[str, Any]]:
    """Compute the headline figures and the floor of each relation."""
    headline = [f for f in HEADLINE if f.name in names and f.applies(facts)]
    figures = ((f.name, f.measure(facts)) for f in headline)
    relations = facts.table["relation"].to_pylist()
    results = split_figures(
        figures,
        relations,
        lambda x: units.second_within if BY_NAME[x].of_second else units.relation,
    )
    baseline = (facts.baseline or {}) if BY_NAME["accuracy"] in headline else {}
    for relation, rows in list_rows(relations).items():
        levels = [values[rows] for values in baseline.values()]
        floors = {"frequency": {"accuracy": float(np.mean(levels))}} if levels else {}
        results[relation]["floors"] = floors
    return results


def split_figures(
    figures: Iterable[tuple[str, Figure]],
    labels: Sequence[str],
    options: Callable[[str], Resampling],
) -> dict[str, dict[str, Any]]:
    """Compute the figures of each group of facts, in the order of first occurrence."""
    groups, results = list_rows(labels), dict[str, dict[str, Any]]()
    for label, rows in groups.items():
        results[label] = {"n_queries": len(rows), "mean": {}, "intervals": {}, "accuracy": {}}
    for name, figure in figures:
        for label, rows in groups.items():
            part, result = pick_facts(figure, rows), results[label]
            clusters = take(options(name).clusters, rows.tolist())
            of_rows = options(name)._replace(clusters=clusters)
            means = estimate(part, of_rows, mean_alone=True)
            result["mean"][name] = means["mean"]
            if "mean_ci" in means:
                result["intervals"][name] = means["mean_ci"]
            if name == "accuracy":
                result["accuracy"] = estimate_figure(part, n_resamples=0)
                result["accuracy"].pop("mean")
        del figure  # before the next is measured: of 200 languages it has 140 MB
    return results


def list_rows(labels: Sequence[str]) -> dict[str, np.ndarray]:
    """List the row numbers of each label, in the order of first occurrence."""
    names, codes = index_labels(labels, len(labels), "labels")
    return {str(name): np.flatnonzero(codes == code) for code, name in enumerate(names)}


def pick_facts(figure: Figure, rows: np.ndarray) -> Figure:
    """Pick some facts of a figure."""
    # weights may be those of all facts alike
    shares = figure.shares if len(figure.shares) == 1 else figure.shares[rows]
    return figure._replace(table=figure.table[rows], shares=shares)


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
    return {x: _measure_fifths(values, right[x], units.rows) for x, values in popularity.items()}


def split_popularity(values: np.ndarray) -> np.ndarray:
    """Find the fifth of each value, 0 … 4; equal values are in one.

    >>> split_popularity(np.array([1, 2, 2, 2, 5, 6, 7, 8, 9, 9]))
    array([0, 0, 0, 0, 2, 2, 3, 3, 4, 4])
    """
    edges = np.quantile(values, np.arange(1, PARTS) / PARTS, method="inverted_cdf")
    return np.asarray(np.searchsorted(edges, values, side="left"))


def _measure_fifths(values: np.ndarray, right: np.ndarray, options: Resampling) -> dict[str, Any]:
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
