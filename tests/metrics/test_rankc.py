"""RankC compared with the definition: sets of candidates, averaged over all orders of ties."""

import math
from itertools import permutations, product
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyprobe.metrics.rankc.formulas import (
    measure_rankc,
    rankc_chance,
    rankc_matrix,
    rankc_per_query,
)
from polyprobe.metrics.shared.ranks import WEIGHTS
from tests.metrics.definitions import (
    compare_orders,
    draw_pools,
    enumerate_rankc,
    list_orders,
)

# The worked example of the BMLAMA paper, appendix D: {Italian, English, Russian} against
# {italiano, ruso, inglés}; the tops share 1 of 1, 1 of 2 and 3 of 3.
E2, E1, E0 = math.exp(2), math.exp(1), math.exp(0)
APPENDIX_D = (E2 * 1 / 1 + E1 * 1 / 2 + E0 * 3 / 3) / (E2 + E1 + E0)


def test_paper_example():
    result = measure_rankc([[0.9, 0.5, 0.1]], [[0.9, 0.1, 0.5]])
    assert result["rankc"] == pytest.approx(APPENDIX_D, abs=1e-12)
    assert round(result["rankc"], 4) == 0.8776


@settings(max_examples=2000, deadline=None)
@given(pools=draw_pools(largest=4), weights=st.sampled_from(sorted(WEIGHTS)))
@pytest.mark.acceptance
def test_equals_enumeration_of_tie_breaks(pools, weights):
    expected = [enumerate_rankc(one, other, weights) for one, other in zip(*pools, strict=True)]
    assert rankc_per_query(*pools, weights) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=20, deadline=None)
@given(pools=draw_pools(largest=5, levels=3), weights=st.sampled_from(sorted(WEIGHTS)))
def test_equals_enumeration_of_tie_breaks_in_larger_pools(pools, weights):
    expected = [enumerate_rankc(one, other, weights) for one, other in zip(*pools, strict=True)]
    assert rankc_per_query(*pools, weights) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=300, deadline=None)
@given(
    orders=st.integers(1, 12).flatmap(
        lambda n: st.tuples(st.permutations(range(n)), st.permutations(range(n)))
    ),
    weights=st.sampled_from(sorted(WEIGHTS)),
)
def test_equals_set_loop_without_ties(orders, weights):
    one, other = (list_orders([-rank for rank in order])[0] for order in orders)
    scores = [[[-rank for rank in order]] for order in orders]
    expected = compare_orders(one, other, weights)
    assert rankc_per_query(*scores, weights)[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("size", [70, 300])
def test_large_pools(size):
    generator = np.random.default_rng(5)
    one, other = generator.permutation(size), generator.permutation(size)
    orders = [np.argsort(-scores).tolist() for scores in (one, other)]
    expected = compare_orders(*orders, "norm1")
    assert rankc_per_query(one[None], other[None], "norm1")[0] == pytest.approx(expected, abs=1e-12)
    matrix = rankc_matrix({"en": one[None], "fr": other[None]}, "norm1")
    assert matrix[0, 1] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6])
def test_chance_is_the_mean_over_all_permutations(size, weights):
    fixed = list(range(size))
    expected = fmean(compare_orders(fixed, order, weights) for order in permutations(fixed))
    assert rankc_chance([size], weights)[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("size", "weights", "expected"),
    [
        *((1, "softmax", 1), (2, "softmax", 0.6345), (4, "softmax", 0.377)),
        *((10, "softmax", 0.158), (10, "norm1-released", 0.400), (10, "norm2-released", 0.314)),
    ],
)
def test_chance_as_in_the_specification(size, weights, expected):
    assert rankc_chance([size], weights)[0] == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_constant_scores_give_chance(weights):
    constant = [[0.5] * n for n in (1, 2, 3, 7, 10)]
    ranked = [list(range(n)) for n in (1, 2, 3, 7, 10)]
    for one, other in [(constant, ranked), (ranked, constant), (constant, constant)]:
        result = measure_rankc(one, other, weights)
        assert result["rankc"] == pytest.approx(result["chance"], abs=1e-12)
        assert result["rankc_adjusted"] == pytest.approx(0, abs=1e-12)
        assert rankc_per_query(one, other, weights) == pytest.approx(
            rankc_chance([1, 2, 3, 7, 10], weights), abs=1e-12
        )


def test_adjusted_is_the_mean_over_queries_with_several_candidates():
    one = [[2, 1], [3, 2, 1], [7]]
    other = [[1, 2], [3, 1, 2], [7]]
    chance2 = (math.e * 1 / 2 + 1) / (math.e + 1)
    chance3 = (E2 * 1 / 3 + E1 * 2 / 3 + E0) / (E2 + E1 + E0)
    opposite = 1 / (math.e + 1)
    result = measure_rankc(one, other)
    assert result["rankc"] == pytest.approx((opposite + APPENDIX_D + 1) / 3)
    assert result["chance"] == pytest.approx((chance2 + chance3 + 1) / 3)
    assert result["rankc_adjusted"] == pytest.approx(
        ((opposite - chance2) / (1 - chance2) + (APPENDIX_D - chance3) / (1 - chance3)) / 2
    )
    assert (result["n_queries"], result["n_adjusted"]) == (3, 2)


def test_adjusted_without_any_pool_of_two():
    result = measure_rankc([[1.0], [2.0]], [[5.0], [4.0]], n_resamples=0)
    assert result == {
        "rankc": 1,
        "chance": 1,
        "rankc_adjusted": None,
        "n_queries": 2,
        "n_adjusted": 0,
    }
    matrix = rankc_matrix({"en": [[1.0]], "fr": [[2.0]]}, adjusted=True)
    np.testing.assert_array_equal(matrix, [[1, np.nan], [np.nan, 1]])


@settings(max_examples=150, deadline=None)
@given(pools=draw_pools(largest=9, languages=4, levels=5), weights=st.sampled_from(sorted(WEIGHTS)))
@pytest.mark.acceptance
def test_matrix_equals_pairs(pools, weights):
    scores = dict(zip(["en", "fr", "ru", "zh"], pools, strict=True))
    plain, adjusted = rankc_matrix(scores, weights), rankc_matrix(scores, weights, adjusted=True)
    for (i, one), (k, other) in product(enumerate(pools), repeat=2):
        result = measure_rankc(one, other, weights)
        value = result["rankc_adjusted"]
        expected = (1, 1) if i == k else (result["rankc"], np.nan if value is None else value)
        assert (plain[i, k], adjusted[i, k]) == pytest.approx(expected, abs=1e-12, nan_ok=True)
    np.testing.assert_array_equal(plain, plain.T)


@pytest.mark.parametrize("languages", [1, 2, 17, 53])
def test_matrix_of_arrays_masked_arrays_and_lists(languages):
    generator = np.random.default_rng(languages)
    sizes = generator.integers(1, 11, size=200)
    padding = np.arange(10) >= sizes[:, None]
    values = generator.integers(0, 6, size=(languages, 200, 10)).astype(np.float32)
    values[:, padding] = np.nan
    masked = {str(i): np.ma.array(rows, mask=padding) for i, rows in enumerate(values)}
    lists = {name: [row.compressed().tolist() for row in rows] for name, rows in masked.items()}
    matrix = rankc_matrix(masked)
    np.testing.assert_array_equal(matrix, rankc_matrix(lists))
    np.testing.assert_array_equal(np.diag(matrix), 1)
    expected = rankc_per_query(lists["0"], lists[str(languages - 1)]).mean()
    assert matrix[0, -1] == pytest.approx(1 if languages == 1 else expected, abs=1e-12)


def test_float32_scores_are_compared_as_given():
    near = np.array([[1.0, 1.0 + 1e-12, 0.0]])
    assert rankc_per_query(near, [[1, 2, 0]])[0] == pytest.approx(1)
    tied = rankc_per_query(near.astype(np.float32), [[1, 2, 0]])[0]
    assert tied == pytest.approx(enumerate_rankc([1, 1, 0], [1, 2, 0], "softmax"))


NAN = float("nan")
ERRORS = {
    "no queries": ([], [], "no queries in 'predictions'"),
    "empty row": ([[1], []], [[1], []], "query 1 of 'predictions' has no scores"),
    "nan": ([[1, 2], [3, 4]], [[1, 2], [NAN, 4]], "scores of query 1 in 'references'"),
    "none": ([[1, None]], [[1, 2]], "NaN among the scores of query 0 in 'predictions'"),
    "unequal rows": ([[1, 2], [1, 2]], [[1, 2], [1, 2, 3]], "query 1 has 2 candidates in 'pred"),
    "unequal queries": ([[1, 2]], [[1, 2]] * 2, "1 queries in 'predictions', 2 in 'references'"),
    "flat": ([1.0, 2.0], [1.0, 2.0], "query 0 of 'predictions' is 1.0; expected a list"),
    "too deep": ([[[1.0]]], [[1.0]], "'predictions' are nested too deep"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case):
    predictions, references, message = ERRORS[case]
    with pytest.raises(ValueError, match=message) as raised:
        measure_rankc(predictions, references)
    assert "\n" not in str(raised.value)


def test_error_of_unknown_weights_lists_the_known_ones():
    with pytest.raises(ValueError, match="unknown weights 'norm3'; known: softmax, norm1, norm2, "):
        measure_rankc([[1, 2]], [[1, 2]], weights="norm3")


def test_matrix_errors_name_language_and_query():
    good = np.zeros((3, 4))
    holed = np.ma.array(good, mask=np.eye(3, 4, dtype=bool))
    table = [
        ({}, "no languages"),
        ({"en": good, "fr": good[:2]}, "3 queries in 'en', 2 in 'fr'"),
        ({"en": good, "fr": good[:, :3]}, "query 0 has 4 candidates in 'en', 3 in 'fr'"),
        ({"en": good, "fr": np.where(np.eye(3, 4), NAN, 0)}, "scores of query 0 in 'fr'"),
        ({"en": good, "fr": holed}, "query 0 of 'fr' is masked before its end"),
        ({"en": np.ma.masked_all((2, 2))}, "query 0 of 'en' has no scores"),
    ]
    for scores, message in table:
        with pytest.raises(ValueError, match=message):
            rankc_matrix(scores)
