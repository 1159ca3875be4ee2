"""The ceiling compared with full enumeration: every order of the entities, every prefix."""

from itertools import permutations
from math import e

import pytest

from polyprobe.builder.audit import audit_tables
from tests.builder.audited import make_tables, with_ids


def rankc(one, other):
    """Return RankC of two lists of distinct scores, by definition."""
    size = len(one)
    weights = [e ** (size - j) for j in range(1, size + 1)]
    tops = [
        [set(sorted(range(size), key=lambda i, s=scores: -s[i])[:j]) for j in range(1, size + 1)]
        for scores in (one, other)
    ]
    overlaps = [len(a & b) / len(a) for a, b in zip(*tops, strict=True)]
    return sum(w * x for w, x in zip(weights, overlaps, strict=True)) / sum(weights)


def enumerate_orders(one, other, answers=()):
    """Return the mean of RankC over all orders of the entities; answers are indices."""
    names = sorted({*one, *other})
    values = []
    for order in permutations(range(len(names))):
        value = dict(zip(names, order, strict=True))
        scores = [
            [value[n] + 99 * (i in answers) for i, n in enumerate(own)] for own in (one, other)
        ]
        values.append(rankc(*scores))
    return sum(values) / len(values)


IDS = {
    "one other": (["Q1", "Q2", "Q3"], ["Q1", "Q2", "Q4"]),
    "two change places": (["Q1", "Q2", "Q3"], ["Q1", "Q3", "Q2"]),
    "all others but the answer": (["Q1", "Q2", "Q3"], ["Q1", "Q4", "Q5"]),
    "answer another": (["Q1", "Q2", "Q3"], ["Q4", "Q2", "Q3"]),
}


@pytest.mark.parametrize("case", IDS)
def test_ceiling_is_the_mean_over_all_orders(case):
    one, other = IDS[case]
    changes = [*with_ids(), ("en", 0, {"candidate_ids": one}), ("fr", 0, {"candidate_ids": other})]
    found = audit_tables(make_tables(changes), "tiny").ceiling
    assert 0 < found.standard_error < 0.0005
    tolerance = 5 * found.standard_error
    # two of three rows are parallel, with value 1
    expected = (2 + enumerate_orders(one, other)) / 3
    assert found.random["en-fr"] == pytest.approx(expected, abs=tolerance)
    expected = (2 + enumerate_orders(one, other, answers=[0])) / 3
    assert found.answer_first["en-fr"] == pytest.approx(expected, abs=tolerance)


def test_parallel_pairs_are_exactly_1_beside_others_that_are_not():
    tables = make_tables()
    spoiled = make_tables([("fr", 0, {"candidates": ["Norvège", "Tchad", "Pérou"]})])
    both = {"en": tables["en"], "fr": tables["fr"], "qq": spoiled["fr"]}
    found = audit_tables(both, "tiny").ceiling
    assert list(found.random) == ["en-fr", "en-qq", "fr-qq"]
    assert found.random["en-fr"] == found.answer_first["en-fr"] == 1.0
    assert found.random["en-qq"] == found.random["fr-qq"] < 1
