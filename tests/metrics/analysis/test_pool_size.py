"""Which figures are comparable between pools of different size: simulations with known truth."""

import math
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from polyprobe.metrics.answer_agreement.formulas import find_kappa
from polyprobe.metrics.rank_overlap.formulas import find_kendall, kendall_pairs
from polyprobe.metrics.rankc.formulas import find_rankc_adjusted, rankc_pairs
from polyprobe.metrics.shared.intervals import estimate_figure

METRICS = Path(__file__).parents[3] / "metrics"
TABLE = Path(__file__).parents[3] / "bench" / "pool_size.md"
SIZES = (2, 3, 6, 10, 20, 50)
QUERIES = 20_000
ERROR = 4 * QUERIES**-0.5  # four standard errors of a mean of values between -1 and 1, at most


def draw(size, correlation, queries=QUERIES):
    """Return bivariate normal scores of two languages."""
    scores = np.random.default_rng(1000 + size).multivariate_normal(
        [0, 0], [[1, correlation], [correlation, 1]], size=(queries, size)
    )
    return {"en": scores[..., 0], "fr": scores[..., 1]}


def find_adjusted(scores):
    sizes = np.full(len(scores["en"]), scores["en"].shape[1])
    return find_rankc_adjusted(list(scores), rankc_pairs(scores), sizes)


def value(figure, name="en-fr"):
    return estimate_figure(figure, n_resamples=0)[name]


@pytest.fixture(scope="module")
def simulated():
    """Adjusted RankC, kappa and tau-b of the correlation .5 by pool size."""
    found = {}
    for size in SIZES:
        scores = draw(size, 0.5)
        adjusted, tau = value(find_adjusted(scores)), value(find_kendall(scores))
        found[size] = (adjusted, value(find_kappa(scores), "kappa"), tau)
    return found


@pytest.mark.parametrize("size", [2, 5, 20])
@pytest.mark.parametrize("correlation", [-0.3, 0, 0.5, 0.9])
def test_tau_of_normal_scores_is_greiner_s_in_pools_of_any_size(size, correlation):
    scores = draw(size, correlation)
    error = kendall_pairs(scores).std() / QUERIES**0.5
    expected = 2 / math.pi * math.asin(correlation)
    assert value(find_kendall(scores)) == pytest.approx(expected, abs=4 * error)


def test_tau_of_one_correlation_is_that_of_a_mixture_of_pools():
    scores = [draw(size, 0.5, 4000) for size in SIZES]
    joined = {x: [row for part in scores for row in part[x]] for x in ("en", "fr")}
    expected = 2 / math.pi * math.asin(0.5)
    assert value(find_kendall(joined)) == pytest.approx(expected, abs=4 / 24_000**0.5)


def test_adjusted_rankc_and_kappa_of_one_correlation_fall_with_the_pool(simulated):
    for small, large in pairwise(SIZES):
        for figure in (0, 1):
            assert simulated[small][figure] - simulated[large][figure] > 0.01
    assert simulated[2][0] > 2 * simulated[50][0]


def test_with_two_candidates_adjusted_rankc_kappa_and_tau_are_one_figure(simulated):
    adjusted, kappa, tau = simulated[2]
    assert [adjusted, kappa] == pytest.approx([tau, tau], abs=1e-12)


def read_table():
    """Return {pool size: figures} of bench/pool_size.md, without the first column."""
    lines = re.findall(r"^\| (\d+) \| (.+) \|$", TABLE.read_text(encoding="utf-8"), re.MULTILINE)
    return {int(size): [float(cell) for cell in cells.split(" | ")] for size, cells in lines}


def test_the_table_of_the_bench(simulated):
    """Its figures are those of other draws, its tau Greiner's, its explained variance falls."""
    table = read_table()
    assert tuple(table) == SIZES
    for size, (rankc, chance, adjusted, kappa, tau, _) in table.items():
        assert adjusted == pytest.approx((rankc - chance) / (1 - chance), abs=0.002)
        assert [adjusted, kappa] == pytest.approx(simulated[size][:2], abs=ERROR)
        assert tau == pytest.approx(1 / 3, abs=0.007)  # 400,000 queries: four standard errors
    shares = [row[-1] for row in table.values()]
    assert shares == sorted(shares, reverse=True)
    assert min(shares) > 0.9


@pytest.mark.parametrize(
    ("card", "column", "sizes"),
    [
        ("rankc", 2, SIZES),
        ("answer_agreement", 3, (2, 20, 50)),
        ("rank_overlap", 2, (2, 50)),
    ],
)
def test_the_cards_have_the_figures_of_the_table(card, column, sizes):
    text = " ".join((METRICS / card / "README.md").read_text(encoding="utf-8").split())
    table = read_table()
    for size in sizes:
        assert f"{table[size][column]:.2f} with {size}"[1:] in text
