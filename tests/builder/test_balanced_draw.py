"""Sampling of distractors: its inputs and its uniformity."""

from collections import Counter
from itertools import permutations

import pytest

from polyprobe.builder.facts import Fact
from polyprobe.builder.facts.truths import CorrectAnswers, Knowledge
from polyprobe.builder.recipes.balanced.request import BalancedRequest
from polyprobe.builder.recipes.balanced.rows import (
    draw_distractors,
    draw_relation,
    place_answer,
)
from polyprobe.metrics.shared.frequency import answer_frequency
from polyprobe.system.hashing import shuffle_items

FACT = Fact("P36", "Q142", "Q90")
PINNED = "bfahegcd"
PLACES = [9, 1, 7, 5, 7, 7, 5, 9]


def test_the_draw_is_the_same_on_every_machine_and_for_ever():
    """Pinned, since a change of the stream changes every dataset."""
    assert "".join(shuffle_items("abcdefgh", "0|P36:Q142:Q90")) == PINNED
    assert [place_answer(Fact("P36", "Q1", f"Q{i}"), ["a"] * 9, 0)[1] for i in range(8)] == PLACES


def test_every_order_is_as_likely_as_any_other():
    """24 orders of 4, 24,000 draws: χ² with 23 degrees of freedom stays below 52 (p = .0005)."""
    counts = Counter("".join(shuffle_items("abcd", str(key))) for key in range(24_000))
    assert set(counts) == {"".join(order) for order in permutations("abcd")}
    assert sum((n - 1000) ** 2 / 1000 for n in counts.values()) < 52


def test_every_place_is_as_likely_as_any_other():
    """10 places, 10,000 facts: χ² with 9 degrees of freedom stays below 30 (p = .0004)."""
    facts = [Fact("P36", f"Q{i}", "Q90") for i in range(10_000)]
    counts = Counter(place_answer(fact, ["x"] * 9, 0)[1] for fact in facts)
    assert sum((counts[i] - 1000) ** 2 / 1000 for i in range(10)) < 30


def test_the_subject_is_not_a_candidate_and_a_small_pool_is_taken_whole():
    known = Knowledge({("P36", "Q142"): frozenset({"Q90", "Q5"})}, {})
    right = CorrectAnswers(known, {}, {}, {}).of(FACT)
    assert right == {"Q5", "Q90"}
    pool = ["Q1", "Q142", "Q2", "Q3", "Q5", "Q90"]
    assert sorted(draw_distractors(FACT, right, {}, [pool], BalancedRequest("tiny"))) == [
        "Q1",
        "Q2",
        "Q3",
    ]
    assert (
        len(draw_distractors(FACT, right, {}, [pool], BalancedRequest("tiny", candidates=3))) == 2
    )


@pytest.mark.parametrize(("kind", "expected"), [("uniform", 1 / 3), ("frequency", 1 / 5)])
def test_frequent_answers_cannot_be_guessed(kind, expected):
    """30 objects answer 1, 3, … 59 of 900 facts, with four distractors each.

    An object of rank x (0 to 1) has a share of 2x dx of the facts, and four uniform distractors
    are all less frequent with probability x^4: the integral of 2 x^5 is 1/3. Chance is 1/5.
    """
    facts = [
        Fact("P36", f"Q{1000 * place + number}", f"Q{place}")
        for place in range(1, 31)
        for number in range(2 * place - 1)
    ]
    correct = CorrectAnswers(Knowledge({}, {}), {}, {}, {})
    queries, _ = draw_relation(facts, [], correct, BalancedRequest("tiny", candidates=5, draw=kind))
    assert {len(set(query.candidates)) for query in queries} == {5}
    found = answer_frequency(
        ["P36"] * 900,
        [query.fact.id for query in queries],
        [query.candidates for query in queries],
        [[query.answer] for query in queries],
    )
    assert found.mean() == pytest.approx(expected, abs=0.04)
