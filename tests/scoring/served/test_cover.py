"""Requests answer each read exactly once, and no smaller number of requests would."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyprobe.scoring.engine import Input, Plan
from polyprobe.scoring.served.server import Reach, cover

REACHES = [Reach(True, 20), Reach(False, 20), Reach(True, 0)]
SENTENCES = st.lists(
    st.lists(st.integers(0, 2), min_size=2, max_size=5).map(tuple), min_size=1, max_size=4
)


def plan_of(sentences, starts):
    """Return a plan that reads the tokens of each sentence from one on, and edges by number."""
    plan, edges = Plan(), {}
    for ids, start in zip(sentences, starts, strict=True):
        first = min(start, len(ids) - 1)
        numbers = plan.read(Input(ids[:-1]), range(first - 1, len(ids) - 1), ids[first:])
        edges |= {n: ids[: k + 1] for n, k in zip(numbers, range(first, len(ids)), strict=True)}
    return plan, edges


def answered(one):
    ids, children, path = one.prompt
    yield from ((n, ids[: k + 2]) for k, numbers in enumerate(one.path) for n in numbers)
    pairs = zip(children, one.children, strict=True)
    yield from ((n, (*ids, child)) for child, numbers in pairs for n in numbers)
    assert path or not one.path


@pytest.mark.parametrize("reach", REACHES, ids=str)
@settings(max_examples=150, deadline=None)
@given(sentences=SENTENCES, starts=st.lists(st.integers(1, 4), min_size=4, max_size=4))
def test_each_read_is_answered_once_by_the_right_token(reach, sentences, starts):
    plan, edges = plan_of(sentences, starts[: len(sentences)])
    found = [pair for one in cover(plan, reach) for pair in answered(one)]
    assert sorted(found) == sorted(edges.items())


@pytest.mark.parametrize("reach", REACHES, ids=str)
@settings(max_examples=60, deadline=None)
@given(sentences=SENTENCES, starts=st.lists(st.integers(1, 4), min_size=4, max_size=4))
def test_no_fewer_requests_answer_all_reads(reach, sentences, starts):
    plan, edges = plan_of(sentences, starts[: len(sentences)])
    wanted = set(edges.values())
    nodes = {edge[:k] for edge in wanted for k in range(1, len(edge) + 1)}

    def reached(node):
        on_the_way = {node[:k] for k in range(2, len(node) + 1)} if reach.path else set()
        behind = {edge for edge in wanted if edge[:-1] == node} if reach.children else set()
        return on_the_way | behind

    def suffices(chosen):
        return wanted <= set().union(*map(reached, chosen))

    n = len(cover(plan, reach))
    assert not any(suffices(chosen) for chosen in combinations(sorted(nodes), n - 1))


def test_many_children_take_several_requests():
    plan = Plan()
    for token in range(45):
        plan.read(Input((1, 2)), [1], (token,))
    found = cover(plan, Reach(True, 20))
    assert [len(one.prompt.children) for one in found] == [20, 20, 5]
    assert {one.prompt.ids for one in found} == {(1, 2)}


def test_neighbours_share_their_beginnings():
    plan = Plan()
    for first in (5, 3, 4):
        for second in (9, 7):
            plan.read(Input((first, second)), [1], (1,))
    order = [one.prompt.ids for one in cover(plan, Reach(True, 20))]
    assert order == sorted(order)
