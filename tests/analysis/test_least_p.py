"""Possible p-values of two runs, compared with all swaps of their facts."""

from itertools import product

import numpy as np
import pytest

from polyprobe.analysis.compare.runs import Comparison
from polyprobe.metrics.joint.significance import Difference, correct, invert_intervals, p_value
from polyprobe.report.findings.comparison import explain_least

CORRECTIONS = ("holm", "bh", "none")


def explained(n_units, names, correction, resamples, *, test="randomisation", clusters="none"):
    """Return the message for a number of names per figure; the names do not matter."""
    row = Difference("x", 1.0, 0.0, 1.0, None, 0.5, 0.5)
    differences = {figure: [row] * (n + 1) for figure, n in names.items()}
    settings = {"test": test, "correction": correction, "n_resamples": resamples}
    settings["clusters"] = clusters
    sizes = (n_units, n_units, (0, 0))
    found = Comparison(("", ""), ("", ""), "", [], [], *sizes, differences, settings, {}, {}, {})
    return explain_least(found)


def least_of_all_swaps(n):
    """One run is correct in all n facts, the other in none: the share of equally large swaps."""
    sums = np.array([sum(signs) for signs in product((-1, 1), repeat=n)])
    return np.mean(np.abs(sums) >= n)


def least(test, n_units, n_resamples):
    """The smallest p-value by the functions that compute p-values, without extreme swaps."""
    if test == "bootstrap":
        return invert_intervals(np.ones((n_resamples, 1)), n_units - 1.0)[0]
    drawn = p_value(np.zeros((n_resamples, 1)), np.ones(1))[0]
    return max(drawn, least_of_all_swaps(min(n_units, 14)))


def reached(test, correction, n_units, n_resamples, names):
    """Whether the smallest p-values, corrected, are below .05."""
    p = np.full(names, least(test, n_units, n_resamples))
    return correct(p, correction).min() < 0.05


@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize("names", [1, 3, 10])
def test_what_is_reported_is_what_all_swaps_allow(correction, names):
    for n, resamples in product(range(1, 13), (5, 19, 20, 59, 60, 500)):
        told = explained(n, {"accuracy": names}, correction, resamples)
        assert (told is None) == reached("randomisation", correction, n, resamples, names)


@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize("clusters", ["none", "relation"])
def test_what_is_reported_is_what_the_bootstrap_allows(correction, clusters):
    for n, resamples, names in product((2, 4, 5, 6, 8, 11), (5, 30, 60, 500, 10_000), (1, 3, 8)):
        options = {"test": "bootstrap", "clusters": clusters}
        told = explained(n, {"rankc": names}, correction, resamples, **options)
        assert (told is None) == reached("bootstrap", correction, n, resamples, names)


def test_few_facts_are_reported_once():
    five = {"accuracy": 2, "rankc": 1, "coverlap": 1}
    assert explained(5, five, "holm", 500) == (
        "p (holm) cannot fall below .05 with 5 rows and 500 resamples; "
        "least possible p: accuracy 0.12, RankC 0.062, COverlap 0.062"
    )  # 2 * 2^-4 and 2^-4
    assert "accuracy 0.062" in explained(6, five, "holm", 500)
    assert explained(9, {"accuracy": 0}, "none", 1) is None
