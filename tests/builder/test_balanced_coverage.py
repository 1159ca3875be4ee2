"""The cost of a language: by hand, and compared with brute force."""

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from polyprobe.builder.recipes.balanced import material
from polyprobe.builder.recipes.balanced.material import COSTS, trace_costs
from polyprobe.builder.recipes.balanced.request import BalancedRequest
from tests.builder.tiny_facts import CAPITALS
from tests.builder.worlds import LANGUAGES, NONE, worlds


def costs(known, languages=(), **options):
    request = BalancedRequest("tiny", languages, **options)
    known_languages = sorted(known.labels["language"].unique())
    return trace_costs(
        material.assemble(request, known, NONE, known_languages).coverage, request.languages
    )


def test_costs_by_hand():
    """English has all 4 facts, Greek 3 of them, French 2."""
    expected = [("en", True, 4, 0, 1, 4), ("el", True, 3, 1, 1, 3), ("fr", True, 2, 1, 1, 2)]
    assert costs(CAPITALS).rows() == expected
    assert dict(costs(CAPITALS).schema) == COSTS
    others = [("fr", True, 2, 2, 1, 2), ("el", False, 2, 0, 1, 2), ("en", False, 2, 0, 1, 2)]
    assert costs(CAPITALS, ("fr",)).rows() == others


def test_a_language_without_templates_leaves_labels_but_no_facts():
    known = CAPITALS._replace(templates=CAPITALS.templates.filter(pl.col("language") != "el"))
    expected = [("en", True, 4, 0, 1, 4), ("fr", True, 2, 2, 1, 2), ("el", True, 0, 2, 0, 2)]
    assert costs(known).rows() == expected


def count(languages, facts, labels, templates, told):
    """Facts and labelled facts in all languages, and the relations of the facts."""
    labelled = [f for f in facts if all(e in labels[x] for e in f[1:] for x in languages)]
    asked = [
        f
        for f in labelled
        if all((x, f) in told for x in languages) or all(f[0] in templates[x] for x in languages)
    ]
    return len(asked), len({f[0] for f in asked}), len(labelled)


@settings(max_examples=200, deadline=None)
@given(worlds(), st.permutations(LANGUAGES), st.integers(1, 3))
def test_counts_and_greedy_order_against_brute_force(world, languages, size):
    known, *sides = world
    facts = list(known.facts.iter_rows())
    so_far, before, expected = [], len(facts), []
    left = sorted(languages[:size])
    while left:
        tried = {x: count([*so_far, x], facts, *sides) for x in left}
        best = min(left, key=lambda x: (-tried[x][0], -tried[x][2], x))
        n, relations, labelled = tried[best]
        expected.append((best, True, n, before - n, relations, labelled))
        so_far, before = [*so_far, best], n
        left.remove(best)
    others = []
    for x in languages[size:]:
        n, relations, labelled = count([*so_far, x], facts, *sides)
        others.append((x, False, n, before - n, relations, labelled))
    others.sort(key=lambda row: (-row[2], -row[5], row[0]))
    assert costs(known, tuple(languages[:size])).rows() == expected + others
