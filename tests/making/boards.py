"""Run folders with typed figures: run.json and results.json, no scores."""

from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from polyprobe.analysis.figures.figures import PAIR, SEPARATE
from polyprobe.schema.languages import read_languages
from polyprobe.schema.run.folder import Run
from tests.making.runs import make_settings

# Table 5 of Qi, Fernández and Bisazza (2023): mean RankC and mean accuracy in percent.
TABLE_5 = {
    "RoBERTa": (32.0, 32.5),
    "mT5-large": (32.3, 33.4),
    "LLaMA-7b": (28.5, 28.5),
    "BLOOM-7.1b": (26.3, 27.8),
    "BLOOMZ-3b": (24.3, 23.9),
    "BLOOM-3b": (25.2, 26.0),
    "BLOOM-1.7b": (24.8, 24.8),
    "BLOOM-1.1b": (23.9, 22.9),
    "BLOOM-560m": (23.1, 21.1),
}
BLOOM = {"560m": 0.56e9, "1.1b": 1.1e9, "1.7b": 1.7e9, "3b": 3e9, "7.1b": 7.1e9}
EQUATIONS = {"RoBERTa": ("bmlama-eq8", None), "mT5-large": ("bmlama-eq9", None)}


def write_typed(
    folder: Path,
    model: str,
    figures: dict[str, Any],
    more: dict[str, Any] | None = None,
    **changes: Any,
) -> Path:
    """Write a run whose results are these: figure to {language or pair: value}, or to its mean."""
    languages = changes.pop("languages", None) or [*figures["accuracy"]]
    run = Run(folder)
    known = {"config": "17", "scoring": "bmlama-eq10", "model": model}
    run.open(make_settings(languages, **known | changes))
    unknown = {"accuracy": dict.fromkeys(languages)}
    means = {x: fmean(v.values()) if isinstance(v, dict) else v for x, v in figures.items()}
    values = {x: v if isinstance(v, dict) else unknown.get(x, {}) for x, v in figures.items()}
    results = {"languages": languages, "n_queries": 100, "signature": run.settings().signature}
    run.write_results({**results, **values, "mean": means, "left_out": {}, **(more or {})})
    return folder


def write_table_5(folder: Path) -> list[Path]:
    """Write the nine models of the paper as runs; return their folders."""
    found = []
    for model, (clc, accuracy) in TABLE_5.items():
        scoring, bos = EQUATIONS.get(model, ("bmlama-eq10", "auto"))
        sizes = {f"BLOOM-{size}": round(number) for size, number in BLOOM.items()}
        figures = {"accuracy": accuracy / 100, "rankc": clc / 100}
        written = write_typed(
            folder / model,
            model,
            figures,
            languages=["en", "fr"],
            scoring=scoring,
            bos=bos,
            parameters=sizes.get(model),
        )
        found.append(written)
    return found


def write_many(folder: Path) -> list[Path]:
    """Write 30 runs with random figures and intervals of 53 languages and all their pairs."""
    languages = [code for code in read_languages() if code != "no"][:53]
    rng = np.random.default_rng(0)
    pairs = ["-".join(pair) for pair in combinations(languages, 2)]
    names = {"accuracy": languages}
    of_pairs = (f.name for f in SEPARATE if f.per == PAIR and not f.on_request)
    names |= dict.fromkeys(of_pairs, pairs)
    found = []
    for number in range(30):
        figures = {x: {name: float(rng.random()) for name in of} for x, of in names.items()}
        bounds = {
            x: {name: [value - 0.1, value + 0.1] for name, value in values.items()}
            for x, values in figures.items()
        }
        bounds["mean"] = {x: [0.4, 0.6] for x in figures}
        recall = {
            x: {f"recall@{k}": 0.5 for k in (1, 5, 10)} | {"mean_rank": 2.5, "n_queries": 100}
            for x in languages
        }
        more = {"intervals": bounds, "recall_at_k": recall}
        changes = {"languages": languages, "parameters": 10**8 * (number + 1)}
        model = f"org/a-model-with-a-name-{number}"
        found.append(write_typed(folder / f"run{number}", model, figures, more, **changes))
    return found
