"""Agreement of all pairs of languages, from choices, and from scores with possible ties."""

from itertools import combinations, product
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings

from polyprobe.metrics.answer_agreement.formulas import (
    agreement_matrix,
    agreement_per_query,
    pair_agreement,
)
from tests.metrics.definitions import draw_pools


def test_matrix_equals_a_loop_over_pairs():
    generator = np.random.default_rng(4)
    columns = {str(i): generator.integers(0, 3, 40).tolist() for i in range(6)}
    matrix = agreement_matrix(columns)
    for i, k in product(range(6), repeat=2):
        facts = zip(columns[str(i)], columns[str(k)], strict=True)
        expected = fmean(one == other for one, other in facts)
        assert matrix[i, k] == pytest.approx(expected, abs=1e-12)
    assert agreement_matrix({"en": [3, 1]}).tolist() == [[1.0]]


@settings(max_examples=200, deadline=None)
@given(pools=draw_pools(largest=5, languages=3, levels=3))
def test_expected_agreement_equals_enumeration_of_the_best(pools):
    scores = dict(zip(("en", "fr", "ru"), pools, strict=True))
    values = agreement_per_query(scores)
    for column, (one, other) in enumerate(combinations(scores, 2)):
        for query, rows in enumerate(zip(scores[one], scores[other], strict=True)):
            best = [[i for i, s in enumerate(row) if s == max(row)] for row in rows]
            expected = fmean(a == b for a, b in product(*best))
            assert values[query, column] == pytest.approx(expected, abs=1e-12)


def test_expected_agreement_without_ties_is_the_matrix():
    generator = np.random.default_rng(8)
    scores = {name: generator.random((50, 7)) for name in ("en", "fr", "ru", "zh")}
    matrix = agreement_matrix({name: rows.argmax(axis=1) for name, rows in scores.items()})
    expected = matrix[np.triu_indices(4, 1)]
    assert agreement_per_query(scores).mean(axis=0) == pytest.approx(expected, abs=1e-12)


def test_pair_agreement_equals_the_sum_of_products():
    generator = np.random.default_rng(9)
    choices = generator.dirichlet(np.ones(4), size=(6, 5000))
    values = pair_agreement(choices)
    for column, (one, other) in enumerate(combinations(range(6), 2)):
        expected = (choices[one] * choices[other]).sum(axis=1)
        assert values[:, column] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        ({}, "no languages"),
        ({"en": [0, 1], "fr": [1]}, "2 queries in 'en', 1 in 'fr'"),
        ({"en": [], "fr": []}, "no queries in 'en'"),
        ({"en": [0, 1], "fr": [0, None]}, "query 1 of 'fr' has None; expected an index from 0"),
    ],
)
def test_matrix_errors(predictions, message):
    with pytest.raises(ValueError, match=message):
        agreement_matrix(predictions)
