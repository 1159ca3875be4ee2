"""The runs of a report and its tables, which have a column for each run and each difference."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from polyprobe.analysis.comparable import find_differing
from polyprobe.analysis.compare.runs import Comparison
from polyprobe.analysis.figures.declaration import ALL, LANGUAGE, TEMPLATE_RANKINGS, RunFigure
from polyprobe.analysis.figures.figures import HEADLINE, HEADLINE_PAIRS, JOINT, SEPARATE
from polyprobe.analysis.figures.results import find_partners, is_above_floor, list_floors
from polyprobe.metrics.joint.significance import Difference
from polyprobe.report.finding import Column, Part, Role, Table
from polyprobe.report.findings.run import (
    list_left_out,
    list_options,
    make_popularity_table,
    make_relations_table,
)
from polyprobe.report.format import format_interval, format_p_value, format_value
from polyprobe.schema.run.folder import FinishedRun, Settings
from polyprobe.schema.run.rows import describe_choice, make_choice

PAIRS = 10  # at most, of the most and of the least consistent pairs
_CORRECTED = ("rankc_subject", "rankc_adjusted")


class RunPart(NamedTuple):
    """One run of the report: its name, settings and results."""

    name: str
    settings: Settings
    results: dict[str, Any]

    @property
    def rows(self) -> str:
        """Describe the choice of the rows, in brackets; empty if all were chosen."""
        settings, subset = self.settings, self.results.get("subset") or {}
        choices = (make_choice(settings.relations, settings.exclude), make_choice(**subset))
        parts = [f"limit {settings.limit}"] if settings.limit else []
        parts += [f"sample {settings.sample}"] if settings.sample else []
        text = "; ".join(filter(None, [*parts, *map(describe_choice, choices)]))
        return f" ({text})" if text else ""

    @property
    def ranked_pairs(self) -> list[tuple[str, str]]:
        """List the pairs with a value of the first measure, the highest first."""
        values = self.results[sort_pair_figures([self])[0].name]
        pairs = combinations(self.results["languages"], 2)
        defined = [pair for pair in pairs if values["-".join(pair)] is not None]
        return sorted(defined, key=lambda pair: -values["-".join(pair)])

    def estimate(self, figure: RunFigure, name: str) -> tuple[float | None, list[float] | None]:
        """Find a figure's value and interval, of a language, a pair or `mean`."""
        bounds = self.results.get("intervals", {})
        if figure.per == ALL:
            return self.results.get(figure.name), self.results.get(f"{figure.name}_ci")
        if name == "mean":
            ci = bounds.get("mean", {}).get(figure.name)
            return self.results["mean"].get(figure.name), ci
        return self.results[figure.name].get(name), bounds.get(figure.name, {}).get(name)


class Between(NamedTuple):
    """The differences of the first run of a report and another one, by its place."""

    place: int
    title: str
    comparison: Comparison

    def test(self, figure: RunFigure, name: str) -> Difference | None:
        """Find the difference of a language, a pair or `mean`; None if it was not tested."""
        rows = self.comparison.differences.get(figure.name, ())
        return next((row for row in rows if row.name == name), None)


class Report(NamedTuple):
    """The runs of a report, and their comparisons with the first one, or why there is none."""

    runs: Sequence[FinishedRun]
    parts: Sequence[RunPart]
    between: Sequence[Between]
    reasons: Sequence[str]


def list_drawn(parts: Sequence[RunPart]) -> list[RunFigure]:
    """List the figures of the heat map: `sort_pair_figures`, of templates, and named ones."""
    figures = [
        f for f in SEPARATE if (f.input is TEMPLATE_RANKINGS or f.on_request) and f.per != LANGUAGE
    ]
    extra = [f for f in figures if all(f.name in part.results for part in parts)]
    return [*sort_pair_figures(parts), *extra]


def sort_pair_figures(parts: Sequence[RunPart]) -> list[RunFigure]:
    """List the figures of pairs that all runs have: corrected ones before raw ones."""
    figures = [f for f in HEADLINE_PAIRS if all(f.name in part.results for part in parts)]
    return sorted(figures, key=lambda figure: figure.name not in _CORRECTED)


def make_means_table(report: Report) -> Table:
    """Make the table of the means of the headline figures, each with its floors below it."""
    rows: list[list[str]] = []
    floors = [dict(list_floors(part.results)) for part in report.parts]
    for figure in _list_defined(HEADLINE, report):
        rows.append([figure.title, *_list_cells(report, figure, "mean")])
        for floor in dict.fromkeys(name for levels in floors for name in levels):
            values = [levels.get(floor, {}).get(figure.name) for levels in floors]
            if any(value is not None for value in values):
                rows.append([f"— {floor}", *map(format_value, values), *[""] * len(report.between)])
    return Table(_list_columns(report, "figure"), rows)


def make_every_mean_table(report: Report) -> Table:
    """Make the table of all means, and of the figures of all languages together."""
    rows = [
        [figure.title, figure.definition, *_list_cells(report, figure, "mean")]
        for figure in _list_defined((*SEPARATE, *JOINT), report)
    ]
    first, *heads = _list_columns(report, "figure")
    columns = [first, Column("definition", Role.LABEL), *heads]
    return Table(columns, rows, folded="All means with their intervals")


def _list_defined(figures: Sequence[RunFigure], report: Report) -> list[RunFigure]:
    runs = report.parts
    return [f for f in figures if any(part.estimate(f, "mean")[0] is not None for part in runs)]


def make_accuracies_table(report: Report) -> Table:
    """Make the table of accuracies; `†` if one is not above the most frequent answers."""
    rows = []
    for language in list_languages(report.parts):
        cells = _list_cells(report, HEADLINE[0], language)
        for place, part in enumerate(report.parts):
            if is_above_floor(part.results, language) is False:
                cells[place] += " †"
        rows.append([language, *cells])
    return Table(_list_columns(report, "language"), rows, folded="The same as a table")


def list_languages(parts: Sequence[RunPart]) -> list[str]:
    """List the languages of all runs, each once."""
    return list(dict.fromkeys(x for part in parts for x in part.results["languages"]))


def _list_columns(report: Report, first: str) -> list[Column]:
    heads = [*(part.name for part in report.parts), *(two.title for two in report.between)]
    return [Column(first, Role.LABEL), *(Column(head, Role.TEXT) for head in heads)]


def _list_cells(report: Report, figure: RunFigure, name: str) -> list[str]:
    """List the figure's value with its interval in each run, then the tested differences."""
    values = [with_interval(*part.estimate(figure, name)) for part in report.parts]
    rows = [two.test(figure, name) for two in report.between]
    tested = [
        f"{with_interval(row.difference, row.ci)}\np = {format_p_value(row.p_adjusted)}"
        if row
        else "–"
        for row in rows
    ]
    return [*values, *tested]


def with_interval(value: float | None, bounds: Sequence[float] | None) -> str:
    """Format a value with its interval in brackets, if it has one."""
    return (
        format_value(value)
        if bounds is None
        else f"{format_value(value)} ({format_interval(bounds)})"
    )


def make_pairs_table(part: RunPart) -> Table:
    """Make the table of the most and the least consistent pairs of a run, no pair twice."""
    figures, pairs = sort_pair_figures([part]), part.ranked_pairs
    if len(pairs) > 2 * PAIRS:
        pairs = [*pairs[:PAIRS], *pairs[-PAIRS:]]
    rows = [
        [" – ".join(pair), *(part.results[f.name]["-".join(pair)] for f in figures)]
        for pair in pairs
    ]
    columns = [Column("pair", Role.LABEL), *(Column(f.heading) for f in figures)]
    return Table(columns, rows, folded=f"{part.name}: most and least consistent pairs")


def make_partners_table(part: RunPart) -> Table:
    """Make the table of each language's best partner by the figures of pairs, with its value."""
    figures = sort_pair_figures([part])
    partners = [{x.language: x for x in find_partners(part.results, f.name)} for f in figures]
    rows = []
    for language in part.results["languages"]:
        best = [of_figure.get(language) for of_figure in partners]
        cells = [f"{x.partner} {format_value(x.value)}" if x else "–" for x in best]
        rows.append([language, *cells])
    heads = [Column(figure.heading, Role.TEXT) for figure in figures]
    columns = [Column("language", Role.LABEL), *heads]
    return Table(columns, rows, folded=f"{part.name}: best partner of each language")


def make_runs_part(report: Report) -> Part:
    """Make the part of what was left out, and of figures by relation and popularity."""
    blocks: list[Table | str] = []
    for part in report.parts:
        name = f"{part.name}: " if len(report.parts) > 1 else ""
        blocks += [f"{name}{line}." for line in _list_notes(part)]
        for title, table in (
            ("by relation", make_relations_table(part.results)),
            ("accuracy by popularity of the facts", make_popularity_table(part.results)),
        ):
            blocks.append(table._replace(folded=f"{part.name}, {title}"))
    return Part("Runs" if len(report.parts) > 1 else "Run", blocks)


def list_signatures(report: Report) -> list[str]:
    """List the signatures of the runs, after their names if there are several."""
    several = len(report.parts) > 1
    return [
        f"{part.name}: {part.results['signature']}" if several else part.results["signature"]
        for part in report.parts
    ]


def _list_notes(part: RunPart) -> Iterator[str]:
    """Yield options, counts of undefined values, the position bias and missing letters."""
    results = part.results
    yield from list_options(results)
    yield from list_left_out(results)
    bias = [f"{x} {format_value(y['range'])}" for x, y in results.get("position_bias", {}).items()]
    if bias:
        yield f"position bias in nats: {', '.join(bias)}"
    letters = [f"{x} {y:.1%}" for x, y in results.get("letters_read", {}).items() if y < 1]
    if letters:
        yield f"letters that the server showed: {', '.join(letters)}"


def list_cautions(parts: Sequence[RunPart], ignored: Sequence[str] = ()) -> list[str]:
    """Name in what the runs differ beside the model, which makes means incomparable."""
    differing = find_differing([part.settings for part in parts], [[x.results] for x in parts])
    names = [name for name in differing if name not in ignored]
    if not names:
        return []
    return [f"These runs differ in {', '.join(names)}: their means are not comparable."]
