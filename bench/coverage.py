"""Measure the coverage of 95% intervals in 500 to 2,000 simulated samples for each design.

    python -m bench coverage [RUNS [BMLAMA]]        writes bench/coverage.md

A design defines the distribution of facts, the figure, and the resampled unit. The true value is
computed exactly, or estimated from a sample of 2,000,000 facts (20,000 subjects of the answer model
of responses.py). The standard error of a coverage of 95% over 2,000 runs is 0.5 points. BMLAMA is
the folder of a built dataset, for the tests on its relations.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from polyprobe.analysis.figures.facts import ScoredFacts, SecondQuestions
from polyprobe.analysis.figures.figures import BY_NAME
from polyprobe.analysis.figures.units import link_donors, read_clusters
from polyprobe.metrics.answer_agreement.formulas import find_kappa
from polyprobe.metrics.coverlap.formulas import find_coverlap
from polyprobe.metrics.joint.significance import TESTS, compare_figures
from polyprobe.metrics.rankc.formulas import find_rankc, rankc_pairs
from polyprobe.metrics.shared.intervals import (
    Figure,
    Ratio,
    estimate_figure,
    share,
    summarize,
)

from .responses import FIRST, SECOND, draw_facts, mark_first, measure, pair_questions, respond
from .signs import ADVANTAGE, SHARE, reject_signs

RUNS = 2000
LARGE = 2_000_000
N_RESAMPLES = 1000
estimate = partial(summarize, n_resamples=N_RESAMPLES)
OF_SECOND = {BY_NAME[name].title: BY_NAME[name].sums for name in SECOND}


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


def rank(random: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    """Return scores of 8 candidates in three languages with partly common knowledge."""
    common = random.normal(size=(n, 8))
    common[:, 0] += 1
    return translate(random, common)


def rank_twice(random: np.random.Generator, n: int) -> SecondQuestions:
    """Return the rankings of `rank`, and those for donors: no candidate has an advantage."""
    common = random.normal(size=(n, 8))
    donor = translate(random, common)
    common[:, 0] += 1
    return pair_questions(translate(random, common), donor)


def translate(random: np.random.Generator, common: np.ndarray) -> dict[str, np.ndarray]:
    """Return common scores with the noise of each of three languages."""
    return {x: common + random.normal(size=common.shape) for x in ("en", "fr", "ru")}


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


def of_rankings(name: str, key: str, n: int) -> Design:
    """A figure of the rankings in three languages, its value for one pair or the mean."""
    kernel: Callable[[Any], Figure] = {
        "RankC": lambda scores: find_rankc([*scores], rankc_pairs(scores)),
        "COverlap": lambda scores: find_coverlap(mark_first(scores)),
        "kappa": find_kappa,
        **OF_SECOND,
    }[name]
    sample: Callable[..., Any] = rank_twice if name in OF_SECOND else rank

    def find(random: np.random.Generator, n: int, n_resamples: int) -> dict:
        return estimate_figure(kernel(sample(random, n)), n_resamples=n_resamples)

    n_facts = LARGE // (100 if name in OF_SECOND else 20)
    parts = [find(np.random.default_rng(k), n_facts, 0)[key] for k in range(100, 120)]

    def draw(random: np.random.Generator) -> list[float]:
        return find(random, n, N_RESAMPLES)[f"{key}_ci"]

    title = {"mean": f"mean {name}", "kappa": name}.get(key, f"{name} {key}")
    return Design(f"{title}, {n} facts, 3 languages", float(np.mean(parts)), draw)


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
    lambda: of_rankings("RankC", "en-fr", 100),
    lambda: of_rankings("RankC", "mean", 300),
    lambda: of_rankings("COverlap", "mean", 300),
    lambda: of_rankings("kappa", "kappa", 300),
)
OF_SUBJECTS = (
    lambda: of_rankings("centred RankC", "en-fr", 100),
    lambda: of_rankings("centred RankC", "mean", 300),
    lambda: of_rankings("centred RankC, beyond independence", "mean", 300),
    lambda: of_rankings("RankC, R - 2P + Q", "mean", 300),
    lambda: of_rankings("accuracy gain", "mean", 300),
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
    several: bool = True  # facts of a subject
    by_unit: bool = True


DRAWS = (
    Draw("100 subjects, by unit", 100),
    Draw("100 subjects, by fact: too narrow", 100, by_unit=False),
    Draw("100 independent facts", 100, several=False),
    Draw("50 subjects, by unit", 50),
)
MEASURED = [
    f"{BY_NAME[name].title} {place}"
    for name in (*FIRST, *SECOND)
    for place in ("en" if name.startswith("accuracy") else "en-fr", "mean")
]


def read_units(facts: ScoredFacts, by_unit: bool = True) -> list[tuple[tuple[str, ...], Any]]:
    """List the figures of first and of second questions, each with its units."""
    units = (read_clusters(facts.table, "subject"), link_donors(facts.table, "subject"))
    parts = zip((FIRST, SECOND), units, strict=True)
    return [(names, clusters if by_unit else None) for names, clusters in parts]


def cover_responses(runs: int) -> list[str]:
    """Return the table of coverages of all figures under the answer model."""
    truth: dict[str, float] = {}
    parts = []
    for seed in range(20):
        random = np.random.default_rng([1, seed])
        parts += respond(random, draw_facts(random, 1000))
    for names in (FIRST, SECOND):
        figures = [measure(facts, names) for facts in parts]
        sums = np.sum([figure.table.sum(axis=0) for figure in figures], axis=0)
        truth |= zip(figures[0].names, figures[0].statistic(sums).tolist(), strict=True)
    columns = [cover_draw(draw, truth, runs) for draw in DRAWS]
    lines = [
        f"| figure | truth | {' | '.join(draw.name for draw in DRAWS)} | mean widths |",
        "| --- " * (3 + len(DRAWS)) + "|",
    ]
    for name in MEASURED:
        shares = " | ".join(f"{column[name][0]:.1%}" for column in columns)
        wide = ", ".join(f"{column[name][1]:.3f}" for column in columns)
        lines.append(f"| {name} | {truth[name]:.4f} | {shares} | {wide} |")
    return lines


def cover_draw(draw: Draw, truth: Mapping[str, float], runs: int) -> dict[str, tuple[float, float]]:
    """Return the coverage and mean width of every figure, over the samples that define it."""
    start = time.time()
    bounds: dict[str, list[list[float]]] = {name: [] for name in MEASURED}
    for seed in range(runs):
        random = np.random.default_rng(seed)
        [facts] = respond(random, draw_facts(random, draw.subjects, draw.several))
        for names, clusters in read_units(facts, draw.by_unit):
            options: dict[str, Any] = {"n_resamples": N_RESAMPLES, "clusters": clusters}
            results = estimate_figure(measure(facts, names), **options)
            for name in bounds.keys() & results.keys():
                bounds[name] += [x for x in [results[f"{name}_ci"]] if x]
    columns = {}
    for name, values in bounds.items():
        low, high = np.array(values).T
        held = (low <= truth[name]) & (truth[name] <= high)
        columns[name] = float(held.mean()), float((high - low).mean())
        if len(values) < runs:
            print(f"{draw.name}, {name}: defined in {len(values)} of {runs}", flush=True)
    print(draw.name, columns, f"{time.time() - start:.0f} s", flush=True)
    return columns


def reject_responses(runs: int) -> list[str]:
    """Return the table of false positives: two models that differ by chance alone."""
    names = [name for name in MEASURED if name.endswith("mean")]
    kinds: dict[str, tuple[str, bool]] = {
        "randomisation, by unit": ("randomisation", True),
        "bootstrap, by unit": ("bootstrap", True),
        "randomisation, by fact: too liberal": ("randomisation", False),
    }
    false = {kind: dict.fromkeys(names, 0) for kind in kinds}
    start = time.time()
    for seed in range(runs):
        random = np.random.default_rng(seed)
        models = respond(random, draw_facts(random, 100), models=2)
        for kind, (test, by_unit) in kinds.items():
            for part, clusters in read_units(models[0], by_unit):
                figures = [measure(facts, part) for facts in models]
                options: dict[str, Any] = {"n_resamples": N_RESAMPLES, "clusters": clusters}
                for row in compare_figures(*figures, test=test, **options):
                    if row.name in false[kind] and row.p is not None:
                        false[kind][row.name] += row.p < 0.05
    print(false, f"{time.time() - start:.0f} s", flush=True)
    return tabulate_shares(false, names, runs)


def tabulate_shares(
    counts: Mapping[str, Mapping[str, int]], names: Iterable[str], runs: int
) -> list[str]:
    """Return a table of the shares of samples: a row for each name, a column for each kind."""
    lines = [f"| 100 subjects | {' | '.join(counts)} |", "| --- " * (1 + len(counts)) + "|"]
    for name in names:
        shares = " | ".join(f"{by_name[name] / runs:.1%}" for by_name in counts.values())
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
    ("", lambda runs: [*tabulate(DESIGNS, runs), *tabulate(OF_SUBJECTS, runs // 2)[2:]]),
    ("Shares near 0 and 1:", lambda runs: tabulate(EXTREMES, runs)),
    (
        "An item-response model with ties (bench/responses.py): 4 languages, subjects in 1 to 3 "
        "relations, in two of which 60 % have the same answer, pools of 5 or 10 candidates. Units "
        "are subjects, and for centred RankC, its parts and the gain subjects that donors link.",
        lambda runs: cover_responses(runs // 4),
    ),
    (
        "False positives: share of samples in which a test finds a difference (p < .05) between "
        "two equal models on the same facts. Of the item-response model:",
        lambda runs: reject_responses(runs // 4),
    ),
    ("On independent facts:", reject_rankings),
)
SIGNS = f"""\
The sign-flip test of R - 2P + Q and of what is beyond independence, two languages, on real rows
with the donors that eval deals (bench/signs.py): share of samples with p < .05. Both languages rank
by one order with noise for each subject; one that knows scores the answer {ADVANTAGE:.0f} standard
deviations of the order higher. Power: both know the same {SHARE:.0%} of the facts."""


def run_part(part: int, runs: int, bmlama: str | None) -> list[str]:
    """Return the lines of one of `PARTS`, or behind them of the sign-flip test."""
    if part == len(PARTS):
        return [SIGNS, "", *reject_signs(runs // 2, N_RESAMPLES, bmlama), ""]
    heading, tabulated = PARTS[part]
    return [*([heading, ""] if heading else []), *tabulated(runs), ""]


def main(argv: Sequence[str] = ()) -> None:
    """Write the tables, from two processes."""
    runs, bmlama = int(argv[0]) if argv else RUNS, next(iter(argv[1:]), None)
    with ProcessPoolExecutor(2) as processes:
        futures = [processes.submit(run_part, k, runs, bmlama) for k in range(len(PARTS) + 1)]
    lines = [
        "# Coverage of the 95% intervals",
        "",
        f"`python -m bench coverage {runs} BMLAMA`: {runs:,} samples per row ({runs // 2:,} of "
        f"centred RankC, its parts, the gain and the sign-flip test, {runs // 4:,} of the "
        f"item-response model), {N_RESAMPLES:,} resamples per sample. Standard error of a coverage "
        f"of 95%: {np.sqrt(0.95 * 0.05 / runs):.1%} ({np.sqrt(0.95 * 0.05 / runs * 2):.1%}, "
        f"{np.sqrt(0.95 * 0.05 / runs * 4):.1%}).",
        "",
        *(line for future in futures for line in future.result()),
    ]
    Path(__file__).with_suffix(".md").write_text("\n".join(lines), encoding="utf-8")
