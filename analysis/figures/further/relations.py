"""The figures of each relation, from the sums over facts of the whole run."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from polyprobe.analysis.figures.facts import ScoredFacts
from polyprobe.analysis.figures.figures import BY_NAME, HEADLINE
from polyprobe.analysis.figures.units import Units
from polyprobe.metrics.shared.intervals import (
    Figure,
    Resampling,
    estimate,
    estimate_figure,
    index_labels,
)
from polyprobe.metrics.shared.rows import take


def estimate_relations(
    facts: ScoredFacts, units: Units, names: Collection[str]
) -> dict[str, dict[str, Any]]:
    """Compute the headline figures and the floor of each relation."""
    figures = {f.name: f.measure(facts) for f in HEADLINE if f.name in names and f.applies(facts)}
    relations = facts.table["relation"].to_pylist()
    results = split_figures(
        figures,
        relations,
        lambda x: units.second_within if BY_NAME[x].of_second else units.relation,
    )
    baseline = (facts.baseline or {}) if "accuracy" in figures else {}
    for relation, rows in list_rows(relations).items():
        levels = [values[rows] for values in baseline.values()]
        floors = {"frequency": {"accuracy": float(np.mean(levels))}} if levels else {}
        results[relation]["floors"] = floors
    return results


def split_figures(
    figures: Mapping[str, Figure], labels: Sequence[str], options: Callable[[str], Resampling]
) -> dict[str, dict[str, Any]]:
    """Compute the figures of each group of facts, in the order of first occurrence."""
    results: dict[str, dict[str, Any]] = {}
    for label, rows in list_rows(labels).items():
        parts = {name: pick_facts(figure, rows) for name, figure in figures.items()}
        means = {}
        for name, part in parts.items():
            clusters = take(options(name).clusters, rows.tolist())
            of_rows = options(name)._replace(clusters=clusters)
            means[name] = estimate(part, of_rows, mean_alone=True)
        accuracies: dict[str, float | None] = {}
        if "accuracy" in parts:
            accuracies = estimate_figure(parts["accuracy"], n_resamples=0)
            accuracies.pop("mean")
        results[label] = {
            "n_queries": len(rows),
            "mean": {name: estimates["mean"] for name, estimates in means.items()},
            "intervals": {x: y["mean_ci"] for x, y in means.items() if "mean_ci" in y},
            "accuracy": accuracies,
        }
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
