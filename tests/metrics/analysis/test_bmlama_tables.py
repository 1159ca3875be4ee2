"""What follows from the printed tables of the BMLAMA paper alone: means, correlations."""

import re

import numpy as np
import pytest
from scipy.stats import linregress, pearsonr, t

from tests.making.papers import read_bmlama

# Unordered pairs: 17, 53 languages; of those that BLOOM supports, 7 and 14 (table 6)
PAIRS = {"BMLAMA-17": 17 * 16 / 2, "BMLAMA-53": 53 * 52 / 2}
SUPPORTED = {"BMLAMA-17": 7 * 6 / 2, "BMLAMA-53": 14 * 13 / 2}
BILLIONS = {"560m": 0.56, "1.1b": 1.1, "1.7b": 1.7, "3b": 3, "7.1b": 7.1}  # of BLOOM


@pytest.fixture(scope="module")
def paper(upstream):
    return read_bmlama(upstream)


@pytest.fixture(scope="module")
def table_5(paper):
    """Model → CLC, Acc and 17 accuracies."""
    lines = re.findall(r"^(\S+)((?: \d\d\.\d){19})$", paper, re.MULTILINE)
    return {model: [*map(float, values.split())] for model, values in lines}


def test_the_mean_accuracy_of_table_5_is_that_of_its_languages(table_5):
    assert len(table_5) == 9
    for model, (_, mean, *languages) in table_5.items():
        assert len(languages) == 17
        assert np.mean(languages) == pytest.approx(mean, abs=0.05 + 0.05 + 1e-9), model


def test_consistency_and_accuracy_of_table_5_go_together(table_5):
    clc, accuracy = np.array([row[:2] for row in table_5.values()]).T
    found = pearsonr(clc, accuracy)
    assert found.statistic == pytest.approx(0.978, abs=5e-4)
    assert found.pvalue == pytest.approx(5e-6, rel=0.1)


def test_the_slopes_of_figure_4(table_5):
    """Points for each doubling of the parameters, over the five BLOOM models."""
    doublings = np.log2([*BILLIONS.values()])
    clc, accuracy = np.array([table_5[f"BLOOM-{size}"][:2] for size in BILLIONS]).T
    assert linregress(doublings, clc).slope == pytest.approx(0.87, abs=5e-3)
    assert linregress(doublings, accuracy).slope == pytest.approx(1.86, abs=5e-3)


def p_value(r, n):
    """Two-sided p-value of Pearson's r."""
    return 2 * t.sf(abs(r) * ((n - 2) / (1 - r * r)) ** 0.5, n - 2)


def list_correlations(text, sizes):
    """Yield (r, printed p, pairs) of the rows of a table, whose head names the dataset."""
    pairs = None
    for line in text.splitlines():
        for name in sizes:
            pairs = sizes[name] if line.startswith(name) else pairs
        for r, p in re.findall(r"(-?\d\.\d\d) \((\de[-+]\d+)\)", line):
            yield float(r), p, pairs


def test_printed_p_values_are_of_unordered_pairs(paper):
    """All 36 of table 2, 4 of table 6 and 4 of table 7 fit r to two digits; not ordered pairs."""
    start = paper.index("BMLAMA-17 Syntactic"), paper.index("Dataset Voc(BMLAMA)")
    seven = paper.index("BMLAMA-17 Voc(BMLAMA)Voc(Flores)\nLLaMA")
    found = [
        [*list_correlations(paper[start[0] : paper.index("Table 2:")], PAIRS)],
        [*list_correlations(paper[start[1] : paper.index("Table 6:")], SUPPORTED)],
        [*list_correlations(paper[seven : paper.index("Table 7:", seven)], PAIRS)],
    ]
    assert [len(rows) for rows in found] == [36, 4, 4]
    rows = [*found[0], *found[1], *found[2]]
    for r, printed, n in rows:
        assert fits(r, printed, n), (r, printed, n)
    ordered = [fits(r, printed, 2 * n) for r, printed, n in rows if abs(r) > 0.3]
    assert not any(ordered)


def fits(r, printed, n):
    """Whether r, rounded to two digits, and p, to one digit, can belong together."""
    digit, _, power = printed.partition("e")
    low, high = ((int(digit) + d) * 10.0 ** int(power) for d in (-0.5, 0.5))
    ends = [max(abs(r) - 0.005, 0), abs(r) + 0.005]
    return p_value(ends[1], n) <= high and p_value(ends[0], n) >= low
