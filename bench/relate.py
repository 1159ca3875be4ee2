"""Measure Mantel's test and the intervals of r in 2,000 simulated samples for each design.

    python -m bench relate [SAMPLES]        writes bench/relate.md

Null hypothesis: similarity and consistency of languages i and j are a_i + a_j + e_ij and b_i + b_j
+ f_ij, all independent and standard normal. The tables are unrelated, but pairs with a common
language share an effect. For partial correlations, a third table is added to both: another table
with effects of languages, or 1 for languages of the same of three scripts, else 0. Coverage: each
fact has a value for each pair: the pair's true value, from which the true r is computed, and noise
of the fact, of both languages and of the pair.
"""

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

from polyprobe.metrics.joint.relate import bound_correlations, correlate
from polyprobe.metrics.shared.intervals import Figure, estimate_figure, mean_of

SAMPLES, PERMUTATIONS, N_RESAMPLES = 2000, 999, 1000
SIZES = (8, 17, 53)
TESTS = ("p", "p_rho", "p_mantel", "p_mantel_rho")
DESIGNS = ((17, 1000, 0.1), (17, 300, 0.1), (17, 300, 0.05), (8, 300, 0.1))
TRUE_R = 0.7  # expected; that of a sample is computed


def share_parts(random: np.random.Generator, size: int) -> np.ndarray:
    """Return a_i + a_j + e_ij of all pairs."""
    one, other = np.triu_indices(size, 1)
    own = random.normal(size=size)
    return own[one] + own[other] + random.normal(size=len(one))


def share_scripts(random: np.random.Generator, size: int) -> np.ndarray:
    """Return 1 for pairs of the same of three scripts, else 0."""
    one, other = np.triu_indices(size, 1)
    script = random.integers(3, size=size)
    return (script[one] == script[other]).astype(float)


THIRDS = {
    "no third table": None,
    "a table with effects of languages": share_parts,
    "the same script": share_scripts,
}


def reject(size: int, third: str, samples: int) -> str:
    """Return a row: the share of samples in which each test finds a correlation (p ≤ .05)."""
    found = dict.fromkeys(TESTS, 0)
    for seed in range(samples):
        random = np.random.default_rng([size, seed])
        make = THIRDS[third]
        given = make(random, size) if make else None
        added = 0 if given is None else given
        one, other = (share_parts(random, size) + added for _ in range(2))
        [row] = correlate(one, other[None], given, PERMUTATIONS, seed)
        for name in TESTS:
            p = getattr(row, name)
            found[name] += p is not None and p <= 0.05
    shares = " | ".join(f"{found[name] / samples:.1%}" for name in TESTS)
    return f"| {size} | {third} | {shares} |"


def cover(design: tuple[int, int, float], samples: int) -> str:
    """Return a row: the share of intervals that contain r of the pairs without noise."""
    size, n, spread = design
    one, other = np.triu_indices(size, 1)
    held, drawn, small = 0, 0, 0.0
    for seed in range(samples):
        random = np.random.default_rng([n, size, seed])
        x = random.normal(size=len(one))
        own = TRUE_R * x + np.sqrt(1 - TRUE_R**2) * random.normal(size=len(one))
        noise = 0.15 * random.normal(size=(n, size))
        values = spread * own + 0.3 * random.normal(size=(n, 1)) + noise[:, one] + noise[:, other]
        values += 0.3 * random.normal(size=values.shape)
        figure = mean_of([str(i) for i in range(len(one))], values, np.ones(n))
        truth = float(np.corrcoef(x, own)[0, 1])
        options = {"n_resamples": N_RESAMPLES, "seed": seed}
        [bounds] = bound_correlations(figure, [(range(len(one)), x)], **options)
        plain = estimate_figure(follow(figure, x), **options)
        assert bounds
        held += bounds[0] <= truth <= bounds[1]
        drawn += plain["r_ci"][0] <= truth <= plain["r_ci"][1]
        small += (plain["r"] - truth) / samples
    shares = f"{held / samples:.1%} | {drawn / samples:.1%}"
    return f"| {size} | {n:,} | {spread} | {small:.3f} | {shares} |"


def follow(figure: Figure, x: np.ndarray) -> Figure:
    """Return r of a figure with x, as a figure whose interval is the percentile interval."""

    def statistic(sums: np.ndarray) -> np.ndarray:
        found = figure.statistic(sums)[..., :-1]
        found = found - found.mean(axis=-1, keepdims=True)
        norm = np.sqrt((found**2).sum(axis=-1) * ((x - x.mean()) ** 2).sum())
        return (found @ (x - x.mean()) / norm)[..., None]

    return Figure(["r"], figure.table, statistic)


def main(argv: Sequence[str] = ()) -> None:
    """Write the tables, from two processes."""
    samples = int(argv[0]) if argv else SAMPLES
    designs = [(size, third) for third in THIRDS for size in SIZES]
    with ProcessPoolExecutor(2) as processes:
        tests = [processes.submit(reject, *design, samples) for design in designs]
        covers = [*processes.map(partial(cover, samples=samples), DESIGNS)]
    lines = [
        "# Correlations of pairs of languages",
        "",
        f"`python -m bench relate`: {samples:,} samples for each row, {PERMUTATIONS} permutations, "
        f"{N_RESAMPLES:,} resamples. Standard error of 5% or 95%: "
        f"{np.sqrt(0.95 * 0.05 / samples):.1%}.",
        "",
        "Share of samples in which a test finds a correlation of two unrelated tables (p ≤ .05):",
        "",
        "| languages | given | Pearson's r | Spearman's ρ | Mantel, r | Mantel, ρ |",
        "| --- | --- | --- | --- | --- | --- |",
        *(test.result() for test in tests),
        "",
        "Coverage of the 95% interval of r over facts, and its bias:",
        "",
        "| languages | facts | sd of pairs | bias of r | coverage | of the percentile interval |",
        "| --- | --- | --- | --- | --- | --- |",
        *covers,
        "",
    ]
    Path(__file__).with_suffix(".md").write_text("\n".join(lines), encoding="utf-8")
