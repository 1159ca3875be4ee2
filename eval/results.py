"""Make results.json from the scores of a run, without the model."""

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

from polyprobe import PolyprobeError
from polyprobe.metrics.accuracy_at_1.accuracy_at_1 import chance_accuracy, right_probability
from polyprobe.metrics.coverlap.coverlap import coverlap_matrix
from polyprobe.metrics.rankc.rankc import rankc_chance, rankc_matrix

from .run import Run


def compute_results(run: Run) -> dict[str, Any]:
    """Return the results of a run and write them to its results.json.

    Accuracy is accuracy@1; it, COverlap and RankC take ties in expectation. Pairs are unordered,
    in the run's order of languages; the diagonal is in no mean. An undefined COverlap (nothing
    right in either language) is null, is left out of the mean, and is counted.
    """
    settings = run.settings()
    tables = {language: run.scores(language) for language in settings.languages}
    _check_aligned(tables)
    try:
        results = {"signature": settings.signature, **summarize(tables)}
    except ValueError as error:
        raise PolyprobeError(
            f"{run.folder}/scores: {error}; delete that language's file and run the same "
            "`polyprobe eval` again"
        ) from error
    run.write_json("results.json", results)
    return results


def summarize(tables: Mapping[str, pa.Table]) -> dict[str, Any]:
    """Return the figures of score tables, one a language, aligned row by row."""
    scores = {language: masked_scores(table) for language, table in tables.items()}
    answers = next(iter(tables.values()))["answers"].to_pylist()
    counts = (~np.ma.getmaskarray(next(iter(scores.values())))).sum(1)
    rankc = rankc_matrix(scores)  # before accuracy, because its errors name the language
    right = {x: right_probability(s, answers) for x, s in scores.items()}
    figures: dict[str, Any] = {
        "accuracy": {x: float(p.mean()) for x, p in right.items()},
        "rankc": _pairs(list(scores), rankc),
        "rankc_adjusted": _pairs(list(scores), rankc_matrix(scores, adjusted=True)),
        "coverlap": _pairs(list(scores), coverlap_matrix(right)),
    }
    undefined = sum(value is None for value in figures["coverlap"].values())
    return {
        "languages": list(tables),
        "n_queries": len(answers),
        **figures,
        "chance": {
            "accuracy": float(chance_accuracy(next(iter(scores.values())), answers).mean()),
            "rankc": float(np.mean(rankc_chance(counts))),
        },
        "mean": {name: _mean(values) for name, values in figures.items()},
        "left_out": {"rankc_adjusted": int((counts == 1).sum()), "coverlap": undefined},
    }


def masked_scores(table: pa.Table) -> np.ma.MaskedArray:
    """Return the scores as [queries, most candidates], absent candidates masked."""
    lists = table["scores"].combine_chunks()
    counts = np.diff(lists.offsets.to_numpy())
    mask = np.arange(counts.max(initial=0)) >= counts[:, None]
    values = np.zeros(mask.shape, dtype=np.float32)
    values[~mask] = lists.flatten().to_numpy()
    return np.ma.MaskedArray(values, mask)


def _check_aligned(tables: dict[str, pa.Table]) -> None:
    first, *others = tables
    for language in others:
        for column in ("fact_id", "answers"):
            if tables[language][column] != tables[first][column]:
                raise PolyprobeError(
                    f"scores/{language}.parquet has other facts than scores/{first}.parquet "
                    f"({column} differs); delete it and run the same `polyprobe eval` again"
                )


def _pairs(languages: list[str], matrix: np.ndarray) -> dict[str, float | None]:
    return {
        f"{languages[i]}-{languages[j]}": None if np.isnan(matrix[i, j]) else float(matrix[i, j])
        for i, j in combinations(range(len(languages)), 2)
    }


def _mean(values: dict[str, float | None]) -> float | None:
    known = [value for value in values.values() if value is not None]
    return float(np.mean(known)) if known else None
