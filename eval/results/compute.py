"""Make results.json from the scores of a run, without the model."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from polyprobe.eval.run.folder import Run, read_aligned
from polyprobe.metrics.accuracy_at_1.accuracy_at_1 import chance_accuracy
from polyprobe.metrics.joint.all_languages import count_right
from polyprobe.metrics.joint.figures import estimate_figure
from polyprobe.metrics.rankc.rankc import rankc_chance
from polyprobe.system.errors import PolyprobeError
from polyprobe.system.progress import track

from .by_language import measure_languages
from .facts import Facts, read_clusters
from .figures import FIGURES, find_joint
from .predictions import summarize_predictions

Estimates = dict[str, dict[str, Any]]


class Resampling(NamedTuple):
    """How the intervals of a run are drawn.

    Attributes:
        n_resamples: of the facts, for all languages at once; 0 for no intervals.
        seed: of the draws.
        clusters: what is drawn as a whole: `none` (each fact by itself), `relation` or `subject`.
    """

    n_resamples: int = 1000
    seed: int = 0
    clusters: str = "none"


DEFAULT = Resampling()


def compute_results(run: Run, resampling: Resampling = DEFAULT) -> dict[str, Any]:
    """Return the results of a run and write them to its results.json.

    Accuracy is accuracy@1; it, agreement, COverlap and RankC take ties in expectation. Pairs are
    unordered, in the run's order of languages; the diagonal is in no mean. What is undefined (a
    COverlap where nothing is right in either language) is null, and left out of the mean;
    `left_out` counts it. `intervals` has the 95 % bootstrap interval of every figure.
    """
    settings = run.settings()
    if settings.kind == "predictions":
        figures = summarize_predictions(read_aligned(run), resampling._asdict())
    else:
        facts = read_facts(run, read_aligned(run))
        figures = summarize(facts, settings.scoring, resampling)
    resampled = {"resampling": resampling._asdict()}
    results = {"signature": settings.signature, **figures, **resampled}
    run.write_json("results.json", results)
    return results


def read_facts(run: Run, tables: Mapping[str, pa.Table]) -> Facts:
    """Return what the figures are made from; scores that are no numbers are a PolyprobeError."""
    try:
        return Facts(tables)
    except ValueError as error:
        raise PolyprobeError(
            f"{run.folder}/scores: {error}; delete that language's file and run the same "
            "`polyprobe eval` again"
        ) from error


def summarize(facts: Facts, scoring: str, resampling: Resampling = DEFAULT) -> dict[str, Any]:
    """Return all figures of the facts, their means, counts and intervals.

    Returns:
        accuracy (micro: all facts alike) by language; rankc, rankc_adjusted, coverlap, agreement,
        rankc_excess, rankc_right_right, rankc_right_wrong, rankc_wrong_wrong, rbo, kendall_tau_b by
        pair (`en-fr`); `mean` of each over what is defined; `intervals`, the same tree with
        [low, high]; `chance`; fleiss_kappa, right_in_all, right_in_any, right_in_none with `_ci`,
        of two languages or more; k_correct, facts right in exactly 0, 1, 2, … languages;
        recall_at_k and what the protocol is for (contrastive_knowledge, paraphrase_consistency) by
        language, macro over relations; `left_out`, counts of what no figure has.
    """
    clusters = read_clusters(facts.table, resampling.clusters)
    options = resampling._asdict() | {"clusters": clusters}
    found = {
        name: estimate_figure(make(facts), **options)
        for name, make in track(FIGURES.items(), "figures and intervals")
    }
    joint = [estimate_figure(figure, **options) for figure in find_joint(facts)]
    values = {name: _values(estimates) for name, estimates in found.items()}
    return {
        "languages": list(facts.tables),
        "n_queries": len(facts.table),
        **values,
        "chance": {
            "accuracy": float(chance_accuracy(facts.first_scores, facts.answers).mean()),
            "rankc": float(rankc_chance(facts.sizes).mean()),
        },
        "mean": {name: estimates["mean"] for name, estimates in found.items()},
        **{name: value for estimates in joint for name, value in estimates.items()},
        "k_correct": count_right(facts.right).sum(axis=0).tolist(),
        **measure_languages(facts, scoring, options),
        "intervals": _all_intervals(found) if resampling.n_resamples else {},
        "left_out": {
            "rankc_adjusted": int((facts.sizes == 1).sum()),
            "coverlap": list(values["coverlap"].values()).count(None),
        },
    }


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
