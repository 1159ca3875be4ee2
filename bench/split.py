"""Measure the coverage of the 95% intervals of language and template in the inconsistency.

    python -m bench split [RUNS]        writes bench/split.md

Each candidate has a latent score with heavy tails, about the subject and about the donor, whose
parts have other scales in each relation; the candidate with the highest score is the answer. True
values are those of 6,000 relations, from which samples are drawn.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from polyprobe.metrics.joint.split import (
    NAMES,
    Asked,
    bound_means,
    estimate_split,
    measure_split,
)

RUNS, RELATIONS, N_RESAMPLES = 500, 6_000, 1_000
LANGUAGES, SIZES = 4, (2, 3, 5, 8, 20, 37)
SHOWN = NAMES[:3]  # the interval of the share of templates is that of languages, mirrored
QUANTITIES = ("answer", "right")


class Process(NamedTuple):
    """A process that gives answers; `scales` are of the parts of a candidate's latent score.

    Attributes:
        title: in the table.
        scales: of fact, language, template, fact x language, residual.
        tails: degrees of freedom of Student's t of fact, fact x language and residual.
        of_effects: those of language and template; 1,000 is nearly normal.
        shape: of the gamma distribution of a relation's scales; small: relations differ much.
        knows: scale of the lead of the right answer.
    """

    title: str
    scales: Sequence[float]
    tails: float = 4
    of_effects: float = 1_000
    shape: float = 8
    knows: float = 1


PROCESSES = (
    Process("all parts", (1, 0.5, 0.5, 0.5, 0.5)),
    Process("templates only", (1, 0, 0.7, 0, 0.5)),
    Process("habits only", (0, 0.5, 0.5, 0, 0.5), knows=0),
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
    return Relation(process, scales, process.knows * random.gamma(4, 0.5), effects)


def ask(relation: Relation, facts: int, random: np.random.Generator) -> dict[str, Asked]:
    """Return the answers to facts; a tenth of the rows, not a fact's first two, is missing."""
    _, templates, candidates = relation.effects.shape
    truth = random.integers(candidates, size=facts)
    of_donor = (truth + random.integers(1, candidates, size=facts)) % candidates
    kept = random.random((facts, templates)) < 0.9
    kept[:, :2] = True
    fact, wording = np.nonzero(kept)
    outcomes: dict[str, list[list[np.ndarray]]] = {"answer": [], "right": []}
    for right in (truth, of_donor):
        scores = score(relation, right, random)
        scores[np.arange(facts), :, :, of_donor] = -np.inf  # left out of both
        best = scores.argmax(axis=-1)[fact, :, wording]
        correct = (best == truth[fact, None]).astype(int)
        outcomes["answer"].append([*np.eye(candidates)[best].swapaxes(0, 1)])
        outcomes["right"].append([*np.eye(2)[correct].swapaxes(0, 1)])
    return {x: Asked(about, donor, fact) for x, (about, donor) in outcomes.items()}


def score(relation: Relation, right: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return latent scores [facts, L, T, C] of subjects whose answer is `right`."""
    facts, (_, templates, candidates) = len(right), relation.effects.shape
    draw = partial(random.standard_t, relation.process.tails)
    known = relation.scales[0] * draw((facts, 1, 1, candidates))
    known[np.arange(facts), 0, 0, right] += relation.lead
    of_language = relation.scales[3] * draw((facts, LANGUAGES, 1, candidates))
    rest = relation.scales[4] * draw((facts, LANGUAGES, templates, candidates))
    scores: np.ndarray = known + relation.effects + of_language + rest
    return scores


def simulate(process: Process, count: int, seed: int) -> np.ndarray:
    """Return the means [relations, quantities, 4] of relations of 10 to 40 facts."""
    random = np.random.default_rng([PROCESSES.index(process), seed])
    found = []
    for _ in range(count):
        asked = ask(make_relation(process, random), int(random.integers(10, 41)), random)
        found.append([measure_split(*asked[x]) for x in QUANTITIES])
    return np.array(found)


def bound_by_jackknife(units: np.ndarray) -> np.ndarray:
    """Return intervals of Student's t with the standard error of the delete-one jackknife."""
    count = len(units)
    value, without = (estimate_split(x, units)[0] for x in (np.ones((1, count)), 1 - np.eye(count)))
    error = np.sqrt((count - 1) * without.var(axis=0))
    half = error * student.ppf(0.975, count - 1)
    return np.stack([value[0] - half, value[0] + half], axis=1)


WAYS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "ours": partial(bound_means, n_resamples=N_RESAMPLES, seed=0),
    "Student's t": bound_by_jackknife,
}


def cover_relations(
    pool: np.ndarray, size: int, runs: int, bound: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Return the coverage [6] of intervals from samples of relations of a pool [relations, 4]."""
    random, truth = np.random.default_rng(size), estimate_split(np.ones((1, len(pool))), pool)[0][0]
    inside = []
    for _ in range(runs):
        low, high = bound(pool[random.integers(len(pool), size=size)]).T
        inside.append(np.where(np.isnan(low + high), np.nan, (low <= truth) & (truth <= high)))
    return np.nanmean(inside, axis=0)


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
        "candidates. Answers are the highest of latent scores with heavy tails. `ours`: "
        "symmetric bootstrap-t, of fewer than five relations Student's t; `Student's t`: with the "
        "jackknife's standard error.",
        "",
        *(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)),
    ]
    print("\n".join(lines))
    Path(__file__).with_suffix(".md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _error(runs: int) -> str:
    return f"{100 * np.sqrt(0.95 * 0.05 / runs):.1f}"
