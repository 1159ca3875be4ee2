"""Which p-values two runs can have at all, against all ways to swap their facts."""

import re
from itertools import product

import numpy as np
import pytest

from polyprobe.eval.compare.power import MOST, Asked, explain_least, find_least, find_resamples
from polyprobe.eval.compare.runs import Comparison
from polyprobe.metrics.joint.significance import Difference, correct, invert_intervals, p_value

CORRECTIONS = ("holm", "bh", "none")


def compared(n_units, names, *, test="randomisation", clusters="none", n_queries=None):
    """Return a comparison of so many names a figure; what they are does not matter here."""
    row = Difference("x", 1.0, 0.0, 1.0, None, 0.5, 0.5)
    differences = {figure: [row] * (n + 1) for figure, n in names.items()}
    n_queries = n_queries or n_units
    settings = {"test": test, "clusters": clusters}
    return Comparison(("", ""), [], [], n_queries, n_units, (0, 0), differences, settings)


def least_of_all_swaps(n):
    """One run is right in all n facts, the other in none: how many of all swaps differ as much?"""
    sums = np.array([sum(signs) for signs in product((-1, 1), repeat=n)])
    return np.mean(np.abs(sums) >= n)


def least(test, n_units, n_resamples):
    """The least p-value by the functions that make p-values, of swaps drawn without luck."""
    if test == "bootstrap":
        return invert_intervals(np.ones((n_resamples, 1)), n_units - 1.0)[0]
    drawn = p_value(np.zeros((n_resamples, 1)), np.ones(1))[0]
    return max(drawn, least_of_all_swaps(min(n_units, 14)))


def reached(test, correction, n_units, n_resamples, names):
    """Whether the least p-values, corrected, are below .05."""
    p = np.full(names, least(test, n_units, n_resamples))
    return correct(p, correction).min() < 0.05


@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize("names", [1, 3, 10])
def test_what_is_told_is_what_all_swaps_allow(correction, names):
    for n, resamples in product(range(1, 13), (5, 19, 20, 59, 60, 500)):
        told = explain_least(compared(n, {"accuracy": names}), correction, resamples)
        assert (told is None) == reached("randomisation", correction, n, resamples, names)


@pytest.mark.parametrize("test", ["randomisation", "bootstrap"])
@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize("clusters", ["none", "relation"])
def test_each_remedy_by_itself_helps_and_asks_no_more_than_needed(test, correction, clusters):
    for n, resamples, names in product((2, 4, 5, 6, 8, 11), (5, 30, 60, 500, 10_000), (1, 3, 8)):
        rows = n if clusters == "none" else 12
        found = compared(n, {"rankc": names}, test=test, clusters=clusters, n_queries=rows)
        told = explain_least(found, correction, resamples)
        assert (told is None) == reached(test, correction, n, resamples, names)
        for remedy in told.partition("; take ")[2].split(" or ") if told else ():
            drawn = re.search(r"--resamples (\d+)", remedy)
            more = int(drawn[1]) if drawn else resamples
            units = re.search(r"at least (\d+)", remedy)
            facts = rows if "--cluster none" in remedy else int(units[1]) if units else n
            other = "bh" if "bh" in remedy else correction
            if more <= 50_000:
                assert reached(test, other, facts, more, names), (told, remedy)
                if drawn:
                    assert not reached(test, other, facts, more - 1, names), (told, remedy)
            if units and test == "randomisation":
                assert not reached(test, other, facts - 1, 50_000, names), (told, remedy)


def test_few_facts_are_told_once_and_only_what_helps():
    five = {"accuracy": 2, "rankc": 1, "coverlap": 1}
    assert explain_least(compared(5, five), "holm", 500) == (
        "no p (holm) can fall below .05 in accuracy, rankc, coverlap: 5 rows in common are too "
        "few; take runs with at least 7 rows in common"  # 2 * 2^-5 > .05, 2 * 2^-6 < .05
    )
    assert explain_least(compared(6, five), "holm", 500) == (
        "no p (holm) can fall below .05 in accuracy: 6 rows in common are too few; take runs with "
        "at least 7 rows in common or --correction bh"
    )
    assert explain_least(compared(100, {"accuracy": 3}), "holm", 30) == (
        "no p (holm) can fall below .05 in accuracy: 30 resamples are too few; take --resamples 60 "
        "or --correction bh"
    )
    assert explain_least(compared(9, {"accuracy": 0}), "none", 1) is None


@pytest.mark.parametrize(("test", "n"), [("randomisation", 30), ("bootstrap", 5), ("bootstrap", 3)])
def test_the_resamples_needed_are_the_fewest(test, n):
    for level in (0.05, 0.01, 0.05 / 7, 0.001):
        asked = Asked(test, n, 1)
        needed = find_resamples(asked, level)
        if needed is None:
            assert find_least(asked._replace(n_resamples=MOST)) >= level
        else:
            assert find_least(asked._replace(n_resamples=needed)) < level
            assert needed == 1 or find_least(asked._replace(n_resamples=needed - 1)) >= level
