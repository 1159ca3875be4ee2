"""The heat maps and charts of a report, with the choices of its page."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, permutations
from math import ceil, floor
from typing import Any

import numpy as np

from polyprobe.analysis.figures import results as reader
from polyprobe.analysis.figures.figures import PAIR, RunFigure
from polyprobe.metrics.pictures.picture import (
    Bars,
    Heat,
    Picture,
    Point,
    Points,
    Series,
    join_points,
)
from polyprobe.report.finding import Drawing
from polyprobe.report.findings.comparison import LEVEL
from polyprobe.report.findings.run import (
    QUANTITIES,
    SHARES,
    WITHIN,
    make_ceiling_table,
    make_split_table,
)
from polyprobe.report.show import format_interval, format_p_value, format_value
from polyprobe.schema.languages import order_pair

from .parts import Between, Report, RunPart, Titles, list_levels

_ANSWERS = {"": "all answers", "_single": "of one token", "_multi": "of several tokens"}


def list_drawings(report: Report) -> dict[str, list[Drawing]]:
    """List the pictures of a report by the part of the page, see docs/running.md."""
    runs, several = report.parts, len(report.parts) > 1
    drawings: dict[str, list[Drawing]] = {Titles.PAIRS: []}
    for place, part in enumerate(runs, start=1):
        drawings[Titles.PAIRS] += _list_heats(part, report, f"-{place}" if several else "")
    for two in report.between:
        drawings[Titles.PAIRS] += _list_changes(two, runs[0], report.figures)
    drawings[Titles.ACCURACY] = [Drawing("accuracy", _draw_accuracy(report))]
    shares = [part.results.get("k_share") or [] for part in runs]
    if count := max(map(len, shares)):  # languages in which facts are right, of those right in any
        rows = [(x.name, y + [None] * (count - len(y))) for x, y in zip(runs, shares, strict=True)]
        labels, series = [str(k) for k in range(1, count + 1)], [Series(*row) for row in rows]
        bars = Bars(_title(runs), labels, series, "share of the facts right in some language")
        drawings[Titles.SHARES] = [Drawing("shares", bars)]
    for place, part in enumerate(runs, start=1):
        end, run = (f"-{place}", {"run": part.name}) if several else ("", {})
        for title, name, picture, choice in _list_charts(part):
            drawing = Drawing(f"{name}{end}", picture, {**run, **choice})
            drawings.setdefault(title, []).append(drawing)
    return {title: of_part for title, of_part in drawings.items() if of_part}


def _list_heats(part: RunPart, report: Report, end: str) -> Iterator[Drawing]:
    """Yield a figure's heat map, and with squares of the pairs high by it and another one."""
    results, parts = part.results, report.parts
    undirected = [figure for figure in report.figures if figure.per == PAIR]
    for figure in report.figures if len(results["languages"]) > 1 else ():
        heat = _draw_heat(figure, part, parts)
        choice = {"measure": figure.title} | ({"show": part.name} if len(parts) > 1 else {})
        squared = figure in undirected and len(undirected) > 1
        yield Drawing(f"{figure.name}{end}", heat, choice | ({"high by": "–"} if squared else {}))
        for second in [x for x in undirected if squared and x is not figure]:
            common, *rest = reader.find_high_pairs(results, figure.name, second.name)
            squares = {
                f"at or above the mean by {figure.title} and {second.title}": common,
                "by one of them": [*chain(*rest)],
            }
            cells = {x: _frame(results["languages"], pairs) for x, pairs in squares.items()}
            options = choice | {"high by": second.heading}
            name = f"{figure.name}+{second.name}{end}"
            yield Drawing(name, heat._replace(squares=cells), options)


def _draw_heat(figure: RunFigure, part: RunPart, parts: Sequence[RunPart]) -> Heat:
    """Draw a heat map; the pointer shows intervals, for centred RankC the values in a language."""
    results, languages = part.results, part.results["languages"]
    low, high, chance = find_scale(figure, parts)
    bounds = results["intervals"].get(figure.name, {})
    within = results.get(WITHIN.name) if figure.name == "rankc_subject" else None
    details = {}
    for cell, ci in _find_cells(languages, bounds).items():
        details[cell] = f" ({format_interval(ci)})" if ci else ""
        if within:
            pair = (languages[place] for place in cell)
            values = ", ".join(f"{x} {format_value(within[x])}" for x in pair)
            details[cell] += f"\nwithin over templates: {values}"
    return Heat(
        _title([part]),
        languages,
        languages,
        _fill(languages, results[figure.name]),
        figure.title,
        low,
        high,
        mark=None if chance is None else ("chance", chance),
        details=details,
    )


def find_scale(figure: RunFigure, parts: Sequence[RunPart]) -> tuple[float, float, float | None]:
    """Find low (chance, or a lower value), high and chance of all runs' scale, in twentieths."""
    values = [x for part in parts for x in part.results[figure.name].values() if x is not None]
    levels = [reader.find_chance(part.results, figure.name) for part in parts]
    chance = min((level for level in levels if level is not None), default=None)
    low = floor(20 * min([chance or 0.0, *values]) + 1e-9) / 20
    high = ceil(20 * max([*values, low + 0.1]) - 1e-9) / 20
    return low, max(low + 0.05, min(figure.highest, high)), chance


def _title(parts: Sequence[RunPart]) -> str:
    data = ", ".join(dict.fromkeys(part.settings.data_name for part in parts))
    return f"{parts[0].name} on {data}" if len(parts) == 1 else data


def _find_cells(languages: Sequence[str], values: Mapping[str, Any]) -> dict[tuple[int, int], Any]:
    """Find the value of each cell, `en-fr` → value; the order of a pair may count."""
    pairs = permutations(enumerate(languages), 2)
    return {(i, j): values.get(order_pair(values, x, y)) for (i, x), (j, y) in pairs}


def _fill(languages: Sequence[str], values: Mapping[str, float | None]) -> np.ndarray:
    matrix = np.full([len(languages)] * 2, np.nan)
    for cell, value in _find_cells(languages, values).items():
        matrix[cell] = np.nan if value is None else value
    return matrix


def _frame(languages: Sequence[str], pairs: Iterable[str]) -> list[tuple[int, int]]:
    cells = _find_cells(languages, dict.fromkeys(pairs, True))
    return [cell for cell, is_framed in cells.items() if is_framed]


def _list_changes(two: Between, part: RunPart, figures: Sequence[RunFigure]) -> Iterator[Drawing]:
    """Yield the differences of two runs, the significant ones in squares."""
    languages = two.comparison.languages
    for figure in figures:
        rows = {x.name: x for x in two.comparison.differences.get(figure.name, ())[:-1]}
        if not rows:
            continue
        # the scale goes from -end to end, in twentieths
        changes = [abs(x.difference) for x in rows.values() if x.difference is not None]
        end = ceil(20 * max([0.05, *changes]) - 1e-9) / 20
        low = [row.name for row in rows.values() if (row.p_adjusted or 1) < LEVEL]
        details = {}
        for cell, row in _find_cells(languages, rows).items():
            if row:
                interval = f" ({format_interval(row.ci)})" if row.ci else ""
                details[cell] = f"{interval}, p = {format_p_value(row.p_adjusted)}"
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
            squares={f"p < {LEVEL}": _frame(languages, low)},
            similar=_fill(languages, part.results[figure.name]),
            details=details,
        )
        choice = {"measure": figure.title, "show": two.title}
        yield Drawing(f"{figure.name}-1-{two.place + 1}", heat, choice)


def _draw_accuracy(report: Report) -> Bars:
    """Draw the accuracies, the highest of the first run first."""
    parts, series = report.parts, []
    rates = parts[0].results["accuracy"]
    languages = dict.fromkeys(language for part in parts for language in part.results["languages"])
    ordered = sorted(languages, key=lambda language: -(rates.get(language) or -1))
    for part in parts:
        bounds = part.results["intervals"].get("accuracy", {})
        values = [*map(part.results["accuracy"].get, ordered)]
        series.append(Series(part.name, values, [*map(bounds.get, ordered)]))
    levels = dict.fromkeys(level for part in parts for level in list_levels(part.results))
    lines = [(f"{name} {format_value(x)}", x) for name, x in levels]
    return Bars(_title(parts), ordered, series, "accuracy", lines)


def _list_charts(part: RunPart) -> Iterator[tuple[str, str, Picture, dict[str, str]]]:
    """Yield part, name, picture and choice of the charts of each language, and of templates."""
    run = _title([part])
    for language, bins in part.results.get("calibration", {}).items():
        points = [
            Point(str(n), confidence, accuracy, group)
            for suffix, group in _ANSWERS.items()
            if (rows := bins.get(f"bins{suffix}"))
            for n, confidence, accuracy in zip(
                rows["n"], rows["confidence"], rows["accuracy"], strict=True
            )
            if n
        ]
        title = f"{run}, {language}: calibration error {format_value(bins.get('ece'))}"
        axes = ("mean confidence", "accuracy; numbers: facts of a bin")
        picture = Points(title, points, *axes, line=(1.0, 0.0), ends=(0.0, 1.0))
        yield Titles.CALIBRATION, f"reliability-{language}", picture, {"language": language}
    for language, curves in part.results.get("by_masks", {}).items():
        series = [Series(name, values) for name, values in curves.items()]
        axes = ("largest number of masks", "accuracy")
        chart = join_points(f"{run}, {language}", series, *axes)
        yield Titles.MASKS, f"masks-{language}", chart, {"language": language}
    for name, bars in draw_templates(part.results).items():
        yield Titles.TEMPLATES, name, bars, {}
    for name, bars in draw_each_template(part.results).items():
        yield Titles.FILES, name, bars, {}


def draw_templates(results: Mapping[str, Any]) -> dict[str, Picture]:
    """Draw `ceiling`, `split` and `templates` of a run with several templates; else nothing."""
    pictures, of_languages = dict[str, Picture](), make_ceiling_table(results)
    if WITHIN.name in results:
        title = "Centred RankC of different templates"
        heads = ("centred within", "with others")
        pictures["ceiling"] = of_languages.draw(title, "centred RankC", heads)
    split = make_split_table(results)
    shares = [row for row in split.rows if row[0] in SHARES.values()]
    if shares:
        title = "Split of the inconsistency"
        pictures["split"] = split._replace(rows=shares).draw(title, "share", QUANTITIES)
    if "templates" in results:
        title = "Accuracy by template, mean over relations"
        pictures["templates"] = of_languages.draw(title, "accuracy", ("worst", "best"))
    return pictures


def draw_each_template(results: Mapping[str, Any]) -> dict[str, Picture]:
    """Draw the accuracies of the templates of each language and relation, for files."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in results.get("templates", {}).get("rows", []):
        groups.setdefault(f"{row['language']}-{row['relation']}", []).append(row)
    return {
        f"templates-{name}": Bars(
            f"Templates of {rows[0]['relation']}, {rows[0]['language']}",
            [row["text"] for row in rows],
            [Series("accuracy", [row["accuracy"] for row in rows])],
            "accuracy",
        )
        for name, rows in groups.items()
    }
