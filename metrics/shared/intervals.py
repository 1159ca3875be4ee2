"""Bootstrap intervals of figures over queries: overall, by group, by cluster.

A measure is a ratio of two sums over queries, or a function of several. All resamples are therefore
one matrix product: how often each query was drawn, times its values.

>>> result = summarize({"gain": [1, 0, 1, 1]}, groups=["P36", "P36", "P19", "P19"])
>>> result["gain"], result["gain_ci"]
(0.75, [0.5, 1.0])
>>> result["by_group"]["P36"]
{'gain': 0.5, 'gain_ci': [0.0, 1.0], 'n_queries': 2}
"""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import ndtr, stdtrit

AVERAGES, EMPTY = ("macro", "micro"), ("skip", "zero")
_MOST, _LEAST, _CHEAP = 10_000, 1_000, 50_000  # resamples; facts times figures
MIN_RESAMPLES, _LAST = 40, 10_000_000  # of an interval or a test, 1 beyond each end; at all
_CHUNK = 2**20  # draws or sums at once
_NARROW = 16  # columns; in wider tables the search for equal rows takes longer than it saves
_COLUMNS = 1024  # at once
_NOTHING = 1e-24  # variance of equal values that are summed in several orders
_TAIL = 0.025  # share of the resamples beyond each end of an interval
_SPARSE = 16  # a sparse product is faster if at most one value in 16 is not 0
NO_SHARES = np.array([[np.nan]])

Statistic = Callable[[np.ndarray], np.ndarray]
Labels = Sequence[Hashable] | None
Figures = dict[str, Any]
Intervals = list[list[float] | None]


class Ratio(NamedTuple):
    """Numerators and denominators of a measure by query; both are 0 if it does not count."""

    numerators: np.ndarray
    denominators: np.ndarray
    share: bool = False  # no numerator is below 0 or above its denominator (`bound_share`)


class Resampling(NamedTuple):
    """Options of averaging and of the bootstrap; keywords of every metric."""

    groups: Labels = None  # of each query, usually its relation
    # macro, the unweighted mean over groups (queries are drawn within each group), or micro, over
    # all queries alike (and drawn from all); without groups they are the same
    average: str = "macro"
    n_resamples: int | None = None  # below 40: no intervals; None: see `choose_resamples`
    seed: int = 0
    # Of each query: its subject, its relation. Queries with the same label are drawn together.
    # Without the subjects, where several queries have the same one, intervals are too narrow.
    clusters: Labels = None
    empty: str = "skip"  # or zero: value of a group without a defined one in the macro average


class Figure(NamedTuple):
    """One figure of several languages or pairs, and `mean`, the mean of the defined ones."""

    names: list[str]  # languages, or pairs as `en-fr`, and `mean`
    table: np.ndarray  # [facts, columns], the summands of each fact
    statistic: Statistic  # from sums [..., columns] to figures [..., names]; NaN where undefined
    # Weight of each fact in each figure, its summand of the denominator; NaN for figures that are
    # no shares (`bound_share`). [facts, names], or 1 for an axis with equal values.
    shares: np.ndarray = NO_SHARES
    firm: bool = False  # undefined where more than 2.5% of the resamples are


class Draws(NamedTuple):
    """Figures of resamples [resamples, groups, names]."""

    figures: np.ndarray
    freedom: np.ndarray  # degrees of freedom of a figure of each group [groups]
    freedom_of_all: float  # those of a figure of all units
    within: bool = True  # whether they were drawn within each group


def summarize(
    measures: Mapping[str, Ratio | np.ndarray | Sequence[float]], **options: Any
) -> Figures:
    """Compute each measure's average and 95% interval, by group too; options as in `Resampling`.

    A sequence of values is averaged; NaN is undefined and left out. An undefined value (0/0) is
    None, and so is its interval, and the interval of a value that a single query defines. Mark
    shares by `share`: the interval of other measures has no width if all values are equal.

    Returns:
        NAME and `NAME_ci` = [low, high] of each measure, and if `groups` is given `by_group`:
        GROUP to the same and `n_queries`, in the order in which groups first occur.
    """
    values = measures.values()
    ratios = [v if isinstance(v, Ratio) else share(v)._replace(share=False) for v in values]
    columns = [*(r.numerators for r in ratios), *(r.denominators for r in ratios)]
    table = np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=1)
    shares = np.column_stack([np.where(r.share, r.denominators, np.nan) for r in ratios])
    result = estimate_figure(Figure(list(measures), table, divide, shares), **options)
    codes = index_labels(options.get("groups"), len(table), "groups")[1]
    # The sums of equal values differ from n times the value by rounding: take it exactly.
    for name, ratio in zip(measures, ratios, strict=True):
        counts = np.bincount(codes, np.asarray(ratio.denominators) != 0)
        figures = (result, *result.get("by_group", {}).values())
        parts = zip(figures, [counts.sum(), *counts], _find_constants(ratio, codes), strict=False)
        for part, count, constant in parts:
            bounds = part.get(f"{name}_ci")
            if not np.isnan(constant):
                part[name] = constant
            if bounds is not None and count < 2:
                part[f"{name}_ci"] = None
            elif bounds is not None and not np.isnan(constant) and not ratio.share:
                part[f"{name}_ci"] = [constant, constant]
    return result


def estimate_figure(figure: Figure, by_group: bool = True, **options: Any) -> Figures:
    """Compute each name's value and `NAME_ci`; options as in `Resampling`."""
    return estimate(figure, Resampling(**options), by_group)


def estimate(
    figure: Figure, options: Resampling, by_group: bool = True, mean_alone: bool = False
) -> Figures:
    """Compute the values of a figure and their intervals, with `by_group` of each group too.

    With `mean_alone` those of its last name: intervals of 1,378 pairs take most of the time.
    """
    # The scale of the sums must not matter to the statistic. A resample has n - 1 of n queries or
    # clusters (n_g - 1 of n_g in each group: McCarthy and Snowden 1985), which makes the variance
    # unbiased. The interval is the percentile interval at levels widened as Student's t is
    # (Hesterberg 2015, section 5.3), of shares that of `bound_share`. Degrees of freedom are those
    # of n units; unequal clusters, of s queries, count as (sum s)^2 / sum s^2 equal ones (Kish
    # 1965).
    names, table, statistic, shares, firm = figure
    shares = np.broadcast_to(shares, (len(table), len(names)))
    options = options._replace(n_resamples=_check(options, len(table), len(names)))
    groups, codes = index_labels(options.groups, len(table), "groups")
    _, units = index_labels(options.clusters, len(table), "clusters")
    units = np.arange(len(table)) if options.clusters is None else units
    values = statistic(sum_by(codes, table))
    zero = np.isnan(values) & (options.empty == "zero")
    point = divide(_over_groups(values, zero).sum(axis=0))
    if options.average == "micro":
        point = statistic(table.sum(axis=0))
    window, bounds = slice(-1 if mean_alone else 0, None), None
    if options.n_resamples:
        samples, freedom, inside, of_group = _draw_figures(figure, codes, units, values, options)
        if firm:
            point, samples = _withhold(names, point, samples)
            values, inside = _withhold(names, values, inside)
        strata = codes if options.average == "macro" else np.zeros_like(codes)
        degrees, samples = np.broadcast_to(freedom, len(names))[window], samples[:, window]
        bounds = _bound(point[window], samples, degrees, shares[:, window], strata, units)
    result = report_figures(names[window], point[window], bounds)
    if by_group and options.groups is not None:
        result["by_group"] = {}
        for i, group in enumerate(groups):
            part, bounds = codes == i, None
            if options.n_resamples:  # slow in wide tables
                samples_of_group = values[i], inside[:, i], of_group[i]
                bounds = _bound(*samples_of_group, shares[part], codes[part], units[part])
            figures = report_figures(names, values[i], bounds)
            result["by_group"][group] = {**figures, "n_queries": int(part.sum())}
    return result


def choose_resamples(facts: int, figures: int) -> int:
    """Choose the default number of resamples: 10,000 up to 50,000 facts x figures, else 1,000."""
    # 1,000 leave a standard deviation of 2 to 3% in the width of an interval, 10,000 under 1%.
    return _MOST if facts * figures <= _CHEAP else _LEAST


def share(values: np.ndarray | Sequence[float]) -> Ratio:
    """Make a measure whose mean is a share of values from 0 to 1; NaN is left out."""
    values = np.asarray(values, dtype=np.float64)
    defined = ~np.isnan(values)
    return Ratio(np.where(defined, values, 0), defined, share=True)


def name_pairs(languages: Sequence[str]) -> list[str]:
    """List the names of all unordered pairs, in the languages' order."""
    return [f"{first}-{second}" for first, second in combinations(languages, 2)]


def mean_of(
    names: Sequence[str], values: np.ndarray, weights: np.ndarray, share: bool = False
) -> Figure:
    """Make the figure that is a mean of values [facts, names] over the counted facts.

    `weights` are [facts], or [facts, names] if they differ between names. With `share` each
    value is from 0 to its weight.
    """
    k = values.shape[1]

    def statistic(sums: np.ndarray) -> np.ndarray:
        return add_mean(divide_by(sums[..., :k], sums[..., k:]))

    table = np.column_stack([values, weights])
    return Figure([*names, "mean"], table, statistic, weigh(weights) if share else NO_SHARES)


def weigh(weights: np.ndarray) -> np.ndarray:
    """Make `Figure.shares` from weights [facts], or [facts, names]: their mean has the sum."""
    weights = np.asarray(weights, dtype=np.float64)
    return np.column_stack([weights, weights.sum(axis=1)] if weights.ndim > 1 else [weights])


def add_mean(values: np.ndarray) -> np.ndarray:
    """Append to values [..., k] the mean of those that are not NaN."""
    defined = ~np.isnan(values)
    means = divide_by(values.sum(axis=-1, where=defined), defined.sum(axis=-1))
    return np.concatenate([values, means[..., None]], axis=-1)


def divide(sums: np.ndarray) -> np.ndarray:
    """Compute [..., k] ratios of [..., 2 k] sums, numerators first; NaN for 0/0."""
    return divide_by(*np.split(sums, 2, axis=-1))


def divide_by(above: Any, below: Any, default: float = np.nan) -> np.ndarray:
    """Compute quotients; `default` where the divisor is not above 0."""
    shape = np.broadcast_shapes(np.shape(above), np.shape(below))
    quotients = np.full(shape, default, dtype=np.float64)
    return np.divide(above, below, out=quotients, where=np.asarray(below) > 0)


def index_labels(labels: Labels, size: int, name: str) -> tuple[list[Hashable], np.ndarray]:
    """List the labels in order of first occurrence, and number each query's; None: one label."""
    if labels is None:
        return [None], np.zeros(size, dtype=np.intp)
    listed = hasattr(labels, "__len__") and not isinstance(labels, str)
    if not listed or len(labels) != size:
        text = f"{len(labels)}" if listed else f"{labels!r:.60}"
        raise ValueError(f"{text} in {name!r}, {size} queries; expected one for each query")
    number: dict[Hashable, int] = {}
    plain = (label.item() if isinstance(label, np.generic) else label for label in labels)
    codes = [number.setdefault(label, len(number)) for label in plain]
    return list(number), np.array(codes, dtype=np.intp)


def sum_by(codes: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Sum a table's rows of each code 0 … [codes, columns]."""
    return csr_array((np.ones(len(codes)), codes, np.arange(len(codes) + 1))).T @ table


def thin_out(rows: np.ndarray) -> np.ndarray | csr_array:
    """Make rows to multiply draws by sparse if most are 0, as in one column for each relation."""
    return csr_array(rows) if np.count_nonzero(rows) * _SPARSE <= rows.size else rows


def resample(
    table: np.ndarray,
    codes: np.ndarray,
    clusters: np.ndarray | None,
    n: int,
    seed: int,
    statistic: Statistic = np.asarray,
) -> Draws:
    """Draw n resamples by group (codes), of queries or whole clusters; compute them from sums."""
    # Groups of a single unit have no variance: they are drawn from one another (collapsed strata:
    # Cochran 1977, section 5A.12).
    random = np.random.default_rng(seed)
    units = np.arange(len(table)) if clusters is None else clusters
    n_units, n_groups = units.max() + 1, codes.max() + 1
    pairs, sizes = np.unique(units * n_groups + codes, return_counts=True)
    group_of = pairs % n_groups
    freedom = count_freedom(sizes, group_of)
    if len(pairs) == n_units:
        rows = table if clusters is None else sum_by(clusters, table)
        if n_groups == 1:  # without a copy
            return Draws(draw(rows, n, random, statistic)[:, None], freedom, float(freedom[0]))
        parts = [draw(rows[group_of == g], n, random, statistic) for g in range(n_groups)]
        figures = np.stack(parts, axis=1)
        singles = np.flatnonzero(np.bincount(group_of) == 1)
        if len(singles) > 1:
            figures[:, singles] = figures[0, random.choice(singles, size=(n, len(singles)))]
        return Draws(figures, freedom, float(freedom.sum()))
    # A cluster spans several groups: draw clusters of all, with their sums of each group.
    wide = np.zeros((n_units, n_groups, table.shape[1]))
    np.add.at(wide, (units, codes), table)
    shape = (-1, *wide.shape[1:])
    figures = draw(wide.reshape(n_units, -1), n, random, lambda x: statistic(x.reshape(shape)))
    of_all = count_freedom(np.bincount(units), np.zeros(n_units, dtype=np.intp))
    return Draws(figures, freedom, float(of_all[0]), within=False)


def bound_samples(
    samples: np.ndarray, freedom: float | np.ndarray, values: np.ndarray, tail: float = _TAIL
) -> Intervals:
    """Compute the 95% percentile intervals, with `values` in them; None for too few not NaN."""
    # Resamples of Fleiss' kappa of few facts may be beside the estimate.
    every, counts = np.broadcast_to(freedom, values.shape), (~np.isnan(samples)).sum(axis=0)
    ends, enough = np.full((2, len(values)), np.nan), (every > 0) & (counts >= MIN_RESAMPLES)
    for degrees in np.unique(every[enough]):
        level = ndtr(stdtrit(degrees, tail))  # a normal quantile there is as far out as Student's
        same = enough & (every == degrees)
        quantile = np.quantile if (counts[same] == len(samples)).all() else np.nanquantile
        ends[:, same] = quantile(samples[:, same], [level, 1 - level], axis=0)
    pairs = np.stack([np.fmin(ends[0], values), np.fmax(ends[1], values)], axis=1).tolist()
    return [pair if x else None for x, pair in zip(enough, pairs, strict=True)]


def bound_share(value: float, variance: float, units: float, freedom: float) -> list[float] | None:
    """Compute Wilson's 95% score interval of a share, with a width at 0 and 1; None for NaN.

    The interval for a proportion of n independent units (Wilson 1927; Brown, Cai and DasGupta 2001,
    equation 4), with Student's t for the normal quantile and the effective sample size for n (Korn
    and Graubard 1998): that at which a proportion has the `variance` of the resamples, n = value (1
    - value) / variance. If the resamples do not differ, n is `units`, the number of units drawn.

    >>> [round(bound, 3) for bound in bound_share(1, 0, 10, np.inf)]  # 10 of 10
    [0.722, 1.0]
    """
    if freedom <= 0 or np.isnan(value):
        return None
    value = min(max(value, 0.0), 1.0)
    spread = value * (1 - value)
    z2 = float(stdtrit(freedom, 0.025)) ** 2
    # The design effect: as many independent units would vary as much.
    n = spread / variance if variance > _NOTHING < spread else units
    middle, half = value + z2 / n / 2, float(np.sqrt(z2 / n * (spread + z2 / n / 4)))
    low, high = ((middle + side * half) / (1 + z2 / n) for side in (-1, 1))
    return [max(low, 0.0), min(high, 1.0)]


def check_name(value: str, names: Collection[str], option: str) -> None:
    """Raise ValueError for a value of an option that is not known."""
    if not isinstance(value, str) or value not in names:
        raise ValueError(f"unknown {option} {value!r:.60}; known: {', '.join(names)}")


def _check(options: Resampling, facts: int, figures: int) -> int:
    check_name(options.average, AVERAGES, "average")
    check_name(options.empty, EMPTY, "empty")
    n = choose_resamples(facts, figures) if options.n_resamples is None else options.n_resamples
    if not isinstance(n, int | np.integer) or isinstance(n, bool) or not 0 <= n <= _LAST:
        raise ValueError(f"n_resamples is {n!r:.60}; expected a number from 0 to {_LAST}")
    return int(n)


def _withhold(
    names: Sequence[str], values: np.ndarray, samples: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Leave out figures [..., names] of which more resamples are undefined than an end holds."""
    loose = np.isnan(samples).mean(axis=0) > _TAIL
    if loose.any():
        values, samples = np.where(loose, np.nan, values), np.where(loose, np.nan, samples)
        if names[-1] == "mean":
            values, samples = add_mean(values[..., :-1]), add_mean(samples[..., :-1])
    return values, samples


def _find_constants(ratio: Ratio, codes: np.ndarray) -> list[float]:
    """List the value of all queries, their exact mean, then of each group; NaN if they differ."""
    values = np.where(np.asarray(ratio.denominators) == 1, ratio.numerators, np.nan)
    first = values[np.unique(codes, return_index=True)[1]]
    of_groups = np.where(np.bincount(codes, values != first[codes]) == 0, first, np.nan).tolist()
    return [of_groups[0] if len(set(of_groups)) == 1 else np.nan, *of_groups]


def _over_groups(values: np.ndarray, zero: np.ndarray) -> np.ndarray:
    """Split figures [..., groups, names] into the terms of their mean; `zero` ones count 0."""
    defined = ~np.isnan(values)
    return np.concatenate([np.where(defined, values, 0), defined | zero], axis=-1)


def _pool_freedom(samples: np.ndarray, freedom: np.ndarray) -> np.ndarray:
    """Compute the degrees of freedom of a mean over groups drawn apart [names]."""
    # Satterthwaite (1946), from the variance of each group's samples [resamples, groups, names].
    variance, single = _vary(samples), freedom == 0  # groups of a single unit: one stratum
    strata = np.concatenate([variance[~single], variance[single].sum(axis=0, keepdims=True)])
    degrees: np.ndarray = np.append(freedom[~single], max(single.sum() - 1, 0))
    variance, degrees = strata[degrees > 0], degrees[degrees > 0, None]
    total = variance.sum(axis=0)
    spread = (variance**2 / degrees).sum(axis=0)
    return np.where(spread > 0, total**2 / np.where(spread > 0, spread, 1), degrees.sum())


def _draw_figures(
    figure: Figure, codes: np.ndarray, units: np.ndarray, values: np.ndarray, options: Resampling
) -> tuple[np.ndarray, float | np.ndarray, np.ndarray, np.ndarray]:
    """Draw averages [resamples, names], their freedom, then those of [..., groups, ...]."""
    clusters, n_groups = None if options.clusters is None else units, codes.max() + 1
    draw = partial(resample, clusters=clusters, n=options.n_resamples or 0, seed=options.seed)
    resamples = draw(figure.table, codes, statistic=figure.statistic)
    inside, of_group = resamples.figures, resamples.freedom
    zero = np.isnan(values) & (options.empty == "zero")
    if n_groups > 1 and options.average == "micro":
        resamples = draw(figure.table, np.zeros_like(codes), statistic=figure.statistic)
    elif clusters is not None and 1 < len(np.unique(clusters * n_groups + codes)) == n_groups:
        # Each group is part of one cluster: groups are drawn whole.
        figures = _over_groups(values, zero)
        holders = clusters[np.unique(codes, return_index=True)[1]]
        resamples = draw(figures, np.zeros_like(holders), clusters=holders, statistic=divide)
    elif n_groups > 1 or (options.average == "macro" and zero.any()):
        freedom = _pool_freedom(inside, of_group) if resamples.within else resamples.freedom_of_all
        return divide(_over_groups(inside, zero).sum(axis=1)), freedom, inside, of_group
    return resamples.figures[:, 0], resamples.freedom_of_all, inside, of_group


def _bound(
    values: np.ndarray,
    samples: np.ndarray,
    freedom: float | np.ndarray,
    shares: np.ndarray,
    codes: np.ndarray,
    units: np.ndarray,
) -> Intervals:
    """Bound figures [names] by their resamples; others as in `estimate`."""
    is_share, variance = ~np.isnan(shares[0]), _vary(samples)
    alike, counts = is_share & (variance <= _NOTHING), np.ones_like(values)
    totals = sum_by(codes, shares[:, alike])[codes]
    sums = sum_by(units, divide_by(shares[:, alike], totals, 0))
    # Unequal weights w count as (sum w)^2 / sum w^2 equal ones (Kish 1965).
    counts[alike] = divide_by(sums.sum(axis=0) ** 2, (sums**2).sum(axis=0))
    degrees = np.broadcast_to(freedom * (len(samples) >= MIN_RESAMPLES), values.shape)
    rows, others = np.stack([values, variance, counts, degrees], axis=1).tolist(), ~is_share
    # values that differ by rounding, of sums in several orders, are equal
    distinct = np.where(variance[others] > _NOTHING, samples[:, others], values[others])
    bounds = iter(bound_samples(distinct, degrees[others], values[others]))
    return [bound_share(*x) if y else next(bounds) for x, y in zip(rows, is_share, strict=True)]


def _vary(samples: np.ndarray) -> np.ndarray:
    """Compute the variance over resamples [resamples, ...], NaN left out."""
    variance = np.empty(samples.shape[1:])
    for start in range(0, variance.shape[-1], _COLUMNS):  # copies of them all take much memory
        columns = samples[..., start : start + _COLUMNS]
        part = columns.var(axis=0, out=variance[..., start : start + _COLUMNS])
        loose = np.isnan(part)
        if loose.any():
            part[loose] = np.ma.masked_invalid(columns[:, loose]).var(axis=0).filled(0)
    return variance


def count_freedom(sizes: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Count each group's effective clusters less one; several have at least 1, however unequal."""
    effective = np.bincount(groups, sizes) ** 2 / np.bincount(groups, sizes.astype(float) ** 2)
    return np.where(np.bincount(groups) > 1, np.maximum(effective - 1, 1), 0)


def draw(
    rows: np.ndarray, n_resamples: int, random: np.random.Generator, statistic: Statistic
) -> np.ndarray:
    """Compute a statistic of the sums of n - 1 rows drawn from n, 1 of 1 [resamples, ...]."""
    n = len(rows)
    if n == 1:
        return np.repeat(statistic(rows), n_resamples, axis=0)
    if rows.shape[1] <= _NARROW:  # equal rows (right or wrong) are drawn as one
        distinct, times = np.unique(rows, axis=0, return_counts=True)
        if len(distinct) * 8 <= n:
            return statistic(random.multinomial(n - 1, times / n, size=n_resamples) @ distinct)
    figures, weighed = np.empty(0), thin_out(rows)
    step = max(1, _CHUNK // max(rows.shape))
    for start in range(0, max(n_resamples, 1), step):
        size = min(step, n_resamples - start)
        draws = random.integers(n, size=(size, n - 1)) + np.arange(size)[:, None] * n
        counts = np.bincount(draws.ravel(), minlength=size * n).reshape(size, n)
        part = statistic(counts.astype(np.float64) @ weighed)
        figures = figures if start else np.empty((n_resamples, *part.shape[1:]))
        figures[start : start + size] = part
    return figures


def report_figures(names: Sequence[str], values: np.ndarray, bounds: Intervals | None) -> Figures:
    """Write each name's value, None for NaN, and with `bounds` its `NAME_ci`."""
    report: Figures = {}
    for i, (name, value) in enumerate(zip(names, values.tolist(), strict=True)):
        report[name] = None if np.isnan(value) else value
        if bounds is not None:
            report[f"{name}_ci"] = bounds[i]
    return report
