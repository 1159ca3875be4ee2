"""Pictures of the view by template."""

from collections.abc import Mapping, Sequence
from typing import Any

from polyprobe.analysis.figures.results import list_by_language
from polyprobe.metrics.pictures.picture import Bars, Picture, Series
from polyprobe.report.findings.run import BETWEEN, QUANTITIES, SHARES, WITHIN


def draw_templates(results: Mapping[str, Any]) -> dict[str, Picture]:
    """Draw the pictures of a run with several templates; none of another run.

    `ceiling`: RankC within each language and with others. With the view by template also `split`,
    the shares of the inconsistency, and `templates`, the accuracies of the worst and best template.
    """
    if WITHIN.name not in results:
        return {}
    pictures = {"ceiling": _draw_ceiling(results)}
    if "templates" in results:
        pictures |= {"split": _draw_split(results), "templates": _draw_spread(results)}
    return pictures


def _draw_ceiling(results: Mapping[str, Any]) -> Picture:
    languages: Sequence[str] = results["languages"]
    bounds = results.get("intervals", {}).get(WITHIN.name, {})
    within = [results[WITHIN.name][x] for x in languages]
    series = [Series("within the language", within, [bounds.get(x) for x in languages])]
    if results.get(BETWEEN.name):
        between = list_by_language(results, BETWEEN)
        series.append(Series("with the other languages", [between[x] for x in languages]))
    return Bars("RankC of different templates", languages, series, "RankC")


def _draw_split(results: Mapping[str, Any]) -> Picture:
    split = {x: results["templates"][x] for x in QUANTITIES if x in results["templates"]}
    series = [
        Series(QUANTITIES[x], [of[y] for y in SHARES], [of[f"{y}_ci"] for y in SHARES])
        for x, of in split.items()
    ]
    return Bars("Split of the inconsistency", [*SHARES.values()], series, "share")


def _draw_spread(results: Mapping[str, Any]) -> Picture:
    of = results["templates"]["by_language"]
    series = [Series(f"{kind} template", [of[x][kind] for x in of]) for kind in ("worst", "best")]
    return Bars("Accuracy by template, mean over relations", [*of], series, "accuracy")


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
