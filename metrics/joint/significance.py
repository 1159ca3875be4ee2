"""Test whether two models differ on the same facts, for every language and every pair at once.

The facts are paired: both models answered each. Two tests, both two-sided:

- approximate randomisation (Noreen 1989): under the null hypothesis the two models' answers to a
  fact may be swapped; p = (1 + swaps with a difference as large) / (1 + swaps);
- paired bootstrap (Efron and Tibshirani 1993): facts are resampled, and the interval of level 1 - p
  just reaches 0: p < .05 if 0 is outside the 95% interval. It is too liberal with few clusters;
  randomisation is not.

Over many pairs, p-values are corrected: Holm (1979) for the chance of a single false claim,
Benjamini and Hochberg (1995) for the share of false claims.

Figures averaged over relations and over facts: Fluent-mLAMA (Semenov and Sennrich 2025, section 3)
gives all relations of a language the same weight (macro); micro gives all facts the same weight.
Both are computed from one set of sums: both averages, all languages and their mean are resampled
and swapped together.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri, stdtr
from scipy.stats import false_discovery_control

from polyprobe.metrics.joint import CORRECTIONS, TESTS
from polyprobe.metrics.shared import intervals

_Figures = Sequence[intervals.Figure]  # of both models
_Tables = tuple[np.ndarray, np.ndarray]  # sums of each unit in both models [units, columns]
_SWAPS = 2**21  # units or columns at once
_SUMS = 2**24  # resampled sums that are held at once


class Difference(NamedTuple):
    """The values of one name of a figure (a language, a pair, the mean) in two models."""

    name: str
    first: float | None
    second: float | None
    difference: float | None  # first - second
    ci: list[float] | None  # its 95% bootstrap interval
    p: float | None
    p_adjusted: float | None  # over all names but `mean`, a single claim
    # Each is a one-sided 95% bound: the ends of the 90% interval
    bounds: list[float] | None = None


def compare_figures(
    first: intervals.Figure,
    second: intervals.Figure,
    *,
    test: str = "randomisation",
    correction: str = "holm",
    n_resamples: int = 10_000,
    seed: int = 0,
    clusters: Sequence[object] | None = None,
) -> list[Difference]:
    """Compute the differences of two models' figures over the same facts, in the figure's order.

    With `clusters` whole clusters are swapped and drawn. A p-value is at least 1 / (1 + resamples):
    after Holm over k names it is at least k / (1 + resamples). Below MIN_RESAMPLES there is none.
    """
    intervals.check_name(test, TESTS, "test")
    intervals.check_name(correction, CORRECTIONS, "correction")
    if type(n_resamples) is not int or n_resamples < 0:
        raise ValueError(f"n_resamples is {n_resamples!r:.60}; expected 0 or more")
    if first.names != second.names or first.table.shape != second.table.shape:
        raise ValueError("the two figures have different languages or facts")
    # Intervals need fewer draws than a p-value that is corrected over all names.
    n = min(n_resamples, intervals.choose_resamples(len(first.table), len(first.names)))
    options = intervals.Resampling(n_resamples=n, seed=seed, clusters=clusters)  # type: ignore[arg-type]
    figures = [withhold(figure, options) for figure in (first, second)]
    # Both runs have the same facts, so one draw of units serves both: the test is paired.
    units = intervals.index_labels(clusters, len(first.table), "clusters")[1]
    units = np.arange(len(first.table)) if clusters is None else units
    tables = (first.table, second.table)
    values = _pair(figures, *(table.sum(axis=0) for table in tables))
    observed = values[0] - values[1]
    sizes = np.bincount(units)
    if len(sizes) < len(units):
        tables = (intervals.sum_by(units, first.table), intervals.sum_by(units, second.table))
    freedom = float(intervals.count_freedom(sizes, np.zeros_like(sizes))[0])
    n = n_resamples if test == "bootstrap" else n
    differences = _bootstrap(figures, tables, n, seed)
    if n_resamples < intervals.MIN_RESAMPLES:
        p = np.full(len(first.names), np.nan)
    elif test == "bootstrap":
        p = invert_intervals(differences, freedom)
    else:
        p = p_value(_randomise(figures, tables, n_resamples, seed), observed)
    # The last name is the mean of the others, not one more hypothesis.
    adjusted = np.array([*correct_values(p[:-1], correction), p[-1]], dtype=np.float64)
    none = np.full(len(first.names), np.nan)
    sides = [intervals.bound_samples(differences, freedom, none, t) for t in (0.025, 0.05)]
    columns = [np.where(np.isnan(x), None, x) for x in (*values, observed, p, adjusted)]
    rows = zip(first.names, *columns[:3], sides[0], *columns[3:], sides[1], strict=True)
    return [Difference(*row) for row in rows]


def withhold(figure: intervals.Figure, options: intervals.Resampling) -> intervals.Figure:
    """Leave out the names of a firm figure that its resamples leave undefined."""
    if not figure.firm:
        return figure
    values = intervals.estimate(figure, options, by_group=False)
    loose = np.array([values[name] is None for name in figure.names[:-1]])

    def statistic(sums: np.ndarray) -> np.ndarray:
        return intervals.add_mean(np.where(loose, np.nan, figure.statistic(sums)[..., :-1]))

    return figure._replace(statistic=statistic)


def p_value(null: Iterable[np.ndarray], observed: np.ndarray) -> np.ndarray:
    """Compute two-sided p-values [names] under parts of a null sample [resamples, names].

    NaN is left out.
    """
    n_reached, n_defined = np.zeros((2, len(observed)))
    # equal differences must count as equal, whatever the order in which they were summed
    limit = np.abs(observed) * (1 - 1e-9) - 1e-12
    for part in null:
        n_reached += (np.abs(part) >= limit).sum(axis=0)
        n_defined += (~np.isnan(part)).sum(axis=0)
    return np.where(np.isnan(observed), np.nan, (1 + n_reached) / (1 + n_defined))


def invert_intervals(differences: np.ndarray, freedom: float) -> np.ndarray:
    """Compute the two-sided p-values at which `bound_samples` of differences reaches 0."""
    finite = ~np.isnan(differences)
    beyond = np.minimum((differences <= 0).sum(axis=0), (differences >= 0).sum(axis=0))
    tail = np.minimum((1 + beyond) / (1 + finite.sum(axis=0)), 0.5)
    defined = finite.any(axis=0) & (freedom > 0)
    return np.where(defined, 2 * stdtr(max(freedom, 1), ndtri(tail)), np.nan)


def correct_values(p: Sequence[float | None] | np.ndarray, correction: str) -> list[float | None]:
    """Adjust p-values by `holm`, `bh` or `none`; None and NaN are not counted, and None then."""
    values = np.array(p, dtype=np.float64)
    finite = ~np.isnan(values)
    if correction == "bh" and finite.any():
        values[finite] = false_discovery_control(values[finite])
    elif correction == "holm":
        places = np.flatnonzero(finite)[np.argsort(values[finite], kind="stable")]
        steps = values[places] * np.arange(len(places), 0, -1)
        values[places] = np.minimum(np.maximum.accumulate(steps), 1)
    return [x if of else None for x, of in zip(values.tolist(), finite, strict=True)]


def _pair(figures: _Figures, *sums: np.ndarray) -> np.ndarray:
    """Compute both figures [2, ..., names] from their sums."""
    values = np.stack([x.statistic(y) for x, y in zip(figures, sums, strict=True)])[..., :-1]
    # Means are over names defined in both: else one run's would be over other languages.
    undefined = np.isnan(values).any(axis=0)
    means = intervals.add_mean(np.where(undefined, np.nan, values))[..., -1:]
    return np.concatenate([values, means], axis=-1)


def _bootstrap(figures: _Figures, tables: _Tables, n: int, seed: int) -> np.ndarray:
    """Draw units for both models at once; return the differences [resamples, names]."""
    middle = tables[0].shape[1]

    def subtract(sums: np.ndarray) -> np.ndarray:
        return np.subtract(*_pair(figures, sums[:, :middle], sums[:, middle:]))

    table = np.concatenate(tables, axis=1)
    return intervals.draw(table, n, np.random.default_rng(seed), subtract)


def _randomise(figures: _Figures, tables: _Tables, n: int, seed: int) -> Iterator[np.ndarray]:
    """Swap the models in half of the units; yield the differences [resamples, names] in parts."""
    # Swapping a unit moves its difference from one total to the other.
    change = tables[1] - tables[0]
    totals = [table.sum(axis=0) for table in tables]
    random, weighed = np.random.default_rng(seed), intervals.thin_out(change)
    step = max(1, _SWAPS // max(change.shape))
    for start in range(0, n, step):
        swaps = random.integers(2, size=(min(step, n - start), len(change)), dtype=np.bool_)
        shift = swaps.astype(np.float64) @ weighed
        yield np.subtract(*_pair(figures, totals[0] + shift, totals[1] - shift))


class Paired(NamedTuple):
    """The values of one language (or `mean`, of all languages) in two runs, as in `Difference`."""

    name: str
    first: float | None
    first_ci: list[float] | None  # of the run itself, as the second
    second: float | None
    second_ci: list[float] | None
    difference: float | None
    ci: list[float] | None  # from facts drawn for both runs and all languages at once
    p: float | None
    p_adjusted: float | None  # over the languages
    bounds: list[float] | None = None


Averages = dict[str, list[Paired]]


def swap_averages(averages: Averages) -> Averages:
    """Put the second run first; tests are two-sided and stay the same."""

    def swap(row: Paired) -> Paired:
        opposite = None if row.difference is None else -row.difference
        ci, bounds = (None if x is None else [-x[1], -x[0]] for x in (row.ci, row.bounds))
        sides = (row.second, row.second_ci, row.first, row.first_ci)
        return Paired(row.name, *sides, opposite, ci, row.p, row.p_adjusted, bounds)

    return {name: [swap(row) for row in rows] for name, rows in averages.items()}


def find_averages(
    languages: Sequence[str], values: Mapping[str, intervals.Ratio], relations: Sequence[Hashable]
) -> intervals.Figure:
    """Make the figure of all `MEASURE AVERAGE LANGUAGE`, each average's `mean` behind it.

    A language's value in a relation is the ratio of its sums there; a relation without one (0/0)
    is left out of the macro mean, as is a language of the mean over languages. The last name of the
    figure, `mean` of all these, has no meaning. `values` have numerators and denominators [facts,
    L], both 0 where a fact does not count, or [facts, 1] where it counts alike in all languages.
    """
    labels, codes = intervals.index_labels(relations, len(relations), "relations")
    shape = (len(languages), len(labels))
    # A column for each language and relation [facts, L * R].
    of_relation = np.eye(len(labels))[codes][:, None]
    terms = [part for ratio in values.values() for part in ratio[:2]]
    parts = [(part[:, :, None] * of_relation).reshape(len(codes), -1) for part in terms]
    weights = [_weigh_averages(ratio, codes) for ratio in values.values()]
    shares = np.column_stack([*weights, np.full(len(codes), np.nan)])
    ends = np.cumsum([part.shape[1] for part in parts])[:-1]

    def statistic(sums: np.ndarray) -> np.ndarray:
        pieces = np.split(sums, ends, axis=-1)
        pairs = zip(pieces[::2], pieces[1::2], strict=True)
        averages = [_average(numerators, denominators, shape) for numerators, denominators in pairs]
        return intervals.add_mean(np.concatenate(averages, axis=-1))

    names = [" ".join(name) for name in product(values, intervals.AVERAGES, (*languages, "mean"))]
    return intervals.Figure([*names, "mean"], np.concatenate(parts, axis=1), statistic, shares)


def compare_averages(
    languages: Sequence[str],
    measures: Mapping[str, tuple[intervals.Ratio, intervals.Ratio]],
    relations: Sequence[Hashable],
    *,
    correction: str = "holm",
    **options: Any,
) -> dict[str, Averages]:
    """Compare measures: measure → {macro, micro: one row for each language, `mean` last}."""
    n_resamples = options.get("n_resamples", 10_000)
    columns = 2 * (len(languages) + 1) * len(set(relations))
    # Measures are compared in parts that fit into memory; all draw the same units.
    size = max(1, _SUMS // (columns * max(1, n_resamples)))
    band: dict[str, Any] = {name: options[name] for name in ("seed", "clusters") if name in options}
    band["n_resamples"] = min(n_resamples, intervals.choose_resamples(len(relations), columns))
    averages: dict[str, Averages] = {}
    for start in range(0, len(measures), size):
        part = dict(islice(measures.items(), start, start + size))
        values: list[dict[str, intervals.Ratio]] = [{}, {}]
        for name, pair in part.items():
            # of both runs without the languages in which either is undefined
            defined = np.logical_and(*((x.denominators > 0).any(axis=0) for x in pair))
            for of_run, x in zip(values, pair, strict=True):
                of_run[name] = intervals.Ratio(x[0] * defined, x[1] * defined, x.share)
        figures = [find_averages(languages, of_run, relations) for of_run in values]
        rows = compare_figures(*figures, correction="none", **options)
        bounds = [intervals.estimate_figure(figure, **band) for figure in figures]
        averages |= _sort_rows(list(part), languages, rows, bounds, correction)
    return averages


def _weigh_averages(ratio: intervals.Ratio, codes: np.ndarray) -> np.ndarray:
    """Make `Figure.shares` of a measure's macro and micro averages [facts, 2 (L + 1)]."""
    counts = np.broadcast_to(ratio.denominators, np.shape(ratio.numerators)).astype(np.float64)
    if not ratio.share:
        return np.full((len(counts), 2 * (counts.shape[1] + 1)), np.nan)
    totals = intervals.sum_by(codes, counts)[codes]
    equal = intervals.divide_by(counts, totals, 0)
    return np.concatenate([intervals.weigh(equal), intervals.weigh(counts)], axis=1)


def _average(
    numerators: np.ndarray, denominators: np.ndarray, shape: tuple[int, int]
) -> np.ndarray:
    """Compute macro and micro averages [..., 2 (L + 1)] of sums [..., L * R]; `shape` is (L, R)."""
    outer = numerators.shape[:-1]
    folded = [part.reshape(*outer, -1, shape[1]) for part in (numerators, denominators)]
    parts = [np.broadcast_to(part, (*outer, *shape)) for part in folded]
    macro = intervals.add_mean(intervals.divide_by(*parts))[..., -1]
    micro = intervals.divide_by(*(part.sum(axis=-1) for part in parts))
    return np.concatenate([intervals.add_mean(macro), intervals.add_mean(micro)], axis=-1)


def _sort_rows(
    measures: Sequence[str],
    languages: Sequence[str],
    rows: Sequence[Difference],
    bounds: Sequence[Mapping[str, Any]],
    correction: str,
) -> dict[str, Averages]:
    """Sort a figure's rows by measure and average, their p-values corrected over languages."""
    names = (*languages, "mean")
    averages: dict[str, Averages] = {measure: {} for measure in measures}
    remaining = iter(rows)
    for measure, average in product(measures, intervals.AVERAGES):
        part = list(islice(remaining, len(names)))
        p = [row.p for row in part]
        adjusted = [*correct_values(p[:-1], correction), p[-1]]
        averages[measure][average] = [
            Paired(
                **row._asdict() | {"name": name, "p_adjusted": new},
                first_ci=bounds[0].get(f"{row.name}_ci"),
                second_ci=bounds[1].get(f"{row.name}_ci"),
            )
            for name, row, new in zip(names, part, adjusted, strict=True)
        ]
    return averages
