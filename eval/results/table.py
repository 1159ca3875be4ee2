"""The results in the terminal."""

from collections.abc import Iterable
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from polyprobe.metrics.joint.averages import Paired
from polyprobe.metrics.joint.significance import Difference

OWN = {
    "contrastive_knowledge": ("accuracy",),
    "paraphrase_consistency": ("consistency", "accuracy", "consistency_accuracy"),
    "factual_accuracy": ("all", "single", "multi"),
}
"""What a protocol is for, shown below the table: modules in the results, and their figures."""
COLUMNS = {"rankc": "RankC", "rankc_adjusted": "adjusted", "coverlap": "COverlap"}


def results_table(results: dict[str, Any]) -> RenderableType:
    """Return a run's figures for a rich console: a row a language, means, chance, signature.

    RankC, adjusted RankC and COverlap of a language are its means with each of the others; what
    is undefined stands as `–`, is in no mean, and is counted below the table.
    """
    table = Table(header_style="bold", highlight=False)
    table.add_column("language", no_wrap=True)
    columns = {key: name for key, name in COLUMNS.items() if key in results}
    for name in ("accuracy", *columns.values()):
        table.add_column(name, justify="right", overflow="fold")
    for language in results["languages"]:
        shares = (_mean_with_others(results, key, language) for key in columns)
        table.add_row(Text(language), *map(number, (results["accuracy"][language], *shares)))
    table.add_section()
    means = (results["mean"][key] for key in ("accuracy", *columns))
    table.add_row("mean", *map(number, means), style="bold")
    bounds = results.get("intervals", {}).get("mean")
    if bounds:
        table.add_row("95 %", *(interval(bounds.get(key)) for key in ("accuracy", *columns)))
    if chance := results.get("chance"):
        table.add_row("chance", *map(number, (chance["accuracy"], chance["rankc"], 0.0, None)))
    return Group(table, *map(Text, _notes(results)), Text(results["signature"], overflow="fold"))


def _mean_with_others(results: dict[str, Any], key: str, language: str) -> float | None:
    values = results[key]
    others = (other for other in results["languages"] if other != language)
    pairs = ((f"{language}-{other}", f"{other}-{language}") for other in others)
    return _mean(values[one] if one in values else values.get(two) for one, two in pairs)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def number(value: float | None) -> str:
    """Return a figure with three decimals, `–` where it is undefined."""
    return "–" if value is None else f"{value:z.3f}"


def interval(bounds: list[float] | None) -> str:
    """Return an interval with three decimals, `–` where there is none."""
    return "–" if bounds is None else f"{number(bounds[0])} to {number(bounds[1])}"


def p_value(value: float | None) -> str:
    """Return a p-value with two digits, `–` where there is none."""
    return "–" if value is None else f"{value:.2g}"


def difference_cells(row: Difference | Paired) -> list[str]:
    """Return both values, their difference, its interval and its corrected p-value."""
    values = map(number, (row.first, row.second, row.difference))
    return [*values, interval(row.ci), p_value(row.p_adjusted)]


def _notes(results: dict[str, Any]) -> list[str]:
    """Return what a reader must know beside the figures, a line each."""
    left = results["left_out"]
    measures = "RankC and COverlap" if "rankc" in results else "COverlap"
    what = "rows" if "paraphrase_consistency" in results else "facts"
    notes = [f"{results['n_queries']:,} {what}; {measures}: means with the other languages"]
    resampling = results.get("resampling")
    if resampling and resampling["n_resamples"]:
        drawn = "facts" if resampling["clusters"] == "none" else f"{resampling['clusters']}s"
        notes.append(f"95 %: bootstrap, {resampling['n_resamples']:,} resamples of {drawn}")
    if len(results["languages"]) < 2:
        notes.append(f"at least two languages are needed for {measures}")
    if left.get("rankc_adjusted"):
        notes.append(f"{left['rankc_adjusted']:,} facts with one candidate: no adjusted RankC")
    for module, figures in OWN.items():
        for language, values in results.get(module, {}).items():
            shown = ", ".join(f"{name} {number(values.get(name))}" for name in figures)
            notes.append(f"{module} {language}: {shown}")
    if left["coverlap"]:
        notes.append(f"{left['coverlap']:,} pairs without COverlap: nothing right in either")
    return notes
