import math
import re
from fractions import Fraction
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyprobe.metrics.contrastive_knowledge.formulas import (
    compare_contrasts,
    measure_knowledge,
)
from tests.metrics.logs import logs

__all__ = ["logs"]

ABOVE = math.nextafter(0.3, 1)


@pytest.mark.parametrize(
    ("row", "sign"),
    [
        ([0.3, 0.1, 0.2, 0.6], 0),  # numpy's mean is 0.30000000000000004
        ([ABOVE, 0.3], 1),
        ([ABOVE, 0.3, 0.3], 1),
        ([0.3, ABOVE, ABOVE], -1),
        ([0.3, ABOVE, 0.3], -1),
        ([0.25, 0.5, 1e-30], -1),  # a sum of doubles would lose the last
        ([5e-324, 5e-324, 0.0], 1),
        ([1e-300, 1e-300, 1e-300], 0),
        ([30.0, 10.0, 20.0, 60.0], 0),
    ],
)
def test_sign_is_not_rounded(row, sign):
    assert compare_contrasts([row]).tolist() == [sign]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(st.integers(0, 12), min_size=2, max_size=9), min_size=1, max_size=20))
def test_signs_are_those_of_whole_numbers(rows):
    """Tenths, which doubles cannot represent, and 2^-24ths, which they can, like models' floats."""
    expected = [np.sign((len(row) - 1) * row[0] - sum(row[1:])) for row in rows]
    for unit in (0.1, 0.001, 2.0**-24):
        values = [[round(n * unit, 3) if unit > 1e-6 else n * unit for n in row] for row in rows]
        assert compare_contrasts(values).tolist() == expected


@settings(max_examples=150, deadline=None)
@given(st.lists(st.floats(0, 1, width=32), min_size=2, max_size=6), st.integers(-2, 2))
def test_signs_near_a_tie_are_those_of_fractions(others, steps):
    """The fact is at the mean of the counterfacts, or one or two floats from it."""
    fact = np.float32(fmean(others))
    for _ in range(abs(steps)):
        fact = np.nextafter(fact, np.float32(np.sign(steps)))
    fact = abs(float(fact))
    exact = len(others) * Fraction(fact) - sum(map(Fraction, others))
    assert compare_contrasts([[fact, *others]]).tolist() == [(exact > 0) - (exact < 0)]


def test_arrays_padded_rows_and_lists_are_the_same():
    rows = [[0.5, 0.25, 0.75], [0.5, 0.25], [0.125, 0.25]]
    padded = np.ma.array([[*row, 9.0][:3] for row in rows], mask=np.zeros((3, 3)))
    padded.mask[1:, 2] = True
    assert compare_contrasts(rows).tolist() == compare_contrasts(padded).tolist() == [0, 1, -1]
    assert compare_contrasts(np.array([[0.5, 0.25]], dtype=np.float32)).tolist() == [1]


ROWS = [[0.5, 0.2], [0.2, 0.2], [0.1, 0.2, 0.3], [0.3, 0.1, 0.2, 0.6], [0.4, 0.1, 0.2]]


def test_ties_are_wrong_or_count_half_and_are_reported():
    wrong = measure_knowledge(ROWS, n_resamples=0)
    assert wrong == {"accuracy": 2 / 5, "tie_share": 2 / 5, "n_queries": 5}
    half = measure_knowledge(ROWS, ties="half", n_resamples=0)
    assert half == {"accuracy": (2 + 2 / 2) / 5, "tie_share": 2 / 5, "n_queries": 5}


def test_groups_are_averaged_as_the_leaderboard_has_them():
    groups = ["en", "en", "en", "hr", "hr"]
    macro = measure_knowledge(ROWS, groups=groups)
    assert macro["accuracy"] == pytest.approx((1 / 3 + 1 / 2) / 2)
    assert macro["by_group"]["en"]["n_queries"] == 3
    for figures in (macro, *macro["by_group"].values()):
        low, high = figures["accuracy_ci"]
        assert figures["half_width"] == (high - low) / 2
    assert measure_knowledge(ROWS, groups=groups, average="micro")["accuracy"] == 2 / 5


def test_a_single_fact_has_no_interval():
    result = measure_knowledge([[0.5, 0.2]])
    assert (result["accuracy"], result["accuracy_ci"], result["half_width"]) == (1, None, None)


def test_log_probabilities_give_what_their_exponentials_do():
    random = np.random.default_rng(3)
    rows = [random.dirichlet(np.ones(n)).tolist() for n in (2, 3, 4, 9) * 25]
    expected = measure_knowledge(rows, n_resamples=50)
    logs = [np.log(row).tolist() for row in rows]
    assert measure_knowledge(logs, log=True, n_resamples=50) == expected
    assert 0.2 < expected["accuracy"] < 0.8
    signs = compare_contrasts([[-5000, -5001], [-math.inf, -math.inf], [-7, -7, -7]], log=True)
    assert signs.tolist() == [1, 0, 0]  # exp(-5000) is 0 in floating point
    # arithmetic, not geometric: log .4 is above the mean of log .1 and log .8, .4 below .45
    assert compare_contrasts(np.log([[0.4, 0.1, 0.8]]), log=True).tolist() == [-1]
    with pytest.raises(ValueError, match="^inf in query 0 of 'predictions'; expected log-prob"):
        compare_contrasts([[math.inf, 1]], log=True)
    with pytest.raises(ValueError, match="^log is 'yes'; expected True or False"):
        measure_knowledge(rows, log="yes")


ERRORS = {
    "no counterfact": ([[0.5, 0.1], [0.3]], "query 1 of 'predictions' has no counterfact; expecte"),
    "infinite": ([[math.inf, 0.1]], "inf among the values of query 0 in 'predictions'; expected"),
    "huge": ([[0.2, 1e308]], r"1e\+308 among the values of query 0 in 'predictions'; expected pro"),
    "logarithms": ([[0.5, 0.2], [-0.1, -2.5]], r"-0.1 among .* query 1 .*\(of log-probabilities p"),
    "minus infinity": ([[0.5, -math.inf]], "-inf among the values of query 0 in 'predictions'"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case):
    rows, message = ERRORS[case]
    with pytest.raises(ValueError, match=message) as raised:
        measure_knowledge(rows)
    assert "\n" not in str(raised.value)


def test_error_of_unknown_ties():
    with pytest.raises(ValueError, match="unknown ties 'expected'; known: wrong, half"):
        measure_knowledge(ROWS, ties="expected")


def test_flags_counts_and_intervals_are_those_of_the_logs(logs):
    models = ("bloom-7b", "m-bert-base")
    assert logs.keys() == {(model, lang) for model in models for lang in ("hr", "hu", "ru", "sl")}
    for items, summary in logs.values():
        rows = [[item["p_true"], *item["p_false_list"]] for item in items]
        flags = [item["p_true > p_false_average"] == "True" for item in items]
        assert (compare_contrasts(rows) > 0).tolist() == flags
        recalled, size = map(int, re.search(r"predicted (\d+)/(\d+) facts", summary).groups())
        result = measure_knowledge(rows)
        assert (result["accuracy"], result["n_queries"]) == (recalled / size, size)
        drawn = np.random.default_rng(1).binomial(size, recalled / size, 10_000) / size
        bounds = np.quantile(drawn, [0.025, 0.975])
        assert np.abs(bounds - result["accuracy_ci"]).max() < 0.001
        assert result["half_width"] == pytest.approx((bounds[1] - bounds[0]) / 2, abs=0.001)


def test_languages_as_groups_give_their_mean_and_their_own_intervals(logs):
    rows, groups = [], []
    for (model, language), (items, _) in logs.items():
        if model == "bloom-7b":
            rows += [[item["p_true"], *item["p_false_list"]] for item in items]
            groups += [language] * len(items)
    result = measure_knowledge(rows, groups=groups)
    counts = {"hr": (3623, 7358), "hu": (2267, 4650), "ru": (1752, 3289), "sl": (3759, 7873)}
    expected = [recalled / size for recalled, size in counts.values()]
    assert [result["by_group"][name]["accuracy"] for name in counts] == pytest.approx(expected)
    assert result["accuracy"] == pytest.approx(fmean(expected))
    assert result["tie_share"] == pytest.approx((25 / 7358 + 26 / 4650 + 45 / 3289 + 45 / 7873) / 4)
    own = fmean(part["half_width"] for part in result["by_group"].values())
    assert result["half_width"] == pytest.approx(own / math.sqrt(4), rel=0.1)
