"""The effect of wording as a finding, for its page."""

from collections.abc import Iterator, Mapping
from typing import Any

from scipy.stats import linregress

from polyprobe.analysis.compare.folders import PairOutcome
from polyprobe.analysis.compare.sentences.compare import VersionComparison
from polyprobe.analysis.compare.sentences.deltas import RECALL
from polyprobe.metrics.pictures import picture
from polyprobe.report.finding import Column, Drawing, Finding, Part, Role, Table
from polyprobe.report.findings.comparison import (
    list_notes_of_wording,
    make_changes_table,
    make_differences_table,
)
from polyprobe.report.show import format_interval, format_p_value, format_percent, format_value
from polyprobe.system.files import read_toml

_OPENED = ("recall@1", "mean_rank")  # tables that are open at first
_LINES = read_toml(__package__, "terms.toml")


def make_versions_finding(outcome: PairOutcome) -> Finding:
    """Make the finding of the effect of wording, for its page."""
    comparison, options = outcome.wording, outcome.comparison.settings
    assert comparison is not None
    versions = comparison.versions
    settings = versions.reference.settings()
    title = f"{settings.model_name} on {settings.data_name}"
    lines = _LINES["wording"]
    about_changes = lines["changes"].format(direction=comparison.relation_direction)
    about_tests = lines["tests"].format(direction=comparison.direction, **options)
    tables = [
        make_changes_table(part)._replace(folded=f"{language} by relation")
        for language, part in comparison.by_relation.items()
    ]
    ranks = [lines["ranks"], _make_boxes_table(comparison)]
    changes = [*_draw_changes(comparison, title)]
    signatures = [run.settings().signature for run in versions.runs]
    return Finding(
        title,
        [
            Part("Recall@k", [lines["recall"]], [*_draw_recall(comparison, title)]),
            Part("Ranks of the best correct answer", ranks, [_draw_ranks(comparison, title)]),
            Part("Changes by relation", [about_changes, *tables], changes),
            Part("All differences", [about_tests, *_list_differences(comparison, options)]),
        ],
        _describe(comparison),
        settings=[f"{x}: {y}" for x, y in zip(versions.wordings, signatures, strict=True)],
        notes=[*list_notes_of_wording(comparison)],
        terms=[*_LINES["versions"].items()],
    )


def _describe(comparison: VersionComparison) -> str:
    (first, second), languages = comparison.versions.sides, comparison.languages
    mean = comparison.ranks["recall@1"]["macro"][-1]
    of = f"mean over {len(languages)} languages" if len(languages) > 1 else languages[0]
    return (
        f"A correct answer ranks first in {format_percent(mean.first)} of the {first}s and in "
        f"{format_percent(mean.second)} of the {second}s ({of}, {comparison.n_queries:,} rows, "
        f"macro-averaged over relations); difference {format_value(mean.difference)}, 95% interval "
        f"{format_interval(mean.ci)}."
    )


def _make_boxes_table(comparison: VersionComparison) -> Table:
    rows = [
        [language, side, *(f"{value:.2f}" for value in box)]
        for language, boxes in comparison.boxes.items()
        for side, box in zip(comparison.versions.sides, boxes, strict=True)
    ]
    columns = [Column("language", Role.LABEL), Column("wording", Role.LABEL)]
    columns += [Column(head, Role.TEXT) for head in picture.Quartiles._fields]
    return Table(columns, rows, folded="The boxes as a table")


def _list_differences(comparison: VersionComparison, options: Mapping[str, Any]) -> Iterator[Table]:
    """Yield a table of each figure and average, the main ones open."""
    sides, correction = comparison.versions.sides, options["correction"]
    for name, averages in comparison.figures.items():
        for average, pairs in averages.items():
            rows, title = [(x.name, x) for x in pairs], f"{name}, {average}"
            table = make_differences_table(sides, correction, rows, "language", title)
            is_open = name in _OPENED
            yield table if is_open else table._replace(title="", folded=title)


def _draw_recall(comparison: VersionComparison, title: str) -> Iterator[Drawing]:
    """Draw recall@k of each language, and of their mean."""
    sides, axes = comparison.versions.sides, ("k of recall@k", "recall@k")
    recalls = [averages["macro"] for name, averages in comparison.ranks.items() if "@" in name]
    for language in ("mean", *comparison.languages):
        rows = [next(x for x in of_k if x.name == language) for of_k in recalls]
        series = [
            picture.Series(sides[0], [x.first for x in rows], [x.first_ci for x in rows]),
            picture.Series(sides[1], [x.second for x in rows], [x.second_ci for x in rows]),
        ]
        curves = picture.join_points(f"{title}, {language}", series, *axes)
        yield Drawing(f"recall-{language}", curves, {"language": language})


def _draw_ranks(comparison: VersionComparison, title: str) -> Drawing:
    """Draw the distribution of the ranks in each language."""
    languages, series = comparison.languages, []
    for place, side in enumerate(comparison.versions.sides):
        boxes = [comparison.boxes[language][place] for language in languages]
        series.append(picture.Series(side, [box.median for box in boxes], boxes=boxes))
    measure = "rank of the best correct answer; 1 is best"
    return Drawing("ranks", picture.Bars(title, languages, series, measure))


def _draw_changes(comparison: VersionComparison, title: str) -> Iterator[Drawing]:
    """Draw the changes of each language by relation, of a figure and of recall@1."""
    for language, part in comparison.by_relation.items():
        up = part.figures[RECALL]
        for name, correlation in part.correlations.items():
            points = [
                picture.Point(relation, x, y)
                for relation, x in part.figures[name].items()
                if x is not None and (y := up[relation]) is not None
            ]
            line, caption = None, f"{title}, {language}: n = {correlation.n}"
            if correlation.r is not None:
                fitted = linregress([p.x for p in points], [p.y for p in points])
                line = (float(fitted.slope), float(fitted.intercept))
                caption += f", r = {correlation.r:.2f}, p = {format_p_value(correlation.p)}"
            axes = (f"change of {name}", f"change of {RECALL}")
            choice = {"language": language, "figure": name}
            yield Drawing(
                f"changes-{language}+{name}", picture.Points(caption, points, *axes, line), choice
            )
