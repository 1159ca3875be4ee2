"""The results in the terminal."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from polyprobe.metrics.joint.significance import Difference, Paired

from .figures import (
    BY_NAME,
    HEADLINE,
    HEADLINE_PAIRS,
    LANGUAGE,
    OF_MODULES,
    SEPARATE,
    RunFigure,
)


def results_table(results: dict[str, Any]) -> RenderableType:
    """Return a run's headline figures for a rich console: languages, means, chance, signature.

    A pair figure of a language is its mean over the other languages. Undefined values are printed
    as `–`, excluded from means, and counted below the table.
    """
    table = Table(header_style="bold", highlight=False)
    table.add_column("language", no_wrap=True)
    shown = [figure for figure in HEADLINE if figure.name in results]
    for figure in shown:
        table.add_column(figure.short or figure.title, justify="right", overflow="fold")
    for language in results["languages"]:
        values = (_of_language(results, figure, language) for figure in shown)
        table.add_row(Text(language), *map(number, values))
    table.add_section()
    means = (results["mean"][figure.name] for figure in shown)
    table.add_row("mean", *map(number, means), style="bold")
    bounds = results.get("intervals", {}).get("mean")
    if bounds:
        table.add_row("95 %", *(format_interval(bounds.get(figure.name)) for figure in shown))
    if results.get("chance"):
        table.add_row("chance", *(number(find_chance(results, figure.name)) for figure in shown))
    return Group(table, *map(Text, _notes(results)), Text(results["signature"], overflow="fold"))


def _of_language(results: dict[str, Any], figure: RunFigure, language: str) -> float | None:
    """Return a language's value, for a pair figure its mean with the other languages."""
    values = results[figure.name]
    if figure.per == LANGUAGE:
        return values[language]
    others = (other for other in results["languages"] if other != language)
    pairs = ((f"{language}-{other}", f"{other}-{language}") for other in others)
    return _mean(values[one] if one in values else values.get(two) for one, two in pairs)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def find_chance(results: Mapping[str, Any], name: str) -> float | None:
    """Return a figure's chance level in a run; None where unknown, as for free predictions."""
    known = results.get("chance", {})
    level = BY_NAME[name].chance
    return level if known and isinstance(level, float) else known.get(name)


def number(value: float | None) -> str:
    """Return a figure with three decimals, `–` where it is undefined."""
    return "–" if value is None else f"{value:z.3f}"


def format_interval(bounds: list[float] | None) -> str:
    """Return an interval with three decimals, `–` where there is none."""
    return "–" if bounds is None else f"{number(bounds[0])} to {number(bounds[1])}"


def format_p_value(value: float | None) -> str:
    """Return a p-value with two digits, `–` where there is none."""
    return "–" if value is None else f"{value:.2g}"


def difference_cells(row: Difference | Paired) -> list[str]:
    """Return both values, their difference, its interval and its corrected p-value."""
    values = map(number, (row.first, row.second, row.difference))
    return [*values, format_interval(row.ci), format_p_value(row.p_adjusted)]


def _notes(results: dict[str, Any]) -> list[str]:
    """Return the notes below the table, one line each."""
    pairs = [f for f in HEADLINE_PAIRS if f.name in results and not f.short]
    measures = " and ".join(figure.title for figure in pairs)
    unit = "rows" if "paraphrase_consistency" in results else "facts"
    notes = [f"{results['n_queries']:,} {unit}; {measures}: means with the other languages"]
    resampling = results.get("resampling")
    if resampling and resampling["n_resamples"]:
        drawn = "facts" if resampling["clusters"] == "none" else f"{resampling['clusters']}s"
        notes.append(f"95 %: bootstrap, {resampling['n_resamples']:,} resamples of {drawn}")
    if len(results["languages"]) < 2:
        notes.append(f"at least two languages are needed for {measures}")
    return [*notes, *list_left_out(results), *_notes_of_modules(results)]


def list_left_out(results: dict[str, Any]) -> list[str]:
    """Return the counts of undefined values, one line each."""
    counts = [(figure.left_out, results["left_out"].get(figure.name)) for figure in SEPARATE]
    return [f"{count:,} {left_out.text}" for left_out, count in counts if left_out and count]


def _notes_of_modules(results: dict[str, Any]) -> Iterator[str]:
    for module, figures in OF_MODULES.items():
        keys = [key for key, figure in figures.items() if figure.noted]
        for language, values in results.get(module, {}).items() if keys else ():
            shown = ", ".join(f"{key} {number(values.get(key))}" for key in keys)
            yield f"{module} {language}: {shown}"
