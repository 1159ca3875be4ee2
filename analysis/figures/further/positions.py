"""Position bias: what the letters of options are worth whatever is behind them."""

from collections import Counter
from typing import Any

import numpy as np

from polyprobe.analysis.figures.facts import ScoredFacts
from polyprobe.metrics.shared.intervals import Resampling, estimate, mean_of
from polyprobe.metrics.shared.rows import take
from polyprobe.schema.run.folder import EFFECTS
from polyprobe.scoring.options import LETTERS


def has_positions(facts: ScoredFacts) -> bool:
    """Tell whether the effects of positions were estimated, in every language."""
    return all(table[EFFECTS].null_count < len(table) for table in facts.tables.values())


def share_read(facts: ScoredFacts) -> dict[str, float]:
    """Compute the share of letters that were read; a server may show the most probable ones only.

    `n_tokens` has how many were read of each candidate, in `letters-k3` of 3 orders.
    """
    orders = int(facts.scoring.partition("-k")[2] or len(LETTERS))
    shares = {}
    for language, table in facts.tables.items():
        counts = table["n_tokens"].to_pylist()
        total = sum(len(row) * min(len(row), orders) for row in counts)
        shares[language] = sum(map(sum, counts)) / total
    return shares


def measure_positions(facts: ScoredFacts, language: str, options: Resampling) -> dict[str, Any]:
    """Compute the mean effects of the positions of options (see `letters.separate`).

    Queries with the most frequent number of options count, the larger number if two are equally
    frequent; `n_queries` and `n_left_out` count them and the others. `effects` by letter are in
    nats with mean 0, `intervals` their 95% bootstrap intervals. `prior` has the probabilities of
    the letters that they are proportional to, 1 / n each without a bias. `range` is the largest
    effect less the smallest; chance alone makes it larger than 0.
    """
    lists = facts.tables[language][EFFECTS].to_pylist()
    sizes = Counter(len(row) for row in lists if row)
    size = max(sizes, key=lambda n: (sizes[n], n))
    rows = [i for i, row in enumerate(lists) if row and len(row) == size]
    values = np.array([lists[i] for i in rows], dtype=np.float64)
    options = options._replace(clusters=take(options.clusters, rows))
    estimates = estimate(mean_of(LETTERS[:size], values, np.ones(len(rows))), options)
    effects = {letter: estimates[letter] for letter in LETTERS[:size]}
    weights = np.exp([*effects.values()])
    return {
        "range": max(effects.values()) - min(effects.values()),
        "effects": effects,
        "intervals": {x: estimates[f"{x}_ci"] for x in effects if f"{x}_ci" in estimates},
        "prior": dict(zip(effects, (weights / weights.sum()).tolist(), strict=True)),
        "n_candidates": size,
        "n_queries": len(rows),
        "n_left_out": len(lists) - len(rows),
    }
