"""Bootstrap intervals of figures over queries: overall, by group, by cluster.

A measure is a ratio of two sums over queries (for a mean, each query counts 1), or a function of
several such sums. All resamples are therefore one matrix product: how often each query was drawn,
times its values.

>>> result = summarize({"accuracy": [1, 0, 1, 1]}, groups=["P36", "P36", "P19", "P19"])
>>> result["accuracy"], result["accuracy_ci"]
(0.75, [0.5, 1.0])
>>> result["by_group"]["P36"]
{'accuracy': 0.5, 'accuracy_ci': [0.0, 1.0], 'n_queries': 2}
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import ndtr, stdtrit

AVERAGES = ("macro", "micro")
EMPTY = ("skip", "zero")
_CHUNK = 2**21  # draws at once
_NARROW = 16  # columns; in wider tables the search for equal rows takes longer than it saves
_SPARSE = 16  # a sparse product is faster if at most one value in 16 is not 0

Statistic = Callable[[np.ndarray], np.ndarray]
Labels = Sequence[Hashable] | None
Figures = dict[str, Any]
Intervals = list[list[float] | None]


class Ratio(NamedTuple):
    """Numerators and denominators of a measure by query; both are 0 if it does not count."""

    numerators: np.ndarray
    denominators: np.ndarray


class Resampling(NamedTuple):
    """Options of averaging and of the bootstrap; keywords of every metric.

    Attributes:
        groups: label of each query, usually its relation.
        average: `macro`, the unweighted mean over groups (queries are drawn within each group), or
            `micro`, over all queries alike (and drawn from all); without groups they are the same.
        n_resamples: number of resamples; 0: no intervals.
        seed: seed of the draws.
        clusters: label of each query (its subject, its relation); queries with the same label are
            drawn together; None: each query is drawn by itself.
        empty: value of a group without a defined value in the macro average: `skip` or `zero`.
    """

    groups: Labels = None
    average: str = "macro"
    n_resamples: int = 1000
    seed: int = 0
    clusters: Labels = None
    empty: str = "skip"


class Figure(NamedTuple):
    """One figure of several languages or pairs, and `mean`, the mean of the defined ones.

    Attributes:
        names: languages, or pairs as `en-fr`, and `mean`.
        table: [facts, columns], the summands of each fact.
        statistic: from sums [..., columns] to figures [..., names]; NaN where undefined.
    """

    names: list[str]
    table: np.ndarray
    statistic: Statistic


class Draws(NamedTuple):
    """Sums of resamples.

    Attributes:
        sums: [resamples, groups, columns].
        freedom: degrees of freedom of a figure of each group [groups].
        freedom_of_all: those of a figure of all units.
        within: whether they were drawn within each group.
    """

    sums: np.ndarray
    freedom: np.ndarray
    freedom_of_all: float
    within: bool = True


def summarize(
    measures: Mapping[str, Ratio | np.ndarray | Sequence[float]], **options: Any
) -> Figures:
    """Return each measure's average and 95 % interval, by group too; options as in `Resampling`.

    A sequence of values is averaged; NaN is undefined and left out. An undefined value (0/0) is
    None, and so is its interval, and the interval of a value that a single query defines. If all
    values are equal (e.g. no answer is correct), the interval has no width; this is not certainty.

    Returns:
        NAME and `NAME_ci` = [low, high] of each measure, and if `groups` is given `by_group`:
        GROUP to the same and `n_queries`, in the order in which groups first occur.
    """
    ratios = [v if isinstance(v, Ratio) else _as_ratio(v) for v in measures.values()]
    columns = [*(r.numerators for r in ratios), *(r.denominators for r in ratios)]
    table = np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=1)
    result = estimate(table, list(measures), divide, Resampling(**options))
    codes = index_labels(options.get("groups"), len(table), "groups")[1]
    for name, ratio in zip(measures, ratios, strict=True):
        counted = np.bincount(codes, np.asarray(ratio.denominators) != 0)
        figures = (result, *result.get("by_group", {}).values())
        for found, count in zip(figures, [counted.sum(), *counted], strict=False):
            if count < 2 and f"{name}_ci" in found:
                found[f"{name}_ci"] = None
    return result


def estimate(
    table: np.ndarray,
    names: Sequence[str],
    statistic: Statistic,
    options: Resampling,
    by_group: bool = True,
) -> Figures:
    """Return the figures of statistics of the sums of a table (queries x columns).

    `statistic` takes sums [..., columns] and gives [..., names], NaN where undefined; the scale of
    the sums must not matter. Without `by_group` the groups' own figures, slow in wide tables, are
    left out. The interval is the percentile interval of resamples of n - 1 out of n queries or
    clusters (n_g - 1 of n_g within each group: McCarthy and Snowden 1985), whose variance is
    unbiased, at levels widened as Student's t is (Hesterberg 2015, section 5.3). Its degrees of
    freedom are those of n units; unequal clusters, of s queries, count as (sum s)^2 / sum s^2 equal
    ones (Kish 1965).
    """
    _check(options)
    groups, codes = index_labels(options.groups, len(table), "groups")
    index_labels(options.clusters, len(table), "clusters")
    values = statistic(sum_by(codes, table))
    if options.average == "micro":
        point = statistic(table.sum(axis=0))
    else:
        zero = np.isnan(values) & (options.empty == "zero")
        point = divide(_over_groups(values, zero).sum(axis=0))
    by_group = by_group and options.groups is not None
    overall: Intervals | None = None
    inside: list[Intervals] | list[None] = [None] * len(groups)
    if options.n_resamples:
        overall, inside = _draw_intervals(table, codes, values, statistic, options, by_group)
    result = _report(names, point, overall)
    if by_group:
        sizes = np.bincount(codes).tolist()
        result["by_group"] = {
            group: {**_report(names, values[i], inside[i]), "n_queries": sizes[i]}
            for i, group in enumerate(groups)
        }
    return result


def estimate_figure(figure: Figure, **options: Any) -> dict[str, Any]:
    """Return each name's value and `NAME_ci`; options as in `intervals.Resampling`."""
    return estimate(figure.table, figure.names, figure.statistic, Resampling(**options))


def mean_of(names: Sequence[str], values: np.ndarray, counted: np.ndarray) -> Figure:
    """Return the figure that is a mean of values [facts, names] over the counted facts.

    `counted` are weights [facts], or [facts, names] if they differ between names.
    """
    k = values.shape[1]

    def statistic(sums: np.ndarray) -> np.ndarray:
        counts = np.broadcast_to(sums[..., k:], sums[..., :k].shape)
        return add_mean(divide(np.concatenate([sums[..., :k], counts], axis=-1)))

    return Figure([*names, "mean"], np.column_stack([values, counted]), statistic)


def find_coverlap(right: Mapping[str, np.ndarray | Sequence[float]]) -> Figure:
    """Return COverlap by pair: correct in both / correct in either, expectations under ties."""
    values = np.column_stack(list(right.values())).astype(np.float64)
    one, other = np.triu_indices(values.shape[1], 1)

    def statistic(sums: np.ndarray) -> np.ndarray:
        both, alone = np.split(sums, [len(one)], axis=-1)
        either = alone[..., one] + alone[..., other] - both
        return add_mean(divide(np.concatenate([both, either], axis=-1)))

    table = np.concatenate([values[:, one] * values[:, other], values], axis=1)
    return Figure([*name_pairs(list(right)), "mean"], table, statistic)


def add_mean(values: np.ndarray) -> np.ndarray:
    """Append to values [..., k] the mean of those that are not NaN."""
    known = ~np.isnan(values)
    sums = np.stack([np.nan_to_num(values).sum(axis=-1), known.sum(axis=-1)], axis=-1)
    return np.concatenate([values, divide(sums)], axis=-1)


def divide(sums: np.ndarray) -> np.ndarray:
    """Return [..., k] ratios of [..., 2 k] sums, numerators first; NaN for 0/0."""
    numerators, denominators = np.split(sums, 2, axis=-1)
    undefined = np.full(numerators.shape, np.nan)
    return np.divide(numerators, denominators, out=undefined, where=denominators > 0)


def index_labels(labels: Labels, size: int, name: str) -> tuple[list[Hashable], np.ndarray]:
    """Return the distinct labels in the order of their first occurrence, and each query's number.

    None is one label for all.
    """
    if labels is None:
        return [None], np.zeros(size, dtype=np.intp)
    if isinstance(labels, str) or len(labels) != size:
        given = repr(labels) if isinstance(labels, str) else f"{len(labels)}"
        raise ValueError(f"{given} in {name!r}, {size} queries; expected one for each query")
    number: dict[Hashable, int] = {}
    plain = (label.item() if isinstance(label, np.generic) else label for label in labels)
    codes = [number.setdefault(label, len(number)) for label in plain]
    return list(number), np.array(codes, dtype=np.intp)


def sum_by(codes: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Return the sums of a table's rows of each code 0 … [codes, columns]."""
    return csr_array((np.ones(len(codes)), codes, np.arange(len(codes) + 1))).T @ table


def thin_out(rows: np.ndarray) -> np.ndarray | csr_array:
    """Return rows to multiply draws by, sparse if most are 0: with one column for each relation."""
    return csr_array(rows) if np.count_nonzero(rows) * _SPARSE <= rows.size else rows


def resample(
    table: np.ndarray, codes: np.ndarray, clusters: np.ndarray | None, options: Resampling
) -> Draws:
    """Return the sums of resamples by group (codes), of queries or of whole clusters.

    They are drawn within each group; groups of a single unit have no variance, and are drawn from
    one another (collapsed strata: Cochran 1977, section 5A.12). If a cluster spans several groups,
    clusters are drawn from all, and the number of queries of a group varies.
    """
    random = np.random.default_rng(options.seed)
    units = np.arange(len(table)) if clusters is None else clusters
    n_units, n_groups = units.max() + 1, codes.max() + 1
    pairs, sizes = np.unique(units * n_groups + codes, return_counts=True)
    group_of = pairs % n_groups
    freedom = _count_freedom(sizes, group_of)
    if len(pairs) == n_units:
        rows = table if clusters is None else sum_by(clusters, table)
        parts = [_draw(rows[group_of == g], options.n_resamples, random) for g in range(n_groups)]
        sums = np.stack(parts, axis=1)
        alone = np.flatnonzero(np.bincount(group_of) == 1)
        if len(alone) > 1:
            chosen = random.choice(alone, size=(options.n_resamples, len(alone)))
            sums[:, alone] = sums[0, chosen]
        return Draws(sums, freedom, float(freedom.sum()))
    wide = np.zeros((n_units, n_groups, table.shape[1]))
    np.add.at(wide, (units, codes), table)
    sums = _draw(wide.reshape(n_units, -1), options.n_resamples, random)
    of_all = _count_freedom(np.bincount(units), np.zeros(n_units, dtype=np.intp))
    return Draws(sums.reshape(-1, *wide.shape[1:]), freedom, float(of_all[0]), within=False)


def interval(samples: np.ndarray, freedom: float) -> list[float] | None:
    """Return the 95 % percentile interval of resampled figures, NaN left out; None for none."""
    known = samples[~np.isnan(samples)]
    if freedom <= 0 or not len(known):
        return None
    tail = ndtr(stdtrit(freedom, 0.025))
    return [float(bound) for bound in np.quantile(known, [tail, 1 - tail])]


def check_name(given: str, known: Sequence[str], option: str) -> None:
    """Raise ValueError for a value of an option that is not known."""
    if given not in known:
        raise ValueError(f"unknown {option} {given!r}; known: {', '.join(known)}")


def _check(options: Resampling) -> None:
    check_name(options.average, AVERAGES, "average")
    check_name(options.empty, EMPTY, "empty")
    if not isinstance(options.n_resamples, int | np.integer) or options.n_resamples < 0:
        raise ValueError(f"n_resamples is {options.n_resamples!r}; expected a number from 0")


def _as_ratio(values: np.ndarray | Sequence[float]) -> Ratio:
    values = np.asarray(values, dtype=np.float64)
    known = ~np.isnan(values)
    return Ratio(np.where(known, values, 0), known)


def _over_groups(values: np.ndarray, zero: np.ndarray) -> np.ndarray:
    """Turn figures [..., groups, names] into numerators and denominators of their mean.

    Those that are undefined in the whole sample and shall count 0 are marked in `zero`.
    """
    known = ~np.isnan(values)
    return np.concatenate([np.where(known, values, 0), known | zero], axis=-1)


def _pool_freedom(samples: np.ndarray, freedom: np.ndarray) -> np.ndarray:
    """Return the degrees of freedom of a mean over groups drawn apart [names].

    Satterthwaite (1946), from the variance of each group's samples [resamples, groups, names];
    groups of a single unit are one stratum.
    """
    variance, alone = np.ma.masked_invalid(samples).var(axis=0).filled(0), freedom == 0
    strata = np.concatenate([variance[~alone], variance[alone].sum(axis=0, keepdims=True)])
    degrees: np.ndarray = np.append(freedom[~alone], max(alone.sum() - 1, 0))
    variance, degrees = strata[degrees > 0], degrees[degrees > 0, None]
    total = variance.sum(axis=0)
    spread = (variance**2 / degrees).sum(axis=0)
    return np.where(spread > 0, total**2 / np.where(spread > 0, spread, 1), degrees.sum())


def _draw_intervals(
    table: np.ndarray,
    codes: np.ndarray,
    values: np.ndarray,
    statistic: Statistic,
    options: Resampling,
    by_group: bool,
) -> tuple[Intervals, list[Intervals]]:
    """Return the intervals of the average [names] and of each group [groups][names]."""
    given = options.clusters
    clusters = None if given is None else index_labels(given, len(table), "clusters")[1]
    drawn = resample(table, codes, clusters, options)
    samples = statistic(drawn.sums)
    of_all: float | np.ndarray = drawn.freedom_of_all
    zero = np.isnan(values) & (options.empty == "zero")
    apart = enumerate(drawn.freedom if by_group else ())
    inside = [[interval(column, f) for column in samples[:, i].T] for i, f in apart]
    if options.average == "micro":
        drawn = resample(table, np.zeros_like(codes), clusters, options)
        samples, of_all = statistic(drawn.sums[:, 0]), drawn.freedom_of_all
    elif clusters is not None and _holds_groups(clusters, codes):
        figures = _over_groups(values, zero)
        of_group = clusters[np.unique(codes, return_index=True)[1]]
        drawn = resample(figures, np.zeros_like(of_group), of_group, options)
        samples, of_all = divide(drawn.sums[:, 0]), drawn.freedom_of_all
    else:
        of_all = _pool_freedom(samples, drawn.freedom) if drawn.within else of_all
        samples = divide(_over_groups(samples, zero).sum(axis=1))
    pairs = zip(samples.T, np.broadcast_to(of_all, samples.shape[1]).tolist(), strict=True)
    return [interval(column, freedom) for column, freedom in pairs], inside


def _holds_groups(clusters: np.ndarray, codes: np.ndarray) -> bool:
    """Return whether each of several groups is part of one cluster: groups are then drawn whole."""
    several = codes.max() + 1
    return several > 1 and len(np.unique(clusters * several + codes)) == several


def _count_freedom(sizes: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return each group's effective number of clusters less one, from the clusters' sizes.

    A single cluster has 0; several, however unequal, have at least 1.
    """
    effective = np.bincount(groups, sizes) ** 2 / np.bincount(groups, sizes.astype(float) ** 2)
    return np.where(np.bincount(groups) > 1, np.maximum(effective - 1, 1), 0)


def _draw(rows: np.ndarray, n_resamples: int, random: np.random.Generator) -> np.ndarray:
    """Return the sums [resamples, columns] of n - 1 rows drawn from n; 1 of 1."""
    n = len(rows)
    if n == 1:
        return np.repeat(rows, n_resamples, axis=0)
    if rows.shape[1] <= _NARROW:  # equal rows (right or wrong) are drawn as one
        distinct, times = np.unique(rows, axis=0, return_counts=True)
        if len(distinct) * 8 <= n:
            return random.multinomial(n - 1, times / n, size=n_resamples) @ distinct
    sums, weighed = np.empty((n_resamples, rows.shape[1])), thin_out(rows)
    step = max(1, _CHUNK // n)
    for start in range(0, n_resamples, step):
        part = sums[start : start + step]
        drawn = random.integers(n, size=(len(part), n - 1)) + np.arange(len(part))[:, None] * n
        counts = np.bincount(drawn.ravel(), minlength=len(part) * n).reshape(len(part), n)
        part[:] = counts.astype(np.float64) @ weighed
    return sums


def _report(names: Sequence[str], values: np.ndarray, intervals: Intervals | None) -> Figures:
    """Return NAME and NAME_ci of each figure; without intervals no NAME_ci."""
    report: Figures = {}
    for i, (name, value) in enumerate(zip(names, values.tolist(), strict=True)):
        report[name] = None if np.isnan(value) else value
        if intervals is not None:
            report[f"{name}_ci"] = intervals[i]
    return report


def pick_counted(counted: Collection[bool], groups: Sequence[Hashable] | None) -> list[int]:
    """Return the indices of the queries that a figure counts: the bootstrap draws from these only.

    A group without a counted query keeps its first query, as an undefined value: the group then
    appears in the results, and the macro average can count it as 0 or skip it. `groups` has one
    label for each query; None is one group.

    >>> pick_counted([True, False, False, False], ["P36", "P36", "P19", "P19"])
    [0, 2]
    """
    labels = [None] * len(counted) if groups is None else groups
    without = {label for label, n in count_by_group(counted, labels).items() if not n}
    places = []
    for place, (counts, label) in enumerate(zip(counted, labels, strict=True)):
        if counts or label in without:
            places.append(place)
            without.discard(label)
    return places


def name_pairs(languages: Sequence[str]) -> list[str]:
    """Return the names of all unordered pairs, in the languages' order."""
    return [f"{one}-{other}" for one, other in combinations(languages, 2)]


def count_by_group(counted: Iterable[bool], groups: Sequence[Hashable]) -> dict[Hashable, int]:
    """Return the number of counted queries of each group, in order of first occurrence.

    >>> count_by_group([True, False, False, False], ["P36", "P36", "P19", "P19"])
    {'P36': 1, 'P19': 0}
    """
    sizes = dict.fromkeys(groups, 0)
    for counts, label in zip(counted, groups, strict=True):
        sizes[label] += bool(counts)
    return sizes


def take(labels: Sequence[Hashable] | None, places: Iterable[int]) -> list[Hashable] | None:
    """Return the labels at some indices; None for None."""
    return None if labels is None else [labels[place] for place in places]
