"""Compare two runs on the same facts by figures averaged over relations and over facts.

Fluent-mLAMA (Semenov and Sennrich 2025, section 3) gives all relations of a language the same
weight (macro); micro gives all facts the same weight. Both are computed from one set of sums: both
averages, all languages and their mean are resampled and swapped together.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any, NamedTuple

import numpy as np

from polyprobe.metrics.joint.figures import Figure, add_mean, estimate_figure
from polyprobe.metrics.joint.significance import Difference, compare_figures, correct
from polyprobe.metrics.shared.intervals import AVERAGES, Ratio, divide, index_labels

_BAND = 1000  # resamples of a run's own interval, as results.json has them
_SUMS = 2**24  # resampled sums that are held at once


class Paired(NamedTuple):
    """The values of one language (or `mean`, of all languages) in two runs.

    Attributes:
        name: the language.
        first, second: the two runs' values; None where undefined.
        first_ci, second_ci: their own 95 % bootstrap intervals, from at most 1,000 resamples.
        difference: first - second.
        ci: its interval, from facts drawn for both runs and all languages at once.
        p: of the test, uncorrected.
        p_adjusted: corrected over the languages; not corrected for `mean`.
    """

    name: str
    first: float | None
    first_ci: list[float] | None
    second: float | None
    second_ci: list[float] | None
    difference: float | None
    ci: list[float] | None
    p: float | None
    p_adjusted: float | None


Averages = dict[str, list[Paired]]


def find_averages(
    languages: Sequence[str], values: Mapping[str, Ratio], relations: Sequence[Hashable]
) -> Figure:
    """Return the figure of all `MEASURE AVERAGE LANGUAGE`, each average's `mean` behind it.

    A language's value in a relation is the ratio of its sums there; a relation without one (0/0)
    is left out of the macro mean, as is a language of the mean over languages. The last name of the
    figure, `mean` of all these, has no meaning.

    Args:
        languages: L names.
        values: of each measure numerators [facts, L] and denominators [facts, L], both 0 where a
            fact does not count; or denominators [facts, 1] where it counts alike in all languages.
        relations: of each fact.
    """
    known, codes = index_labels(relations, len(relations), "relations")
    shape = (len(languages), len(known))
    parts = [
        _spread(np.asarray(part, np.float64), codes) for pair in values.values() for part in pair
    ]
    ends = np.cumsum([part.shape[1] for part in parts])[:-1]

    def fold(part: np.ndarray) -> np.ndarray:
        return part.reshape(*part.shape[:-1], -1, len(known))

    def statistic(sums: np.ndarray) -> np.ndarray:
        pieces = np.split(sums, ends, axis=-1)
        found = [
            _average(fold(one), fold(other), shape)
            for one, other in zip(pieces[::2], pieces[1::2], strict=True)
        ]
        return add_mean(np.concatenate(found, axis=-1))

    names = [" ".join(name) for name in product(values, AVERAGES, (*languages, "mean"))]
    return Figure([*names, "mean"], np.concatenate(parts, axis=1), statistic)


def compare_averages(
    languages: Sequence[str],
    measures: Mapping[str, tuple[Ratio, Ratio]],
    relations: Sequence[Hashable],
    *,
    correction: str = "holm",
    **options: Any,
) -> dict[str, Averages]:
    """Return measure → {macro, micro: one row for each language, `mean` last}.

    `options` are those of `significance.compare_figures`. A language that is undefined in either
    run as a whole has no value in either, so that means are over the same languages in both.
    """
    n_resamples = options.get("n_resamples", 10_000)
    columns = 2 * (len(languages) + 1) * len(set(relations))
    size = max(1, _SUMS // (columns * n_resamples))
    band = {name: options[name] for name in ("seed", "clusters") if name in options}
    found: dict[str, Averages] = {}
    for part in _cut(measures, size):
        pairs = {name: _define_alike(*pair) for name, pair in part.items()}
        one, other = (
            find_averages(languages, {name: pair[i] for name, pair in pairs.items()}, relations)
            for i in (0, 1)
        )
        rows = compare_figures(one, other, correction="none", **options)
        bounds = [
            estimate_figure(figure, n_resamples=min(n_resamples, _BAND), **band)
            for figure in (one, other)
        ]
        found |= _sort_rows(list(part), languages, rows, bounds, correction)
    return found


def _cut(measures: Mapping[str, tuple[Ratio, Ratio]], size: int) -> Iterator[dict]:
    names = list(measures)
    for start in range(0, len(names), size):
        yield {name: measures[name] for name in names[start : start + size]}


def _define_alike(first: Ratio, second: Ratio) -> tuple[Ratio, Ratio]:
    """Return both without the languages in which either is undefined."""
    defined = np.logical_and(
        *((np.asarray(ratio.denominators) > 0).any(axis=0) for ratio in (first, second))
    )
    one, other = (Ratio(*(np.asarray(part) * defined for part in x)) for x in (first, second))
    return one, other


def _spread(values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return values [facts, L] in a column for each language and relation [facts, L * R]."""
    table = np.zeros((*values.shape, codes.max() + 1))
    table[np.arange(len(values)), :, codes] = values
    return table.reshape(len(values), -1)


def _average(
    numerators: np.ndarray, denominators: np.ndarray, shape: tuple[int, int]
) -> np.ndarray:
    """Return macro and micro averages [..., 2 (L + 1)] of sums [..., L, R]."""
    full = (*numerators.shape[:-2], *shape)
    parts = [np.broadcast_to(part, full) for part in (numerators, denominators)]
    macro = add_mean(divide(np.concatenate(parts, axis=-1)))[..., -1]
    micro = divide(np.concatenate([part.sum(axis=-1) for part in parts], axis=-1))
    return np.concatenate([add_mean(macro), add_mean(micro)], axis=-1)


def _sort_rows(
    measures: Sequence[str],
    languages: Sequence[str],
    rows: Sequence[Difference],
    bounds: Sequence[Mapping[str, Any]],
    correction: str,
) -> dict[str, Averages]:
    """Return a figure's rows by measure and average, their p-values corrected over languages."""
    names = (*languages, "mean")
    found: dict[str, Averages] = {measure: {} for measure in measures}
    left = iter(rows)
    for measure, average in product(measures, AVERAGES):
        part = list(islice(left, len(names)))
        p = np.array([np.nan if row.p is None else row.p for row in part])
        adjusted = [*correct(p[:-1], correction).tolist(), p[-1].item()]
        found[measure][average] = [
            Paired(
                name,
                row.first,
                bounds[0].get(f"{row.name}_ci"),
                row.second,
                bounds[1].get(f"{row.name}_ci"),
                row.difference,
                row.ci,
                row.p,
                None if row.p is None else new,
            )
            for name, row, new in zip(names, part, adjusted, strict=True)
        ]
    return found
