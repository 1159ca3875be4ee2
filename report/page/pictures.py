"""The heat maps and charts of a report, for files and for the scales of its page."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from math import ceil, floor
from typing import Any

import numpy as np

from polyprobe.analysis.figures.declaration import PAIR, RunFigure
from polyprobe.analysis.figures.further.pairs import find_high_pairs
from polyprobe.analysis.figures.results import find_chance
from polyprobe.report.findings.comparison import LEVEL
from polyprobe.report.format import number
from polyprobe.report.page.parts import Between, RunPart, list_drawn
from polyprobe.report.page.templates import list_template_pictures
from polyprobe.report.pictures.picture import Bars, Heat, Picture, Point, Points, Series

_PARTS = {"": "all answers", "_single": "of one token", "_multi": "of several tokens"}


def list_pictures(parts: Sequence[RunPart], between: Sequence[Between]) -> dict[str, Picture]:
    """Return the pictures of a report by name, see docs/running.md; the page's first one first."""
    found: dict[str, Picture] = {}
    many = len(parts) > 1
    for place, part in enumerate(parts, start=1):
        end = f"-{place}" if many else ""
        found |= {f"{name}{end}": heat for name, heat in _list_heats(part, parts)}
    for two in between:
        first, second = (place + 1 for place in two.runs)
        heats = _list_differences(two, parts)
        found |= {f"{name}-{first}-{second}": heat for name, heat in heats}
    found["accuracy"] = _draw_accuracy(parts)
    if any(part.results.get("k_share") for part in parts):
        found["shares"] = _draw_shares(parts)
    for place, part in enumerate(parts, start=1):
        end = f"-{place}" if many else ""
        charts = dict(_list_charts(part)) | list_template_pictures(part.results)
        found |= {f"{name}{end}": chart for name, chart in charts.items()}
    return found


def _title(parts: Sequence[RunPart]) -> str:
    data = ", ".join(dict.fromkeys(part.settings.data_name for part in parts))
    return f"{parts[0].name} on {data}" if len(parts) == 1 else data


def find_scale(figure: RunFigure, parts: Sequence[RunPart]) -> tuple[float, float, float | None]:
    """Return low, high and chance of the one scale of all runs, in twentieths.

    It goes from chance, or 0 without one, to the highest value; lower values extend it.
    """
    values = [x for part in parts for x in part.results[figure.name].values() if x is not None]
    levels = [find_chance(part.results, figure.name) for part in parts]
    chance = min((level for level in levels if level is not None), default=None)
    low = floor(20 * min([chance or 0.0, *values]) + 1e-9) / 20
    high = ceil(20 * max([*values, low + 0.1]) - 1e-9) / 20
    return low, max(low + 0.05, min(figure.scale.highest, high)), chance


def find_scale_of_differences(values: Iterable[float | None]) -> float:
    """Return the end of the scale from -end to end, in twentieths."""
    return ceil(20 * max([0.05, *(abs(x) for x in values if x is not None)]) - 1e-9) / 20


def _list_heats(part: RunPart, parts: Sequence[RunPart]) -> Iterator[tuple[str, Heat]]:
    """Yield a figure's heat map, and with squares of the pairs high by it and another one."""
    results, figures = part.results, list_drawn(parts)
    if len(results["languages"]) < 2:
        return
    undirected = [figure for figure in figures if figure.per == PAIR]
    for figure in figures:
        heat = _draw_heat(figure, part, parts)
        yield figure.name, heat
        for other in undirected if figure in undirected else ():
            if other is not figure:
                high = find_high_pairs(results, figure.name, other.name)
                squares = {
                    f"at or above the mean by {figure.title} and {other.title}": high.both,
                    "by one of them": [*high.first, *high.second],
                }
                yield (
                    f"{figure.name}+{other.name}",
                    heat._replace(
                        squares={
                            name: _find_cells(results["languages"], pairs)
                            for name, pairs in squares.items()
                        }
                    ),
                )


def _draw_heat(figure: RunFigure, part: RunPart, parts: Sequence[RunPart]) -> Heat:
    languages = part.results["languages"]
    low, high, chance = find_scale(figure, parts)
    return Heat(
        _title([part]),
        languages,
        languages,
        _fill(languages, part.results[figure.name]),
        figure.title,
        low,
        high,
        mark=None if chance is None else ("chance", chance),
    )


def _fill(languages: Sequence[str], values: Mapping[str, float | None]) -> np.ndarray:
    """Return [languages, languages] from `en-fr` → value; the order of a pair may count."""
    matrix = np.full([len(languages)] * 2, np.nan)
    for (i, one), (j, two) in permutations(enumerate(languages), 2):
        key = f"{one}-{two}"
        value = values.get(key if key in values else f"{two}-{one}")
        matrix[i, j] = np.nan if value is None else value
    return matrix


def _find_cells(languages: Sequence[str], pairs: Iterable[str]) -> list[tuple[int, int]]:
    chosen = set(pairs)
    return [
        (i, j)
        for (i, one), (j, two) in permutations(enumerate(languages), 2)
        if {f"{one}-{two}", f"{two}-{one}"} & chosen
    ]


def _list_differences(two: Between, parts: Sequence[RunPart]) -> Iterator[tuple[str, Heat]]:
    """Yield the differences of two runs, the significant ones in squares."""
    languages, first = two.found.languages, parts[two.runs[0]].results
    for figure in list_drawn(parts):
        rows = {row.name: row for row in two.found.differences.get(figure.name, ())[:-1]}
        if not rows:
            continue
        end = find_scale_of_differences(row.difference for row in rows.values())
        low = [row.name for row in rows.values() if (row.p_adjusted or 1) < LEVEL]
        yield (
            figure.name,
            Heat(
                two.title,
                languages,
                languages,
                _fill(languages, {name: row.difference for name, row in rows.items()}),
                f"{figure.title}, difference",
                -end,
                end,
                diverging=True,
                mark=("no difference", 0.0),
                squares={f"p < {LEVEL}": _find_cells(languages, low)},
                similar=_fill(languages, first[figure.name]),
            ),
        )


def _draw_accuracy(parts: Sequence[RunPart]) -> Bars:
    """Return the accuracies, the highest of the first run first."""
    rates = parts[0].results["accuracy"]
    languages = dict.fromkeys(x for part in parts for x in part.results["languages"])
    ordered = sorted(languages, key=lambda language: -(rates.get(language) or -1))
    series = []
    for part in parts:
        values = part.results["accuracy"]
        bounds = part.results.get("intervals", {}).get("accuracy", {})
        series.append(Series(part.name, [*map(values.get, ordered)],
                             [bounds.get(language) for language in ordered]))  # fmt: skip
    levels = [("chance", part.results.get("chance", {}).get("accuracy")) for part in parts]
    levels += [
        ("frequent answers", part.results.get("floors", {}).get("frequency", {}).get("accuracy"))
        for part in parts
    ]
    known = [(f"{name} {x:.1%}", x) for name, x in dict.fromkeys(levels) if x is not None]
    return Bars(_title(parts), ordered, series, "accuracy", known)


def _draw_shares(parts: Sequence[RunPart]) -> Bars:
    """Return the facts right in exactly k languages, of those right somewhere."""
    found = [part.results.get("k_share") or [] for part in parts]
    count = max(map(len, found))
    series = [
        Series(part.name, [*shares, *[None] * (count - len(shares))])
        for part, shares in zip(parts, found, strict=True)
    ]
    labels = [str(k) for k in range(1, count + 1)]
    return Bars(
        _title(parts),
        labels,
        series,
        "number of languages; share of the facts right in at least one",
    )


def _list_charts(part: RunPart) -> Iterator[tuple[str, Picture]]:
    """Yield the charts of each language: reliability and accuracy by the number of masks."""
    for language, found in part.results.get("calibration", {}).items():
        points = [
            Point(str(n), confidence, accuracy, group)
            for suffix, group in _PARTS.items()
            for n, confidence, accuracy in _list_bins(found.get(f"bins{suffix}"))
        ]
        title = f"{_title([part])}, {language}: calibration error {number(found.get('ece'))}"
        axes = ("mean confidence", "accuracy; numbers: facts of a bin")
        yield (
            f"reliability-{language}",
            Points(title, points, *axes, line=(1.0, 0.0), ends=(0.0, 1.0)),
        )
    for language, curves in part.results.get("by_masks", {}).items():
        labels = [str(m + 1) for m in range(len(curves["all"]))]
        series = [Series(name, values) for name, values in curves.items()]
        title = f"{_title([part])}, {language}"
        yield f"masks-{language}", Bars(title, labels, series, "accuracy by number of masks")


def _list_bins(bins: Mapping[str, Any] | None) -> Iterator[tuple[int, float, float]]:
    if bins:
        rows = zip(bins["n"], bins["confidence"], bins["accuracy"], strict=True)
        yield from (row for row in rows if row[0])
