"""Averages by hand; intervals compared with scipy's bootstrap and general properties."""

import numpy as np
import pytest
from scipy import stats

from polyprobe.metrics.shared import intervals
from polyprobe.metrics.shared import intervals as rankc_intervals
from polyprobe.metrics.shared.intervals import Ratio, Resampling, estimate, resample, summarize

VALUES = np.random.default_rng(0).beta(0.7, 2, size=300)


def test_averages_by_hand():
    values, groups = [1, 0, 0, 1, 1], ["a", "a", "a", "b", "b"]
    options = {"groups": groups, "n_resamples": 0}
    assert summarize({"x": values}, **options)["x"] == pytest.approx((1 / 3 + 1) / 2)
    assert summarize({"x": values}, **options, average="micro")["x"] == 3 / 5
    by_group = summarize({"x": values}, **options)["by_group"]
    assert by_group == {
        "a": {"x": pytest.approx(1 / 3), "n_queries": 3},
        "b": {"x": 1.0, "n_queries": 2},
    }


def test_a_ratio_is_of_sums():
    ratio = Ratio(np.array([1, 0, 1]), np.array([1, 1, 2]))
    assert summarize({"x": ratio}, n_resamples=0) == {"x": 2 / 4}


def test_undefined_values_are_left_out():
    result = summarize({"x": [1, np.nan, 0], "y": [np.nan] * 3}, n_resamples=9)
    assert result["x"] == 1 / 2
    assert (result["y"], result["y_ci"]) == (None, None)


@pytest.mark.parametrize(("empty", "expected"), [("skip", 1.0), ("zero", 0.5)])
def test_a_group_without_a_value(empty, expected):
    result = summarize({"x": [1, np.nan]}, groups=["a", "b"], empty=empty, n_resamples=5)
    assert result["x"] == expected
    assert result["by_group"]["b"] == {"x": None, "x_ci": None, "n_queries": 1}


def test_intervals_can_be_turned_off():
    assert summarize({"x": [1, 0]}, n_resamples=0) == {"x": 0.5}


@pytest.mark.parametrize("options", [{}, {"clusters": ["s"]}, {"groups": ["g"]}])
def test_one_query_has_no_interval(options):
    result = summarize({"x": [0.25]}, **options)
    assert (result["x"], result["x_ci"]) == (0.25, None)


def test_two_queries_span_their_values():
    assert summarize({"x": [0.25, 0.75]})["x_ci"] == [0.25, 0.75]


def test_equal_values_have_no_width():
    assert summarize({"x": np.full(50, 0.3)})["x_ci"] == pytest.approx([0.3, 0.3])


@pytest.mark.parametrize("values", [VALUES, VALUES > 0.2], ids=["continuous", "right or wrong"])
def test_scipy_draws_the_same_interval(values):
    theirs = stats.bootstrap(
        (values.astype(float),), np.mean, method="percentile", n_resamples=20_000, rng=1
    ).confidence_interval
    ours = summarize({"x": values}, n_resamples=20_000)["x_ci"]
    width = theirs.high - theirs.low
    assert ours == pytest.approx([theirs.low, theirs.high], abs=0.03 * width)


def test_the_variance_is_unbiased():
    few = VALUES[:6]
    sums = resample(few[:, None], np.zeros(6, int), None, Resampling(n_resamples=40_000)).sums
    assert (sums[:, 0, 0] / 5).std() == pytest.approx(few.std(ddof=1) / np.sqrt(6), rel=0.02)


def test_the_variance_is_unbiased_where_equal_rows_are_drawn_as_one():
    few = np.array([0.0, 1.0] * 8)
    sums = resample(few[:, None], np.zeros(16, int), None, Resampling(n_resamples=40_000)).sums
    assert (sums[:, 0, 0] / 15).std() == pytest.approx(few.std(ddof=1) / 4, rel=0.02)


def test_the_levels_are_widened_as_student_s_t_is():
    """Three groups of three: 9 - 3 = 6 degrees of freedom; of four unequal clusters less than 3."""
    few, groups = np.arange(9.0), np.repeat([0, 1, 2], 3)
    drawn = resample(few[:, None], groups, None, Resampling())
    assert (drawn.freedom.tolist(), drawn.freedom_of_all) == ([2, 2, 2], 6)
    clusters = np.array([0, 0, 0, 0, 0, 0, 1, 2, 3])
    drawn = resample(few[:, None], np.zeros(9, int), clusters, Resampling())
    assert drawn.freedom_of_all == pytest.approx(9**2 / (6**2 + 3) - 1)
    one = resample(few[:, None], np.zeros(9, int), np.zeros(9, int), Resampling())
    assert one.freedom_of_all == 0
    samples = np.linspace(0, 1, 10_001)
    tail = stats.norm.cdf(stats.t.ppf(0.025, 6))
    assert intervals.interval(samples, 6) == pytest.approx([tail, 1 - tail])


def test_a_ratio_of_another_folder_s_copy_counts():
    foreign = rankc_intervals.Ratio(np.array([1, 0]), np.array([1, 1]))
    assert summarize({"x": foreign}, n_resamples=0) == {"x": 0.5}


def test_equal_rows_are_drawn_as_one(monkeypatch):
    """The short way (a multinomial over distinct rows) and the long one agree."""
    table = np.repeat([[1.0, 1.0], [0.0, 1.0]], [70, 230], axis=0)
    options = Resampling(n_resamples=20_000)
    fast = estimate(table, ["x"], intervals.divide, options)["x_ci"]
    monkeypatch.setattr(intervals, "_NARROW", 0)
    plain = estimate(table, ["x"], intervals.divide, options)["x_ci"]
    assert fast == pytest.approx(plain, abs=0.004)


def test_micro_does_not_see_groups():
    groups = np.arange(300) % 7
    assert (
        summarize({"x": VALUES}, groups=groups, average="micro")["x_ci"]
        == summarize({"x": VALUES})["x_ci"]
    )


def test_macro_draws_within_groups():
    """Constant groups with different values have no variance."""
    groups = np.arange(300) % 3
    result = summarize({"x": groups * 1.0}, groups=groups)
    assert result["x_ci"] == [1.0, 1.0]
    assert summarize({"x": groups * 1.0}, groups=groups, average="micro")["x_ci"] != [1.0, 1.0]


def test_a_cluster_is_drawn_whole():
    """Ten copies of each value add no information."""
    values, clusters = np.repeat(VALUES[:40], 10), np.repeat(np.arange(40), 10)
    whole = summarize({"x": values}, clusters=clusters, n_resamples=4000)["x_ci"]
    alone = summarize({"x": VALUES[:40]}, n_resamples=4000)["x_ci"]
    assert whole == pytest.approx(alone, abs=0.005)
    apart = summarize({"x": values}, n_resamples=4000)["x_ci"]
    assert apart[1] - apart[0] < 0.5 * (whole[1] - whole[0])


def test_clusters_inside_groups_are_drawn_within_them():
    groups = np.repeat([0, 1], [30, 270])
    queries = np.arange(300)
    assert (
        summarize({"x": VALUES}, groups=groups, clusters=queries)["x_ci"]
        == summarize({"x": VALUES}, groups=groups)["x_ci"]
    )


def test_groups_inside_clusters_are_drawn_whole():
    """With relations as clusters the macro average is a mean of resampled relations."""
    groups = np.arange(300) % 20
    means = [VALUES[groups == g].mean() for g in range(20)]
    result = summarize({"x": VALUES}, groups=groups, clusters=groups)
    assert result["x_ci"] == pytest.approx(summarize({"x": means})["x_ci"])
    assert result["by_group"][0]["x_ci"] is None


def test_clusters_across_groups():
    """Each subject has a fact in both relations: the sum of both varies."""
    groups, subjects = np.repeat(["a", "b"], 150), np.tile(np.arange(150), 2)
    both = (VALUES[:150] + VALUES[150:]) / 2
    result = summarize({"x": VALUES}, groups=groups, clusters=subjects, n_resamples=4000)
    alone = summarize({"x": both}, n_resamples=4000)["x_ci"]
    assert result["x_ci"] == pytest.approx(alone, abs=0.004)
    inside = summarize({"x": VALUES[:150]}, n_resamples=4000)["x_ci"]
    assert result["by_group"]["a"]["x_ci"] == pytest.approx(inside, abs=0.01)


def test_the_seed_decides():
    assert summarize({"x": VALUES}, seed=3) == summarize({"x": VALUES}, seed=3)
    assert summarize({"x": VALUES}, seed=3) != summarize({"x": VALUES}, seed=4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"average": "mean"}, "unknown average 'mean'; known: macro, micro"),
        ({"empty": "nan"}, "unknown empty 'nan'; known: skip, zero"),
        ({"n_resamples": -1}, "n_resamples is -1; expected a number from 0"),
        ({"n_resamples": 1.5}, "n_resamples is 1.5"),
        ({"groups": ["a"]}, "1 in 'groups', 2 queries; expected one for each query"),
        ({"groups": "ab"}, "'ab' in 'groups', 2 queries"),
        ({"clusters": [1, 2, 3]}, "3 in 'clusters', 2 queries"),
    ],
)
def test_errors(options, message):
    with pytest.raises(ValueError, match=message):
        summarize({"x": [1, 0]}, **options)
