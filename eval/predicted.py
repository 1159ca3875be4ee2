"""Make results of what a model wrote freely (X-FACTR's decoding): texts, not scores."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from polyprobe import PolyprobeError
from polyprobe.metrics.analysis.all_languages import count_right
from polyprobe.metrics.analysis.figures import Figure, estimate_figure, mean_of, name_pairs
from polyprobe.metrics.factual_accuracy.factual_accuracy import find_right, measure_accuracy

from .figures import read_clusters
from .run import Run


def read_predictions(run: Run) -> dict[str, pa.Table]:
    """Return a run's predictions by language; other facts in one of them are a PolyprobeError."""
    tables = {language: run.predictions(language) for language in run.settings().languages}
    first, *others = tables
    for language in others:
        if tables[language]["fact_id"] != tables[first]["fact_id"]:
            raise PolyprobeError(
                f"{run.folder}/predictions/{language}.parquet has other facts than "
                f"predictions/{first}.parquet; delete it and run the same `polyprobe eval` again"
            )
    return tables


def summarize_predictions(
    tables: Mapping[str, pa.Table], resampling: Mapping[str, Any]
) -> dict[str, Any]:
    """Return factual accuracy by language, and what languages share of the right facts.

    `accuracy` is the macro average over relations of the facts that were asked in that language;
    COverlap is over the facts that were asked in both. There are no rankings, hence no RankC, and
    no chance level: the whole vocabulary is allowed.
    """
    first = next(iter(tables.values()))
    clusters = read_clusters(first, resampling["clusters"])
    options = {**resampling, "clusters": clusters}
    accuracy = {x: _measure(table, x, options) for x, table in tables.items()}
    coverlap = estimate_figure(find_coverlap(tables), **options)
    pairs = name_pairs(list(tables))
    bounds = {x: figures.get("all_ci") for x, figures in accuracy.items()}
    return {
        "languages": list(tables),
        "n_queries": len(first),
        "accuracy": {x: figures["all"] for x, figures in accuracy.items()},
        "factual_accuracy": accuracy,
        "coverlap": {pair: coverlap[pair] for pair in pairs},
        "k_correct": count_right(_mark(tables, 0.0)).sum(axis=0).tolist(),
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


def find_coverlap(tables: Mapping[str, pa.Table]) -> Figure:
    """Return COverlap by pair over the facts that were asked in both languages."""
    values = np.column_stack(list(_mark(tables, np.nan).values()))
    one, other = np.triu_indices(values.shape[1], 1)
    first, second = values[:, one], values[:, other]
    asked = ~np.isnan(first + second)
    both = np.where(asked, first * second, 0)
    either = np.where(asked, np.maximum(first, second), 0)
    return mean_of(name_pairs(list(tables)), both, either)


def _measure(table: pa.Table, language: str, options: Mapping[str, Any]) -> dict[str, Any]:
    asked = table["single_token"].is_valid().to_numpy()
    rows = table.filter(pa.array(asked)).to_pydict()
    if not rows["fact_id"]:  # its labels are unknown tokens to this model
        return {"all": None, "single": None, "multi": None, "n_queries": 0}
    clusters = options["clusters"]
    figures = measure_accuracy(
        rows["prediction"],
        rows["answer_forms"],
        rows["single_token"],
        language=language,
        prompts=rows["prompt"],
        groups=rows["relation"],
        clusters=clusters and [c for c, known in zip(clusters, asked, strict=True) if known],
        n_resamples=options["n_resamples"],
        seed=options["seed"],
    )
    return {name: value for name, value in figures.items() if name != "by_group"}


def _mark(tables: Mapping[str, pa.Table], unasked: float) -> dict[str, np.ndarray]:
    """Return which facts are right in each language (1 or 0), and `unasked` where one was not."""
    marks = {}
    for language, table in tables.items():
        rows = table.to_pydict()
        right = find_right(rows["prediction"], rows["answer_forms"], language, rows["prompt"])
        asked = table["single_token"].is_valid().to_numpy()
        marks[language] = np.where(asked, right, unasked)
    return marks


def _mean(accuracy: Mapping[str, dict[str, Any]]) -> float | None:
    known = [figures["all"] for figures in accuracy.values() if figures["all"] is not None]
    return float(np.mean(known)) if known else None
