"""Rank overlap compared with loops over sets, all orders of ties, scipy and the package rbo."""

import json
import os
import subprocess
import sys
from itertools import permutations, product
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau

from polyprobe.metrics.rank_overlap import formulas as rank_overlap
from polyprobe.metrics.rank_overlap.formulas import (
    measure_rank_overlap,
    overlap_chance,
    overlap_per_query,
)
from polyprobe.metrics.rankc import formulas as rankc
from tests.metrics.definitions import draw_pools, list_orders


def extrapolate(agreement, p):
    """Return RBO_EXT: X_k / k * p^k + (1 - p) / p * sum_d X_d / d * p^d, d = 1 … k."""
    terms = enumerate(agreement, start=1)
    return agreement[-1] * p ** len(agreement) + (1 - p) / p * sum(a * p**d for d, a in terms)


def compare_orders(one, other, p, k):
    """Return RBO and the top-k overlap of two orders by the loop of their definitions."""
    agreement = [len(set(one[:d]) & set(other[:d])) / d for d in range(1, len(one) + 1)]
    depth = min(k, len(one))
    return extrapolate(agreement, p), len(set(one[:depth]) & set(other[:depth])) / depth


def compare_tied_sets(one, other, p, k):
    """Return the same if all tied candidates have the first of their ranks (Webber)."""
    ranks = [[sum(rival > score for rival in row) + 1 for score in row] for row in (one, other)]
    agreement = []
    for d in range(1, len(one) + 1):
        first, second = ({i for i, rank in enumerate(row) if rank <= d} for row in ranks)
        agreement.append(2 * len(first & second) / (len(first) + len(second)))
    return extrapolate(agreement, p), agreement[min(k, len(one)) - 1]


PERSISTENCE = st.sampled_from([0.1, 0.5, 0.9, 0.98])
DEPTH = st.integers(1, 6)


@settings(max_examples=200, deadline=None)
@given(pools=draw_pools(largest=4), p=PERSISTENCE, k=DEPTH)
def test_equals_enumeration_of_tie_breaks(pools, p, k):
    check_against_enumeration(pools, p, k)


@settings(max_examples=15, deadline=None)
@given(pools=draw_pools(largest=5, levels=3), p=PERSISTENCE, k=DEPTH)
def test_equals_enumeration_of_tie_breaks_in_larger_pools(pools, p, k):
    check_against_enumeration(pools, p, k)


def check_against_enumeration(pools, p, k):
    values = overlap_per_query(*pools, p=p, k=k)
    assert [*values] == ["rbo", "kendall_tau_b", f"top_k_overlap@{k}"]
    for query, rows in enumerate(zip(*pools, strict=True)):
        orders = product(*map(list_orders, rows))
        rbo, top = zip(*(compare_orders(*pair, p, k) for pair in orders), strict=True)
        assert values["rbo"][query] == pytest.approx(fmean(rbo), abs=1e-12)
        assert values[f"top_k_overlap@{k}"][query] == pytest.approx(fmean(top), abs=1e-12)


@settings(max_examples=150, deadline=None)
@given(pools=draw_pools(largest=9, levels=5), p=PERSISTENCE, k=DEPTH)
def test_released_equals_a_loop_over_sets_of_unequal_size(pools, p, k):
    values = overlap_per_query(*pools, p=p, k=k, ties="released")
    for query, rows in enumerate(zip(*pools, strict=True)):
        rbo, top = compare_tied_sets(*rows, p, k)
        assert values["rbo"][query] == pytest.approx(rbo, abs=1e-12)
        assert values[f"top_k_overlap@{k}"][query] == pytest.approx(top, abs=1e-12)


@pytest.mark.parametrize("ties", ["expected", "released"])
@pytest.mark.parametrize("levels", [2, 5, 10**6])
def test_tau_equals_scipy(levels, ties):
    generator = np.random.default_rng(levels)
    sizes = generator.integers(2, 30, size=200)
    one, other = ([generator.integers(0, levels, n).tolist() for n in sizes] for _ in range(2))
    found = overlap_per_query(one, other, ties=ties)["kendall_tau_b"]
    expected = [kendalltau(*rows, variant="b").statistic for rows in zip(one, other, strict=True)]
    assert found == pytest.approx(expected, abs=1e-12, nan_ok=True)
    assert np.isnan(found).any() == (levels < 10)  # some rows tie all


@pytest.mark.parametrize("size", [70, 300])
def test_large_pools(size):
    generator = np.random.default_rng(size)
    one, other = generator.permutation(size), generator.permutation(size)
    orders = [np.argsort(-scores).tolist() for scores in (one, other)]
    values = overlap_per_query(one[None], other[None], p=0.98, k=20)
    expected = (*compare_orders(*orders, 0.98, 20), kendalltau(one, other).statistic)
    found = [values[name][0] for name in ("rbo", "top_k_overlap@20", "kendall_tau_b")]
    assert found == pytest.approx(expected, abs=1e-12)


def test_many_queries_are_each_compared_with_their_own():
    generator = np.random.default_rng(6)
    one, other = (generator.random((3000, 10)) for _ in range(2))
    values = overlap_per_query(one, other, p=0.8, k=3)
    for query in range(0, 3000, 7):
        orders = [np.argsort(-scores[query]).tolist() for scores in (one, other)]
        found = [values[name][query] for name in ("rbo", "top_k_overlap@3")]
        assert found == pytest.approx(compare_orders(*orders, 0.8, 3), abs=1e-12)


PACKAGE = """
import json, sys
from rbo import RankingSimilarity
cases = json.load(open(sys.argv[1]))
values = [RankingSimilarity(one, other).rbo_ext(p) for one, other, p in cases]
json.dump(values, open(sys.argv[1], "w"))
"""


@pytest.fixture(scope="session")
def rbo_package(tmp_path_factory):
    """The folder of the package rbo, which requires numpy<2 and is in no environment."""
    folder = tmp_path_factory.mktemp("rbo")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder)]
    done = subprocess.run([*pip, "rbo==0.1.3"], capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        pytest.skip(f"pip cannot fetch rbo==0.1.3: {reason}")
    return folder


@pytest.mark.slow
def test_rbo_equals_the_package(rbo_package, tmp_path):
    generator = np.random.default_rng(3)
    pairs = [(generator.permutation(n), generator.permutation(n)) for n in [*range(1, 13), 60] * 5]
    persistence = [(0.5, 0.9, 0.98)[i % 3] for i in range(len(pairs))]
    orders = [[np.argsort(-scores).tolist() for scores in pair] for pair in pairs]
    cases = [[*pair, p] for pair, p in zip(orders, persistence, strict=True)]
    file = tmp_path / "cases.json"
    file.write_text(json.dumps(cases))
    environment = {**os.environ, "PYTHONPATH": str(rbo_package)}
    subprocess.run([sys.executable, "-c", PACKAGE, str(file)], env=environment, check=True)
    found = [
        overlap_per_query(one[None], other[None], p=p)["rbo"][0]
        for (one, other), p in zip(pairs, persistence, strict=True)
    ]
    assert found == pytest.approx(json.loads(file.read_text()), abs=1e-12)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6])
def test_chance_is_the_mean_over_all_permutations(size):
    fixed = list(range(size))
    pairs = [compare_orders(fixed, order, 0.8, 3) for order in permutations(fixed)]
    rbo, top = zip(*pairs, strict=True)
    chance = overlap_chance([size], p=0.8, k=3)
    assert chance["rbo"][0] == pytest.approx(fmean(rbo), abs=1e-12)
    assert chance["top_k_overlap@3"][0] == pytest.approx(fmean(top), abs=1e-12)
    assert chance["top_k_overlap@3"][0] == min(3, size) / size


def test_constant_scores_give_chance():
    sizes = [1, 2, 3, 7, 10]
    constant = [[0.5] * n for n in sizes]
    ranked = [list(range(n)) for n in sizes]
    chance = overlap_chance(sizes, k=[1, 4])
    for one, other in [(constant, ranked), (ranked, constant), (constant, constant)]:
        values = overlap_per_query(one, other, k=[1, 4])
        for name, expected in chance.items():
            assert values[name] == pytest.approx(expected, abs=1e-12)
        assert np.isnan(values["kendall_tau_b"]).all()


def test_means_leave_out_what_tau_is_not_defined_for():
    one = [[2, 1], [3, 2, 1], [7], [1, 1]]
    other = [[1, 2], [3, 1, 2], [7], [1, 2]]
    assert measure_rank_overlap(one, other, p=0.5, k=(1, 3, 1), n_resamples=0) == {
        "rbo": pytest.approx((1 / 2 + 7 / 8 + 1 + 3 / 4) / 4),
        "kendall_tau_b": pytest.approx((-1 + 1 / 3) / 2),
        "top_k_overlap@1": pytest.approx((0 + 1 + 1 + 1 / 2) / 4),
        "top_k_overlap@3": 1,
        "rbo_chance": pytest.approx((3 / 4 + (1 / 6 + 1 / 6 + 1 / 4) + 1 + 3 / 4) / 4),
        "top_k_overlap@1_chance": pytest.approx((1 / 2 + 1 / 3 + 1 + 1 / 2) / 4),
        "top_k_overlap@3_chance": 1,
        "n_queries": 4,
        "n_tau": 2,
    }
    alone = measure_rank_overlap([[1.0], [2.0]], [[5.0], [4.0]])
    assert (alone["kendall_tau_b"], alone["kendall_tau_b_ci"], alone["n_tau"]) == (None, None, 0)


def test_groups_and_intervals():
    one, other = [[2, 1], [1, 2], [2, 1]], [[2, 1], [2, 1], [2, 1]]  # tau 1, -1, 1
    options = {"groups": ["P36", "P36", "P19"], "p": 0.5}
    result = measure_rank_overlap(one, other, **options)
    assert result["kendall_tau_b"] == (0 + 1) / 2
    assert result["kendall_tau_b_ci"] == [(-1 + 1) / 2, (1 + 1) / 2]
    assert list(result["by_group"]) == ["P36", "P19"]
    assert result["by_group"]["P36"]["rbo"] == (1 + 1 / 2) / 2
    assert result["by_group"]["P36"]["n_queries"] == 2
    micro = measure_rank_overlap(one, other, average="micro", **options)
    assert micro["kendall_tau_b"] == pytest.approx((1 - 1 + 1) / 3)


NAN = float("nan")
ERRORS = {
    "p too large": ([[1]], [[1]], {"p": 1}, "p is 1; expected a number between 0 and 1"),
    "p is nan": ([[1]], [[1]], {"p": NAN}, "p is nan; expected"),
    "no depths": ([[1]], [[1]], {"k": []}, "no depths in 'k'"),
    "depth 0": ([[1]], [[1]], {"k": [1, 0]}, "depth 0 in 'k' is invalid; expected integers"),
    "half a depth": ([[1]], [[1]], {"k": 1.5}, "depth 1.5 in 'k' is invalid"),
    "depth as text": ([[1]], [[1]], {"k": "3"}, "depth '3' in 'k' is invalid"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case):
    predictions, references, options, message = ERRORS[case]
    with pytest.raises(ValueError, match=message) as raised:
        measure_rank_overlap(predictions, references, **options)
    assert "\n" not in str(raised.value)


def test_a_single_language_is_not_compared(monkeypatch):
    scores = {"en": np.zeros((2, 3))}
    for module, name, pairs in (
        (rank_overlap, "split_by_size", rank_overlap.kendall_pairs),
        (rankc, "split_by_size", rankc.rankc_pairs),
    ):
        monkeypatch.setattr(module, name, None)  # would be called for each size of pool
        assert pairs(scores).shape == (2, 0)
