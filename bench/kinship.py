"""Measure tests of related languages, and intervals of correlations with accuracy.

    python -m bench kinship [SAMPLES]        writes bench/kinship.md

Related languages have similar effects in two unrelated tables, so that they are not exchangeable.
Accuracy comes from the facts that the figure of pairs comes from, and shares their noise.
"""

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
from scipy.special import ndtr

from polyprobe.metrics.joint.relate import bound_correlations, correlate
from polyprobe.metrics.shared.intervals import Figure, mean_of

SAMPLES, PERMUTATIONS, N_RESAMPLES = 1_000, 499, 500
DESIGNS = ((17, 5, 0.0), (17, 5, 0.5), (17, 5, 0.8), (53, 10, 0.5), (53, 10, 0.8))
COVERED = ((8, 300, 0.1), (8, 300, 0.3), (17, 300, 0.05), (17, 300, 0.1), (12, 450, 0.8))
SHARED = 0.3  # variance of a fact that all languages share


def reject(design: tuple[int, int, float], samples: int) -> str:
    """Return a row: the share of samples in which Mantel's test finds a correlation (p ≤ .05)."""
    size, families, share = design
    one, other = np.triu_indices(size, 1)
    found = np.zeros(2)
    for seed in range(samples):
        random = np.random.default_rng([size, seed])
        family = random.integers(families, size=size)
        tables = []
        for _ in range(2):
            own = np.sqrt(share) * random.normal(size=families)[family]
            own += np.sqrt(1 - share) * random.normal(size=size)
            tables.append(own[one] + own[other] + random.normal(size=len(one)))
        for place, blocks in enumerate((None, family)):
            [row] = correlate(tables[0], tables[1][None], None, PERMUTATIONS, seed, blocks)
            found[place] += row.p_mantel is not None and row.p_mantel <= 0.05
    shares = " | ".join(f"{x:.1%}" for x in found / samples)
    return f"| {size} | {families} | {share} | {shares} |"


def cover(design: tuple[int, int, float], samples: int) -> str:
    """Return a row: coverage of r with the smaller accuracy of the same facts, and its bias.

    A fact is right in a language if a normal variable, partly shared by all languages, is below the
    language's threshold. The figure of a pair depends on whether both are right.
    """
    size, n, spread = design
    one, other = np.triu_indices(size, 1)
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    weights = weights / weights.sum()
    held, bias = 0, 0.0
    for seed in range(samples):
        random = np.random.default_rng([n, size, seed])
        threshold, effects = spread * random.normal(size=size), 0.02 * random.normal(size=len(one))
        given = ndtr((threshold[:, None] - np.sqrt(SHARED) * nodes) / np.sqrt(1 - SHARED))
        both = ((given * weights) @ given.T)[one, other]
        accuracy = ndtr(threshold)
        true = (np.minimum(accuracy[one], accuracy[other]), 0.2 + 0.6 * both + effects)
        shared = np.sqrt(SHARED) * random.normal(size=(n, 1))
        right = shared + np.sqrt(1 - SHARED) * random.normal(size=(n, size)) < threshold
        values = 0.2 + 0.6 * (right[:, one] & right[:, other]) + effects
        figure = mean_of(
            [str(i) for i in range(len(one))],
            values + 0.1 * random.normal(size=values.shape),
            np.ones(n),
        )
        found = mean_of([str(i) for i in range(size)], right.astype(float), np.ones(n))
        smaller = Figure(figure.names[:-1], found.table, partial(_pair, found, one, other))
        truth = np.corrcoef(*true)[0, 1]
        [bounds] = bound_correlations(
            figure, [(range(len(one)), smaller)], n_resamples=N_RESAMPLES, seed=seed
        )
        assert bounds
        held += bounds[0] <= truth <= bounds[1]
        total = [part.statistic(part.table.sum(axis=0)) for part in (figure, smaller)]
        bias += (np.corrcoef(total[0][:-1], total[1])[0, 1] - truth) / samples
    return f"| {size} | {n} | {spread} | {bias:.3f} | {held / samples:.1%} |"


def _pair(accuracy: Figure, one: np.ndarray, other: np.ndarray, sums: np.ndarray) -> np.ndarray:
    found = accuracy.statistic(sums)
    return np.asarray(np.minimum(found[..., one], found[..., other]))


def main(argv: Sequence[str] = ()) -> None:
    """Write the tables, from two processes."""
    samples = int(argv[0]) if argv else SAMPLES
    with ProcessPoolExecutor(2) as processes:
        tests = processes.map(partial(reject, samples=samples), DESIGNS)
        covers = processes.map(partial(cover, samples=samples), COVERED)
        lines = [
            "# Related languages, and accuracies of the same facts",
            "",
            f"`python -m bench kinship`: {samples:,} samples for each row, {PERMUTATIONS} "
            f"permutations, {N_RESAMPLES} resamples. Standard error of 5% or 95%: "
            f"{np.sqrt(0.95 * 0.05 / samples):.1%}.",
            "",
            "Share of samples in which Mantel's test finds a correlation of two unrelated tables "
            "(p ≤ .05). In both tables, families have a share of the variance of the languages' "
            "effects:",
            "",
            "| languages | families | share of families | permuted freely | within families |",
            "| --- | --- | --- | --- | --- |",
            *tests,
            "",
            "Coverage of the 95% interval of r with `accuracy_min` of the same facts, and the bias "
            "of r:",
            "",
            "| languages | facts | sd of thresholds | bias of r | coverage |",
            "| --- | --- | --- | --- | --- |",
            *covers,
            "",
        ]
    Path(__file__).with_suffix(".md").write_text("\n".join(lines), encoding="utf-8")
    print("\n".join(lines))
