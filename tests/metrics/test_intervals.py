"""Averages by hand; intervals compared with scipy's bootstrap and general properties."""

import numpy as np
import pytest
from scipy import stats

from polyprobe.metrics.coverlap.formulas import find_coverlap
from polyprobe.metrics.joint.significance import withhold
from polyprobe.metrics.shared import intervals
from polyprobe.metrics.shared.intervals import (
    Figure,
    Ratio,
    Resampling,
    add_mean,
    bound_share,
    divide,
    estimate_figure,
    mean_of,
    resample,
    share,
    summarize,
)

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
    result = summarize({"x": [1, np.nan, 0], "y": [np.nan] * 3}, n_resamples=40)
    assert result["x"] == 1 / 2
    assert (result["y"], result["y_ci"]) == (None, None)


@pytest.mark.parametrize(("empty", "expected"), [("skip", 1.0), ("zero", 0.5)])
def test_a_group_without_a_value(empty, expected):
    result = summarize({"x": [1, np.nan]}, groups=["a", "b"], empty=empty, n_resamples=5)
    assert result["x"] == expected
    assert result["by_group"]["b"] == {"x": None, "x_ci": None, "n_queries": 1}


@pytest.mark.parametrize("options", [{}, {"clusters": ["s"]}, {"groups": ["g"]}])
def test_one_query_has_no_interval(options):
    result = summarize({"x": [0.25]}, **options)
    assert (result["x"], result["x_ci"]) == (0.25, None)


def test_two_queries_span_their_values():
    assert summarize({"x": [0.25, 0.75]})["x_ci"] == [0.25, 0.75]


@pytest.mark.parametrize("value", [0.1, 1 / 3, 0.7, 1 / 9.5])
@pytest.mark.parametrize("n", [3, 7, 49, 200, 1000])
def test_the_mean_of_equal_values_is_that_value(value, n):
    """0.1 added 1,000 times and divided by 1,000 is 0.09999999999999859."""
    equal = np.full(n, value)
    found = summarize({"x": equal, "y": share(equal)}, n_resamples=50)
    assert (found["x"], found["x_ci"], found["y"]) == (value, [value, value], value)
    groups = np.arange(2 * n) % 2
    found = summarize({"x": np.full(2 * n, value) + groups}, groups=groups, n_resamples=50)
    low, high = found["x_ci"]
    assert low == found["x"] == high
    of_group = {"x": value + 1, "x_ci": [value + 1, value + 1], "n_queries": n}
    assert found["by_group"][1] == of_group


def test_fewer_than_40_resamples_give_no_interval():
    few = {"x": VALUES, "y": share(VALUES)}
    found = summarize(few, n_resamples=39, groups=np.arange(300) % 2)
    for figures in (found, *found["by_group"].values()):
        assert (figures["x_ci"], figures["y_ci"]) == (None, None)
    found = summarize(few, n_resamples=40)
    assert found["x_ci"][0] < found["x"] < found["x_ci"][1]
    assert found["y_ci"][0] < found["y"] < found["y_ci"][1]
    columns = np.arange(40.0)[:, None] + [0, 1]
    columns[0, 1] = np.nan
    [whole, lacking] = intervals.bound_samples(columns, 5, np.array([np.nan, 0]))
    assert whole
    assert lacking is None


@pytest.mark.parametrize("values", [VALUES, VALUES > 0.2], ids=["continuous", "right or wrong"])
def test_scipy_draws_the_same_interval(values):
    theirs = stats.bootstrap(
        (values.astype(float),), np.mean, method="percentile", n_resamples=20_000, rng=1
    ).confidence_interval
    ours = summarize({"x": values}, n_resamples=20_000)["x_ci"]
    width = theirs.high - theirs.low
    assert ours == pytest.approx([theirs.low, theirs.high], abs=0.03 * width)


@pytest.mark.parametrize("few", [VALUES[:6], np.array([0.0, 1.0] * 8)], ids=["apart", "equal"])
def test_the_variance_is_unbiased_also_where_equal_rows_are_drawn_as_one(few):
    n = len(few)
    sums = resample(few[:, None], np.zeros(n, int), None, 40_000, seed=0).figures
    assert (sums[:, 0, 0] / (n - 1)).std() == pytest.approx(few.std(ddof=1) / n**0.5, rel=0.02)


def test_the_levels_are_widened_as_student_s_t_is():
    """Three groups of three: 9 - 3 = 6 degrees of freedom; of four unequal clusters less than 3."""
    few, groups = np.arange(9.0), np.repeat([0, 1, 2], 3)
    drawn = resample(few[:, None], groups, None, 9, seed=0)
    assert (drawn.freedom.tolist(), drawn.freedom_of_all) == ([2, 2, 2], 6)
    clusters = np.array([0, 0, 0, 0, 0, 0, 1, 2, 3])
    drawn = resample(few[:, None], np.zeros(9, int), clusters, 9, seed=0)
    assert drawn.freedom_of_all == pytest.approx(9**2 / (6**2 + 3) - 1)
    one = resample(few[:, None], np.zeros(9, int), np.zeros(9, int), 9, seed=0)
    assert one.freedom_of_all == 0
    samples = np.linspace(0, 1, 10_001)
    tail = stats.norm.cdf(stats.t.ppf(0.025, 6))
    for column in (samples, np.append(samples, np.nan)):
        [found] = intervals.bound_samples(column[:, None], 6, np.array([np.nan]))
        assert found == pytest.approx([tail, 1 - tail])


def test_equal_rows_are_drawn_as_one(monkeypatch):
    """The short way (a multinomial over distinct rows) and the long one agree."""
    table = np.repeat([[1.0, 1.0], [0.0, 1.0]], [70, 230], axis=0)
    figure, options = Figure(["x"], table, intervals.divide), {"n_resamples": 20_000}
    fast = estimate_figure(figure, **options)["x_ci"]
    monkeypatch.setattr(intervals, "_NARROW", 0)
    plain = estimate_figure(figure, **options)["x_ci"]
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
        ({"n_resamples": True}, "n_resamples is True; expected a number from 0 to 10000000"),
        ({"n_resamples": 10**30}, "n_resamples is 10000.*; expected a number from 0 to 10000000"),
        ({"average": ["macro"]}, r"unknown average \['macro'\]; known: macro, micro"),
        ({"groups": 1e308}, r"1e\+308 in 'groups', 2 queries"),
        ({"groups": ["a"]}, "1 in 'groups', 2 queries; expected one for each query"),
        ({"groups": "ab"}, "'ab' in 'groups', 2 queries"),
        ({"clusters": [1, 2, 3]}, "3 in 'clusters', 2 queries"),
    ],
)
def test_errors(options, message):
    with pytest.raises(ValueError, match=message):
        summarize({"x": [1, 0]}, **options)


def wilson(value, n, freedom=np.inf):
    """Return Wilson's interval as the roots of (value - x)^2 = t^2 x (1 - x) / n."""
    ratio = stats.t.ppf(0.975, freedom) ** 2 / n
    return np.sort(np.roots([1 + ratio, -2 * value - ratio, value**2])).clip(0, 1)


@pytest.mark.parametrize(("right", "n"), [(0, 40), (40, 40), (1, 40), (39, 40), (180, 450), (2, 2)])
def test_a_share_has_wilson_s_interval(right, n):
    theirs = stats.binomtest(right, n).proportion_ci(method="wilson")
    assert wilson(right / n, n) == pytest.approx([theirs.low, theirs.high])
    variance = right / n * (1 - right / n) / n
    assert bound_share(right / n, variance, n, np.inf) == pytest.approx([theirs.low, theirs.high])
    found = summarize({"x": share(np.arange(n) < right)})["x_ci"]
    expected = wilson(right / n, n if right in (0, n) else n - 1, n - 1)
    assert found == pytest.approx(expected.clip(0, 1), abs=0.006)


def test_the_effective_size_of_a_share_has_the_variance_of_clusters():
    """Four copies of each of ten values: one is 1, or all; then clusters of 6, 1, 1, 1 zeros."""
    clusters = np.repeat(np.arange(10), 4)
    found = summarize({"x": share(clusters == 0)}, clusters=clusters)["x_ci"]
    assert found == pytest.approx(wilson(1 / 10, 10 - 1, 9), abs=0.02)
    found = summarize({"x": share(clusters >= 0)}, clusters=clusters)["x_ci"]
    assert found == pytest.approx(wilson(1, 10, 9))
    unequal = np.repeat([0, 1, 2, 3], [6, 1, 1, 1])
    found = summarize({"x": share(np.zeros(9))}, clusters=unequal)["x_ci"]
    size = 9**2 / (6**2 + 3)
    assert found == pytest.approx(wilson(0, size, size - 1))


def test_a_share_counts_the_queries_of_its_denominator():
    """COverlap of 0 of 8 in 200 queries, as its kernel for pairs gives it; NaN is left out."""
    either = np.arange(200) < 8
    expected = wilson(0, 8, 199)
    zeros = Ratio(np.zeros(200), either, share=True)
    assert summarize({"x": zeros})["x_ci"] == pytest.approx(expected)
    found = estimate_figure(find_coverlap({"en": either * 1.0, "fr": np.zeros(200)}))
    assert found["en-fr_ci"] == found["mean_ci"] == pytest.approx(expected)
    missing = np.where(either, 1, np.nan)
    assert summarize({"x": share(missing)})["x_ci"] == pytest.approx(wilson(1, 8, 199))


def test_shares_by_group():
    """A group of 4 and one of 16: their mean has weights of 1/8 and 1/32, as 12.8 equal ones."""
    groups = np.repeat(["a", "b"], [4, 16])
    found = summarize({"x": share(np.ones(20))}, groups=groups)
    size = 1 / (4 * (1 / 8) ** 2 + 16 * (1 / 32) ** 2)
    assert found["x_ci"] == pytest.approx(wilson(1, size, 3 + 15))
    assert found["by_group"]["a"]["x_ci"] == pytest.approx(wilson(1, 4, 3))
    micro = summarize({"x": share(np.ones(20))}, groups=groups, average="micro")
    assert micro["x_ci"] == pytest.approx(wilson(1, 20, 19))
    apart = summarize({"x": share(groups == "a")}, groups=groups)
    assert apart["x_ci"] == pytest.approx(wilson(1 / 2, size, 3 + 15))


def test_figures_that_are_no_shares_keep_the_percentile_interval():
    right = np.ones((30, 2))
    of_shares = estimate_figure(mean_of(["en", "fr"], right, np.ones(30), share=True))
    assert of_shares["en_ci"] == of_shares["mean_ci"] == pytest.approx(wilson(1, 30, 29))
    assert estimate_figure(mean_of(["en", "fr"], right, np.ones(30)))["mean_ci"] == [1, 1]
    found = summarize({"x": share(VALUES), "y": VALUES}, n_resamples=20_000)
    assert found["x_ci"] != found["y_ci"] == pytest.approx(found["x_ci"], abs=0.004)


def test_resamples_by_default(monkeypatch):
    """10,000 up to 50,000 facts x figures, else 1,000; others as given."""
    drawn = []
    monkeypatch.setattr(
        intervals, "resample", lambda *a, n, **b: drawn.append(n) or resample(*a, n=2, **b)
    )
    summarize({"x": VALUES})
    summarize({"x": np.ones(25_000), "y": np.ones(25_000)})
    summarize({"x": np.ones(25_001), "y": np.ones(25_001)})
    summarize({"x": np.ones(25_001), "y": np.ones(25_001)}, n_resamples=500)
    assert drawn == [10_000, 10_000, 1_000, 500]


def test_a_firm_figure_loses_the_names_that_resamples_leave_undefined():
    """Of two ratios over 8 facts one has a single fact in its denominator: 1 in 3 draws miss it."""
    table = np.column_stack([np.ones(8), np.arange(8) == 0, np.ones(8), np.arange(8) == 0])

    def statistic(sums):
        return add_mean(divide(sums))

    figure = Figure(["a", "b", "mean"], table, statistic, firm=True)
    options = Resampling(n_resamples=200)
    sums = table.sum(axis=0)
    np.testing.assert_equal(figure.statistic(sums), [1, 1, 1])
    np.testing.assert_equal(withhold(figure, options).statistic(sums), [1, np.nan, 1])
    assert withhold(figure._replace(firm=False), options) == figure._replace(firm=False)
