"""Position bias: what the letters of options are worth whatever is behind them."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from polyprobe.analysis.figures.facts import ScoredFacts
from polyprobe.metrics.shared.intervals import estimate_figure, mean_of
from polyprobe.metrics.shared.rows import take
from polyprobe.schema.run.folder import EFFECTS
from polyprobe.scoring.options import LETTERS


def has_positions(facts: ScoredFacts) -> bool:
    """Return whether the effects of positions were estimated, in every language."""
    return all(table[EFFECTS].null_count < len(table) for table in facts.tables.values())


def share_read(table: pa.Table, scoring: str) -> float:
    """Return the share of letters that were read; a server may show the most probable ones only.

    `n_tokens` has how many were read of each candidate, in `letters-k3` of 3 orders.
    """
    read = table["n_tokens"].to_pylist()
    orders = int(scoring.partition("-k")[2] or len(LETTERS))
    return sum(map(sum, read)) / sum(len(row) * min(len(row), orders) for row in read)


def measure_positions(
    facts: ScoredFacts, language: str, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the mean effects of the positions of options (see `letters.separate`).

    Queries with the most frequent number of options count, the larger number if two are equally
    frequent; `n_queries` and `n_left_out` count them and the others. `effects` by letter are in
    nats with mean 0, `intervals` their 95% bootstrap intervals. `prior` has the probabilities of
    the letters that they are proportional to, 1 / n each without a bias. `range` is the largest
    effect less the smallest; chance alone makes it larger than 0.
    """
    lists = facts.tables[language][EFFECTS].to_pylist()
    sizes = Counter(len(row) for row in lists if row)
    size = max(sizes, key=lambda n: (sizes[n], n))
    kept = [i for i, row in enumerate(lists) if row and len(row) == size]
    values = np.array([lists[i] for i in kept], dtype=np.float64)
    picked = {**options, "clusters": take(options["clusters"], kept)}
    found = estimate_figure(mean_of(LETTERS[:size], values, np.ones(len(kept))), **picked)
    effects = {letter: found[letter] for letter in LETTERS[:size]}
    weights = np.exp([*effects.values()])
    return {
        "range": max(effects.values()) - min(effects.values()),
        "effects": effects,
        "intervals": {x: found[f"{x}_ci"] for x in effects if f"{x}_ci" in found},
        "prior": dict(zip(effects, (weights / weights.sum()).tolist(), strict=True)),
        "n_candidates": size,
        "n_queries": len(kept),
        "n_left_out": len(lists) - len(kept),
    }
