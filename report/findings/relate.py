"""Correlations of a figure of pairs as a finding: table, scatter plots, heat maps."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from polyprobe.analysis.relate.pairs import flatten
from polyprobe.analysis.relate.relate import Correlations, Related
from polyprobe.metrics.pictures.picture import Heat, Picture, Point, Points
from polyprobe.metrics.shared.rows import name_pairs
from polyprobe.report.finding import Column, Finding, Part, Role, Table
from polyprobe.report.format import format_interval, format_p_value, format_value
from polyprobe.schema.run.naming import name_runs, shorten_signature

COLUMNS = (
    Column("similarity", Role.LABEL),
    Column("pairs", Role.COUNT),
    Column("", Role.NAME, "measure"),
    Column("value"),
    Column("95%", Role.INTERVAL, "value"),
    Column("p", Role.P),
    Column("Mantel p", Role.P),
)


def make_relate_finding(correlations: Correlations) -> Finding:
    """Make the finding of the correlations of a run's pairs."""
    pairs = correlations.pairs
    settings, [name] = pairs.run.settings(), name_runs([pairs.run])
    pictures, of_figure = _draw(correlations), f"{pairs.of.name}-map"
    return Finding(
        f"what correlates with {pairs.of.title} of {name} on {settings.data_name}",
        [
            Part("Correlations", [_list_correlations(correlations)]),
            Part("Pairs of languages", [], [name for name in pictures if name != of_figure]),
            Part(pairs.of.title, [], [of_figure]),
        ],
        f"What correlates with {pairs.of.title} of the pairs of {len(pairs.languages)} languages?",
        notes=[*_list_notes(correlations)],
        pictures=pictures,
    )


def _list_correlations(correlations: Correlations) -> Table:
    """List r and ρ of each similarity, then partial r and partial ρ."""
    rows: list[list[Any]] = []
    for row in correlations.rows:
        head: list[Any] = [row.similarity.name, row.correlation.n]
        for kind, result in (("", row.correlation), ("partial ", row.partial)):
            if result is None:
                continue
            ci = "" if kind else row.ci
            rows.append([*head, f"{kind}r", result.r, ci, result.p, result.p_mantel])
            head = ["", ""]
            ranked = (result.rho, "", result.p_rho, result.p_mantel_rho)
            rows.append([*head, f"{kind}ρ", *ranked])
    return Table(COLUMNS, rows, dense=True)


def _list_notes(correlations: Correlations) -> Iterator[str]:
    """Yield the notes, one line each."""
    pairs, bootstrap, within = (
        correlations.pairs,
        correlations.bootstrap,
        correlations.options.within,
    )
    yield (
        f"{pairs.of.title} of {len(pairs.languages)} languages, {len(pairs.table):,} facts: "
        f"{shorten_signature(pairs.run.settings().signature)}"
    )
    yield "p: assumes independent pairs, as in the papers; too small, because pairs share languages"
    blocks = f" within the same {within}" if within else ""
    n = correlations.options.resamples
    yield f"Mantel p: {n:,} permutations of the languages{blocks}, or all if fewer"
    units = "facts" if bootstrap.clusters == "none" else f"{bootstrap.clusters}s"
    of_units = f"{bootstrap.n_resamples:,} resamples of {units}"
    yield f"95%: bootstrap of r, {of_units}; languages are fixed"
    if correlations.control:
        yield f"partial: controls for {correlations.control.name}; residuals are permuted"
    for row in correlations.rows:
        yield from _describe(row)
    if queries := correlations.queries:
        yield (
            f"query by query: r of overlap and RankC within pairs {format_value(queries.r)}, 95% "
            f"{format_interval(queries.ci)}, {queries.n:,} queries; mean overlap "
            f"{format_value(queries.overlap)}"
        )


def _describe(row: Related) -> Iterator[str]:
    """Yield the notes on a similarity."""
    name = row.similarity.name
    yield f"{name}: {row.similarity.description}"
    if row.left_out:
        reasons = ", ".join(f"{x} ({reason})" for x, reason in row.left_out.items())
        yield f"{name}: {len(row.left_out)} languages left out: {reasons}"
    if row.of_languages:
        plain, ranked = row.of_languages
        yield (
            f"{name} of a language and its accuracy: r {format_value(plain.r)}, "
            f"p {format_p_value(plain.p)}, 95% {format_interval(plain.ci)}; "
            f"ρ {format_value(ranked.r)}, p {format_p_value(ranked.p)}; {plain.n} languages"
        )


def _draw(correlations: Correlations) -> dict[str, Picture]:
    """Draw a scatter plot and a heat map of each similarity, and a heat map of the figure."""
    pairs, values, rows = correlations.pairs, correlations.pairs.values, correlations.rows
    title = pairs.of.title
    pictures: dict[str, Picture] = {}
    for row in rows:
        points = _list_points(correlations, row)
        name = row.similarity.name
        pictures[name] = Points(_describe_correlation(row), points, name, title, _find_line(row))
    pictures[f"{pairs.of.name}-map"] = _draw_map(title, pairs.languages, values, values)
    for row in rows:
        name, table = row.similarity.name, row.similarity.values
        pictures[f"{name}-map"] = _draw_map(name, pairs.languages, table, values)
    return pictures


def _describe_correlation(row: Related) -> str:
    """Describe r, its p-value and the number of pairs in one line."""
    r = row.correlation
    return f"r = {format_value(r.r)}, Mantel p = {format_p_value(r.p_mantel)}, {r.n:,} pairs"


def _find_line(row: Related) -> tuple[float, float] | None:
    """Find slope and intercept of the regression."""
    slope, intercept = row.correlation.slope, row.correlation.intercept
    return None if slope is None or intercept is None else (slope, intercept)


def _list_points(correlations: Correlations, row: Related) -> list[Point]:
    """List the points of a scatter plot: similarity and figure of each pair."""
    pairs, places = correlations.pairs, row.places
    names = name_pairs([pairs.languages[place] for place in places])
    xs, ys = (flatten(table, places).tolist() for table in (row.similarity.values, pairs.values))
    return [Point(*point) for point in zip(names, xs, ys, strict=True)]


def _draw_map(
    measure: str, languages: Sequence[str], values: np.ndarray, similar: np.ndarray
) -> Heat:
    table = np.where(np.eye(len(values), dtype=bool), np.nan, values)
    return Heat(measure, languages, languages, table, measure, similar=similar)
