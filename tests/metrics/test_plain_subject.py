"""The plain loops on worked examples."""

import math
import random
from statistics import fmean

import pytest

from tests.metrics.definitions import enumerate_rankc
from tests.metrics.plain_subject import (
    agree,
    compare,
    draw_shift,
    find_floor,
    find_floors,
    join_ranks,
    make_cells,
    rank_right,
    restrict,
    tabulate,
)
from tests.metrics.plain_units import (
    flip_units,
    gain,
    link_units,
    rank_by_bigrams,
    rank_by_initials,
    share_bigrams,
)

FIRST = 1 / (1 + math.exp(-1))  # the weight of the first of two ranks
UP, DOWN = [2, 1], [1, 2]


def draw_run(seed, n, sizes=(2, 3, 4, 5), levels=4, right=1):
    """Draw scores with ties in two languages, about subjects and donors, and the answers."""
    rng = random.Random(seed)
    pools = [rng.choice(sizes) for _ in range(n)]
    scores, donors = (
        {x: [[rng.randrange(levels) for _ in range(k)] for k in pools] for x in ("a", "b")}
        for _ in range(2)
    )
    answers = [rng.sample(range(k), min(right, k)) for k in pools]
    return scores, donors, answers, [[] for _ in pools]


def compare_two(subject, donor, right=0):
    """Compare languages in one row: scores of a and b about the subject, then about the donor."""
    scores, donors = ({"a": [rows[0]], "b": [rows[1]]} for rows in (subject, donor))
    return compare(restrict(scores, donors, [[right]], [[]]), "a", "b")


@pytest.mark.parametrize("weights", ["softmax", "norm2-released"])
def test_ties_are_the_mean_over_all_orders(weights):
    for first, second in (([1, 1, 0], [0, 2, 2]), ([3, 3, 3, 3], [1, 2, 2, 1]), ([1], [1])):
        expected = enumerate_rankc(first, second, weights)
        assert agree(tabulate(first), tabulate(second), weights) == pytest.approx(expected)
    assert tabulate([5, 5, 7], "released") == tabulate([2, 1, 3])


def test_languages_that_react_alike_have_1():
    figures = compare_two([UP, UP], [DOWN, DOWN])
    assert figures["rankc"] == figures["rankc_both_donor"] == pytest.approx(1)
    assert figures["rankc_donor"] == pytest.approx(1 - FIRST)  # C of opposite orders is w_2
    assert figures["rankc_interaction"] == figures["rankc_room"] == pytest.approx(2 * FIRST)
    assert figures["rankc_subject"] == figures["cauchy_schwarz"] == pytest.approx(1)
    assert figures["rankc_right"] == figures["rankc_rest"] == pytest.approx(0.5)


def test_opposite_reactions():
    figures = compare_two([UP, DOWN], [DOWN, UP])
    assert figures["rankc_interaction"] == pytest.approx(-2 * FIRST)
    assert figures["cauchy_schwarz"] == pytest.approx(-1)
    assert figures["rankc_subject"] is None  # 1 - 2 · 1 + w_2 < 0


def test_one_blind_language_has_0_and_two_are_undefined():
    figures = compare_two([UP, DOWN], [DOWN, DOWN])
    assert figures["rankc_subject"] == figures["rankc_right"] == pytest.approx(0, abs=1e-15)
    assert figures["rankc_difference"] == pytest.approx(-FIRST / 2)
    assert compare_two([UP, UP], [UP, UP])["rankc_subject"] is None
    ties = compare_two([[1, 1], [1, 1]], [[1, 1], [1, 1]])
    assert ties["rankc_room"] == pytest.approx(FIRST / 2)  # C of ties is w_1 / 2 + w_2
    assert ties["rankc_subject"] == 0


def test_answers_of_the_donor_leave_all_rankings():
    scores = {"a": [[1, 9, 2], [3, 1, 2]], "b": [[4, 8, 1], [1, 2, 3]]}
    donors = {"a": [[5, 1, 9], [1, 2, 3]], "b": [[1, 9, 2], None]}
    rows = restrict(scores, donors, [[2], [0]], [[1], [1]])
    assert [row.place for row in rows] == [0]
    assert rows[0].subject == {"a": [1, 2], "b": [4, 1]}
    assert rows[0].donor == {"a": [5, 9], "b": [1, 2]}
    assert rows[0].right == [1]
    assert restrict(scores, donors, [[2], [0]], [[0, 1], [1]]) == []  # one candidate stays
    assert restrict(scores, donors, [[2], [0]], [None, [1]]) == []


def know(known, n=10):
    """Make n facts of two candidates: those known are right first, donors have them last."""
    scores = {"a": [UP if i in known else DOWN for i in range(n)]}
    scores["b"] = scores["a"]
    donors = {x: [DOWN] * n for x in "ab"}
    return restrict(scores, donors, [[0]] * n, [[]] * n)


def test_the_floor_takes_the_rank_in_another_fact():
    """Five of ten are known: of the nine other facts, four are where a knows the fact itself."""
    figures = compare(know(range(5)), "a", "b")
    assert figures["rankc_subject"] == pytest.approx(1)
    assert figures["rankc_independent"] == pytest.approx(4 / 9)
    assert figures["rankc_beyond"] == pytest.approx(5 / 9)
    assert figures["n_independent"] == 10
    nine = compare(know(range(5), 9), "a", "b")
    assert nine["rankc_independent"] is nine["rankc_beyond"] is None
    assert nine["n_independent"] == 0


def test_rows_of_the_fact_itself_are_no_other_fact():
    scores, donors, answers, leaves = draw_run(1, 30, sizes=(3,))
    facts = [f"{i % 10}" for i in range(30)]
    rows = restrict(scores, donors, answers, leaves, facts)
    cells = make_cells(rows, "a", "expected")
    for row in rows:
        assert cells[row.place]
        assert row.fact not in {x.fact for x in cells[row.place]}
    few = restrict(scores, donors, answers, leaves, [f"{i % 9}" for i in range(30)])
    assert not any(make_cells(few, "a", "expected").values())


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([10, 10], [10, 10]),
        ([9, 1, 12, 3], [10, 15]),
        ([4, 20, 9], [33]),
        ([12, 4, 7], [12, 11]),
        ([9], []),
    ],
)
def test_neighbouring_ranks_are_joined_from_the_lowest(counts, expected):
    [row] = restrict({"a": [[2, 1, 1]]}, {"a": [[1, 1, 2]]}, [[1]], [[]])
    assert rank_right(row, "a", "expected") == 2.5
    assert rank_right(row, "a", "released") == 3
    ranks = [rank for rank, count in enumerate(counts) for _ in range(count)]
    cells = join_ranks([(rank, row._replace(fact=str(i))) for i, rank in enumerate(ranks)])
    assert [len(cell) for cell in cells] == expected


def test_the_mean_of_draws_is_the_expectation():
    scores, donors, answers, leaves = draw_run(2, 24, sizes=(3, 4))
    rows = restrict(scores, donors, answers, leaves)
    floors = find_floors(rows, "a", "b", "softmax", "expected")
    cells = {x: make_cells(rows, x, "expected") for x in "ab"}
    rng = random.Random(3)
    means = []
    for row in rows:
        draws = [[draw_shift(row, x, cells[x][row.place], rng) for x in "ab"] for _ in range(400)]
        means.append(fmean(find_floor(row, "a", "b", x, "softmax", "expected") for x in draws))
    # a draw's standard deviation is about .3: .015 for the mean of a row, .003 for all
    assert means == pytest.approx(floors, abs=0.06)
    assert fmean(means) == pytest.approx(fmean(floors), abs=0.01)


@pytest.mark.parametrize("ties", ["expected", "released"])
@pytest.mark.parametrize("right", [1, 2])
def test_parts_are_the_numerator(ties, right):
    scores, donors, answers, leaves = draw_run(4, 40, right=right)
    figures = compare(restrict(scores, donors, answers, leaves), "a", "b", "norm1", ties)
    total = figures["rankc_right"] + figures["rankc_rest"]
    assert total == pytest.approx(figures["rankc_subject"], abs=1e-12)
    assert figures["rankc_subject"] == pytest.approx(
        figures["rankc_interaction"] / figures["rankc_room"], abs=1e-12
    )


def test_a_gain_is_over_the_candidates_that_stay():
    scores, donors = {"a": [[2, 9, 2], UP]}, {"a": [[1, 9, 2], UP]}
    rows = restrict(scores, donors, [[0], [0]], [[1], []])
    assert gain(rows, "a") == {"accuracy": 0.75, "accuracy_donor": 0.5, "accuracy_gain": 0.25}


def test_bigrams_are_sets():
    assert share_bigrams("KENYA", "kenyan") == 2 * 4 / 9
    assert share_bigrams("aaab", "aa") == 2 * 1 / 3
    assert share_bigrams("a", "a") == share_bigrams("", "") == 0
    assert rank_by_bigrams("Mali", ["Bali", "Malik", "Oslo"]) == [2 * 2 / 6, 2 * 3 / 7, 0]


def test_the_first_letter_is_before_the_length():
    scores = rank_by_initials("mali", ["Marrakesh", "Oslo", "Mumbai", "Rom", "Bern"])
    assert scores == [-1, -3, 0, -2, -3]


def test_subjects_and_donors_link_rows():
    units = link_units(["a", "c", "e", "b", "x"], ["b", "d", "f", "c", "y"])
    assert units[0] == units[1] == units[3]
    assert len(set(units)) == 3


def test_signs_of_a_unit_are_flipped_together():
    assert flip_units([1, 1, 1], "abc") == 2 / 8
    assert flip_units([1, 1, 1], "aab") == 2 / 4
    assert flip_units([3, 1, -1], "abc") == 4 / 8 + 2 / 8
