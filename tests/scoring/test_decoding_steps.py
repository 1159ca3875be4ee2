"""X-FACTR's search on models with predictions computed by hand."""

import math

import pytest

from polyprobe.scoring.decoding import search
from polyprobe.scoring.options import DecodingOptions


def drive(model, n_masks, max_masks, **options):
    """Return the result of a search and its calls; model(tokens, slot) returns {token: p}."""
    beam = options.get("beam", 1)
    one = search(n_masks, max_masks, DecodingOptions(**options))
    asked, rounds = next(one), []
    while True:
        rounds.append(asked)
        answers = []
        for tokens, slot, target in asked:
            table = {w: math.log(p) for w, p in model(tokens, slot).items()}
            best = sorted(table, key=lambda w: (-table[w], w))[:beam]
            answers.append({w: table[w] for w in [*best, *[target][: target in table]]})
        try:
            asked = one.send(answers)
        except StopIteration as end:
            return end.value, rounds


def counter(limit):
    """Predict one more than the largest token that is known, the surer the larger."""

    def model(tokens, _):
        token = min(max(tokens) + 1, limit)
        return {token: 0.5 + 0.04 * token}

    return model


@pytest.mark.parametrize(
    ("initial", "max_masks", "tokens"),
    [
        ("independent", 2, (3, 2)),  # 0 0 · 1 0 · 1 2 · 3 2
        ("independent", 3, (5, 4)),  # … · 3 4 · 5 4
        ("order", 2, (2, 3)),  # 0 _ · 0 1 · 2 1 · 2 3
        ("confidence", 3, (4, 5)),  # … · 4 3 · 4 5
    ],
)
@pytest.mark.parametrize("refinement", ["order", "confidence"])
def test_initial_and_refinement_steps_together_are_at_most_2m(
    initial, max_masks, tokens, refinement
):
    found, rounds = drive(counter(99), 2, max_masks, initial=initial, refinement=refinement)
    assert found.tokens == tokens
    assert len(rounds) == 2 * max_masks
    assert found.value == pytest.approx(sum(math.log(0.5 + 0.04 * t) for t in tokens))


def constant(tokens, slot):
    """Predict token 7 at slot 0 and 8 at slot 1, less surely while both are open."""
    return {7 + slot: (0.6 if slot else 0.5) if max(tokens) < 0 else 0.9}


@pytest.mark.parametrize(
    ("refinement", "refresh", "recompute", "value"),
    [
        ("none", "always", False, math.log(0.5) + math.log(0.6)),
        ("none", "always", True, 2 * math.log(0.9)),
        ("order", "always", False, 2 * math.log(0.9)),  # a whole scan, then converged
        ("order", "released", False, math.log(0.5) + math.log(0.6)),
        ("confidence", "always", False, math.log(0.9) + math.log(0.6)),  # only the least certain
        ("confidence", "released", False, math.log(0.5) + math.log(0.6)),
    ],
)
def test_confidences_are_refreshed_as_said(refinement, refresh, recompute, value):
    found, _ = drive(constant, 2, 10, refinement=refinement, refresh=refresh, recompute=recompute)
    assert found.tokens == (7, 8)
    assert found.value == pytest.approx(value)


@pytest.mark.parametrize(
    ("refinement", "limit", "n_rounds"),
    [
        ("none", 0, 1),  # 0 0
        ("order", 0, 3),  # 0 0 · slot 0 stays · slot 1 stays
        ("confidence", 0, 2),  # 0 0 · slot 0 stays
        ("order", 2, 5),  # 0 0 · 1 0 · 1 2 · 2 2 · slot 1 stays · slot 0: 2 · slot 1: cached
        ("confidence", 2, 4),  # 0 0 · 1 0 · 1 2 · 2 2 · slot 0, leftmost of a tie: cached
    ],
)
def test_refinement_ends_when_nothing_changes(refinement, limit, n_rounds):
    found, rounds = drive(counter(limit), 2, 10, refinement=refinement)
    assert found.tokens == (limit, limit)
    assert len(rounds) == n_rounds < 20


def test_a_beam_finds_what_the_first_choice_loses():
    """.6 · .5 = .30 by the best first token, .4 · .9 = .36 by the second."""

    def model(tokens, slot):
        if slot == 0:
            return {1: 0.6, 2: 0.4}
        return {3: 0.5, 4: 0.3} if tokens[0] == 1 else {5: 0.9, 6: 0.1}

    for beam, tokens, value in ((1, (1, 3), 0.6 * 0.5), (2, (2, 5), 0.4 * 0.9)):
        found, _ = drive(model, 2, 2, initial="order", beam=beam)
        assert found.tokens == tokens
        assert found.value == pytest.approx(math.log(value))


def test_a_beam_holds_a_sentence_once():
    """Both orders of filling lead to 1 2 _ (.4 · .4); 1 3 _ (.4 · .3) is next and ends best.

    If 1 2 _ were in the beam of two twice, 1 2 4 would win by .4 · .4 · .3.
    """
    rare = {8: 0.01, 9: 0.01}
    tables = {
        ((-1, -1, -1), 0): {1: 0.4}, ((-1, -1, -1), 1): {2: 0.4},
        ((1, -1, -1), 1): {2: 0.4, 3: 0.3}, ((-1, 2, -1), 0): {1: 0.4},
        ((1, 2, -1), 2): {4: 0.3}, ((1, 3, -1), 2): {5: 0.9},
    }  # fmt: skip
    found, _ = drive(
        lambda *place: {**tables.get(place, {}), **rare}, 3, 3, initial="confidence", beam=2
    )
    assert found.tokens == (1, 3, 5)
    assert found.value == pytest.approx(math.log(0.4 * 0.3 * 0.9))
