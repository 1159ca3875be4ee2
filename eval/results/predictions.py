"""Compute the results of free predictions (X-FACTR's decoding)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from polyprobe.metrics.factual_accuracy.factual_accuracy import (
    find_matches,
    measure_factual_accuracy,
)
from polyprobe.metrics.joint.figures import Figure, estimate_figure, mean_of, name_pairs
from polyprobe.metrics.joint.measures import count_right
from polyprobe.metrics.shared.intervals import take

from .by_language import without_groups
from .facts import read_clusters


def summarize_predictions(
    tables: Mapping[str, pa.Table], resampling: Mapping[str, Any]
) -> dict[str, Any]:
    """Return factual accuracy by language, and COverlap by pair.

    `accuracy` is the macro average over relations of the facts asked in that language; COverlap is
    over the facts asked in both. Without rankings there is no RankC; without candidates there is no
    chance level.
    """
    first = next(iter(tables.values()))
    clusters = read_clusters(first, resampling["clusters"])
    options = {**resampling, "clusters": clusters}
    accuracy = {x: _measure(table, x, options) for x, table in tables.items()}
    right = mark_right(tables)
    coverlap = estimate_figure(find_coverlap(right), **options)
    pairs = name_pairs(list(tables))
    bounds = {x: figures.get("all_ci") for x, figures in accuracy.items()}
    return {
        "languages": list(tables),
        "n_queries": len(first),
        "accuracy": {x: figures["all"] for x, figures in accuracy.items()},
        "factual_accuracy": accuracy,
        "coverlap": {pair: coverlap[pair] for pair in pairs},
        "k_correct": count_right({x: np.nan_to_num(marks) for x, marks in right.items()})
        .sum(axis=0)
        .tolist(),
        "mean": {"accuracy": _mean(accuracy), "coverlap": coverlap["mean"]},
        "intervals": {
            "accuracy": bounds,
            "coverlap": {pair: coverlap[f"{pair}_ci"] for pair in pairs},
            "mean": {"coverlap": coverlap["mean_ci"]},
        }
        if resampling["n_resamples"]
        else {},
        "left_out": {
            "coverlap": [coverlap[pair] for pair in pairs].count(None),
            "facts": {x: table["single_token"].null_count for x, table in tables.items()},
        },
    }


def find_coverlap(right: Mapping[str, np.ndarray]) -> Figure:
    """Return COverlap by pair over the facts asked in both languages (`mark_right`)."""
    values = np.column_stack(list(right.values()))
    one, other = np.triu_indices(values.shape[1], 1)
    first, second = values[:, one], values[:, other]
    asked = ~np.isnan(first + second)
    both = np.where(asked, first * second, 0)
    either = np.where(asked, np.maximum(first, second), 0)
    return mean_of(name_pairs(list(right)), both, either)


def _measure(table: pa.Table, language: str, options: Mapping[str, Any]) -> dict[str, Any]:
    asked = table["single_token"].is_valid().to_numpy()
    rows = table.filter(pa.array(asked)).to_pydict()
    if not rows["fact_id"]:  # all its labels have unknown tokens
        return {"all": None, "single": None, "multi": None, "n_queries": 0}
    figures = measure_factual_accuracy(
        rows["prediction"],
        rows["answer_forms"],
        rows["single_token"],
        language=language,
        prompts=rows["prompt"],
        groups=rows["relation"],
        clusters=take(options["clusters"], np.flatnonzero(asked)),
        n_resamples=options["n_resamples"],
        seed=options["seed"],
    )
    return without_groups(figures)


def mark_right(tables: Mapping[str, pa.Table]) -> dict[str, np.ndarray]:
    """Return 1 for correct facts and 0 for others in each language; NaN for facts not asked."""
    marks = {}
    for language, table in tables.items():
        rows = table.to_pydict()
        right = find_matches(rows["prediction"], rows["answer_forms"], language, rows["prompt"])
        marks[language] = np.where(table["single_token"].is_valid().to_numpy(), right, np.nan)
    return marks


def _mean(accuracy: Mapping[str, dict[str, Any]]) -> float | None:
    known = [figures["all"] for figures in accuracy.values() if figures["all"] is not None]
    return float(np.mean(known)) if known else None
