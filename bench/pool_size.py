"""Measure RankC and Kendall's tau-b in pools of 2 to 50 candidates of one latent correlation.

    python -m bench pool_size [QUERIES]        writes bench/pool_size.md

A candidate's scores in two languages are bivariate normal with the correlation .5; a pool has N
independent candidates. The expectation of tau-b is then (2 / pi) asin(.5) = 1/3 for every N
(Greiner 1909).
"""

import math
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from polyprobe.metrics.answer_agreement.formulas import agreement_per_query
from polyprobe.metrics.rank_overlap.formulas import kendall_pairs
from polyprobe.metrics.rankc.formulas import rankc_chance, rankc_pairs

CORRELATION = 0.5
SIZES = (2, 3, 6, 10, 20, 50)
QUERIES = 400_000
STEP = 50_000  # queries at once
COLUMNS = ("candidates", "RankC", "chance", "adjusted RankC", "κ", "τ-b", "R²")


def draw_scores(random: np.random.Generator, queries: int, size: int) -> dict[str, np.ndarray]:
    """Return scores [queries, candidates] in two languages with the latent correlation."""
    first, noise = random.normal(size=(2, queries, size))
    return {"one": first, "other": CORRELATION * first + math.sqrt(1 - CORRELATION**2) * noise}


def measure(random: np.random.Generator, queries: int, size: int) -> np.ndarray:
    """Return RankC, agreement of the first candidates, and tau-b of each query [queries, 3]."""
    scores = draw_scores(random, queries, size)
    kernels = (rankc_pairs, agreement_per_query, kendall_pairs)
    return np.column_stack([kernel(scores) for kernel in kernels])


def tabulate_size(size: int, queries: int) -> list[float]:
    """Return the row of a pool size, in the order of COLUMNS without the first."""
    random = np.random.default_rng(size)
    parts = [min(STEP, queries - start) for start in range(0, queries, STEP)]
    values = np.concatenate([measure(random, part, size) for part in parts])
    rankc, agreement, tau = values.mean(axis=0).tolist()
    [chance] = rankc_chance([size]).tolist()
    adjusted, kappa = (rankc - chance) / (1 - chance), (agreement - 1 / size) / (1 - 1 / size)
    explained = float(np.corrcoef(values[:, 0], values[:, 1])[0, 1] ** 2)
    return [rankc, chance, adjusted, kappa, tau, explained]


def main(argv: Sequence[str] = ()) -> None:
    """Print the table and write it to bench/pool_size.md."""
    queries = int(argv[0]) if argv else QUERIES
    rows = [[f"{size}", *(f"{x:.3f}" for x in tabulate_size(size, queries))] for size in SIZES]
    rule = ["---:"] * len(COLUMNS)
    text = "\n".join(
        [
            "# One latent correlation in pools of different size",
            "",
            f"`python -m bench pool_size`: {queries:,} queries per row. The scores in two "
            f"languages have the correlation {CORRELATION}. κ: agreement on the first candidate "
            "above chance; R²: share of the variance of a query's RankC that this agreement "
            "explains.",
            "",
            *(f"| {' | '.join(row)} |" for row in (COLUMNS, rule, *rows)),
            "",
        ]
    )
    Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")
    sys.stdout.write(text)
