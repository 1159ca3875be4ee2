"""The figures of each relation, from the sums over facts of the whole run."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from polyprobe.analysis.figures.facts import ScoredFacts
from polyprobe.analysis.figures.figures import BY_NAME, HEADLINE
from polyprobe.analysis.figures.units import Units
from polyprobe.metrics.shared.intervals import Figure, Resampling, estimate, index_labels
from polyprobe.metrics.shared.rows import take

REPORTED = (*HEADLINE, BY_NAME["accuracy_gain"])


def estimate_relations(
    facts: ScoredFacts, units: Units, names: Collection[str]
) -> dict[str, dict[str, Any]]:
    """Compute the headline figures, accuracy gain and floor of each relation."""
    figures = {f.name: f.measure(facts) for f in REPORTED if f.name in names and f.applies(facts)}
    relations = facts.table["relation"].to_pylist()
    results = split_figures(figures, relations, units.relation)
    baseline = facts.baseline
    for relation, rows in list_rows(relations).items():
        results[relation]["floors"] = {}
        if baseline is not None and "accuracy" in figures:
            level = float(np.mean([values[rows] for values in baseline.values()]))
            results[relation]["floors"] = {"frequency": {"accuracy": level}}
    return results


def split_figures(
    figures: Mapping[str, Figure], labels: Sequence[str], options: Resampling
) -> dict[str, dict[str, Any]]:
    """Compute the figures of each group of facts, in the order of first occurrence."""
    results: dict[str, dict[str, Any]] = {}
    for label, rows in list_rows(labels).items():
        of_rows = options._replace(clusters=take(options.clusters, rows.tolist()))
        parts = {name: pick_facts(figure, rows) for name, figure in figures.items()}
        means = {name: estimate(_mean_of(part), of_rows) for name, part in parts.items()}
        bounds = {name: estimates.get("mean_ci") for name, estimates in means.items()}
        results[label] = {
            "n_queries": len(rows),
            "mean": {name: estimates["mean"] for name, estimates in means.items()},
            "intervals": bounds if options.n_resamples else {},
            "accuracy": _values(parts["accuracy"]) if "accuracy" in parts else {},
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


def _mean_of(figure: Figure) -> Figure:
    """Make the mean alone: intervals of each of 1,378 pairs would take most of the time."""
    statistic = figure.statistic
    return Figure(
        ["mean"], figure.table, lambda sums: statistic(sums)[..., -1:], figure.shares[:, -1:]
    )


def _values(figure: Figure) -> dict[str, float | None]:
    values = figure.statistic(figure.table.sum(axis=0))[:-1].tolist()
    return {
        name: None if np.isnan(value) else value
        for name, value in zip(figure.names[:-1], values, strict=True)
    }
