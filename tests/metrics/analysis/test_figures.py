"""Figures of all pairs compared with the modules, figures of all languages with counts."""

from itertools import combinations, product

import numpy as np
import pytest
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

from polyprobe.metrics.accuracy_at_1.accuracy_at_1 import find_accuracy, right_probability
from polyprobe.metrics.answer_agreement.answer_agreement import choose, find_agreement, find_kappa
from polyprobe.metrics.coverlap.coverlap import coverlap_matrix
from polyprobe.metrics.joint.measures import count_right, find_rbo, find_right_counts
from polyprobe.metrics.rank_overlap.rank_overlap import find_kendall, overlap_per_query
from polyprobe.metrics.rankc.rankc import (
    find_rankc,
    find_rankc_adjusted,
    measure_rankc,
    rankc_matrix,
    rankc_pairs,
)
from polyprobe.metrics.shared.intervals import estimate_figure, find_coverlap, name_pairs

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


def test_coverlap_is_that_of_the_matrix():
    matrix = coverlap_matrix(RIGHT)
    found = values(find_coverlap(RIGHT))
    for name, pair in zip(name_pairs(LANGUAGES), PAIRS, strict=True):
        assert found[name] == pytest.approx(matrix[pair])


def test_an_undefined_coverlap_is_in_no_mean():
    found = values(find_coverlap({"en": [1, 0], "la": [0, 0], "ceb": [0, 0]}))
    assert found == {"en-la": 0, "en-ceb": 0, "la-ceb": None, "mean": 0}


def test_accuracy():
    found = values(find_accuracy(RIGHT))
    assert found["fr"] == pytest.approx(RIGHT["fr"].mean())
    assert found["mean"] == pytest.approx(np.mean([r.mean() for r in RIGHT.values()]))


def test_facts_are_drawn_for_all_languages_at_once():
    """Two languages with equal answers do not differ in any resample."""
    right = {"en": RIGHT["en"], "fr": RIGHT["en"]}
    found = estimate_figure(find_accuracy(right))
    assert found["en_ci"] == found["fr_ci"] == found["mean_ci"]


def test_agreement_by_counting_all_choices():
    chosen = choose(SCORES)
    found = values(find_agreement(SCORES))
    for name, (one, other) in zip(name_pairs(LANGUAGES), PAIRS, strict=True):
        shares = [
            sum(a[i] * b[j] for i, j in product(range(len(a)), repeat=2) if i == j)
            for a, b in zip(chosen[one], chosen[other], strict=True)
        ]
        assert found[name] == pytest.approx(np.mean(shares))


def test_kappa_is_statsmodels():
    random = np.random.default_rng(2)
    scores = {x: random.random((60, 5)) + np.eye(5)[random.integers(5, size=60)] for x in LANGUAGES}
    chosen = np.column_stack([rows.argmax(axis=1) for rows in scores.values()])
    expected = fleiss_kappa(aggregate_raters(chosen)[0])
    assert values(find_kappa(scores))["fleiss_kappa"] == pytest.approx(expected)


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
