"""Figures of all pairs compared with the modules, figures of all languages with counts."""

from itertools import combinations, product

import numpy as np
import pytest

from polyprobe.metrics.accuracy_at_1.formulas import find_accuracy, right_probability
from polyprobe.metrics.answer_agreement.formulas import find_agreement, find_kappa
from polyprobe.metrics.coverlap.formulas import find_coverlap
from polyprobe.metrics.joint.measures import (
    condition_rankc,
    count_right,
    find_rbo,
    find_right_counts,
    share_right,
)
from polyprobe.metrics.rank_overlap.formulas import find_kendall, overlap_per_query
from polyprobe.metrics.rankc.formulas import (
    find_rankc,
    find_rankc_adjusted,
    measure_rankc,
    rankc_matrix,
    rankc_pairs,
    rankc_per_query,
)
from polyprobe.metrics.shared.intervals import estimate_figure, name_pairs

LANGUAGES = ("en", "fr", "ru", "zh")
RANDOM = np.random.default_rng(0)
SIZES = RANDOM.integers(1, 7, size=80)
SCORES = {x: [RANDOM.integers(0, 4, n).astype(float) for n in SIZES] for x in LANGUAGES}
ANSWERS = [[int(RANDOM.integers(n))] for n in SIZES]
RIGHT = {x: right_probability(rows, ANSWERS) for x, rows in SCORES.items()}
PAIRS = list(combinations(range(4), 2))


def values(figure, **options):
    return estimate_figure(figure, n_resamples=0, **options)


@pytest.mark.parametrize("adjusted", [False, True])
def test_rankc_of_pairs_is_that_of_the_matrix(adjusted):
    table = rankc_pairs(SCORES)
    figure = (
        find_rankc_adjusted(LANGUAGES, table, SIZES) if adjusted else find_rankc(LANGUAGES, table)
    )
    matrix = rankc_matrix(SCORES, adjusted=adjusted)
    found = values(figure)
    for name, pair in zip(name_pairs(LANGUAGES), PAIRS, strict=True):
        assert found[name] == pytest.approx(matrix[pair])
    assert found["mean"] == pytest.approx(np.mean([matrix[pair] for pair in PAIRS]))


def test_a_pair_has_the_interval_of_the_module():
    found = estimate_figure(find_rankc(LANGUAGES, rankc_pairs(SCORES)))
    alone = measure_rankc(SCORES["fr"], SCORES["zh"])
    assert found["fr-zh_ci"] == pytest.approx(alone["rankc_ci"])


def test_an_undefined_coverlap_is_in_no_mean():
    found = values(find_coverlap({"en": [1, 0], "la": [0, 0], "ceb": [0, 0]}))
    assert found == {"en-la": 0, "en-ceb": 0, "la-ceb": None, "mean": 0}


def test_facts_are_drawn_for_all_languages_at_once():
    """Two languages with equal answers do not differ in any resample."""
    right = {"en": RIGHT["en"], "fr": RIGHT["en"]}
    found = estimate_figure(find_accuracy(right))
    assert found["en_ci"] == found["fr_ci"] == found["mean_ci"]


def count_agreement(one, other):
    """Return the share of equal choices among all choices of best candidates, fact by fact."""
    best = ([np.flatnonzero(np.equal(row, max(row))) for row in rows] for rows in (one, other))
    choices = (list(product(first, second)) for first, second in zip(*best, strict=True))
    return [np.mean([i == j for i, j in fact]) for fact in choices]


def test_kappa_by_counting_all_choices():
    """Observed and chance agreement over the facts with several candidates, pools of 2 to 6."""
    several = SIZES > 1
    rows = [np.array(count_agreement(SCORES[x], SCORES[y])) for x, y in combinations(LANGUAGES, 2)]
    observed, chance = np.mean([row[several] for row in rows]), np.mean(1 / SIZES[several])
    assert 0 < several.sum() < len(SIZES)
    assert values(find_kappa(SCORES))["kappa"] == pytest.approx((observed - chance) / (1 - chance))


def test_kappa_of_constant_scores_is_0():
    scores = {x: [np.zeros(n) for n in SIZES] for x in LANGUAGES}
    found = estimate_figure(find_kappa(scores))
    assert [found["kappa"], *found["kappa_ci"]] == pytest.approx([0, 0, 0], abs=1e-12)


def test_kappa_does_not_depend_on_the_order_of_candidates():
    """The same answers with the candidates sorted: the best of English first in every list."""
    orders = [np.argsort(row)[::-1] for row in SCORES["en"]]
    moved = {x: [r[o] for r, o in zip(rows, orders, strict=True)] for x, rows in SCORES.items()}
    found, expected = (estimate_figure(find_kappa(scores)) for scores in (moved, SCORES))
    assert found["kappa"] == pytest.approx(expected["kappa"], abs=1e-12)
    assert found["kappa_ci"] == pytest.approx(expected["kappa_ci"], abs=1e-12)
    assert expected["kappa_ci"][0] < expected["kappa"] < expected["kappa_ci"][1]


def test_kappa_of_single_candidates_is_undefined():
    assert values(find_kappa({"en": [[1.0]], "fr": [[2.0]]})) == {"kappa": None}


def test_right_in_how_many():
    right = {"en": [1, 1, 0, 0.5], "fr": [1, 0, 0, 0.5], "ru": [1, 1, 0, 1]}
    counts = count_right(right)
    expected = [[0, 0, 0, 1], [0, 0, 1, 0], [1, 0, 0, 0], [0, 0.25, 0.5, 0.25]]
    np.testing.assert_allclose(counts, expected)
    assert values(find_right_counts(right)) == {
        "right_in_all": 1.25 / 4,
        "right_in_any": 3 / 4,
        "right_in_none": 1 / 4,
    }


def test_share_of_facts_by_number_of_languages_by_brute_force():
    """Every order of ties at rank 1 is enumerated: a fact is right or wrong in each language."""
    expected = np.zeros(5)
    for fact in range(len(SIZES)):
        chances = [RIGHT[x][fact] for x in LANGUAGES]
        for outcome in product([0, 1], repeat=4):
            pairs = zip(outcome, chances, strict=True)
            expected[sum(outcome)] += np.prod([p if is_right else 1 - p for is_right, p in pairs])
    assert expected[0] > 0
    shares = share_right(count_right(RIGHT).sum(axis=0).tolist())
    np.testing.assert_allclose(shares, expected[1:] / expected[1:].sum())
    assert share_right([3.0, 0.0, 0.0]) is None


def test_one_language_has_no_pairs():
    scores, right = {"en": SCORES["en"]}, {"en": RIGHT["en"]}
    for figure in (
        find_rankc(["en"], rankc_pairs(scores)), find_coverlap(right), find_agreement(scores)
    ):  # fmt: skip
        assert estimate_figure(figure) == {"mean": None, "mean_ci": None}


def test_rbo_and_tau_are_those_of_the_module():
    names = name_pairs(LANGUAGES)
    rbo, tau = values(find_rbo(SCORES)), values(find_kendall(SCORES))
    for name, (one, other) in zip(names, PAIRS, strict=True):
        alone = overlap_per_query(SCORES[LANGUAGES[one]], SCORES[LANGUAGES[other]])
        assert rbo[name] == pytest.approx(alone["rbo"].mean())
        assert tau[name] == pytest.approx(np.nanmean(alone["kendall_tau_b"]))


def test_infinite_scores_have_a_tau():
    scores = {"en": [[np.inf, -np.inf, 0.0]], "fr": [[1.0, -1.0, 0.0]]}
    assert values(find_kendall(scores))["en-fr"] == pytest.approx(1)


def test_a_single_candidate_has_no_tau():
    assert values(find_kendall({"en": [[1.0]], "fr": [[2.0]]}))["en-fr"] is None


# RankC by outcome compared with plain loops.


def draw(n, shift, shared, seed=0):
    """Scores of 6 candidates in two languages: raised for the answer, else partly common."""
    random = np.random.default_rng(seed)
    common = shared * random.normal(size=(n, 6))
    scores = {x: common + random.normal(size=(n, 6)) for x in ("en", "fr")}
    for values in scores.values():
        values[:, 0] += shift
    right = {x: (values.argmax(1) == 0).astype(float) for x, values in scores.items()}
    return scores, right


def test_rankc_by_outcome_against_loops():
    scores, right = draw(200, 1, 1)
    values = rankc_per_query(scores["en"], scores["fr"])
    outcome = right["en"] + right["fr"]
    for name, count in (("right_right", 2), ("right_wrong", 1), ("wrong_wrong", 0)):
        expected = np.mean([v for v, n in zip(values, outcome, strict=True) if n == count])
        assert estimate_figure(condition_rankc(right, values[:, None], name), n_resamples=0)[
            "en-fr"
        ] == pytest.approx(expected)


def test_an_outcome_that_does_not_occur_is_undefined():
    found = condition_rankc({"en": [1, 1], "fr": [1, 1]}, np.ones((2, 1)), "wrong_wrong")
    result = estimate_figure(found)
    assert result == {"en-fr": None, "en-fr_ci": None, "mean": None, "mean_ci": None}


def test_a_tied_fact_counts_in_parts():
    values = np.array([[0.8], [0.4]])
    found = condition_rankc({"en": [0.5, 1], "fr": [1, 0.5]}, values, "right_right")
    result = estimate_figure(found, n_resamples=0)
    assert result["en-fr"] == pytest.approx((0.5 * 0.8 + 0.5 * 0.4) / 1)
