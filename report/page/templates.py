"""Pictures of the view by template, for files."""

from collections.abc import Mapping, Sequence
from typing import Any

from polyprobe.analysis.figures.results import list_by_language
from polyprobe.report.findings.run import BETWEEN, QUANTITIES, SHARES, WITHIN
from polyprobe.report.pictures.picture import Bars, Picture, Series


def list_template_pictures(results: Mapping[str, Any]) -> dict[str, Picture]:
    """Return the pictures of a run with several templates; none of another run.

    `ceiling`: RankC within each language and with others. With the view by template also `split`,
    the shares of the inconsistency, `templates`, the accuracies of the worst and best template, and
    `templates-LANGUAGE-RELATION`, the accuracy of each.
    """
    if WITHIN.name not in results:
        return {}
    found = {"ceiling": _draw_ceiling(results)}
    if "templates" in results:
        found |= {"split": _draw_split(results), "templates": _draw_spread(results)}
        found |= _draw_each(results["templates"]["rows"])
    return found


def _draw_ceiling(results: Mapping[str, Any]) -> Picture:
    languages: Sequence[str] = results["languages"]
    bounds = results.get("intervals", {}).get(WITHIN.name, {})
    own = [results[WITHIN.name][x] for x in languages]
    series = [Series("within the language", own, [bounds.get(x) for x in languages])]
    if results.get(BETWEEN.name):
        others = list_by_language(results, BETWEEN)
        series.append(Series("with the other languages", [others[x] for x in languages]))
    return Bars("RankC of different templates", languages, series, "RankC")


def _draw_split(results: Mapping[str, Any]) -> Picture:
    found = {x: results["templates"][x] for x in QUANTITIES if x in results["templates"]}
    series = [
        Series(QUANTITIES[x], [of[y] for y in SHARES], [of[f"{y}_ci"] for y in SHARES])
        for x, of in found.items()
    ]
    return Bars("Split of the inconsistency", [*SHARES.values()], series, "share")


def _draw_spread(results: Mapping[str, Any]) -> Picture:
    of = results["templates"]["by_language"]
    series = [Series(f"{kind} template", [of[x][kind] for x in of]) for kind in ("worst", "best")]
    return Bars("Accuracy by template, mean over relations", [*of], series, "accuracy")


def _draw_each(rows: Sequence[Mapping[str, Any]]) -> dict[str, Picture]:
    """Return the accuracies of the templates of each language and relation."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault(f"{row['language']}-{row['relation']}", []).append(row)
    return {
        f"templates-{name}": Bars(
            f"Templates of {own[0]['relation']}, {own[0]['language']}",
            [row["text"] for row in own],
            [Series("accuracy", [row["accuracy"] for row in own])],
            "accuracy",
        )
        for name, own in found.items()
    }
