"""Time joint intervals of all pairs of 53 languages against scipy's bootstrap, pair by pair.

Run `python -m bench intervals`; it prints the table and writes it to bench/intervals.md. Each round
runs all methods in turn, in one process; the table has medians of wall-clock time.
"""

import platform
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from polyprobe.metrics.answer_agreement.formulas import find_agreement
from polyprobe.metrics.coverlap.formulas import find_coverlap
from polyprobe.metrics.rankc.formulas import find_rankc, rankc_pairs, rankc_per_query
from polyprobe.metrics.shared.intervals import estimate_figure

LANGUAGES, QUERIES, CANDIDATES = 53, 3070, 10
PAIRS = LANGUAGES * (LANGUAGES - 1) // 2
ROUNDS, RESAMPLES = 5, 1000


def main(argv: Sequence[str] = ()) -> None:
    """Measure times, compare one interval with scipy's, print and write the table."""
    random = np.random.default_rng(0)
    common = random.normal(size=(QUERIES, CANDIDATES))
    scores = {f"l{i}": common + random.normal(size=common.shape) for i in range(LANGUAGES)}
    right = {x: (values.argmax(axis=1) == 0).astype(float) for x, values in scores.items()}
    subjects = random.integers(QUERIES // 3, size=QUERIES).tolist()
    names = list(scores)
    ways: dict[str, tuple[int, Callable[[], object]]] = {
        "scipy.stats.bootstrap, RankC of one pair": (1, lambda: run_scipy(scores)),
        "RankC, all pairs": (
            PAIRS,
            lambda: estimate_figure(find_rankc(names, rankc_pairs(scores)), n_resamples=RESAMPLES),
        ),
        "RankC, all pairs, clustered by subject": (
            PAIRS,
            lambda: estimate_figure(
                find_rankc(names, rankc_pairs(scores)), n_resamples=RESAMPLES, clusters=subjects
            ),
        ),
        "COverlap, all pairs": (
            PAIRS,
            lambda: estimate_figure(find_coverlap(right), n_resamples=RESAMPLES),
        ),
        "agreement, all pairs": (
            PAIRS,
            lambda: estimate_figure(find_agreement(scores), n_resamples=RESAMPLES),
        ),
    }
    check(scores, names)
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, (_, run) in ways.items():
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    write(ways, {name: statistics.median(taken) for name, taken in times.items()})


def run_scipy(scores: dict[str, np.ndarray]) -> Any:
    """Return scipy's percentile interval of one pair; the time includes the values per query."""
    values = rankc_per_query(scores["l0"], scores["l1"])
    return stats.bootstrap(
        (values,), np.mean, n_resamples=RESAMPLES, method="percentile", rng=0
    ).confidence_interval


def check(scores: dict[str, np.ndarray], names: list[str]) -> None:
    """Raise AssertionError unless both intervals agree to a tenth of the width."""
    theirs = run_scipy(scores)
    ours = estimate_figure(find_rankc(names, rankc_pairs(scores)))["l0-l1_ci"]
    np.testing.assert_allclose(ours, list(theirs), atol=0.1 * (theirs.high - theirs.low))


def write(ways: dict[str, tuple[int, Callable[[], object]]], taken: dict[str, float]) -> None:
    """Print the table and write it to bench/intervals.md."""
    first = next(iter(taken.values()))
    lines = [
        "# Joint bootstrap intervals",
        "",
        f"{LANGUAGES} languages × {QUERIES:,} queries × {CANDIDATES} candidates, {PAIRS:,} pairs, "
        f"{RESAMPLES:,} resamples; numpy {np.__version__}, {platform.machine()}. Medians of "
        f"{ROUNDS} rounds in which the methods take turns. The times include the values of "
        "the queries and the quantiles.",
        "",
        "| method | seconds | milliseconds per pair | speed-up over scipy, per pair |",
        "| --- | --- | --- | --- |",
    ]
    for name, (pairs, _) in ways.items():
        each = taken[name] / pairs
        lines.append(f"| {name} | {taken[name]:.2f} | {1000 * each:.2f} | {first / each:.0f} |")
    print("\n".join(lines))
    Path(__file__).with_suffix(".md").write_text("\n".join(lines) + "\n", encoding="utf-8")
