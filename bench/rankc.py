"""Time RankC of all pairs of 53 languages and of the set loop of the definition.

Run `python -m bench rankc`; it prints the table and writes it to bench/rankc.md. Each round runs
all methods in turn, in one process. The table has the median and minimum of wall-clock time, and
the median of processor time (all threads).
"""

import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from polyprobe.metrics.rankc.formulas import rankc_matrix, rankc_per_query
from polyprobe.metrics.shared.ranks import rank_weights

LANGUAGES, QUERIES, CANDIDATES = 53, 3070, 10
PAIRS = LANGUAGES * (LANGUAGES - 1) // 2
ROUNDS = 15
LOOP_PAIRS = 3

Scores = dict[str, np.ndarray]


def main(argv: Sequence[str] = ()) -> None:
    """Measure times, compare the values with the loop, print and write the table."""
    inputs = make_inputs(np.random.default_rng(0))
    plain = inputs["float64, no ties"]
    check_values(plain)
    ways: dict[str, tuple[int, Callable[[], object]]] = {
        "set loop of the definition": (LOOP_PAIRS, lambda: run_loop(plain)),
        "`rankc_per_query`, one pair": (1, lambda: rankc_per_query(plain["0"], plain["1"])),
    }
    for name, scores in inputs.items():
        ways[f"`rankc_matrix`, {name}"] = (PAIRS, lambda scores=scores: rankc_matrix(scores))
    adjusted = inputs["masked, pools of 1 to 10"]
    ways["`rankc_matrix`, the same, adjusted"] = (
        PAIRS,
        lambda: rankc_matrix(adjusted, adjusted=True),
    )
    text = describe() + tabulate(ways, measure(ways))
    Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")
    sys.stdout.write(text)


def make_inputs(generator: np.random.Generator) -> dict[str, Scores]:
    """Return random scores: without ties, with many ties, and with the pool sizes of BMLAMA-53."""
    shape = (QUERIES, CANDIDATES)
    plain = {str(i): generator.standard_normal(shape) for i in range(LANGUAGES)}
    sizes = generator.choice([1, 2, 4, 6, 8, 10], QUERIES, p=[0.01, 0.02, 0.02, 0.03, 0.04, 0.88])
    padding = np.arange(CANDIDATES) >= sizes[:, None]
    return {
        "float64, no ties": plain,
        "float32, no ties": {name: rows.astype(np.float32) for name, rows in plain.items()},
        "float64, ties in every query": {name: rows.round() for name, rows in plain.items()},
        "float64, constant": {name: np.zeros(shape) for name in plain},
        "masked, pools of 1 to 10": {
            name: np.ma.array(rows, mask=padding) for name, rows in plain.items()
        },
    }


def run_loop(scores: Scores) -> list[float]:
    """Return RankC of the first pairs by intersecting sets, following the definition."""
    orders = [np.argsort(-scores[str(i)], axis=1).tolist() for i in range(LOOP_PAIRS + 1)]
    weights = rank_weights(CANDIDATES).tolist()
    return [
        statistics.fmean(
            sum(w * len({*a[:j]} & {*b[:j]}) / j for j, w in enumerate(weights, start=1))
            for a, b in zip(orders[0], other, strict=True)
        )
        for other in orders[1:]
    ]


def check_values(scores: Scores) -> None:
    """Raise SystemExit if the matrix and the loop differ."""
    difference = np.abs(rankc_matrix(scores)[0, 1 : LOOP_PAIRS + 1] - run_loop(scores)).max()
    if difference > 1e-12:
        raise SystemExit(f"rankc_matrix differs from the set loop by {difference}")


def measure(ways: dict[str, tuple[int, Callable[[], object]]]) -> dict[str, np.ndarray]:
    """Return the (wall, processor) seconds of each method and round, after a warm-up round."""
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(ROUNDS + 1):
        for name, (_, run) in ways.items():
            wall, processor = time.perf_counter(), time.process_time()
            run()
            seconds[name].append((time.perf_counter() - wall, time.process_time() - processor))
    return {name: np.array(rounds[1:]) for name, rounds in seconds.items()}


def describe() -> str:
    """Return the heading: the computation, the packages and the machine."""
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return (
        "# RankC of all pairs at once, compared with the loop of the definition\n\n"
        f"{LANGUAGES} languages ({PAIRS:,} pairs) × {QUERIES:,} queries × {CANDIDATES} candidates, "
        f"softmax weights. The values equal the loop's to 1e-12. {ROUNDS} rounds in which the "
        "methods take turns; input: arrays, output: a matrix.\n"
        f"Python {platform.python_version()}, numpy {np.__version__} ({blas['name']} "
        f"{blas['version']}), {platform.machine()}, {os.cpu_count()} cores. Speed-ups compare "
        "median processor seconds per pair.\n\n"
    )


def tabulate(
    ways: dict[str, tuple[int, Callable[[], object]]], seconds: dict[str, np.ndarray]
) -> str:
    """Return the Markdown table, with each method's time for a pair relative to the loop."""
    lines = [
        "| method | pairs | wall time: median (minimum) | processor time: median | per pair "
        "| speed-up over the loop |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    per_pair = {name: np.median(seconds[name][:, 1]) / pairs for name, (pairs, _) in ways.items()}
    loop = next(iter(per_pair.values()))
    for name, (pairs, _) in ways.items():
        wall, processor = np.median(seconds[name], axis=0) * 1e3
        least = seconds[name][:, 0].min() * 1e3
        lines.append(
            f"| {name} | {pairs:,} | {wall:.1f} ms ({least:.1f}) | {processor:.1f} ms "
            f"| {per_pair[name] * 1e6:,.1f} µs | {loop / per_pair[name]:,.0f} |"
        )
    return "\n".join(lines) + "\n"
