"""The results in the terminal."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from textwrap import fill
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from polyprobe.analysis.figures.declaration import ALL, LANGUAGE, RunFigure
from polyprobe.analysis.figures.figures import (
    BY_NAME,
    FIGURES,
    HEADLINE,
    HEADLINE_PAIRS,
    OF_MODULES,
    SEPARATE,
    expand_names,
)
from polyprobe.analysis.figures.floors import FLOORS
from polyprobe.analysis.figures.options import (
    ENOUGH_RELATIONS,
    EVERY,
    MetricOptions,
    describe_options,
)
from polyprobe.metrics.joint.significance import Difference, Paired
from polyprobe.metrics.shared.rows import mean_known
from polyprobe.report.errors import errors_table
from polyprobe.report.format import (
    NARROW,
    NO_WIDTH,
    format_interval,
    format_p_value,
    has_no_width,
    mark_end,
    number,
)
from polyprobe.schema.run.naming import shorten_signature
from polyprobe.schema.run.rows import describe, make_choice

_WIDE = 90  # characters


def results_table(results: dict[str, Any], width: int = 80) -> RenderableType:
    """Return a run's headline figures for a rich console: languages, means, floors, signature.

    A pair figure of a language is its mean over the other languages. An accuracy whose interval is
    not above that of the most frequent answers is bold. Undefined values are printed as `–`,
    excluded from means, and counted below the table. Intervals of the languages' accuracies are
    shown from a width of `_WIDE` characters.
    """
    shown, notes = list_shown(results), [Text(line) for line in _notes(results)]
    if not shown:  # only figures without a column were named
        return Group(*notes)
    table = Table(header_style="bold", highlight=False)
    table.add_column("language", no_wrap=True)
    for figure in shown:
        table.add_column(figure.short or figure.title, justify="right", overflow="fold")
    bounds = results.get("intervals", {}).get("accuracy", {}) if width >= _WIDE else {}
    if bounds:
        table.add_column("95% of accuracy", justify="right", no_wrap=True)
    columns = [of_languages(results, figure) for figure in shown]
    for language in results["languages"]:
        cells = [Text(number(column[language])) for column in columns]
        if is_above_floor(results, language) is False:
            cells[0].stylize("bold")
        if bounds:
            cells.append(Text(format_interval(bounds.get(language))))
        table.add_row(Text(language), *cells)
    table.add_section()
    table.add_row("mean", *(number(results["mean"][figure.name]) for figure in shown))
    of_means = results.get("intervals", {}).get("mean", {})
    ends = [of_means.get(figure.name) for figure in shown]
    for side, name in enumerate(("95% from", "95% to")):
        if any(ends):
            table.add_row(
                name, *(mark_end(None if end is None else end[side], end) for end in ends)
            )
    table.add_section()
    for title, values in list_floors(results):
        table.add_row(title, *(number(values.get(figure.name)) for figure in shown))
    errors = results.get("error_types")
    return Group(table, *([errors_table(errors)] if errors else []), *notes)


def list_shown(results: Mapping[str, Any]) -> list[RunFigure]:
    """Return the columns of the table: the headline figures, and others if only some were named."""
    asked = MetricOptions.read(results).figures
    named = () if EVERY in asked else asked
    return [f for f in SEPARATE if f.name in results and (f in HEADLINE or f.name in named)]


def list_named(results: Mapping[str, Any]) -> set[str]:
    """Return the figures that were named, themselves or by their module."""
    expanded = expand_names(MetricOptions.read(results).figures)
    return set().union(*(figures for name, figures in expanded.items() if name != EVERY))


def relations_table(results: Mapping[str, Any]) -> Table:
    """Return the main figures of each relation: facts, accuracy, its floor, means over pairs."""
    return make_ruled_table(*list_relations(results), words=("relation",))


def list_relations(results: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return the head and the rows of the table of relations; no rows for older results."""
    shown, head, rows = [f for f in HEADLINE if f.name in results], ["relation", "facts"], []
    for figure in shown:
        head.append(figure.short or figure.title)
        if figure.name == "accuracy":
            head.append("frequent answers")
    for relation, found in results.get("by_relation", {}).items():
        values = []
        for figure in shown:
            values.append(found["mean"][figure.name])
            if figure.name == "accuracy":
                values.append(find_floor(found, figure.name))
        rows.append([relation, f"{found['n_queries']:,}", *map(number, values)])
    return head, rows


def list_floors(results: Mapping[str, Any]) -> list[tuple[str, dict[str, float | None]]]:
    """Return chance, if known, and each floor of a run: name of the row, figure to value."""
    found = []
    if results.get("chance"):
        found.append(("chance", {name: find_chance(results, name) for name in BY_NAME}))
    known = results.get("floors", {})
    return [*found, *((floor.title, known[floor.name]) for floor in FLOORS if floor.name in known)]


def find_floor(results: Mapping[str, Any], name: str) -> float | None:
    """Return the floor that a figure should exceed; None where unknown."""
    return results.get("floors", {}).get(BY_NAME[name].floor, {}).get(name)


def is_above_floor(results: Mapping[str, Any], language: str) -> bool | None:
    """Return whether a language's accuracy, with its interval, is above the frequent answers'."""
    floor = find_floor(results, "accuracy")
    bounds = results.get("intervals", {}).get("accuracy", {}).get(language)
    return None if floor is None or bounds is None else bounds[0] > floor


def of_languages(results: Mapping[str, Any], figure: RunFigure) -> dict[str, float | None]:
    """Return each language's value, for a pair figure its mean with the other languages."""
    values, languages = results[figure.name], results["languages"]
    if figure.per == LANGUAGE:
        return {language: values[language] for language in languages}
    found: dict[str, list[float | None]] = {language: [] for language in languages}
    for one, other in combinations(languages, 2):
        name = f"{one}-{other}"
        value = values[name] if name in values else values.get(f"{other}-{one}")
        for language in (one, other):
            found[language].append(value)
    return {language: mean_known(of_pairs) for language, of_pairs in found.items()}


def find_chance(results: Mapping[str, Any], name: str) -> float | None:
    """Return a figure's chance level in a run; None where unknown, as for free predictions."""
    known = results.get("chance", {})
    level = BY_NAME[name].chance
    return level if known and isinstance(level, float) else known.get(name)


def differences_table(
    sides: Sequence[str], correction: str, rows: Iterable[tuple[str, Difference | Paired]]
) -> Table:
    """Return a table of both values, their difference (Δ), its interval and corrected p-value.

    Args:
        sides: heads of the two values.
        correction: of the p-values.
        rows: name and values of each line.
    """
    table = Table(header_style="bold", highlight=False)
    table.add_column("figure")
    for side in sides:
        table.add_column(Text(fill(side, NARROW)), justify="right", overflow="fold")
    for name in ("Δ", "95%", f"p ({correction})"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, row in rows:
        values = map(number, (row.first, row.second, row.difference))
        ends = (format_interval(row.ci), format_p_value(row.p_adjusted))
        table.add_row(Text(name), *values, *ends)
    return table


def short_title(name: str) -> str:
    """Return the name of a figure in tables of the terminal."""
    return BY_NAME[name].short or BY_NAME[name].title


def _notes(results: dict[str, Any]) -> list[str]:
    """Return the notes below the table, one line each."""
    pairs = [f for f in HEADLINE_PAIRS if f.name in results and not f.short]
    measures = " and ".join(figure.title for figure in pairs)
    unit = "rows" if "paraphrase_consistency" in results else "facts"
    of_pairs = f"; {measures}: means with the other languages" if pairs else ""
    notes = [f"{results['n_queries']:,} {unit}{of_pairs}"]
    resampling = results.get("resampling")
    if resampling and resampling["n_resamples"]:
        drawn = "facts" if resampling["clusters"] == "none" else f"{resampling['clusters']}s"
        notes.append(f"95%: bootstrap, {resampling['n_resamples']:,} resamples of {drawn}")
        if "rankc_templates" in results and drawn != "relations":
            many = len(results["by_relation"]) >= ENOUGH_RELATIONS
            which = "resamples of relations" if many else "for these templates only"
            notes.append(f"95% of RankC within a language and in another template: {which}")
    means = [*_notes_of_tests(results), *_notes_of_named(results)]
    modules = [*_notes_of_modules(results)]
    bounds = results.get("intervals", {}).get("mean", {}).values()
    if any(map(has_no_width, bounds)) or any("*" in line for line in [*means, *modules]):
        notes.append(NO_WIDTH)
    notes += means
    if pairs and len(results["languages"]) < 2:
        notes.append(f"at least two languages are needed for {measures}")
    if results.get("own_candidates"):
        notes.append("languages have other candidates: no figure compares their rankings")
    notes += [*list_options(results), *list_left_out(results), *modules]
    return [*notes, f"signature {shorten_signature(results['signature'])}"]


def _notes_of_tests(results: dict[str, Any]) -> Iterator[str]:
    """Yield the mean gain over questions about another subject, with interval and p-value."""
    for name, p_values in results.get("p_values", {}).items():
        value, bounds = results["mean"][name], results["intervals"]["mean"][name]
        p = p_values.get("mean")
        if value is not None and p is not None:
            yield (
                f"{BY_NAME[name].title}: {number(value)} ({format_interval(bounds)}), "
                f"p = {format_p_value(p)} (sign-flip test)"
            )


def _notes_of_named(results: dict[str, Any]) -> Iterator[str]:
    """Yield the means of noted and named figures that neither the table nor the tests show."""
    shown = {*(figure.name for figure in list_shown(results)), *results.get("p_values", {})}
    noted = {figure.name for figure in FIGURES if figure.noted}
    wanted = ((list_named(results) | noted) - shown) & {*results}
    bounds = results.get("intervals", {}).get("mean", {})
    for figure in FIGURES:
        name = figure.name
        if name not in wanted:
            continue
        if figure.per == ALL:
            yield f"{figure.title}: {_with_interval(results[name], results.get(f'{name}_ci'))}"
        else:
            mean = _with_interval(results["mean"][name], bounds.get(name))
            yield f"{figure.title}: mean {mean}"


def _with_interval(value: float | None, bounds: list[float] | None) -> str:
    return number(value) + (f" ({format_interval(bounds)})" if bounds else "")


def list_options(results: Mapping[str, Any]) -> list[str]:
    """Return the options that are not the default as one line; nothing for the default."""
    given = describe_options(results)
    return [f"options: {given}"] if given else []


def list_left_out(results: dict[str, Any]) -> list[str]:
    """Return the rows that were left out and the counts of undefined values, one line each."""
    left_out = results["left_out"].get("rows", {})
    rows = [f"{count:,} rows left out: {name}" for name, count in left_out.items()]
    subset = results.get("subset")
    if subset:
        rows.append(f"figures of a part of the scored rows: {describe(make_choice(**subset))}")
    counts = [(figure.left_out, results["left_out"].get(figure.name)) for figure in SEPARATE]
    texts = [f"{count:,} {left_out.text}" for left_out, count in counts if left_out and count]
    return [*rows, *texts]


def _notes_of_modules(results: dict[str, Any]) -> Iterator[str]:
    """Yield a line for each module and language; of named figures also intervals and the mean."""
    named = list_named(results)
    for module, figures in OF_MODULES.items():
        found = results.get(module, {})
        keys = [key for key, x in figures.items() if x.noted or x.name in named]
        keys = [key for key in keys if any(key in values for values in found.values())]
        asked = [key for key in keys if figures[key].name in named]
        for language, values in found.items() if keys else ():
            bounds = {key: values.get(f"{key}_ci") for key in asked}
            cells = (f"{x} {_with_interval(values.get(x), bounds.get(x))}" for x in keys)
            yield f"{module} {language}: {', '.join(cells)}"
        if asked and len(found) > 1:
            means = {key: mean_known(values.get(key) for values in found.values()) for key in asked}
            cells = (f"{key} {number(value)}" for key, value in means.items())
            yield f"{module} mean: {', '.join(cells)}"


def make_table(head: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> Table:
    """Return a table for the terminal whose first columns are words."""
    table = Table(header_style="bold", highlight=False, box=None, pad_edge=False)
    for place, name in enumerate(head):
        side = "left" if place < words else "right"
        table.add_column(Text(name), justify=side, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def make_ruled_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], words: Collection[str]
) -> Table:
    """Return a table with rules for the terminal; `words` are the heads of columns of words."""
    table = Table(header_style="bold", highlight=False)
    for name in head:
        side = "left" if name in words else "right"
        table.add_column(Text(name), justify=side, no_wrap=name == "95%", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return table
