"""The runs of a report; its parts and tables, with a column for each run and difference."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from polyprobe.analysis.compare.runs import Comparison
from polyprobe.analysis.figures import figures as catalogue
from polyprobe.analysis.figures.figures import HEADLINE, LANGUAGE, SEPARATE, RunFigure
from polyprobe.analysis.figures.floors import FLOORS
from polyprobe.analysis.figures.results import is_above_floor, list_floors
from polyprobe.report import show
from polyprobe.report.finding import Column, Drawing, Part, Role, Table
from polyprobe.report.findings import comparison as tests
from polyprobe.report.findings import run
from polyprobe.report.show import format_value, with_interval
from polyprobe.schema.run.folder import FinishedRun
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
TERMS = [
    *((figure.title, figure.definition) for figure in HEADLINE),
    *((f"floor: {floor.title}", floor.definition) for floor in FLOORS),
    ("tie", "Several candidates with the best score; the answers count as neither equal nor not."),
    ("interval with *", f"{show.NO_WIDTH.removeprefix('*: ').capitalize()}."),
]
_COLUMNS = read_toml(__package__, "texts.toml")["decodings"]["columns"]
TERMS_OF_DECODINGS = [
    *((x.title, x.definition) for x in catalogue.OF_MODULES["factual_accuracy"].values()),
    *(
        (catalogue.BY_NAME[name].title, catalogue.BY_NAME[name].definition)
        for name in ("oracle_length.all", "single_mask.all", "calibration.ece", "coverlap")
    ),
    ("at least right answer", "Share of facts whose prediction is as probable as the answer."),
]
INDEPENDENT = next(floor.title for floor in FLOORS if floor.name == "independence")
_CORRECTED = ("rankc_subject", "rankc_adjusted")
_TEXTS = read_toml(__package__, "texts.toml")["scores"]
_FLOOR = _TEXTS["floor"].format(not_above=run.NOT_ABOVE)


class RunPart(NamedTuple):
    """One run of the report: its name, settings and results, and the choice of its rows."""

    name: str
    settings: Settings
    results: dict[str, Any]
    rows: str = ""  # in brackets; empty if all were chosen

    @property
    def ranked_pairs(self) -> list[tuple[str, str]]:
        """List the pairs with a value of the first measure, the highest first."""
        values = self.results[_list_pair_figures([self])[0].name]
        pairs = combinations(self.results["languages"], 2)
        defined = [pair for pair in pairs if values["-".join(pair)] is not None]
        return sorted(defined, key=lambda pair: -values["-".join(pair)])

    def estimate(self, figure: RunFigure, name: str) -> tuple[float | None, list[float] | None]:
        """Find a figure's value and interval, of a language, a pair or `mean`."""
        bounds = self.results["intervals"]
        if figure.per == catalogue.ALL:
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


class Report(NamedTuple):
    """The runs of a report, and their comparisons with the first one, or why there is none."""

    runs: Sequence[FinishedRun]
    parts: Sequence[RunPart]
    between: Sequence[Between]
    reasons: Sequence[str]
    languages: Sequence[str]  # of all runs, each once
    figures: Sequence[RunFigure] = ()  # of the heat maps


def make_report(
    runs: Sequence[FinishedRun], names: Sequence[str], compared: Sequence[Comparison | str]
) -> Report:
    """Make a report of runs and of the comparisons with the first one, or why there is none."""
    between: list[Between] = []
    reasons: list[str] = []
    for place, (name, comparison) in enumerate(zip(names[1:], compared, strict=False), start=1):
        if isinstance(comparison, str):
            reasons.append(f"{names[0]} and {name}: {comparison}")
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
    languages = list(dict.fromkeys(x for part in parts for x in part.results["languages"]))
    # heat maps are of pairs, of templates, and of named figures
    figures = [
        f
        for f in SEPARATE
        if (f.input is catalogue.TEMPLATE_RANKINGS or f.on_request) and f.per != LANGUAGE
    ]
    extra = [f for f in figures if all(f.name in part.results for part in parts)]
    figures = [*_list_pair_figures(parts), *extra]
    return Report(runs, parts, between, reasons, languages, figures)


def _list_pair_figures(parts: Sequence[RunPart]) -> list[RunFigure]:
    """List the figures of pairs that all runs have: corrected ones before raw ones."""
    figures = [f for f in catalogue.HEADLINE_PAIRS if all(f.name in part.results for part in parts)]
    # undefined ones last: the first one orders the pairs
    undefined = {x.name for x in figures if all(y.results["mean"][x.name] is None for y in parts)}
    return sorted(figures, key=lambda x: (x.name in undefined, x.name not in _CORRECTED))


def list_score_parts(report: Report, drawings: Drawings) -> Iterator[Part]:
    """Yield the parts of a report of scored candidates."""
    of_tests = [*report.reasons]
    for two in report.between:
        of_tests += [f"{two.title}: {line}" for line in tests.list_notes(two.comparison)]
    notes = Table([Column("test", Role.LABEL)], [[line] for line in of_tests], folded="Tests")
    lines = [_TEXTS["means"], *([_TEXTS["differences"]] if report.between else [])]
    means, floors, every = _make_means_tables(report)
    of_second = [
        f"{name_part(part, report)}{x}."
        for part in report.parts
        for x in run.list_second(part.results)
    ]
    blocks: list[Table | str] = [*lines, means, _FLOOR, floors, every, notes, *of_second]
    yield Part("Means and floors", blocks)
    yield Part(Titles.ACCURACY, [make_accuracies_table(report), _FLOOR])
    verdicts = [
        run.make_verdicts_table(part.results, place)._replace(title=part.name)
        for place, part in enumerate(report.parts)
        if "verdicts" in part.results
    ]
    if verdicts:
        several = Titles.PAIRS in drawings  # examples are of pairs
        lines = [_TEXTS["verdicts"]] + [_TEXTS["verdict_links"]] * several
        yield Part(Titles.VERDICTS, [*lines, *verdicts])
    if Titles.SHARES in drawings:
        yield Part(Titles.SHARES, [_TEXTS["shares"]])
    if Titles.PAIRS in drawings:
        paired = [part for part in report.parts if part.ranked_pairs]
        tables = [make(x) for x in paired for make in (make_pairs_table, _make_partners_table)]
        yield Part(Titles.PAIRS, [_TEXTS["pairs"], *tables])
    if Titles.TEMPLATES in drawings:
        yield Part(Titles.TEMPLATES, [_TEXTS["templates"], *_list_templates(report.parts)])
    if Titles.CALIBRATION in drawings:
        yield Part(Titles.CALIBRATION, [_TEXTS["calibration"]])


def name_part(part: RunPart, report: Report) -> str:
    """Write the name of a run in front of its lines, if a report has several."""
    return f"{part.name}: " if len(report.parts) > 1 else ""


def _make_means_tables(report: Report) -> tuple[Table, Table, Table]:
    """Make the tables of the headline figures' means, of their floors, and of all means."""
    rows, of_floors = list[list[str]](), list[list[str]]()
    for figure in _list_defined(HEADLINE, report):
        rows.append([figure.title, *_list_cells(report, figure, "mean")])
        floors = [rank_floors(part, figure) for part in report.parts]
        highest = ["\n".join([*next(iter(x.items()), ())][::-1]) for x in floors]
        if any(highest):
            rows.append(["—\u00a0highest\u00a0floor", *highest, *[""] * len(report.between)])
        names = dict.fromkeys(name for levels in floors for name in levels)
        of_floors += [[f"{figure.title}: {x}", *(y.get(x, "–") for y in floors)] for x in names]
    columns = _list_columns(report, "floor")[: 1 + len(report.parts)]
    first, *heads = _list_columns(report, "figure")
    every = [
        [figure.title, figure.definition, *_list_cells(report, figure, "mean")]
        for figure in _list_defined((*SEPARATE, *catalogue.JOINT), report)
    ]
    folded = "All means with their intervals"
    return (
        Table([first, *heads], rows),
        Table(columns, of_floors, folded="All floors"),
        Table([first, Column("definition", Role.LABEL), *heads], every, folded=folded),
    )


def rank_floors(part: RunPart, figure: RunFigure) -> dict[str, str]:
    """Write the floors of a mean by name, the highest first; †: the mean is not above it."""
    value, bounds = part.estimate(figure, "mean")
    low = bounds[0] if bounds else value
    is_low = not bounds or is_above_floor(part.results, figure.name, "mean") is False
    levels = [(x.get(figure.name), name) for name, x in list_floors(part.results)]
    texts = {
        name: format_value(level) + " †" * (is_low and low is not None and level >= low)
        for level, name in sorted(((x, name) for x, name in levels if x is not None), reverse=True)
    }
    if figure.name == run.CENTRED.name and INDEPENDENT in texts:  # a test is of this difference
        texts[INDEPENDENT] = texts.pop(INDEPENDENT).removesuffix(" †")
    return texts


def _list_defined(figures: Sequence[RunFigure], report: Report) -> list[RunFigure]:
    runs = report.parts
    return [f for f in figures if any(part.estimate(f, "mean")[0] is not None for part in runs)]


def _list_cells(report: Report, figure: RunFigure, name: str) -> list[str]:
    """List the figure's value, interval and mark in each run, then the tested differences."""
    cells = []
    for part in report.parts:
        value, bounds = part.estimate(figure, name)
        mark = " †" if is_above_floor(part.results, figure.name, name) is False else ""
        cells.append(_write_estimate(value, bounds, mark))
    for two in report.between:
        rows = {row.name: row for row in two.comparison.differences.get(figure.name, ())}
        cells.append("–")
        if row := rows.get(name):
            p = show.format_p_value(row.p_adjusted)
            cells[-1] = f"{_write_estimate(row.difference, row.ci)}\np = {p}"
    return cells


def _write_estimate(value: float | None, bounds: Sequence[float] | None, mark: str = "") -> str:
    """Write a value and, in the next line, its interval, so that columns stay narrow."""
    return format_value(value) + mark + (f"\n{show.format_interval(bounds)}" if bounds else "")


def _list_columns(report: Report, first: str) -> list[Column]:
    heads = (*(part.name for part in report.parts), *(two.title for two in report.between))
    return [Column(first, Role.LABEL), *(Column(head, Role.TEXT) for head in heads)]


def make_accuracies_table(report: Report) -> Table:
    """Make the table of accuracies."""
    rows = [[x, *_list_cells(report, HEADLINE[0], x)] for x in report.languages]
    return Table(_list_columns(report, "language"), rows, folded="The same as a table")


def make_pairs_table(part: RunPart) -> Table:
    """Make the table of the most and the least consistent pairs of a run, no pair twice."""
    figures, pairs = _list_pair_figures([part]), part.ranked_pairs
    if len(pairs) > 2 * MOST:
        pairs = [*pairs[:MOST], *pairs[-MOST:]]
    rows = [
        [" – ".join(pair), *(part.results[f.name]["-".join(pair)] for f in figures)]
        for pair in pairs
    ]
    columns = [Column("pair", Role.LABEL), *(Column(f.heading) for f in figures)]
    return Table(columns, rows, folded=f"{part.name}: most and least consistent pairs")


def _make_partners_table(part: RunPart) -> Table:
    """Make the table of each language's best partner by the figures of pairs."""
    names = [figure.name for figure in _list_pair_figures([part])]
    table = run.make_partners_table(part.results, names)
    return table._replace(folded=f"{part.name}: best partner of each language")


def _list_templates(parts: Sequence[RunPart]) -> Iterator[Table | str]:
    """Yield the tables by template of the runs that have several."""
    for part in parts:
        if len(parts) > 1:
            yield f"{part.name}:"
        each, *blocks = run.make_templates_part(part.results).blocks
        yield from blocks
        assert isinstance(each, Table)
        yield each._replace(folded=f"{part.name}: each template")


def make_runs_part(report: Report) -> Part:
    """Make the part of what was left out, and of figures by relation and popularity."""
    blocks: list[Table | str] = []
    for part in report.parts:
        name = name_part(part, report)
        blocks += [f"{name}{line}." for line in _list_notes(part.results)]
        for title, table in (
            ("by relation", run.make_relations_table(part.results)),
            ("accuracy by popularity of the facts", run.make_popularity_table(part.results)),
        ):
            blocks.append(table._replace(folded=f"{part.name}, {title}"))
    return Part("Runs" if len(report.parts) > 1 else "Run", blocks)


def _list_notes(results: Mapping[str, Any]) -> Iterator[str]:
    yield from run.list_conditions(results)
    bias = [f"{x} {format_value(y['range'])}" for x, y in results.get("position_bias", {}).items()]
    if bias:
        yield f"position bias in nats: {', '.join(bias)}"
    shares = results.get("letters_read", {}).items()
    if letters := [f"{x} {format_value(y)}" for x, y in shares if y < 1]:
        yield f"letters that the server showed: {', '.join(letters)}"


def describe_scores(part: RunPart, explain: bool) -> str:
    """Describe accuracy, floors and consistency of a run; `explain`: also what 0 and 1 mean."""
    results, mean = part.results, part.results["mean"]
    count, frequency = len(results["languages"]), results.get("floors", {}).get("frequency")
    averaged = f"averaged over {count} languages" if count > 1 else "in one language"
    floor = "" if frequency is None else format_value(frequency["accuracy"])
    text = (
        f"{part.name} on {part.settings.data_name}{part.rows} gets "
        f"{format_value(mean['accuracy'])} of {results['n_queries']:,} facts right, {averaged} "
        f"(guessing: {format_value(results['chance']['accuracy'])}"
        f"{floor and f'; the most frequent answers: {floor}'})"
    )
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


def list_decoding_parts(report: Report, drawings: Drawings) -> Iterator[Part]:
    """Yield the parts of runs of free decoding, and of their comparisons with the first one."""
    yield Part(Titles.ACCURACY, [_make_rates_table(part) for part in report.parts])
    for title in drawings:
        if title not in (Titles.ACCURACY, Titles.FILES):
            yield Part(title, [])
    for two in report.between:
        for part in tests.list_comparison_parts(two.comparison, EXAMPLES):
            yield part._replace(title=f"{two.title}: {part.title}")


def describe_decodings(part: RunPart, explain: bool) -> str:
    """Describe the accuracy of a run."""
    results = part.results
    mean = "rows" if results.get("options", {}).get("average") == "micro" else "relations"
    n = len(results["languages"])
    languages = f" and {n} languages" if n > 1 else ""
    return (
        f"{part.name} on {part.settings.data_name}{part.rows} predicts "
        f"{show.format_percent(results['mean']['accuracy'])} of {results['n_queries']:,} facts "
        f"right (mean over {mean}{languages})."
    )


def _make_rates_table(part: RunPart) -> Table:
    columns = [column for column in _COLUMNS if column[0] in part.results]
    rows = []
    for language in part.results["languages"]:
        values = [(part.results[module][language], key) for module, key, _ in columns]
        cells = [with_interval(row.get(key), row.get(f"{key}_ci")) for row, key in values]
        rows.append([language, *(cell.replace(" (", "\n(") for cell in cells)])
    heads = [Column(head, Role.TEXT) for *_, head in columns]
    return Table([Column("language", Role.LABEL), *heads], rows, part.name)
