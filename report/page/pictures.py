"""The heat maps and charts of a report, with the choices of its page."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from math import ceil, floor
from typing import Any

import numpy as np

from polyprobe.analysis.figures.declaration import PAIR, RunFigure
from polyprobe.analysis.figures.results import find_chance, find_high_pairs
from polyprobe.metrics.pictures.picture import Bars, Curves, Heat, Picture, Point, Points, Series
from polyprobe.report.findings.comparison import LEVEL
from polyprobe.report.findings.run import WITHIN
from polyprobe.report.format import format_p_value, format_value
from polyprobe.report.page.drawing import Drawing
from polyprobe.report.page.parts import Between, Report, RunPart, list_drawn, list_languages
from polyprobe.report.page.templates import draw_each_template, draw_templates

# Parts of the page that have the pictures.
PAIRS, ACCURACY, SHARES = (
    "Consistency of each pair",
    "Accuracy by language",
    "Facts by number of languages",
)
CALIBRATION, MASKS = "Calibration", "Accuracy by the largest number of masks"
TEMPLATES, FILES = "Templates", ""  # files alone have the last
_ANSWERS = {"": "all answers", "_single": "of one token", "_multi": "of several tokens"}


def list_drawings(report: Report) -> dict[str, list[Drawing]]:
    """List the pictures of a report by the part of the page, see docs/running.md."""
    runs, several = report.parts, len(report.parts) > 1
    drawings: dict[str, list[Drawing]] = {PAIRS: []}
    for place, part in enumerate(runs, start=1):
        end = f"-{place}" if several else ""
        drawings[PAIRS] += _list_heats(part, runs, end)
    for two in report.between:
        drawings[PAIRS] += _list_differences(two, runs)
    drawings[ACCURACY] = [Drawing("accuracy", _draw_accuracy(runs), {})]
    if any(part.results.get("k_share") for part in runs):
        drawings[SHARES] = [Drawing("shares", _draw_shares(runs), {})]
    for place, part in enumerate(runs, start=1):
        end, run = (f"-{place}", {"run": part.name}) if several else ("", {})
        for title, name, picture, choice in _list_charts(part):
            drawing = Drawing(f"{name}{end}", picture, {**run, **choice})
            drawings.setdefault(title, []).append(drawing)
    return {title: of_part for title, of_part in drawings.items() if of_part}


def _title(parts: Sequence[RunPart]) -> str:
    data = ", ".join(dict.fromkeys(part.settings.data_name for part in parts))
    return f"{parts[0].name} on {data}" if len(parts) == 1 else data


def find_scale(figure: RunFigure, parts: Sequence[RunPart]) -> tuple[float, float, float | None]:
    """Find low, high and chance of the one scale of all runs, in twentieths.

    It goes from chance, or 0 without one, to the highest value; lower values extend it.
    """
    values = [x for part in parts for x in part.results[figure.name].values() if x is not None]
    levels = [find_chance(part.results, figure.name) for part in parts]
    chance = min((level for level in levels if level is not None), default=None)
    low = floor(20 * min([chance or 0.0, *values]) + 1e-9) / 20
    high = ceil(20 * max([*values, low + 0.1]) - 1e-9) / 20
    return low, max(low + 0.05, min(figure.scale.highest, high)), chance


def find_scale_of_differences(values: Iterable[float | None]) -> float:
    """Find the end of the scale from -end to end, in twentieths."""
    return ceil(20 * max([0.05, *(abs(x) for x in values if x is not None)]) - 1e-9) / 20


def _list_heats(part: RunPart, parts: Sequence[RunPart], end: str) -> Iterator[Drawing]:
    """Yield a figure's heat map, and with squares of the pairs high by it and another one."""
    results, figures = part.results, list_drawn(parts)
    if len(results["languages"]) < 2:
        return
    undirected = [figure for figure in figures if figure.per == PAIR]
    for figure in figures:
        heat = _draw_heat(figure, part, parts)
        choice = {"measure": figure.title} | ({"show": part.name} if len(parts) > 1 else {})
        squared = figure in undirected and len(undirected) > 1
        yield Drawing(f"{figure.name}{end}", heat, choice | ({"high by": "–"} if squared else {}))
        for second in undirected if squared else ():
            if second is not figure:
                squares = _find_squares(results, figure, second)
                name = f"{figure.name}+{second.name}{end}"
                options = choice | {"high by": second.heading}
                yield Drawing(name, heat._replace(squares=squares), options)


def _find_squares(
    results: Mapping[str, Any], first: RunFigure, second: RunFigure
) -> dict[str, list[tuple[int, int]]]:
    high = find_high_pairs(results, first.name, second.name)
    squares = {
        f"at or above the mean by {first.title} and {second.title}": high.common,
        "by one of them": [*high.first, *high.second],
    }
    return {name: _find_cells(results["languages"], pairs) for name, pairs in squares.items()}


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
        details=_describe_cells(figure, part),
    )


def _describe_cells(figure: RunFigure, part: RunPart) -> dict[tuple[int, int], str]:
    """Describe the intervals of the cells, and for RankC the values within both languages."""
    results, languages = part.results, part.results["languages"]
    bounds = results.get("intervals", {}).get(figure.name, {})
    within = results.get(WITHIN.name) if figure.name == "rankc" else None
    details = {}
    for (i, first), (j, second) in permutations(enumerate(languages), 2):
        ci = _of_pair(bounds, first, second)
        text = f" ({ci[0]:z.3f} to {ci[1]:z.3f})" if ci else ""
        if within:
            values = ", ".join(f"{x} {format_value(within[x])}" for x in (first, second))
            text += f"\nwithin over templates: {values}"
        details[i, j] = text
    return details


def _of_pair(values: Mapping[str, Any], first: str, second: str) -> Any:
    """Find the value of a pair, in this order if the order counts."""
    key = f"{first}-{second}"
    return values.get(key if key in values else f"{second}-{first}")


def _fill(languages: Sequence[str], values: Mapping[str, float | None]) -> np.ndarray:
    """Make [languages, languages] of `en-fr` → value; the order of a pair may count."""
    matrix = np.full([len(languages)] * 2, np.nan)
    for (i, first), (j, second) in permutations(enumerate(languages), 2):
        value = _of_pair(values, first, second)
        matrix[i, j] = np.nan if value is None else value
    return matrix


def _find_cells(languages: Sequence[str], pairs: Iterable[str]) -> list[tuple[int, int]]:
    framed = set(pairs)
    return [
        (i, j)
        for (i, first), (j, second) in permutations(enumerate(languages), 2)
        if {f"{first}-{second}", f"{second}-{first}"} & framed
    ]


def _list_differences(two: Between, parts: Sequence[RunPart]) -> Iterator[Drawing]:
    """Yield the differences of two runs, the significant ones in squares."""
    languages, first = two.comparison.languages, parts[0].results
    for figure in list_drawn(parts):
        rows = {x.name: x for x in two.comparison.differences.get(figure.name, ())[:-1]}
        if not rows:
            continue
        end = find_scale_of_differences(row.difference for row in rows.values())
        low = [row.name for row in rows.values() if (row.p_adjusted or 1) < LEVEL]
        details = {}
        for (i, x), (j, y) in permutations(enumerate(languages), 2):
            row = _of_pair(rows, x, y)
            ci = f" ({row.ci[0]:z.3f} to {row.ci[1]:z.3f})" if row and row.ci else ""
            details[i, j] = f"{ci}, p = {format_p_value(row.p_adjusted)}" if row else ""
        heat = Heat(
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
            details=details,
        )
        choice = {"measure": figure.title, "show": two.title}
        yield Drawing(f"{figure.name}-1-{two.place + 1}", heat, choice)


def _draw_accuracy(parts: Sequence[RunPart]) -> Bars:
    """Draw the accuracies, the highest of the first run first."""
    rates = parts[0].results["accuracy"]
    ordered = sorted(list_languages(parts), key=lambda language: -(rates.get(language) or -1))
    series = []
    for part in parts:
        values = part.results["accuracy"]
        bounds = part.results.get("intervals", {}).get("accuracy", {})
        ends = [bounds.get(language) for language in ordered]
        series.append(Series(part.name, [*map(values.get, ordered)], ends))
    levels = [("chance", part.results.get("chance", {}).get("accuracy")) for part in parts]
    levels += [
        ("frequent answers", part.results.get("floors", {}).get("frequency", {}).get("accuracy"))
        for part in parts
    ]
    lines = [(f"{name} {x:.1%}", x) for name, x in dict.fromkeys(levels) if x is not None]
    return Bars(_title(parts), ordered, series, "accuracy", lines)


def _draw_shares(parts: Sequence[RunPart]) -> Bars:
    """Draw the facts right in exactly k languages, of those right somewhere."""
    shares = [part.results.get("k_share") or [] for part in parts]
    count = max(map(len, shares))
    series = [
        Series(part.name, [*of_run, *[None] * (count - len(of_run))])
        for part, of_run in zip(parts, shares, strict=True)
    ]
    labels = [str(k) for k in range(1, count + 1)]
    measure = "number of languages; share of the facts right in at least one"
    return Bars(_title(parts), labels, series, measure)


def _list_charts(part: RunPart) -> Iterator[tuple[str, str, Picture, dict[str, str]]]:
    """Yield part, name, picture and choice of the charts of each language, and of templates."""
    for language, bins in part.results.get("calibration", {}).items():
        points = [
            Point(str(n), confidence, accuracy, group)
            for suffix, group in _ANSWERS.items()
            for n, confidence, accuracy in _list_bins(bins.get(f"bins{suffix}"))
        ]
        title = f"{_title([part])}, {language}: calibration error {format_value(bins.get('ece'))}"
        axes = ("mean confidence", "accuracy; numbers: facts of a bin")
        picture = Points(title, points, *axes, line=(1.0, 0.0), ends=(0.0, 1.0))
        yield CALIBRATION, f"reliability-{language}", picture, {"language": language}
    for language, curves in part.results.get("by_masks", {}).items():
        labels = [str(m + 1) for m in range(len(curves["all"]))]
        series = [Series(name, values) for name, values in curves.items()]
        title = f"{_title([part])}, {language}"
        chart = Curves(title, labels, series, "largest number of masks", "accuracy")
        yield MASKS, f"masks-{language}", chart, {"language": language}
    for name, bars in draw_templates(part.results).items():
        yield TEMPLATES, name, bars, {}
    for name, bars in draw_each_template(part.results).items():
        yield FILES, name, bars, {}


def _list_bins(bins: Mapping[str, Any] | None) -> Iterator[tuple[int, float, float]]:
    if bins:
        rows = zip(bins["n"], bins["confidence"], bins["accuracy"], strict=True)
        yield from (row for row in rows if row[0])
