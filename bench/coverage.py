"""Measure the coverage of 95 % intervals in 2,000 simulated samples for each design.

    python -m bench coverage [RUNS]        writes bench/coverage.md

A design defines the distribution of facts, the figure, and the resampled unit. The true value is
computed exactly, or estimated from a sample of 2,000,000 facts. The standard error of a coverage of
95 % over 2,000 runs is 0.5 points.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from polyprobe.metrics.answer_agreement.answer_agreement import find_kappa
from polyprobe.metrics.joint.significance import TESTS, compare_figures
from polyprobe.metrics.rankc.rankc import find_rankc, rankc_pairs
from polyprobe.metrics.shared.intervals import estimate_figure, find_coverlap, summarize

RUNS = 2000
LARGE = 2_000_000


class Design(NamedTuple):
    """A row of the table: its name, its true value, and a function that samples an interval."""

    name: str
    truth: float
    draw: Callable[[np.random.Generator], list[float] | None]


def bernoulli(n: int, p: float) -> Design:
    """Accuracy of n independent facts."""

    def draw(random: np.random.Generator) -> list[float]:
        return summarize({"x": random.random(n) < p})["x_ci"]

    return Design(f"accuracy, {n} facts, p = {p}", p, draw)


def skewed(n: int) -> Design:
    """Mean of values concentrated at one end, like RankC of a query."""

    def draw(random: np.random.Generator) -> list[float]:
        return summarize({"x": random.beta(0.5, 2, size=n)})["x_ci"]

    return Design(f"mean of skewed values, {n} facts", 0.5 / 2.5, draw)


def macro(relations: int) -> Design:
    """Mean over relations of 5 to 60 facts, each with its own share of correct ones."""
    fixed = np.random.default_rng(1)
    sizes, shares = fixed.integers(5, 61, relations), fixed.beta(2, 3, relations)
    groups = np.repeat(np.arange(relations), sizes)

    def draw(random: np.random.Generator) -> list[float]:
        right = random.random(len(groups)) < shares[groups]
        return summarize({"x": right}, groups=groups)["x_ci"]

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
        return summarize({"x": right}, groups=groups)["x_ci"]

    name = f"macro accuracy, {relations} relations, half of them of one fact"
    return Design(name, float(shares.mean()), draw)


def clustered(clusters: int, by_cluster: bool = True) -> Design:
    """Accuracy of facts in clusters: 1 to 8 facts of a subject with a common share correct."""

    def draw(random: np.random.Generator) -> list[float]:
        subjects = np.repeat(np.arange(clusters), random.integers(1, 9, clusters))
        right = random.random(len(subjects)) < random.beta(0.8, 1.2, clusters)[subjects]
        return summarize({"x": right}, clusters=subjects if by_cluster else None)["x_ci"]

    how = "drawn by cluster" if by_cluster else "drawn by fact: too narrow"
    return Design(f"accuracy, {clusters} clusters of 1 to 8, {how}", 0.4, draw)


def uneven(clusters: int) -> Design:
    """Accuracy of facts in clusters of very different sizes (geometric, 10 on average)."""

    def draw(random: np.random.Generator) -> list[float]:
        subjects = np.repeat(np.arange(clusters), random.geometric(0.1, clusters))
        right = random.random(len(subjects)) < random.beta(0.8, 1.2, clusters)[subjects]
        return summarize({"x": right}, clusters=subjects)["x_ci"]

    return Design(f"accuracy, {clusters} clusters of very different sizes", 0.4, draw)


def rare(clusters: int) -> Design:
    """Accuracy if most clusters have no correct fact and a few have many."""

    def draw(random: np.random.Generator) -> list[float]:
        subjects = np.repeat(np.arange(clusters), 10)
        right = random.random(len(subjects)) < random.beta(0.2, 1.8, clusters)[subjects]
        return summarize({"x": right}, clusters=subjects)["x_ci"]

    return Design(f"accuracy, {clusters} clusters of 10, most of them 0, p = 0.1", 0.1, draw)


def clustered_macro(relations: int) -> Design:
    """Macro accuracy with relations as clusters."""

    def draw(random: np.random.Generator) -> list[float]:
        groups = np.repeat(np.arange(relations), random.integers(5, 61, relations))
        right = random.random(len(groups)) < random.beta(2, 3, relations)[groups]
        return summarize({"x": right}, groups=groups, clusters=groups)["x_ci"]

    return Design(f"macro accuracy, {relations} relations drawn whole", 0.4, draw)


def rank(random: np.random.Generator, n: int, noise: float = 1.0) -> dict[str, np.ndarray]:
    """Return scores of 8 candidates in three languages with partly common knowledge."""
    common = random.normal(size=(n, 8))
    common[:, 0] += 1
    return {x: common + noise * random.normal(size=(n, 8)) for x in ("en", "fr", "ru")}


def mark_first(scores: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return whether candidate 0 ranks first, for each fact and language."""
    return {x: (values.argmax(axis=1) == 0).astype(float) for x, values in scores.items()}


def of_rankings(name: str, n: int) -> Design:
    """A figure of the rankings in three languages: of one pair, or the mean of the pairs."""

    def measure(scores: dict[str, np.ndarray], n_resamples: int) -> dict:
        figure = {
            "RankC en-fr": lambda: find_rankc(list(scores), rankc_pairs(scores)),
            "mean RankC": lambda: find_rankc(list(scores), rankc_pairs(scores)),
            "mean COverlap": lambda: find_coverlap(mark_first(scores)),
            "kappa": lambda: find_kappa(scores),
        }[name]()
        return estimate_figure(figure, n_resamples=n_resamples)

    key = {"RankC en-fr": "en-fr", "kappa": "kappa"}.get(name, "mean")
    parts = [measure(rank(np.random.default_rng(k), LARGE // 20), 0)[key] for k in range(100, 120)]

    def draw(random: np.random.Generator) -> list[float]:
        return measure(rank(random, n), 1000)[f"{key}_ci"]

    return Design(f"{name}, {n} facts, 3 languages", float(np.mean(parts)), draw)


def difference(n: int, test: str) -> Design:
    """Two models that differ only by noise: how often is p < .05, and 0 outside the interval?"""

    def draw(random: np.random.Generator) -> float:
        both = [rank(random, n), rank(random, n)]
        names = list(both[0])
        figures = [find_rankc(names, rankc_pairs(scores)) for scores in both]
        return compare_figures(*figures, test=test, n_resamples=1000)[-1].p

    return Design(f"{test}, mean RankC, {n} facts", 0.05, draw)


DESIGNS = (
    lambda: bernoulli(100, 0.4),
    lambda: bernoulli(1000, 0.05),
    lambda: skewed(50),
    lambda: skewed(500),
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


def cover(design: Design, runs: int) -> tuple[float, float]:
    """Return the share of intervals that contain the true value, and their mean width."""
    held, width = 0, 0.0
    for seed in range(runs):
        low, high = design.draw(np.random.default_rng(seed))
        held += low <= design.truth <= high
        width += high - low
    return held / runs, width / runs


def main(argv: Sequence[str] = ()) -> None:
    """Write the table."""
    runs = int(argv[0]) if argv else RUNS
    lines = [
        "# Coverage of the 95 % intervals",
        "",
        f"`python -m bench coverage`: {runs:,} samples per row, 1,000 resamples per sample.",
        "",
        "| figure and sample | truth | coverage | mean width |",
        "| --- | --- | --- | --- |",
    ]
    for make in DESIGNS:
        start = time.time()
        design = make()
        share, width = cover(design, runs)
        lines.append(f"| {design.name} | {design.truth:.4f} | {share:.1%} | {width:.3f} |")
        print(lines[-1], f"{time.time() - start:.0f} s", flush=True)
    lines += [
        "",
        "False positives: share of samples in which a test finds a difference between two equal "
        "models on the same facts.",
        "",
    ]
    lines += ["| test | p < .05 |", "| --- | --- |"]
    for test in TESTS:
        design = difference(200, test)
        false = np.mean([design.draw(np.random.default_rng(s)) < 0.05 for s in range(runs)])
        lines.append(f"| {design.name} | {false:.1%} |")
        print(lines[-1], flush=True)
    Path(__file__).with_suffix(".md").write_text("\n".join(lines) + "\n", encoding="utf-8")
