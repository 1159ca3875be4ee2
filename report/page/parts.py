"""The runs of a report; its parts and tables, with a column for each run and difference."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import Any, NamedTuple

from polyprobe.analysis.compare.runs import Comparison
from polyprobe.analysis.figures import figures as catalogue
from polyprobe.analysis.figures.figures import HEADLINE, LANGUAGE, SEPARATE, RunFigure
from polyprobe.analysis.figures.floors import FLOORS
from polyprobe.report import show
from polyprobe.report.finding import Cell, Column, Drawing, Estimate, Part, Role, Table
from polyprobe.report.findings import comparison as tests
from polyprobe.report.findings import run
from polyprobe.report.show import format_value, with_interval
from polyprobe.schema.run.folder import FinishedRun, describe_differing
from polyprobe.schema.run.rows import describe_choice, make_choice
from polyprobe.schema.run.settings import Settings
from polyprobe.system.files import read_toml

EXAMPLES = 20  # facts that one run knows, of each language
MOST = 10  # rows of the most, and of the least consistent pairs


class Titles:
    """The titles of the parts of the page that have pictures."""

    PAIRS = "Consistency of each pair"
    ACCURACY = "Accuracy by language"
    VERDICTS = "Verdicts on the answers"
    SHARES = "Facts by number of languages"
    CALIBRATION = "Calibration"
    MASKS = "Accuracy by the largest number of masks"
    TEMPLATES = "Templates"
    FILES = ""  # no part: pictures for files


Drawings = Mapping[str, Sequence[Drawing]]  # by the title of their part
_CORRECTED = ("rankc_subject", "rankc_adjusted")
_LINES = read_toml(__package__, "texts.toml")
_TEXTS, _DECODINGS = _LINES["scores"], _LINES["decodings"]


class RunPart(NamedTuple):
    """One run of the report: its name, settings and results, and the choice of its rows."""

    name: str
    settings: Settings
    results: dict[str, Any]
    rows: str = ""  # in brackets; empty if all were chosen


class Between(NamedTuple):
    """The differences of the first run of a report and another one, by its place."""

    place: int
    title: str
    comparison: Comparison


class Report(NamedTuple):
    """The runs of a report, and their comparisons with the first one, or why there is none."""

    parts: Sequence[RunPart]
    between: Sequence[Between]
    reasons: Sequence[str]
    figures: Sequence[RunFigure] = ()  # of the heat maps


def make_report(
    runs: Sequence[FinishedRun], names: Sequence[str], compared: Sequence[Comparison | str]
) -> Report:
    """Make a report of runs and of the comparisons with the first one, or why there is none."""
    between: list[Between] = []
    reasons: list[str] = []
    for place, (name, comparison) in enumerate(zip(names[1:], compared, strict=False), start=1):
        if isinstance(comparison, str):
            differing = describe_differing([runs[0].run, runs[place].run])
            reasons.append(f"{names[0]} and {name}: {comparison}; {differing}")
        else:
            between.append(Between(place, f"{names[0]} − {name}", comparison))
    parts = []
    for name, (finished, results, _) in zip(names, runs, strict=True):
        settings = finished.settings()
        sizes = [f"{x} {n}" for x in ("limit", "sample") if (n := getattr(settings, x))]
        sizes += [f"n = {results['n_queries']:,}"] if "missing" in settings.further else []
        subset = make_choice(**results.get("subset") or {})
        choices = (make_choice(settings.relations, settings.exclude), subset)
        rows = "; ".join(filter(None, [*sizes, *map(describe_choice, choices)]))
        parts.append(RunPart(name, settings, results, f" ({rows})" if rows else ""))
    # heat maps are of pairs, of templates, and of named figures
    figures = [
        f
        for f in SEPARATE
        if (f.input is catalogue.TEMPLATE_RANKINGS or f.on_request) and f.per != LANGUAGE
    ]
    extra = [f for f in figures if all(f.name in part.results for part in parts)]
    figures = [*_list_pair_figures([part.results for part in parts]), *extra]
    return Report(parts, between, reasons, figures)


def _list_pair_figures(runs: Sequence[Mapping[str, Any]]) -> list[RunFigure]:
    """List the figures of pairs that all runs have: corrected ones before raw ones."""
    figures = [f for f in catalogue.HEADLINE_PAIRS if all(f.name in results for results in runs)]
    # undefined ones last: the first one orders the pairs
    undefined = {x.name for x in figures if all(y["mean"][x.name] is None for y in runs)}
    return sorted(figures, key=lambda x: (x.name in undefined, x.name not in _CORRECTED))


def rank_pairs(results: Mapping[str, Any]) -> list[tuple[str, str]]:
    """List the pairs with a value of the first measure, the highest first."""
    values = results[_list_pair_figures([results])[0].name]
    pairs = combinations(results["languages"], 2)
    defined = [pair for pair in pairs if values["-".join(pair)] is not None]
    return sorted(defined, key=lambda pair: -values["-".join(pair)])


def list_parts(report: Report, drawings: Drawings) -> Iterator[Part]:
    """Yield the parts of a report, without the comparisons."""
    rates = [_make_rates_table(x) for x in report.parts if "factual_accuracy" in x.results]
    if not rates:
        yield _make_means_part(report)
    yield Part(Titles.ACCURACY, rates)
    verdicts = [
        run.make_verdicts_table(part.results, place)._replace(title=part.name)
        for place, part in enumerate(report.parts)
        if "verdicts" in part.results
    ]
    if verdicts:
        several = Titles.PAIRS in drawings  # examples are of pairs
        lines = [_TEXTS["verdicts"]] + [_TEXTS["verdict_links"]] * several
        yield Part(Titles.VERDICTS, [*lines, *verdicts])
    charts = [Part(x, [line]) for x, line in _TEXTS["pictures"].items() if x in drawings]
    yield from (x for x in charts if x.title == Titles.SHARES)  # beside accuracy
    if Titles.PAIRS in drawings:
        lines = [_TEXTS["pairs"]] * (not rates)  # with examples
        yield Part(Titles.PAIRS, [*lines, *_label(report, _list_pairs)])
    if Titles.TEMPLATES in drawings:
        templates = _label(report, lambda x: run.make_templates_part(x).blocks)
        yield Part(Titles.TEMPLATES, [_TEXTS["templates"], *templates])
    yield from (x for x in charts if x.title != Titles.SHARES)


def name_part(part: RunPart, report: Report) -> str:
    """Write the name of a run in front of its lines, if a report has several."""
    return f"{part.name}: " if len(report.parts) > 1 else ""


def _label(
    report: Report, list_blocks: Callable[[Mapping[str, Any]], Iterable[Table | str]]
) -> Iterator[Table | str]:
    """Yield the blocks of the results of each run, with its name."""
    for part in report.parts:
        for block in list_blocks(part.results):
            if isinstance(block, str):
                yield f"{name_part(part, report)}{block}."
            else:
                yield block._replace(folded=block.folded and f"{part.name}: {block.folded}")


def _make_means_part(report: Report) -> Part:
    """Make the part of the headline figures' means with floors, and of all figures."""
    name, meaning = Column("figure", Role.LABEL), Column("definition", Role.LABEL)
    of_runs = [Column(part.name, Role.TEXT) for part in report.parts]
    rows = list[list[Any]]()
    for figure in HEADLINE:
        rows += (means := _list_means(report, figure))
        floors = [next(run.rank_floors(x.results, figure), ("", Cell(None))) for x in report.parts]
        if means and any(name for name, _ in floors):
            cells = (x._replace(value=f"{format_value(x.value)}\n{name}") for name, x in floors)
            rows.append(["—\u00a0highest\u00a0floor", *cells])
    every = [
        [title, figure.definition, *cells]
        for figure in (*SEPARATE, *catalogue.JOINT)
        for title, *cells in _list_means(report, figure)
    ]
    folded = "All means with their intervals"
    tables = [*_label(report, lambda x: [run.make_languages_table(x)])]
    tables += [Table([name, meaning, *of_runs], every, folded=folded)]
    lines = [_TEXTS["means"], *([_TEXTS["differences"]] if report.between else [])]
    return Part("Means and floors", [*lines, Table([name, *of_runs], rows), f"{run.LOW}.", *tables])


def _list_means(report: Report, figure: RunFigure) -> list[list[Any]]:
    """List the row of a figure's mean in each run, none if no run has it."""
    cells = [run.find_mean(part.results, figure) for part in report.parts]
    return [[figure.title, *cells]] if any(x.value.value is not None for x in cells) else []


def _list_pairs(results: Mapping[str, Any]) -> list[Table]:
    """List the tables of the pairs of a run, and of the best partners, if any has a value."""
    pairs = make_pairs_table(results)
    names = [figure.name for figure in _list_pair_figures([results])]
    return [pairs, run.make_partners_table(results, names)] if pairs.rows else []


def make_pairs_table(results: Mapping[str, Any]) -> Table:
    """Make the table of the most and the least consistent pairs of a run, no pair twice."""
    figures, pairs = _list_pair_figures([results]), rank_pairs(results)
    if len(pairs) > 2 * MOST:
        pairs = [*pairs[:MOST], *pairs[-MOST:]]
    rows = [
        [" – ".join(pair), *(results[figure.name]["-".join(pair)] for figure in figures)]
        for pair in pairs
    ]
    columns = [Column("pair", Role.LABEL), *(Column(f.heading) for f in figures)]
    return Table(columns, rows, folded="most and least consistent pairs")


def make_runs_part(report: Report) -> Part:
    """Make the part of what a run's figures count, by relation and by popularity."""

    def list_blocks(results: Mapping[str, Any]) -> list[Table | str]:
        tables = run.make_relations_table(results), run.make_popularity_table(results)
        return [*run.list_notes_of_run(results), *tables]

    return Part("Runs" if len(report.parts) > 1 else "Run", [*_label(report, list_blocks)])


def list_terms(names: Collection[str]) -> list[tuple[str, str]]:
    """List the terms of the page of runs, whose results have these names, and what they mean."""
    of_modules = (x.values() for name, x in catalogue.OF_MODULES.items() if name in names)
    figures = [*(figure for figure in HEADLINE if figure.name in names), *chain(*of_modules)]
    terms = [(figure.title, figure.definition) for figure in figures]
    terms += [(f"floor: {floor.title}", floor.definition) for floor in FLOORS]
    terms.append(("interval with *", f"{show.NO_WIDTH.removeprefix('*: ').capitalize()}."))
    texts = _DECODINGS if "factual_accuracy" in names else _TEXTS
    return [*terms, *texts["terms"].items()]


def list_levels(results: Mapping[str, Any]) -> list[tuple[str, float]]:
    """List the accuracies without knowledge of a question, by name."""
    levels = (
        ("chance", results.get("chance")),
        ("frequent answers", results.get("floors", {}).get("frequency")),
    )
    return [(name, level["accuracy"]) for name, level in levels if level]


def describe_run(part: RunPart, explain: bool) -> str:
    """Describe accuracy, floors and consistency of a run; `explain`: also what 0 and 1 mean."""
    results, mean = part.results, part.results["mean"]
    count, decoded = len(results["languages"]), "factual_accuracy" in results
    unit = "rows" if results.get("options", {}).get("average") == "micro" else "relations"
    averages = [unit] * decoded + [f"{count} languages"] * (count > 1)
    averaged = f"averaged over {' and '.join(averages)}" if averages else "in one language"
    levels = [f"{x}: {format_value(level)}" for x, level in list_levels(results)]
    text = (
        f"{part.name} on {part.settings.data_name}{part.rows} "
        f"{'predicts' if decoded else 'gets'} {format_value(mean['accuracy'])} of "
        f"{results['n_queries']:,} facts right, {averaged}"
    )
    text += f" ({'; '.join(levels)})" if levels else ""
    what = "answers" if "verdicts" in results else "rankings"
    if (gain := mean.get("accuracy_gain")) is not None:
        text += f", {format_value(gain)} more than in another subject's sentence"
    for name, title, ends in (
        ("rankc_subject", "a centred", "a language does not react to the subject, 1: both react "
         "alike"),
        ("rankc_adjusted", "an adjusted", "chance, 1: the same ranking"),
    ):  # fmt: skip
        if mean.get(name) is not None:
            has_interval = name == "rankc_subject" and results["intervals"]
            bounds = results["intervals"]["mean"][name] if has_interval else None
            text += f"; its {what} agree between languages with {title} RankC of "
            text += with_interval(mean[name], bounds)
            return text + (f" (0: {ends})." if explain else ".")
    return f"{text}."


def list_differences(report: Report) -> Iterator[Part]:
    """Yield the parts of the comparisons with the first run, and why there is none."""
    if report.reasons:
        yield Part("Differences", report.reasons)
    for two in report.between:
        for part in tests.list_comparison_parts(two.comparison, EXAMPLES):
            yield part._replace(title=f"{two.title}: {part.title}")


def _make_rates_table(part: RunPart) -> Table:
    columns = [column for column in _DECODINGS["columns"] if column[0] in part.results]
    rows = []
    for language in part.results["languages"]:
        values = [(part.results[module][language], key) for module, key, _ in columns]
        estimates = [Estimate(row.get(key), row.get(f"{key}_ci")) for row, key in values]
        rows.append([language, *(Cell(x, Role.ESTIMATE) for x in estimates)])
    heads = [Column(head, Role.TEXT) for *_, head in columns]
    return Table([Column("language", Role.LABEL), *heads], rows, part.name)
