"""The figures of a run as rows, the input of every format."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, groupby
from typing import Any, NamedTuple

from polyprobe.eval.results.figures import ALL, BY_NAME, JOINT, OF_MODULES, find_chance
from polyprobe.system.errors import PolyprobeError

MEAN = "mean"  # in place of a language: the mean over languages or pairs


class Row(NamedTuple):
    """One value of a figure.

    `language` is a split, MEAN or ALL; `other_language` the second of a pair, else "". `low` and
    `high` bound the 95 % bootstrap interval, `chance` is the value of guessing, `n` the number of
    facts; None if unknown. `value` is None if the figure is undefined.
    """

    figure: str
    language: str
    other_language: str
    value: float | None
    low: float | None
    high: float | None
    chance: float | None
    n: int | None


def list_rows(results: Mapping[str, Any]) -> list[Row]:
    """Return a run's results.json as rows: languages, pairs and means, then joint figures.

    Raises:
        PolyprobeError: a value that is not a number, with its figure and language.
    """
    rows = [*_rows_of_figures(results), *_rows_of_modules(results), *_rows_of_all(results)]
    for row in rows:
        for value in row[3:]:
            if value is not None and not _is_finite(value):
                raise PolyprobeError(
                    f"results.json has {value!r} in {row.figure} of "
                    f"{row.language} {row.other_language}".rstrip()
                )
    return rows


def mean_with_others(rows: Sequence[Row], figure: str, language: str) -> float | None:
    """Return a language's mean over its pairs, None if all are undefined.

    For a figure by language, return that language's value.
    """
    values = [
        row.value
        for row in rows
        if row.figure == figure and language in (row.language, row.other_language)
    ]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def find_mean(rows: Sequence[Row], figure: str) -> Row | None:
    """Return the row of a figure's mean; None if missing or undefined."""
    found = (row for row in rows if (row.figure, row.language) == (figure, MEAN))
    return next((row for row in found if row.value is not None), None)


def _is_finite(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value)


def _rows_of_figures(results: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the figures that have a mean, by language or pair in the run's order."""
    languages = results["languages"]
    pairs = {f"{one}-{other}": (one, other) for one, other in combinations(languages, 2)}
    singles = {language: (language, "") for language in languages}
    intervals = results.get("intervals", {})
    for figure, mean in results["mean"].items():
        values, bounds = results[figure], intervals.get(figure, {})
        chance, n = find_chance(results, figure), _count(results, figure)
        for name, place in {**singles, **pairs}.items():
            if name in values:
                low, high = bounds.get(name) or (None, None)
                of_language = chance if values[name] is not None else None
                yield Row(figure, *place, values[name], low, high, of_language, n)
        low, high = intervals.get(MEAN, {}).get(figure) or (None, None)
        yield Row(figure, MEAN, "", mean, low, high, chance, n)


def _count(results: Mapping[str, Any], figure: str) -> int | None:
    """Return the number of facts of a figure; None for free predictions, which may skip facts."""
    if BY_NAME[figure].conditional or "factual_accuracy" in results:
        return None
    return results["n_queries"] - results["left_out"].get(figure, 0)


def _rows_of_modules(results: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the figures of metric modules by language."""
    for module, figures in groupby(OF_MODULES, key=lambda figure: figure.module):
        known = list(figures)
        for language, values in results.get(module, {}).items():
            for figure in (figure for figure in known if figure.key in values):
                low, high = values.get(f"{figure.key}_ci") or (None, None)
                chance = values.get(f"{figure.key}_chance")
                value, n = values[figure.key], values.get(figure.counted)
                yield Row(figure.name, language, "", value, low, high, chance, n)


def _rows_of_all(results: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the figures of all languages, and the number of facts right in exactly k of them."""
    n = results["n_queries"]
    for figure in (figure.name for figure in JOINT if figure.name in results):
        low, high = results.get(f"{figure}_ci") or (None, None)
        yield Row(figure, ALL, "", results[figure], low, high, None, n)
    for k, facts in enumerate(results["k_correct"]):
        yield Row(f"right_in_exactly_{k}", ALL, "", facts, None, None, None, n)
