import math

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from polyprobe.metrics.inflection_delta.formulas import (
    measure_preference,
    rank_delta,
)
from polyprobe.metrics.recall_at_k.formulas import expected_rank, find_standing

CASE = {"predictions": [7, 1, 12, 4], "references": [2, 3, 1, 4]}


def test_result_with_share_and_counts():
    assert measure_preference(**CASE, n_resamples=0) == {
        "inflection_delta": (5 - 2 + 11 + 0) / 4,
        "share_inflected": (1 + 0 + 1 + 1 / 2) / 4,
        "n_queries": 4,
        "n_tied": 1,
    }


def test_ranks_from_zero_give_what_ranks_from_one_do():
    from_zero = {name: [rank - 1 for rank in ranks] for name, ranks in CASE.items()}
    assert measure_preference(**from_zero) == measure_preference(**CASE)


def test_share_of_all_pairs_is_the_mann_whitney_statistic():
    random = np.random.default_rng(3)
    label, inflected = random.integers(0, 9, 20), random.integers(0, 7, 30)
    pairs = np.repeat(label, 30), np.tile(inflected, 20)
    share = measure_preference(*pairs, n_resamples=0)["share_inflected"]
    assert share == pytest.approx(mannwhitneyu(label, inflected).statistic / (20 * 30))


def test_expected_ranks_of_tied_scores_are_taken():
    scores = [[3.0, 2.0, 2.0, 2.0], [1.0, 0.0, 1.0, 1.0]]  # label at 1, inflected form at 2
    label, inflected = (expected_rank(find_standing(scores, [[i]] * 2)) for i in (1, 2))
    assert rank_delta(label, inflected).tolist() == [3 - 3, 4 - 2]


ERRORS = {
    "nan": ([1, 2], [1, math.nan], "rank nan of query 1 in 'references'; expected a number from 0"),
    "none": ([1, None], [1, 1], "rank nan of query 1 in 'predictions'; expected a number from 0"),
    "infinite": ([math.inf], [1], "rank inf of query 0 in 'predictions'; expected a number"),
    "scores": ([1, -1.5], [1, 2], "rank -1.5 of query 1 in 'predictions'; .* where low is good"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case):
    predictions, references, message = ERRORS[case]
    with pytest.raises(ValueError, match=message) as raised:
        measure_preference(predictions, references)
    assert "\n" not in str(raised.value)
