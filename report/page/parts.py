"""The runs of a report and its tables, which have a column for each run and each difference."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from polyprobe.analysis.comparable import find_differing
from polyprobe.analysis.compare.runs import Comparison
from polyprobe.analysis.figures.declaration import ALL, LANGUAGE, TEMPLATE_RANKINGS, RunFigure
from polyprobe.analysis.figures.figures import HEADLINE, HEADLINE_PAIRS, JOINT, SEPARATE
from polyprobe.analysis.figures.further.pairs import find_partners
from polyprobe.analysis.figures.results import is_above_floor, list_floors
from polyprobe.metrics.joint.significance import Difference
from polyprobe.report.findings.run import (
    describe_split,
    list_left_out,
    list_options,
    make_ceiling_table,
    make_popularity_table,
    make_relations_table,
    make_split_table,
    make_templates_table,
)
from polyprobe.report.format import format_interval, format_p_value, number
from polyprobe.report.pictures.order import ORDERS, name_labels, order_languages
from polyprobe.report.show import format_table
from polyprobe.schema.run.rows import Choice, describe, make_choice
from polyprobe.schema.run.settings import Settings

PAIRS = 10  # at most, in each list of pairs
_CORRECTED = ("rankc_subject", "rankc_adjusted")
Table = tuple[list[str], list[list[str]]]  # head and rows


class RunPart(NamedTuple):
    """One run of the report: its name, settings, results and examples."""

    name: str
    settings: Settings
    results: dict[str, Any]
    examples: dict[str, Any]

    @property
    def notes(self) -> list[str]:
        """Return the counts of undefined values, and the position bias and missing letters."""
        found = self.results.get("position_bias", {})
        ranges = ", ".join(f"{name} {number(values['range'])}" for name, values in found.items())
        bias = [f"position bias in nats: {ranges}"] if ranges else []
        read = self.results.get("letters_read", {})
        shares = ", ".join(f"{name} {share:.1%}" for name, share in read.items() if share < 1)
        letters = [f"letters that the server showed: {shares}"] if shares else []
        return [*list_options(self.results), *list_left_out(self.results), *bias, *letters]

    @property
    def relations(self) -> Table:
        """Return the figures of each relation."""
        return format_table(make_relations_table(self.results))

    @property
    def popularity(self) -> Table:
        """Return the accuracy by popularity; no rows if it was not asked for."""
        return format_table(make_popularity_table(self.results))

    @property
    def ceiling(self) -> Table:
        """Return RankC within each language beside that with others; no rows without templates."""
        return format_table(make_ceiling_table(self.results))

    @property
    def split(self) -> Table:
        """Return the split of the inconsistency; no rows if it was not asked for."""
        return format_table(make_split_table(self.results))

    @property
    def described_split(self) -> str:
        """Return for what the intervals of the split are."""
        return describe_split(self.results["templates"])

    @property
    def templates(self) -> Table:
        """Return accuracy and consistency of each template; no rows if they were not asked for."""
        return format_table(make_templates_table(self.results))

    @property
    def relation_names(self) -> list[str]:
        """Return the relations of the run."""
        return [*self.results["by_relation"]]

    @property
    def rows(self) -> str:
        """Return the choice of the rows in words; empty if all were chosen."""
        settings = self.settings
        named = [f"limit {settings.limit}"] if settings.limit else []
        named += [f"sample {settings.sample}"] if settings.sample else []
        return "; ".join(filter(None, [*named, *map(describe, self.chosen_rows)]))

    @property
    def chosen_rows(self) -> tuple[Choice, Choice]:
        """Return the choices of rows for scoring and for figures."""
        settings, subset = self.settings, self.results.get("subset") or {}
        return make_choice(settings.relations, settings.exclude), make_choice(**subset)

    @property
    def extremes(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """Return the most and the least consistent pairs, no pair in both."""
        pairs = self.ranked_pairs
        most = pairs[: min(PAIRS, (len(pairs) + 1) // 2)]
        return [("Most", most), ("Least", pairs[::-1][: min(PAIRS, len(pairs) // 2)])]

    @property
    def partners(self) -> Table:
        """Return each language's best partner by the figures of pairs, with its value."""
        figures, rows = sort_pair_figures([self]), []
        found = [{x.language: x for x in find_partners(self.results, f.name)} for f in figures]
        for language in self.results["languages"]:
            best = [of_figure.get(language) for of_figure in found]
            cells = [f"{x.partner} {number(x.value)}" if x else "–" for x in best]
            rows.append([language, *cells])
        return ["language", *(figure.heading for figure in figures)], rows

    @property
    def chosen(self) -> tuple[str, str]:
        """Return the pair shown first: the least consistent one."""
        languages, pairs = self.results["languages"], self.ranked_pairs
        return pairs[-1] if pairs else (languages[0], languages[1])

    @property
    def ranked_pairs(self) -> list[tuple[str, str]]:
        """Return the pairs with a value of the first measure, the highest first."""
        values = self.results[sort_pair_figures([self])[0].name]
        pairs = combinations(self.results["languages"], 2)
        known = [pair for pair in pairs if values["-".join(pair)] is not None]
        return sorted(known, key=lambda pair: -values["-".join(pair)])

    def find(self, figure: RunFigure, name: str) -> tuple[float | None, list[float] | None]:
        """Return a figure's value and interval, of a language, a pair or `mean`."""
        bounds = self.results.get("intervals", {})
        if figure.per == ALL:
            return self.results.get(figure.name), self.results.get(f"{figure.name}_ci")
        if name == "mean":
            ci = bounds.get("mean", {}).get(figure.name)
            return self.results["mean"].get(figure.name), ci
        return self.results[figure.name].get(name), bounds.get(figure.name, {}).get(name)


class Between(NamedTuple):
    """The differences of two runs of the report; `runs` are their places."""

    runs: tuple[int, int]
    title: str
    found: Comparison

    def find(self, figure: RunFigure, name: str) -> Difference | None:
        """Return the difference of a language, a pair or `mean`; None if it was not tested."""
        rows = self.found.differences.get(figure.name, ())
        return next((row for row in rows if row.name == name), None)


def list_drawn(parts: Sequence[RunPart]) -> list[RunFigure]:
    """Return the figures of the heat map: `sort_pair_figures`, of templates, and asked for."""
    others = [
        f for f in SEPARATE if (f.input is TEMPLATE_RANKINGS or f.on_request) and f.per != LANGUAGE
    ]
    known = [f for f in others if all(f.name in part.results for part in parts)]
    return [*sort_pair_figures(parts), *known]


def sort_pair_figures(parts: Sequence[RunPart]) -> list[RunFigure]:
    """Return the figures of pairs that all runs have: corrected ones before raw ones."""
    found = [f for f in HEADLINE_PAIRS if all(f.name in part.results for part in parts)]
    return sorted(found, key=lambda figure: figure.name not in _CORRECTED)


def list_orders(
    languages: Sequence[str], values: Mapping[str, Mapping[str, float | None]]
) -> dict[str, dict[str, list[int]]]:
    """Return the places of the languages in each order and by each figure."""
    return {
        order: {name: order_languages(languages, order, found) for name, found in values.items()}
        for order in ORDERS
    }


def name_languages(parts: Sequence[RunPart]) -> dict[str, str]:
    """Return the names of the languages of all runs."""
    languages = list(dict.fromkeys(x for part in parts for x in part.results["languages"]))
    return dict(zip(languages, name_labels(languages), strict=True))


def list_means(parts: Sequence[RunPart], between: Sequence[Between]) -> Table:
    """Return the means of the headline figures, each with its floors below it."""
    rows = []
    for figure in _list_known(HEADLINE, parts):
        rows.append([figure.title, *_cells(figure, "mean", parts, between)])
        for floor in dict.fromkeys(name for part in parts for name, _ in list_floors(part.results)):
            levels = [dict(list_floors(part.results)).get(floor, {}) for part in parts]
            values = [of_run.get(figure.name) for of_run in levels]
            if any(value is not None for value in values):
                rows.append([f"— {floor}", *map(number, values), *[""] * len(between)])
    return _head("figure", parts, between), rows


def list_every_mean(parts: Sequence[RunPart], between: Sequence[Between]) -> Table:
    """Return all means, and the figures of all languages together, with their definitions."""
    rows = [
        [figure.title, figure.says, *_cells(figure, "mean", parts, between)]
        for figure in _list_known((*SEPARATE, *JOINT), parts)
    ]
    head, *others = _head("figure", parts, between)
    return [head, "definition", *others], rows


def _list_known(figures: Sequence[RunFigure], parts: Sequence[RunPart]) -> list[RunFigure]:
    return [f for f in figures if any(part.find(f, "mean")[0] is not None for part in parts)]


def list_languages(parts: Sequence[RunPart], between: Sequence[Between]) -> Table:
    """Return the accuracy of each language; `†` if it is not above the most frequent answers."""
    accuracy = HEADLINE[0]
    rows = []
    for x in dict.fromkeys(x for part in parts for x in part.results["languages"]):
        cells = _cells(accuracy, x, parts, between)
        for place, part in enumerate(parts):
            if is_above_floor(part.results, x) is False:
                cells[place] += " †"
        rows.append([x, *cells])
    return _head("language", parts, between), rows


def _head(first: str, parts: Sequence[RunPart], between: Sequence[Between]) -> list[str]:
    return [first, *(part.name for part in parts), *(two.title for two in between)]


def _cells(
    figure: RunFigure, name: str, parts: Sequence[RunPart], between: Sequence[Between]
) -> list[str]:
    """Return the figure's value with its interval in each run, then the tested differences."""
    values = [with_interval(*part.find(figure, name)) for part in parts]
    rows = [two.find(figure, name) for two in between]
    tested = [
        f"{with_interval(row.difference, row.ci)}\np = {format_p_value(row.p_adjusted)}"
        if row
        else "–"
        for row in rows
    ]
    return [*values, *tested]


def with_interval(value: float | None, bounds: list[float] | None) -> str:
    """Return a value with its interval in brackets, if it has one."""
    return number(value) if bounds is None else f"{number(value)} ({format_interval(bounds)})"


def select_differences(two: Between, parts: Sequence[RunPart]) -> dict[str, Any]:
    """Return what the page's script draws: [difference, low, high, p] of each measure and pair.

    Languages that are alike in the first run are side by side.
    """
    first = parts[two.runs[0]].results
    drawn = {figure.name: first[figure.name] for figure in list_drawn(parts)}
    values = {
        figure.name: {
            row.name: [row.difference, *(row.ci or (None, None)), row.p_adjusted]
            for row in two.found.differences[figure.name][:-1]
        }
        for figure in HEADLINE_PAIRS
        if figure.name in two.found.differences
    }
    return {
        "runs": two.runs,
        "title": two.title,
        "languages": two.found.languages,
        "orders": list_orders(two.found.languages, drawn),
        "values": values,
    }


def list_cautions(parts: Sequence[RunPart]) -> list[str]:
    """Return in what the runs differ beside the model, which makes means incomparable."""
    return [*find_differing([part.settings for part in parts], [[part.results] for part in parts])]
