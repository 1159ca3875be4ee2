"""Write the effect of wording as one HTML file that opens without a network."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from scipy.stats import linregress

from polyprobe.analysis.compare.sentences.compare import VersionComparison
from polyprobe.analysis.compare.sentences.relations import RECALL
from polyprobe.metrics.joint.significance import Paired
from polyprobe.report.findings.wordings import list_notes_of_wording, make_changes_table
from polyprobe.report.format import format_interval, format_p_value, number
from polyprobe.report.pictures.picture import Bars, Picture, Point, Points, Series
from polyprobe.report.show import format_table

from .page import write_page

_OPENED = ("recall@1", "mean_rank")  # tables that are open at first
_TERMS = {
    "recall@k": "share of facts with a correct answer among the k best-scored candidates; ties "
    "count with their probability.",
    "mean rank": "rank of the best-scored correct answer, from 1; lower is better.",
    "chrF": "similarity of the text to the reference wording, 0 to 100; not a difference.",
    "prompt_log_probability": "sum over the tokens before the slot.",
    "macro, micro": "mean over relations (Fluent-mLAMA), and mean over facts.",
    "inflection delta": "rank of the answer's label less the rank of its inflected form.",
    "verb form": "share of facts about women (men) whose text has a verb form of that gender.",
    "feminine verb forms": "their share of the verb forms with a gender, for female subjects.",
    "QE": "COMET’s estimate of how well the text translates the English sentence.",
}


def write_versions(
    comparison: VersionComparison, options: Mapping[str, Any], output: Path | None
) -> dict[str, Picture]:
    """Write the effect of wording, and return its pictures; without an `output` only these.

    `options` are the settings of `Comparison`.

    Raises:
        PolyprobeError: the file cannot be written, or has another ending than .html.
    """
    versions, sides = comparison.versions, comparison.versions.sides
    settings = versions.reference.settings()
    values = comparison.as_json()
    curves = [figure["macro"] for name, figure in values["ranks"].items() if "@" in name]
    title = f"{settings.model_name} on {settings.data_name}"
    pictures = dict(_list_pictures(comparison, values, curves, title))
    if not output:
        return pictures
    write_page(
        output,
        "sentences",
        title=f"polyprobe: {title}",
        data={
            "languages": comparison.languages,
            "curves": curves,
            "boxes": values["boxes"],
            "sides": sides,
            "changes": values["by_relation"],
        },
        comparison=comparison,
        changes={
            language: format_table(make_changes_table(part))
            for language, part in comparison.by_relation.items()
        },
        change=values["by_relation"]["difference"],
        mean=comparison.ranks["recall@1"]["macro"][-1],
        terms=_TERMS.items(),
        signatures=[
            (wording, run.settings().signature)
            for wording, run in zip(versions.wordings, versions.runs, strict=True)
        ],
        sides=sides,
        boxes=[
            [language, side, *(f"{value:.2f}" for value in box)]
            for language, boxes in comparison.boxes.items()
            for side, box in zip(sides, boxes, strict=True)
        ],
        direction=comparison.direction,
        options=options,
        figures={
            name: {average: map(_cells, rows) for average, rows in averages.items()}
            for name, averages in comparison.figures.items()
        },
        opened=_OPENED,
        notes=list_notes_of_wording(comparison),
    )
    return pictures


def _list_pictures(
    comparison: VersionComparison, values: dict[str, Any], curves: Sequence[Any], title: str
) -> Iterator[tuple[str, Picture]]:
    """Yield recall@k of each language, the ranks, and the changes by relation."""
    sides = comparison.versions.sides
    labels = [str(k + 1) for k in range(len(curves))]
    for language in ("mean", *comparison.languages):
        rows = [curve[language] for curve in curves]
        series = [
            Series(side, [row[side] for row in rows], [row.get(f"{side}_ci") for row in rows])
            for side in sides
        ]
        yield f"recall-{language}", Bars(f"{title}, {language}", labels, series, "recall@k by k")
    languages = comparison.languages
    boxes = [[values["boxes"][language][side] for language in languages] for side in sides]
    ranks = [
        Series(side, [box["median"] for box in row], [(box["q1"], box["q3"]) for box in row])
        for side, row in zip(sides, boxes, strict=True)
    ]
    yield "ranks", Bars(title, languages, ranks, "median rank with quartiles; 1 is best")
    for language, part in comparison.by_relation.items():
        up = part.figures[RECALL]
        for name, correlation in part.correlations.items():
            points = [
                Point(relation, x, y)
                for relation, x in part.figures[name].items()
                if x is not None and (y := up[relation]) is not None
            ]
            line, caption = None, f"{title}, {language}: n = {correlation.n}"
            if correlation.r is not None:
                fitted = linregress([p.x for p in points], [p.y for p in points])
                line = (float(fitted.slope), float(fitted.intercept))
                caption += f", r = {correlation.r:.2f}, p = {format_p_value(correlation.p)}"
            axes = (f"change of {name}", f"change of {RECALL}")
            yield f"changes-{language}+{name}", Points(caption, points, *axes, line)


def _cells(row: Paired) -> list[str]:
    pairs = ((row.first, row.first_ci), (row.second, row.second_ci), (row.difference, row.ci))
    cells = (cell for value, bounds in pairs for cell in (number(value), format_interval(bounds)))
    return [row.name, *cells, format_p_value(row.p_adjusted)]
