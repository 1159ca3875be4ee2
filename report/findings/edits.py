"""Edits of a model as a finding: shares before and after by language, falls and consistency."""

from collections.abc import Mapping
from typing import Any

from polyprobe.analysis.edits import OTHERS
from polyprobe.metrics.pictures.picture import Point, Points
from polyprobe.report.finding import Column, Drawing, Finding, Part, Table
from polyprobe.report.show import format_interval, format_value
from polyprobe.system.files import read_toml

_TERMS = read_toml(__package__, "terms.toml")["edits"]
_LINES = _TERMS.pop("lines")
_SHARES = ("right_before", "target_before", "right_after", "target_after")
_EFFECTS = [f"{x}_{y}" for x in ("rank", "neighbours", "paraphrases") for y in ("before", "after")]


def make_edits_finding(edits: Mapping[str, Any], summary: Mapping[str, Any]) -> Finding:
    """Make the finding of the edits in an `edits.json` and of their `summarize_edits`."""
    figures, source, levels = summary["figures"], edits["source"], edits.get("consistency") or {}
    data = "/".join(filter(None, (edits["dataset"], edits.get("config"))))
    names = (*_SHARES, "fall", "fall_ci", "flipped")
    shares = [[x, levels.get(x), *map(y.get, names)] for x, y in figures.items()]
    rows = [[x, *map(y.get, _EFFECTS)] for x, y in figures.items()]
    effects = Table(Column.read("side effects"), rows)
    settings = {"method": edits["method"], "layer": edits["layer"], **edits["settings"]}
    correlation = _describe(summary["correlation"], source)
    picture = _draw(correlation, figures, levels, source)
    lead = _LINES["lead"].format(source=source, fall=format_value(figures[source]["fall"]))
    if OTHERS in figures:
        fall, n = format_value(figures[OTHERS]["fall"]), len(edits["languages"]) - 1
        lead += _LINES["others"].format(fall=fall, n=n)
    return Finding(
        f"{len(edits['facts']):,} edits of {edits['model']} in {source} on {data}",
        [
            Part("Shares by language", [Table(Column.read("edits"), shares)]),
            Part("Falls and consistency", [], [Drawing("falls", picture)]),
            Part("Side effects", [effects], heading="Side effects"),
            Part("Facts", [_list_facts(edits, summary["shares"])]),
        ],
        f"{lead}.",
        settings=[", ".join(f"{x}: {y}" for x, y in settings.items())],
        notes=[_LINES["draws"], correlation],
        terms=[*_TERMS.items()],
    )


def _describe(correlation: Mapping[str, Any], source: str) -> str:
    if correlation.get("pearson") is None:
        return str(_LINES["no_correlation"])
    texts = {
        x: format_interval(y) if x.endswith("_ci") else format_value(y)
        for x, y in correlation.items()
    }
    return str(_LINES["correlation"].format(**texts | {"n": correlation["n"], "source": source}))


def _list_facts(edits: Mapping[str, Any], shares: Mapping[str, Any]) -> Table:
    """List the share of the right answer of each fact in each language."""
    rows = [
        [fact["subject"], fact["right"], fact["target"], language, *values]
        for fact, *columns in zip(edits["facts"], *shares.values(), strict=True)
        for language, values in zip(shares, columns, strict=True)
    ]
    return Table(Column.read("edited facts"), rows, limit=0, folded="Each fact")


def _draw(title: str, figures: Mapping[str, Any], levels: Mapping[str, Any], source: str) -> Points:
    """Draw the mean fall of each language but the source that has a consistency."""
    places = {x: (levels.get(x), y["fall"], y["fall_ci"] or ()) for x, y in figures.items()}
    points = [
        Point(x, level, fall, y_bounds=bounds)
        for x, (level, fall, bounds) in places.items()
        if x != source and level is not None and fall is not None
    ]
    return Points(title, points, _LINES["x"].format(source=source), _LINES["y"])
