"""The figures of each relation, from the sums over facts of the whole run."""

from collections.abc import Callable, Collection, Iterable, Sequence
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
