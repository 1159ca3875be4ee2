"""Measure how often the gate of `polyprobe compare --fail-if` raises an alarm, and its power.

    python -m bench gate [PAIRS]            writes bench/gate.md

Both runs answer the same facts of one language; some facts are right in one run alone (discordant),
more of them in the earlier run by the true loss.
"""

from collections.abc import Sequence
from math import sqrt
from pathlib import Path

import numpy as np
from scipy.special import ndtr, ndtri

from polyprobe.analysis.compare.folders import exceeds
from polyprobe.metrics.joint.significance import compare_figures
from polyprobe.metrics.shared.intervals import Figure, mean_of

PAIRS, MARGIN, SEED = 4000, 0.02, 37
FACTS, DISCORDANT = 2000, 0.08
SIZES, SHARES = (200, 500, 1000, 2000, 5000), (0.04, 0.08, 0.12, 0.2, 0.3)


def draw_pair(random: np.random.Generator, loss: float) -> tuple[Figure, Figure]:
    """Return the accuracies of two runs; .4 of the facts on which they agree are right."""
    place = random.random(FACTS)
    alike = random.random(FACTS) < 0.4
    first = np.where(place < (DISCORDANT + loss) / 2, 1, np.where(place < DISCORDANT, 0, alike))
    second = np.where(place < DISCORDANT, 1 - first, alike)
    ones = np.ones(FACTS)
    sides = [mean_of(["en"], side[:, None].astype(float), ones) for side in (first, second)]
    return sides[0], sides[1]


def find_rates(loss: float, pairs: int = PAIRS) -> tuple[float, float]:
    """Return the shares of pairs that are lost, and lost with --strict."""
    random, counts = np.random.default_rng(SEED), np.zeros(2)
    for seed in range(pairs):
        first, second = draw_pair(random, loss)
        *_, mean = compare_figures(first, second, test="bootstrap", seed=seed)
        counts += [exceeds(mean.bounds, MARGIN, strict) for strict in (False, True)]
    return tuple(counts / pairs)


def find_power(
    n: int, discordant: float, loss: float = 2 * MARGIN, margin: float = MARGIN
) -> float:
    """Return the probability that a loss in n independent facts is found, by a normal sum.

    A fact's difference is 1, 0 or -1: its variance is the share of discordant facts less the square
    of the loss.

    >>> round(find_power(2000, 0.08), 2)
    0.94
    """
    return float(ndtr((loss - margin) / sqrt((discordant - loss**2) / n) + ndtri(0.05)))


def main(argv: Sequence[str]) -> None:
    """Print both tables and write them to bench/gate.md."""
    pairs = int(argv[0]) if argv else PAIRS
    lines = [
        "# Alarms of the gate",
        "",
        f"`python -m bench gate`: {pairs:,} pairs of runs per row, {FACTS:,} facts of one "
        f"language, {DISCORDANT:.0%} of them discordant, margin {MARGIN:g}. Standard error of 5%: "
        f"{sqrt(0.05 * 0.95 / pairs):.1%}.",
        "",
        "| true loss | lost | lost with --strict |",
        "| --- | ---: | ---: |",
    ]
    for name, loss in (("none", 0.0), ("the margin", MARGIN), ("twice the margin", 2 * MARGIN)):
        rates = find_rates(loss, pairs)
        lines.append(f"| {name} | {rates[0]:.1%} | {rates[1]:.1%} |")
        print(lines[-1], flush=True)
    lines += [
        "",
        f"Power: how often a loss of {2 * MARGIN:g} is found with the margin {MARGIN:g}, by facts "
        "and the share of discordant facts.",
        "",
        f"| facts | {' | '.join(f'{share:.0%}' for share in SHARES)} |",
        f"| --- |{' ---: |' * len(SHARES)}",
    ]
    for n in SIZES:
        cells = (f"{find_power(n, share):.2f}" for share in SHARES)
        lines.append(f"| {n:,} | {' | '.join(cells)} |")
    Path(__file__).with_suffix(".md").write_text("\n".join([*lines, ""]), encoding="utf-8")
