"""Measure the coverage of the 95% intervals of language and template in the inconsistency.

    python -m bench split [RUNS]        writes bench/split.md

Answers do not come from the random effects that the estimates assume: each candidate has a latent
score with heavy tails, whose parts have other scales in each relation, and the candidate with the
highest score is the answer. True values are those of 6,000 relations, from which samples are
drawn.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from polyprobe.metrics.joint.variance import (
    NAMES,
    Asked,
    bound_means,
    find_components,
    measure_disagreement,
)

RUNS, RELATIONS, N_RESAMPLES = 500, 6_000, 1_000
LANGUAGES, SIZES = 4, (2, 3, 5, 8, 20, 37)
SHOWN = (*NAMES[:7], "share_languages", "share_template", "share_residual")
QUANTITIES = ("answer", "right")


class Process(NamedTuple):
    """A process that gives answers; `scales` are of the parts of a candidate's latent score.

    Attributes:
        title: in the table.
        scales: of fact, language, template, fact x language, residual.
        tails: degrees of freedom of Student's t of fact, fact x language and residual.
        of_effects: those of language and template; 1,000 is nearly normal.
        shape: of the gamma distribution of a relation's scales; small: relations differ much.
    """

    title: str
    scales: Sequence[float]
    tails: float = 4
    of_effects: float = 1_000
    shape: float = 8


PROCESSES = (
    Process("all parts", (1, 0.5, 0.5, 0.5, 0.5)),
    Process("templates only", (1, 0, 0.7, 0, 0.5)),
    Process("small parts", (2, 0.15, 0.3, 0.2, 0.3)),
    Process("all parts, heavier tails", (1, 0.5, 0.5, 0.5, 0.5), 3, 3, 3),
    Process("small parts, heavier tails", (2, 0.1, 0.3, 0.1, 0.2), 3, 3, 3),
)


class Relation(NamedTuple):
    """A relation of a process: scales of its parts, lead of the answer, effects [L, T, C]."""

    process: Process
    scales: np.ndarray
    lead: float
    effects: np.ndarray


def make_relation(process: Process, random: np.random.Generator) -> Relation:
    """Return a relation with 3 to 7 templates and 5 to 12 candidates in four languages."""
    templates, candidates = int(random.integers(3, 8)), int(random.integers(5, 13))
    scales = random.gamma(process.shape, 1 / process.shape, 5) * process.scales
    language, template = (
        random.standard_t(process.of_effects, (LANGUAGES, size, candidates))
        for size in (1, templates)
    )
    effects = scales[1] * language + scales[2] * template
    return Relation(process, scales, random.gamma(4, 0.5), effects)


def ask(relation: Relation, facts: int, random: np.random.Generator) -> dict[str, Asked]:
    """Return the answers to facts; a tenth of the rows, not a fact's first two, is missing."""
    _, templates, candidates = relation.effects.shape
    draw = partial(random.standard_t, relation.process.tails)
    truth = random.integers(candidates, size=facts)
    known = relation.scales[0] * draw((facts, 1, 1, candidates))
    known[np.arange(facts), 0, 0, truth] += relation.lead
    of_language = relation.scales[3] * draw((facts, LANGUAGES, 1, candidates))
    rest = relation.scales[4] * draw((facts, LANGUAGES, templates, candidates))
    best = (known + relation.effects + of_language + rest).argmax(axis=-1)
    asked = random.random((facts, templates)) < 0.9
    asked[:, :2] = True
    fact, wording = np.nonzero(asked)
    given = best[fact, :, wording]
    right = given == truth[fact, None]
    outcomes = {"answer": np.eye(candidates)[given], "right": np.eye(2)[right.astype(int)]}
    return {x: Asked([*y.swapaxes(0, 1)], fact, wording) for x, y in outcomes.items()}


def simulate(process: Process, count: int, seed: int) -> np.ndarray:
    """Return the disagreements [relations, quantities, 5] of relations of 10 to 40 facts."""
    random = np.random.default_rng([PROCESSES.index(process), seed])
    found = []
    for _ in range(count):
        asked = ask(make_relation(process, random), int(random.integers(10, 41)), random)
        found.append([measure_disagreement(*asked[x]) for x in QUANTITIES])
    return np.array(found)


def bound_by_jackknife(units: np.ndarray) -> np.ndarray:
    """Return intervals of Student's t with the standard error of the delete-one jackknife."""
    count, value = len(units), find_components(units.mean(axis=0))
    without = find_components((units.sum(axis=0) - units) / (count - 1))
    error = np.sqrt((count - 1) * without.var(axis=0))
    half = error * student.ppf(0.975, count - 1)
    return np.stack([value - half, value + half], axis=1)


WAYS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "ours": partial(bound_means, n_resamples=N_RESAMPLES, seed=0),
    "Student's t": bound_by_jackknife,
}


def cover_relations(
    pool: np.ndarray, size: int, runs: int, bound: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Return the coverage [13] of intervals from samples of relations of a pool [relations, 5]."""
    random, truth = np.random.default_rng(size), find_components(pool.mean(axis=0))
    inside = np.zeros(len(NAMES))
    for _ in range(runs):
        low, high = bound(pool[random.integers(len(pool), size=size)]).T
        inside += ~((truth < low) | (truth > high))
    return inside / runs


def main(argv: Sequence[str] = ()) -> None:
    """Simulate every process, print the table and write it to bench/split.md."""
    runs, start = int(argv[0]) if argv else RUNS, time.perf_counter()
    rows = []
    with ProcessPoolExecutor(2) as pool:
        for process in PROCESSES:
            parts = pool.map(partial(simulate, process, RELATIONS // 20), range(20))
            values = np.concatenate([*parts])
            jobs = {
                (x, size, way): pool.submit(cover_relations, values[:, k], size, runs, bound)
                for k, x in enumerate(QUANTITIES)
                for size in SIZES
                for way, bound in WAYS.items()
            }
            rows += [
                _row(process, x, f"{size} relations", way, job.result())
                for (x, size, way), job in jobs.items()
            ]
    write(rows, runs)
    print(f"{time.perf_counter() - start:.0f} seconds")


def _row(process: Process, quantity: str, sample: str, way: str, found: np.ndarray) -> list[str]:
    shown = [f"{100 * found[NAMES.index(name)]:.1f}" for name in SHOWN]
    return [process.title, quantity, sample, way, *shown]


def write(rows: Sequence[Sequence[str]], runs: int) -> None:
    """Print the table and write it to bench/split.md."""
    head = ["process", "of", "sample", "interval", *(x.replace("_", " ") for x in SHOWN)]
    lines = [
        "# Coverage of the split of the inconsistency",
        "",
        f"`python -m bench split`: coverage in percent of 95% intervals, {runs:,} samples a row; "
        f"standard error {_error(runs)}. Four languages, 3 to 7 templates, 10 to 40 facts, 5 to 12 "
        "candidates. Answers are the highest of latent scores with heavy tails, not the random "
        "effects that the estimates assume. `ours`: symmetric bootstrap-t, of fewer than five "
        "relations Student's t; `Student's t`: with the jackknife's standard error.",
        "",
        *(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)),
    ]
    print("\n".join(lines))
    Path(__file__).with_suffix(".md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _error(runs: int) -> str:
    return f"{100 * np.sqrt(0.95 * 0.05 / runs):.1f}"
