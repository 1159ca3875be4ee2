"""Compute results.json from the scores of a run, without the model."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from polyprobe.eval.run.folder import Run, read_aligned
from polyprobe.metrics.joint.figures import estimate_figure
from polyprobe.metrics.joint.measures import count_right
from polyprobe.system.errors import PolyprobeError
from polyprobe.system.progress import track

from .by_language import measure_languages
from .facts import ScoredFacts, read_clusters
from .figures import JOINT, SEPARATE
from .predictions import summarize_predictions

Estimates = dict[str, dict[str, Any]]


class Bootstrap(NamedTuple):
    """Options of a run's bootstrap intervals.

    Attributes:
        n_resamples: resamples of the facts, for all languages at once; 0 for no intervals.
        seed: random seed.
        clusters: resampling unit: `none` (each fact), `relation` or `subject`.
    """

    n_resamples: int = 1000
    seed: int = 0
    clusters: str = "none"


DEFAULT = Bootstrap()


def compute_results(run: Run, bootstrap: Bootstrap = DEFAULT) -> dict[str, Any]:
    """Return the results of a run and write them to its results.json.

    Accuracy is accuracy@1; it, agreement, COverlap and RankC take ties in expectation. Pairs are
    unordered, in the run's order of languages; means exclude the diagonal. An undefined value (a
    COverlap without a correct answer in either language) is null and excluded from the mean;
    `left_out` counts it. `intervals` has the 95 % bootstrap interval of every figure.
    """
    settings = run.settings()
    tables = read_aligned(run)
    if settings.kind == "predictions":
        figures = summarize_predictions(tables, bootstrap._asdict())
    else:
        figures = summarize(read_facts(run, tables), settings.scoring, bootstrap)
    resampled = {"resampling": bootstrap._asdict()}
    results = {"signature": settings.signature, **figures, **resampled}
    run.write_json("results.json", results)
    return results


def read_facts(run: Run, tables: Mapping[str, pa.Table]) -> ScoredFacts:
    """Return the validated facts; scores that are not numbers are a PolyprobeError."""
    try:
        return ScoredFacts(tables)
    except ValueError as error:
        raise PolyprobeError(
            f"{run.folder}/scores: {error}; delete that language's file and run the same "
            "`polyprobe eval` again"
        ) from error


def summarize(facts: ScoredFacts, scoring: str, bootstrap: Bootstrap = DEFAULT) -> dict[str, Any]:
    """Return all figures of the facts, their means, counts and intervals.

    Returns:
        Every figure of `FIGURES`: by language or pair (`en-fr`), with `mean` over the defined
        values and `intervals`, the same tree with [low, high]; figures of all languages with
        `_ci`, from two languages on; modules' figures by language, macro-averaged over relations.
        `chance`; k_correct, the number of facts right in exactly 0, 1, 2, … languages; `left_out`,
        counts of undefined values.
    """
    clusters = read_clusters(facts.table, bootstrap.clusters)
    options = bootstrap._asdict() | {"clusters": clusters}
    found = {
        figure.name: estimate_figure(figure.measure(facts), **options)
        for figure in track(SEPARATE, "figures and intervals")
    }
    values = {name: _values(estimates) for name, estimates in found.items()}
    return {
        "languages": list(facts.tables),
        "n_queries": len(facts.table),
        **values,
        "chance": {f.name: f.chance(facts) for f in SEPARATE if callable(f.chance)},
        "mean": {name: estimates["mean"] for name, estimates in found.items()},
        **_estimate_joint(facts, options),
        "k_correct": count_right(facts.right).sum(axis=0).tolist(),
        **measure_languages(facts, scoring, options),
        "intervals": _all_intervals(found) if bootstrap.n_resamples else {},
        "left_out": {
            f.name: f.left_out.find(facts, values[f.name]) for f in SEPARATE if f.left_out
        },
    }


def _estimate_joint(facts: ScoredFacts, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures of all languages together, each kernel called once."""
    found: dict[str, Any] = {}
    kernels = {figure.sums: figure for figure in JOINT if len(facts.scores) > 1}
    for figure in kernels.values():
        found |= estimate_figure(figure.measure(facts), **options)
    return found


def _values(estimates: dict[str, Any]) -> dict[str, float | None]:
    """Return the figures of languages or pairs, without their mean and the intervals."""
    names = (name for name in estimates if not name.endswith("_ci") and name != "mean")
    return {name: estimates[name] for name in names}


def _all_intervals(found: Estimates) -> dict[str, Any]:
    """Return the intervals of each figure under its name, those of the means under `mean`."""
    by_figure = {
        figure: {name: estimates[f"{name}_ci"] for name in _values(estimates)}
        for figure, estimates in found.items()
    }
    return {**by_figure, "mean": {name: found[name]["mean_ci"] for name in found}}
