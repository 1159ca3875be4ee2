"""The baseline of frequent answers, compared with enumeration and counts by hand."""

from collections import Counter
from fractions import Fraction
from itertools import permutations

import numpy as np
import pyarrow.parquet as pq
import pytest

from polyprobe.metrics.shared.floors import answer_frequency


def enumerate_orders(groups, facts, candidates, answers):
    """Return the probabilities from all orders of the candidates, by their definition."""
    found = []
    for group, fact, names, right in zip(groups, facts, candidates, answers, strict=True):
        seen = {
            (other, candidates[row][place])
            for row, other in enumerate(facts)
            if groups[row] == group and other != fact
            for place in answers[row]
        }
        counts = [sum(name == answer for _, answer in seen) for name in names]
        orders = [
            order
            for order in permutations(range(len(names)))
            if [counts[place] for place in order] == sorted(counts, reverse=True)
        ]
        found.append(Fraction(sum(order[0] in right for order in orders), len(orders)))
    return found


@pytest.mark.parametrize("seed", range(40))
def test_enumeration_of_all_orders_gives_the_same(seed):
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 25))
    groups = random.integers(3, size=n).tolist()
    facts = random.integers(12, size=n).tolist()
    candidates = [
        random.choice(8, size=random.integers(1, 6), replace=False).tolist() for _ in range(n)
    ]
    answers = [
        random.choice(len(names), size=random.integers(1, min(3, len(names) + 1))).tolist()
        for names in candidates
    ]
    found = answer_frequency(groups, facts, candidates, answers)
    expected = enumerate_orders(groups, facts, candidates, answers)
    assert found.tolist() == pytest.approx([float(value) for value in expected], abs=1e-15)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"answers": [[0], []]}, "query 1 has no correct answer"),
        ({"answers": [[0]]}, "2 queries in 'predictions', 1 in 'answers'"),
        ({"groups": ["r"]}, "argument"),
    ],
)
def test_invalid_input_is_refused(changes, message):
    given = {"groups": "rr", "facts": "ab", "candidates": ["xy", "xy"], "answers": [[0], [1]]}
    with pytest.raises(ValueError, match=message):
        answer_frequency(**given | changes)


def test_geofacts_has_the_baseline_that_an_independent_check_found(pytestconfig):
    """.281, computed by a reviewer's own code; chance is .131."""
    file = pytestconfig.rootpath / "datasets/geofacts/data/default/en.parquet"
    table = pq.read_table(file).to_pydict()
    columns = (table[name] for name in ("relation", "fact_id", "candidate_ids", "answers"))
    assert answer_frequency(*columns).mean().round(3) == 0.281


def test_the_majority_of_a_relation_with_all_candidates_is_its_largest_class(pytestconfig):
    """P30 of geofacts (continent) has all six in every row; Africa has the most countries."""
    file = pytestconfig.rootpath / "datasets/geofacts/data/default/en.parquet"
    rows = [row for row in pq.read_table(file).to_pylist() if row["relation"] == "P30"]
    assert {len(row["candidates"]) for row in rows} == {6}
    columns = ([row[name] for row in rows]
               for name in ("relation", "fact_id", "candidate_ids", "answers"))  # fmt: skip
    found = answer_frequency(*columns, own_fact=True)
    right = Counter(row["candidates"][row["answers"][0]] for row in rows)
    (name, count), *_ = right.most_common()
    assert name == "Africa"
    assert found.mean() == pytest.approx(count / len(rows))


def test_the_own_fact_breaks_ties():
    """Three objects with one fact each: without the fact all others tie above, with it all do."""
    given = (["r"] * 3, ["a", "b", "c"], [["x", "y", "z"]] * 3, [[0], [1], [2]])
    assert answer_frequency(*given).tolist() == [0, 0, 0]
    assert answer_frequency(*given, own_fact=True) == pytest.approx([1 / 3] * 3)
