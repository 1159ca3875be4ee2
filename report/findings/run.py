"""What a run shows: its figures by language, relation, template, popularity and pair."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any
from urllib.parse import quote

from polyprobe.analysis.errors import RULES
from polyprobe.analysis.figures import figures as catalogue
from polyprobe.analysis.figures import results as reader
from polyprobe.analysis.figures.figures import BY_NAME, RunFigure
from polyprobe.analysis.figures.floors import FLOORS
from polyprobe.analysis.figures.options import describe_options
from polyprobe.analysis.figures.results import MEAN, is_above_floor, list_by_language, mean_known
from polyprobe.analysis.figures.units import ENOUGH_RELATIONS
from polyprobe.metrics.rankc_subject.formulas import ROOM
from polyprobe.report import show
from polyprobe.report.finding import Cell, Column, Estimate, Finding, Part, Role, Table
from polyprobe.report.show import format_p_value, format_value, with_interval
from polyprobe.schema.run.folder import shorten_signature, split_signature
from polyprobe.schema.run.rows import describe_choice, make_choice
from polyprobe.system.files import read_toml

WIDE = 90  # characters of a terminal that shows the intervals of the languages' accuracies
EXAMPLES = 5  # of pairs without centred RankC
NOT_ABOVE = "not above the highest floor with its 95% interval"
LOW = f"†: {NOT_ABOVE}; of a floor: the figure is not above it"
CENTRED = BY_NAME["rankc_subject"]
INDEPENDENT = next(floor.title for floor in FLOORS if floor.name == "independence")
WITHIN, BETWEEN = BY_NAME["rankc_templates"], BY_NAME["rankc_other_template"]
QUANTITIES = ("answer", "right")
_LINES = read_toml(__package__, "terms.toml")["run"]
EFFECTS = _LINES["effects"]
VERDICTS: dict[str, str] = _LINES["verdicts"]
SHARES = {name: title for name, title in EFFECTS.items() if name.startswith("share_")}


def make_run_finding(results: Mapping[str, Any], parts: Sequence[Part] = ()) -> Finding:
    """Make the finding of a run: first `parts`, then figures by language, errors and notes."""
    title = shorten_signature(results["signature"])
    tables = [make_languages_table(results)] if reader.list_columns(results) else []
    if "error_types" in results:
        tables.append(make_errors_table(results["error_types"]))
    if "verdicts" in results:
        tables.append(make_verdicts_table(results))
    notes = [*list_notes_of_run(results), f"signature {title}"]
    return Finding(title, [*parts, Part("Figures", tables)], notes=notes)


def make_languages_table(results: Mapping[str, Any]) -> Table:
    """Make the table of languages, with means over pairs, and of means and floors."""
    figures, intervals = reader.list_columns(results), results["intervals"]
    bounds, ends = intervals.get("accuracy", {}), intervals.get("mean", {})
    values = [list_by_language(results, x) | {MEAN: results["mean"][x.name]} for x in figures]
    rows: list[list[Any]] = []
    for place in (*results["languages"], MEAN):
        cells = [
            Cell(of_place[place], low=is_above_floor(results, figure.name, place) is False)
            for figure, of_place in zip(figures, values, strict=True)
        ]
        rows.append([place, *cells, "" if place == MEAN else bounds.get(place)])
    sections = [len(rows) - 1]
    limits = [ends.get(figure.name) for figure in figures]
    if any(limits):
        rows.append(["95% from", *(x and show.mark_end(x[0], x) for x in limits), ""])
        rows.append(["95% to", *(x and show.mark_end(x[1], x) for x in limits), ""])
    sections.append(len(rows))
    floors = [dict(rank_floors(results, figure)) for figure in figures]
    for title, _ in reader.list_floors(results):
        if any(title in of_figure for of_figure in floors):
            rows.append([title, *(of_figure.get(title) for of_figure in floors), ""])
    counts, n = results["left_out"], results["n_queries"]
    heads = [figure.heading for figure in figures]
    if "not imported" in counts.get("rows", {}):  # how many facts each column has
        numbers = [n - counts.get(CENTRED.name, 0) if x.of_second else n for x in figures]
        heads = [f"{head}\nn = {x:,}" for head, x in zip(heads, numbers, strict=True)]
    columns = [Column("language", Role.NAME), *map(Column, heads)]
    columns.append(Column("95% of accuracy", Role.INTERVAL, width=WIDE if bounds else None))
    folded = "figures by language, with all floors"
    return Table(columns, rows, ruled=True, sections=sections, folded=folded)


def find_mean(results: Mapping[str, Any], figure: RunFigure) -> Cell:
    """Find a figure's mean, or its value of all languages, with its interval and mark."""
    name, bounds = figure.name, results["intervals"].get(MEAN, {})
    estimate = Estimate(results["mean"].get(name), bounds.get(name))
    if figure.per == catalogue.ALL:
        estimate = Estimate(results.get(name), results.get(f"{name}_ci"))
    return Cell(estimate, Role.ESTIMATE, low=is_above_floor(results, name, MEAN) is False)


def rank_floors(results: Mapping[str, Any], figure: RunFigure) -> Iterator[tuple[str, Cell]]:
    """Yield the floors of a mean by name, the highest first; low: the mean is not above it."""
    value, bounds, _ = find_mean(results, figure).value
    low = bounds[0] if bounds else value
    levels = {name: x.get(figure.name) for name, x in reader.list_floors(results)}
    # last and unmarked: a test is of the difference from it
    beyond = INDEPENDENT if figure is CENTRED else ""
    pairs = [(name != beyond, level, name) for name, level in levels.items() if level is not None]
    for is_floor, level, name in sorted(pairs, reverse=True):
        yield name, Cell(level, low=is_floor and low is not None and level >= low)


def make_errors_table(errors: Mapping[str, Mapping[str, Any]]) -> Table:
    """Make a row for each language: number of errors, share of each type with its interval."""
    heads = [name.replace("_", "\n", 1) for name in RULES]
    columns = [Column("language", Role.NAME), Column("errors", Role.COUNT)]
    columns += [Column(head, Role.SHARE) for head in heads]
    rows = []
    for language, shares in errors.items():
        estimates = [Estimate(shares[name], shares.get(f"{name}_ci")) for name in RULES]
        rows.append([language, shares["n_queries"], *estimates])
    return Table(columns, rows)


def name_verdict(kind: str) -> str:
    """Name a verdict in a line."""
    return VERDICTS[kind].replace("\n", " ")


def make_verdicts_table(results: Mapping[str, Any], run: int = 0) -> Table:
    """Make a row for each language: the share of each verdict on its free answers, in percent.

    On a page, a share leads to the examples of the `run`: its language, another one, and a search.
    """
    columns = [Column("language", Role.NAME)]
    columns += [Column(head, Role.SHARE) for head in VERDICTS.values()]
    rows = []
    for language, shares in results.get("verdicts", {}).items():
        rest = [x for x in results["languages"] if x != language]
        row: list[Any] = [language]
        for kind in VERDICTS:
            term = quote(f"{language}: {name_verdict(kind)};", safe="")
            share = shares.get(kind)  # results.json may be of another version
            link = f"#{run}/{language}/{rest[0]}/{term}" if rest and share else ""
            row.append(Cell(Estimate(share), link=link))
        rows.append(row)
    return Table(columns, rows)


def make_relations_table(results: Mapping[str, Any]) -> Table:
    """Make the headline figures of each relation: facts, accuracy, its floor, means over pairs."""
    figures = [figure for figure in catalogue.HEADLINE if figure.name in results]
    rows = []
    for relation, part in results["by_relation"].items():
        accuracy, *means = [part["mean"][figure.name] for figure in figures]
        floor, _ = reader.find_highest_floor(part, "accuracy")
        rows.append([relation, part["n_queries"], accuracy, floor, *means])
    accuracy, *heads = [Column(figure.heading) for figure in figures]
    columns = [Column("relation", Role.LABEL), Column("facts", Role.COUNT), accuracy]
    columns += [Column("frequent answers"), *heads]
    return Table(columns, rows, ruled=True, folded="by relation")


def make_popularity_table(results: Mapping[str, Any]) -> Table:
    """Make the table of accuracy by popularity; no rows if it was not computed."""
    rows = []
    for language, fifths in results.get("by_popularity", {}).items():
        for part in fifths["parts"]:
            ends = f"{part['from']:,.6g} to {part['to']:,.6g}"
            rows.append([language, ends, part["n"], part["accuracy"], part["ci"]])
    folded = "accuracy by popularity of the facts"
    return Table(Column.read("popularity"), rows, ruled=True, folded=folded)


def make_templates_part(results: Mapping[str, Any]) -> Part:
    """Make the tables of templates, without rows where they were not computed, and a line."""
    split, keys = results.get("templates", {}), ("n", "accuracy", "consistency")
    rows = [
        [row["relation"], row["language"], row["text"], *map(row.get, keys)]
        for row in split.get("rows", [])
    ]
    each = Table(Column.read("templates"), rows, ruled=True, folded="each template")
    tables = [each, make_ceiling_table(results), make_split_table(results)]
    if "right" not in split:  # without donors
        return Part("Templates", tables)
    # for what the intervals of the split are, and which relations it is of
    n, left_out = split["right"]["n_relations"], split["right"]["n_left_out"]
    without = f"; without {left_out}, of one template" if left_out else ""
    meaning = "95%: other relations, with their own facts and templates"
    line = f"split of {n} relations{without}; {meaning}"
    if n == 1:
        line = f"split of 1 relation{without}; no 95% interval: that needs two relations"
    if any(split[x]["within"] is None for x in QUANTITIES if x in split):
        line += "; empty: answers in a language hardly change with the subject"
    return Part("Templates", [*tables, line])


def make_ceiling_table(results: Mapping[str, Any]) -> Table:
    """Make the table of RankC within each language, with others, and of the ends of templates."""
    spread = results.get("templates", {}).get("by_language", {})
    means = list_by_language(results, BETWEEN) if results.get(BETWEEN.name) else {}
    columns = [Column("language", Role.LABEL), Column("centred within")]
    columns.append(Column("95%", Role.INTERVAL))
    columns += [Column("with others")] if means else []
    columns += [Column("worst"), Column("best")] if spread else []
    rows, bounds = [], results["intervals"].get(WITHIN.name, {})
    for language, value in (results.get(WITHIN.name) or dict.fromkeys(spread)).items():
        row = [language, value, bounds.get(language)]
        row += [means[language]] if means else []
        row += [spread[language]["worst"], spread[language]["best"]] if spread else []
        rows.append(row)
    return Table(columns, rows, ruled=True)


def make_split_table(results: Mapping[str, Any]) -> Table:
    """Make the table of the split of the inconsistency; no rows if it was not computed."""
    split = results.get("templates", {})
    quantities = [name for name in QUANTITIES if name in split]
    columns = [Column("answers", Role.LABEL)]
    for name in quantities:
        columns += [Column(name), Column("95%", Role.INTERVAL)]
    rows = [
        [title, *(x for q in quantities for x in (split[q][name], split[q][f"{name}_ci"]))]
        for name, title in EFFECTS.items()
        if any(split[q][name] is not None for q in quantities)
    ]
    return Table(columns, rows, ruled=True)


def make_partners_table(results: Mapping[str, Any], names: Sequence[str]) -> Table:
    """Make each language's best partner by figures of pairs, with its value and interval."""
    columns = [Column("language", Role.LABEL)]
    for name in names:
        columns += [Column(f"best by {BY_NAME[name].heading}", Role.LABEL)]
        columns += [Column("95%", Role.INTERVAL)]
    partners = [reader.find_partners(results, name) for name in names]
    rows = []
    for language in results["languages"]:
        row: list[Any] = [language]
        for best in (of_figure.get(language) for of_figure in partners):
            text = None if best is None else f"{best.language} {format_value(best.value)}"
            row += [text, best and best.interval]
        rows.append(row)
    return Table(columns, rows, ruled=True, folded="best partner of each language")


def make_pairs_part(results: Mapping[str, Any], names: Sequence[str]) -> Part:
    """Make each language's best partner by two figures, and the pairs high by both or by one."""
    first, second = (BY_NAME[name].heading for name in names)
    high = reader.find_high_pairs(results, *names)
    means = [format_value(results["mean"][name]) for name in names]
    lines = [f"pairs at or above the mean of all, {means[0]} by {first}, {means[1]} by {second}:"]
    for title, pairs in zip(("both", f"{first} alone", f"{second} alone"), high, strict=True):
        lines.append(f"by {title}: {len(pairs)}{': ' if pairs else ''}{', '.join(pairs)}")
    return Part("Pairs", [make_partners_table(results, names), *lines])


def list_notes_of_run(results: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the figures count and mean, one line each."""
    columns, names = reader.list_columns(results), reader.list_named(results)
    pairs = [f for f in catalogue.HEADLINE_PAIRS if f.name in results and not f.short]
    measures = " and ".join(figure.title for figure in pairs)
    unit = "rows" if "paraphrase_consistency" in results else "facts"
    of_pairs = f"; {measures}: means with the other languages" if pairs else ""
    yield f"{results['n_queries']:,} {unit}{of_pairs}"
    means = [*_list_means(results, columns, names)]
    modules = [*_list_modules(results, names)]
    resampling = results["resampling"]
    if resampling["n_resamples"]:
        unit = show.name_units(resampling["clusters"])
        yield f"95%: bootstrap, {resampling['n_resamples']:,} resamples of {unit}"
        if WITHIN.name in results and unit != "relations":
            enough = len(results["by_relation"]) >= ENOUGH_RELATIONS
            which = "resamples of relations" if enough else "for these templates only"
            yield f"95% of RankC within a language and in another template: {which}"
    bounds = results["intervals"].get("mean", {}).values()
    if any(map(show.has_no_width, bounds)) or any("*" in line for line in [*means, *modules]):
        yield show.NO_WIDTH
    yield from _list_second(results)
    yield from means
    table = make_languages_table(results)
    if any(isinstance(x, Cell) and x.low for row in table.rows for x in row):
        yield LOW
    if pairs and len(results["languages"]) < 2:
        yield f"at least two languages are needed for {measures}"
    if results.get("own_candidates"):
        yield "languages have other candidates: no figure compares their rankings"
    yield from _list_conditions(results)
    yield from modules


def _list_means(
    results: Mapping[str, Any], columns: Sequence[RunFigure], names: Collection[str]
) -> Iterator[str]:
    """Yield the means of noted and named figures that are not in the table."""
    elsewhere = {*(figure.name for figure in columns), *results.get("p_values", {})}
    noted = {figure.name for figure in catalogue.FIGURES if figure.noted}
    noted |= {"kappa"} if "rankc" not in results else {*()}  # of choices
    names = (({*names} | noted) - elsewhere) & {*results}
    for figure in (x for x in catalogue.FIGURES if x.name in names):
        value, bounds, _ = find_mean(results, figure).value
        mean = "" if figure.per == catalogue.ALL else "mean "
        yield f"{figure.title}: {mean}{with_interval(value, bounds)}"


def _list_second(results: Mapping[str, Any]) -> Iterator[str]:
    """Yield the tests, parts, donors and undefined pairs of the figures of second questions."""
    means, bounds = results["mean"], results["intervals"].get(MEAN, {})
    for name, p_values in results.get("p_values", {}).items():
        value, p = means[name], p_values.get(MEAN)
        if value is not None and p is not None:
            interval = with_interval(value, bounds[name])
            yield f"{BY_NAME[name].title}: {interval}, p = {format_p_value(p)} (sign-flip test)"
    if {"rankc_right", "rankc_rest"} <= means.keys() and means["rankc_right"] is not None:
        parts = [with_interval(means[x], bounds.get(x)) for x in ("rankc_right", "rankc_rest")]
        nonsense = format_value(results["floors"].get("nonsense", {}).get("rankc_right"))
        yield (
            f"{CENTRED.title} = {parts[0]} of the right answers (of a nonsense order for each "
            f"subject: {nonsense}) + {parts[1]} of the other candidates"
        )
    titles = [BY_NAME[x].title for x in (CENTRED.name, "accuracy_gain") if x in results]
    if titles and (donors := results.get("donors")):
        counts = (
            f"{donors[f'n_{x}']:,} {x} ({donors[f'effective_{x}']:,.0f} effective)"
            for x in ("donors", "units")
        )
        yield f"{' and '.join(titles)}: {'; '.join(counts)}"
        if "bigrams" not in results["floors"]:
            yield "no floor by the letters of the names: a language has no column 'subject'"
    if undefined := reader.list_undefined(results):
        values = [f"{x} {format_value(y)}" for x, y in undefined.items() if y is not None]
        rest = f" and {len(values) - EXAMPLES:,} more" if len(values) > EXAMPLES else ""
        yield (
            f"{CENTRED.title} is not defined for {len(undefined):,} pairs, whose 1 - 2P + Q is not "
            f"above {ROOM} with its interval (few facts, or rankings that hardly change with the "
            "subject); their R - 2P + Q: "
            f"{', '.join(values[:EXAMPLES]) or show.UNDEFINED}{rest}"
        )


def _list_modules(results: Mapping[str, Any], names: Collection[str]) -> Iterator[str]:
    """Yield a line for each figure of modules; of a named one also intervals and the mean."""
    for figure in chain(*(figures.values() for figures in catalogue.OF_MODULES.values())):
        module, _, key = figure.name.rpartition(".")
        by_language, named = results.get(module, {}), figure.name in names
        values = {x: of[key] for x, of in by_language.items() if key in of}
        if values and (named or figure.noted):
            bounds = {x: by_language[x].get(f"{key}_ci") if named else None for x in values}
            cells = [f"{x} {with_interval(value, bounds[x])}" for x, value in values.items()]
            mean = f"; mean {format_value(mean_known(values.values()))}"
            yield f"{figure.title}: {', '.join(cells)}{mean if named and len(values) > 1 else ''}"


def _list_conditions(results: Mapping[str, Any]) -> list[str]:
    """List options that are not the default, rows left out, and counts of undefined values."""
    counts, options = results["left_out"], describe_options(results)
    lines = [f"options: {options}"] if options else []
    source = split_signature(results["signature"])
    if language := source.get("also_accept", "").partition("@")[0]:
        lines.append(f"names in {language} are accepted too (double evaluation)")
    if "imported" in source:
        unknown = source["unknown"].replace("+", ", ")
        what = "answers" if "verdicts" in results else "scores"
        lines.append(f"{what} from elsewhere: {source['imported']}; unknown: {unknown}")
    lines += [f"{n:,} rows left out: {name}" for name, n in counts.get("rows", {}).items()]
    if not reader.list_undefined(results):  # explained with their values
        lines += filter(None, [reader.explain_missing(results)])
    shares = results.get("letters_read", {}).items()
    if letters := [f"{x} {format_value(y)}" for x, y in shares if y < 1]:
        lines.append(f"letters that the server showed: {', '.join(letters)}")
    if results["subset"]:
        part = describe_choice(make_choice(**results["subset"]))
        lines.append(f"figures of a part of the scored rows: {part}")
    if "paraphrase_consistency" in results and "donors" not in results:
        lines.append(_LINES["no_donors"])
    return lines + [
        f"{counts[figure.name]:,} {figure.left_out}"
        for figure in catalogue.SEPARATE
        if figure.left_out and counts.get(figure.name)
    ]
