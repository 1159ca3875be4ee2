"""Measure the coverage of 95 % intervals in 2,000 simulated samples for each design.

    python -m bench coverage [RUNS]        writes bench/coverage.md

A design defines the distribution of facts, the figure, and the resampled unit. The true value is
computed exactly, or estimated from a sample of 2,000,000 facts (400,000 of the answer model of
responses.py). The standard error of a coverage of 95 % over 2,000 runs is 0.5 points.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from polyprobe.metrics.answer_agreement.answer_agreement import find_kappa
from polyprobe.metrics.joint.significance import TESTS, compare_figures
from polyprobe.metrics.rankc.rankc import find_rankc, rankc_pairs
from polyprobe.metrics.shared.intervals import (
    Ratio,
    estimate_figure,
    find_coverlap,
    share,
    summarize,
)

from .responses import draw_subjects, mark_first, measure, respond

RUNS = 2000
LARGE = 2_000_000
N_RESAMPLES = 1000
estimate = partial(summarize, n_resamples=N_RESAMPLES)


class Design(NamedTuple):
    """A row of the table: its name, its true value, and a function that samples an interval."""

    name: str
    truth: float
    draw: Callable[[np.random.Generator], list[float] | None]


def bernoulli(n: int, p: float) -> Design:
    """Accuracy of n independent facts."""

    def draw(random: np.random.Generator) -> list[float]:
        return estimate({"x": share(random.random(n) < p)})["x_ci"]

    return Design(f"accuracy, {n} facts, p = {p}", p, draw)


def skewed(n: int, as_share: bool = False) -> Design:
    """Mean of values concentrated at one end, like RankC of a query."""

    def draw(random: np.random.Generator) -> list[float]:
        values = random.beta(0.5, 2, size=n)
        return estimate({"x": share(values) if as_share else values})["x_ci"]

    kind = "share" if as_share else "mean"
    return Design(f"{kind} of skewed values, {n} facts", 0.5 / 2.5, draw)


def macro(relations: int) -> Design:
    """Mean over relations of 5 to 60 facts, each with its own share of correct ones."""
    fixed = np.random.default_rng(1)
    sizes, shares = fixed.integers(5, 61, relations), fixed.beta(2, 3, relations)
    groups = np.repeat(np.arange(relations), sizes)

    def draw(random: np.random.Generator) -> list[float]:
        right = random.random(len(groups)) < shares[groups]
        return estimate({"x": share(right)}, groups=groups)["x_ci"]

    return Design(f"macro accuracy, {relations} relations of 5 to 60", float(shares.mean()), draw)


def sparse(relations: int) -> Design:
    """Macro accuracy of a small sample: half of the relations have a single fact."""
    fixed = np.random.default_rng(1)
    half = relations // 2
    sizes = np.concatenate([np.ones(half, int), fixed.integers(2, 20, relations - half)])
    shares = fixed.beta(2, 3, relations)
    groups = np.repeat(np.arange(relations), sizes)

    def draw(random: np.random.Generator) -> list[float]:
        right = random.random(len(groups)) < shares[groups]
        return estimate({"x": share(right)}, groups=groups)["x_ci"]

    name = f"macro accuracy, {relations} relations, half of them of one fact"
    return Design(name, float(shares.mean()), draw)


def clustered(clusters: int, by_cluster: bool = True) -> Design:
    """Accuracy of facts in clusters: 1 to 8 facts of a subject with a common share correct."""

    def draw(random: np.random.Generator) -> list[float]:
        subjects = np.repeat(np.arange(clusters), random.integers(1, 9, clusters))
        right = random.random(len(subjects)) < random.beta(0.8, 1.2, clusters)[subjects]
        return estimate({"x": share(right)}, clusters=subjects if by_cluster else None)["x_ci"]

    how = "drawn by cluster" if by_cluster else "drawn by fact: too narrow"
    return Design(f"accuracy, {clusters} clusters of 1 to 8, {how}", 0.4, draw)


def uneven(clusters: int) -> Design:
    """Accuracy of facts in clusters of very different sizes (geometric, 10 on average)."""

    def draw(random: np.random.Generator) -> list[float]:
        subjects = np.repeat(np.arange(clusters), random.geometric(0.1, clusters))
        right = random.random(len(subjects)) < random.beta(0.8, 1.2, clusters)[subjects]
        return estimate({"x": share(right)}, clusters=subjects)["x_ci"]

    return Design(f"accuracy, {clusters} clusters of very different sizes", 0.4, draw)


def rare(clusters: int) -> Design:
    """Accuracy if most clusters have no correct fact and a few have many."""

    def draw(random: np.random.Generator) -> list[float]:
        subjects = np.repeat(np.arange(clusters), 10)
        right = random.random(len(subjects)) < random.beta(0.2, 1.8, clusters)[subjects]
        return estimate({"x": share(right)}, clusters=subjects)["x_ci"]

    return Design(f"accuracy, {clusters} clusters of 10, most of them 0, p = 0.1", 0.1, draw)


def clustered_macro(relations: int) -> Design:
    """Macro accuracy with relations as clusters."""

    def draw(random: np.random.Generator) -> list[float]:
        groups = np.repeat(np.arange(relations), random.integers(5, 61, relations))
        right = random.random(len(groups)) < random.beta(2, 3, relations)[groups]
        return estimate({"x": share(right)}, groups=groups, clusters=groups)["x_ci"]

    return Design(f"macro accuracy, {relations} relations drawn whole", 0.4, draw)


def rank(random: np.random.Generator, n: int, noise: float = 1.0) -> dict[str, np.ndarray]:
    """Return scores of 8 candidates in three languages with partly common knowledge."""
    common = random.normal(size=(n, 8))
    common[:, 0] += 1
    return {x: common + noise * random.normal(size=(n, 8)) for x in ("en", "fr", "ru")}


def overlapping(n: int, p: float, either: float) -> Design:
    """COverlap of n facts: a share `either` is right in either language, p of these in both."""

    def draw(random: np.random.Generator) -> list[float] | None:
        counted = random.random(n) < either
        both = counted & (random.random(n) < p)
        return estimate({"x": Ratio(both, counted, share=True)})["x_ci"]

    return Design(f"COverlap, {n} facts, {either:.0%} right in either, p = {p}", p, draw)


def extreme(clusters: int, p: float, alike: float) -> Design:
    """Accuracy of few or almost all facts, 1 to 8 of a subject with a share Beta(alike p, …)."""

    def draw(random: np.random.Generator) -> list[float]:
        subjects = np.repeat(np.arange(clusters), random.integers(1, 9, clusters))
        shares = random.beta(alike * p, alike * (1 - p), clusters)
        right = random.random(len(subjects)) < shares[subjects]
        return estimate({"x": share(right)}, clusters=subjects)["x_ci"]

    within = 1 / (1 + alike)
    return Design(
        f"accuracy, {clusters} clusters of 1 to 8, p = {p}, correlation {within:.2f}", p, draw
    )


def of_rankings(name: str, n: int) -> Design:
    """A figure of the rankings in three languages: of one pair, or the mean of the pairs."""

    def find(scores: dict[str, np.ndarray], n_resamples: int) -> dict:
        figure = {
            "RankC en-fr": lambda: find_rankc(list(scores), rankc_pairs(scores)),
            "mean RankC": lambda: find_rankc(list(scores), rankc_pairs(scores)),
            "mean COverlap": lambda: find_coverlap(mark_first(scores)),
            "kappa": lambda: find_kappa(scores),
        }[name]()
        return estimate_figure(figure, n_resamples=n_resamples)

    key = {"RankC en-fr": "en-fr", "kappa": "kappa"}.get(name, "mean")
    parts = [find(rank(np.random.default_rng(k), LARGE // 20), 0)[key] for k in range(100, 120)]

    def draw(random: np.random.Generator) -> list[float]:
        return find(rank(random, n), N_RESAMPLES)[f"{key}_ci"]

    return Design(f"{name}, {n} facts, 3 languages", float(np.mean(parts)), draw)


DESIGNS = (
    lambda: bernoulli(100, 0.4),
    lambda: bernoulli(1000, 0.05),
    lambda: skewed(50),
    lambda: skewed(500),
    lambda: skewed(50, as_share=True),
    lambda: macro(8),
    lambda: macro(40),
    lambda: sparse(36),
    lambda: clustered(40),
    lambda: clustered(200),
    lambda: uneven(40),
    lambda: rare(40),
    lambda: clustered(200, by_cluster=False),
    lambda: clustered_macro(41),
    lambda: of_rankings("RankC en-fr", 100),
    lambda: of_rankings("mean RankC", 300),
    lambda: of_rankings("mean COverlap", 300),
    lambda: of_rankings("kappa", 300),
)


EXTREMES = (
    lambda: bernoulli(40, 0.98),
    lambda: bernoulli(100, 0.99),
    lambda: bernoulli(450, 0.998),
    lambda: bernoulli(40, 0.05),
    lambda: bernoulli(100, 0.02),
    lambda: overlapping(200, 0.05, 0.3),
    lambda: overlapping(100, 0.11, 0.3),
    lambda: extreme(100, 0.98, 4.0),
    lambda: extreme(60, 0.95, 4.0),
    lambda: extreme(40, 0.05, 4.0),
)


def cover(design: Design, runs: int) -> tuple[float, float]:
    """Return the share of intervals that contain the true value, and their mean width.

    A sample without a value, such as a COverlap without a correct answer, is drawn again.
    """
    held, width = 0, 0.0
    for seed in range(runs):
        random, bounds = np.random.default_rng(seed), None
        while bounds is None:
            bounds = design.draw(random)
        low, high = bounds
        held += low <= design.truth <= high
        width += high - low
    return held / runs, width / runs


def tabulate(designs: Sequence[Callable[[], Design]], runs: int) -> list[str]:
    """Return the table of coverages of designs."""
    lines = ["| figure and sample | truth | coverage | mean width |", "| --- | --- | --- | --- |"]
    for make in designs:
        start = time.time()
        design = make()
        found, width = cover(design, runs)
        lines.append(f"| {design.name} | {design.truth:.4f} | {found:.1%} | {width:.3f} |")
        print(lines[-1], f"{time.time() - start:.0f} s", flush=True)
    return lines


class Draw(NamedTuple):
    """A column of the table of responses.py: its heading, its sample, and the resampled unit."""

    name: str
    subjects: int
    most: int = 5
    by_subject: bool = True


DRAWS = (
    Draw("100 subjects, by subject", 100),
    Draw("100 subjects, by fact: too narrow", 100, by_subject=False),
    Draw("60 independent facts", 60, most=1),
    Draw("25 subjects, by subject", 25),
)
MEASURED = (
    "accuracy en", "accuracy mean", "RankC en-fr", "RankC mean", "adjusted RankC en-fr",
    "adjusted RankC mean", "COverlap en-fr", "COverlap mean", "agreement mean",
)  # fmt: skip


def cover_responses(runs: int) -> list[str]:
    """Return the table of coverages of all figures under the answer model."""
    parts = []
    for seed in range(10):
        random = np.random.default_rng([1, seed])
        figure = measure(*respond(random, draw_subjects(random, LARGE // 150)))
        parts.append(estimate_figure(figure, n_resamples=0))
    truth = {name: np.mean([part[name] for part in parts]) for name in MEASURED}
    columns = []
    for draw in DRAWS:
        start, held = time.time(), dict.fromkeys(MEASURED, 0)
        for seed in range(runs):
            random = np.random.default_rng(seed)
            subjects = draw_subjects(random, draw.subjects, draw.most)
            clusters = subjects if draw.by_subject else None
            figure = measure(*respond(random, subjects))
            found = estimate_figure(figure, n_resamples=N_RESAMPLES, clusters=clusters)
            for name in MEASURED:
                low, high = found[f"{name}_ci"]
                held[name] += low <= truth[name] <= high
        columns.append(held)
        print(draw.name, held, f"{time.time() - start:.0f} s", flush=True)
    lines = [
        f"| figure | truth | {' | '.join(draw.name for draw in DRAWS)} |",
        "| --- " * (2 + len(DRAWS)) + "|",
    ]
    for name in MEASURED:
        shares = " | ".join(f"{held[name] / runs:.1%}" for held in columns)
        lines.append(f"| {name} | {truth[name]:.4f} | {shares} |")
    return lines


def reject_responses(runs: int) -> list[str]:
    """Return the table of false positives: two models that differ by chance alone."""
    names = [name for name in MEASURED if name.endswith("mean")]
    kinds: dict[str, tuple[str, bool]] = {
        "randomisation, by subject": ("randomisation", True),
        "bootstrap, by subject": ("bootstrap", True),
        "randomisation, by fact: too liberal": ("randomisation", False),
    }
    false = {kind: dict.fromkeys(names, 0) for kind in kinds}
    start = time.time()
    for seed in range(runs):
        random = np.random.default_rng(seed)
        subjects = draw_subjects(random, 60)
        *models, sizes = respond(random, subjects, models=2)
        figures = [measure(scores, sizes) for scores in models]
        for kind, (test, by_subject) in kinds.items():
            options: dict[str, Any] = {"clusters": subjects.tolist() if by_subject else None}
            rows = compare_figures(*figures, test=test, n_resamples=N_RESAMPLES, **options)
            p = {row.name: row.p for row in rows}
            for name in names:
                false[kind][name] += p[name] < 0.05
    print(false, f"{time.time() - start:.0f} s", flush=True)
    lines = [f"| 60 subjects | {' | '.join(kinds)} |", "| --- " * (1 + len(kinds)) + "|"]
    for name in names:
        shares = " | ".join(f"{false[kind][name] / runs:.1%}" for kind in kinds)
        lines.append(f"| {name} | {shares} |")
    return lines


def reject_rankings(runs: int) -> list[str]:
    """Return the table of false positives of mean RankC on independent facts."""
    lines, n = ["| test | p < .05 |", "| --- | --- |"], 200
    for test in TESTS:
        false = 0
        for seed in range(runs):
            random = np.random.default_rng(seed)
            both = [rank(random, n), rank(random, n)]
            figures = [find_rankc(list(scores), rankc_pairs(scores)) for scores in both]
            rows = compare_figures(*figures, test=test, n_resamples=N_RESAMPLES)
            false += rows[-1].p < 0.05
        lines.append(f"| {test}, mean RankC, {n} facts, 3 languages | {false / runs:.1%} |")
        print(lines[-1], flush=True)
    return lines


PARTS: tuple[tuple[str, Callable[[int], list[str]]], ...] = (
    ("", lambda runs: tabulate(DESIGNS, runs)),
    ("Shares near 0 and 1:", lambda runs: tabulate(EXTREMES, runs)),
    (
        "An item-response model with ties (bench/responses.py): 4 languages, subjects of 1 to 5 "
        "facts, pools of 3 to 10 candidates.",
        cover_responses,
    ),
    (
        "False positives: share of samples in which a test finds a difference (p < .05) between "
        "two equal models on the same facts. Of the item-response model:",
        reject_responses,
    ),
    ("On independent facts:", reject_rankings),
)


def run_part(part: int, runs: int) -> list[str]:
    """Return the lines of one of `PARTS`."""
    heading, tabulated = PARTS[part]
    return [*([heading, ""] if heading else []), *tabulated(runs), ""]


def main(argv: Sequence[str] = ()) -> None:
    """Write the tables, from two processes."""
    runs = int(argv[0]) if argv else RUNS
    with ProcessPoolExecutor(2) as processes:
        futures = [processes.submit(run_part, part, runs) for part in range(len(PARTS))]
    lines = [
        "# Coverage of the 95 % intervals",
        "",
        f"`python -m bench coverage`: {runs:,} samples per row, {N_RESAMPLES:,} resamples per "
        f"sample. Standard error of a coverage of 95 %: {np.sqrt(0.95 * 0.05 / runs):.1%}.",
        "",
        *(line for future in futures for line in future.result()),
    ]
    Path(__file__).with_suffix(".md").write_text("\n".join(lines), encoding="utf-8")
