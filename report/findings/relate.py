"""Correlations of a figure of pairs as a finding: table, scatter plots, heat maps."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from polyprobe.analysis.relate.pairs import flatten
from polyprobe.analysis.relate.relate import Correlations, Related
from polyprobe.metrics.pictures.picture import Heat, Point, Points
from polyprobe.metrics.shared.intervals import name_pairs
from polyprobe.report.finding import Column, Drawing, Finding, Part, Table
from polyprobe.report.show import format_interval, format_p_value, format_value, name_units
from polyprobe.schema.run.folder import name_runs, shorten_signature


def make_relate_finding(correlations: Correlations) -> Finding:
    """Make the finding of the correlations of a run's pairs."""
    pairs = correlations.pairs
    settings, [name] = pairs.run.settings(), name_runs([pairs.run])
    of_pairs, of_figure = _draw(correlations)
    return Finding(
        f"what correlates with {pairs.of.title} of {name} on {settings.data_name}",
        [
            Part("Correlations", [_list_correlations(correlations)]),
            Part("Pairs of languages", [], of_pairs),
            Part(pairs.of.title, [], [of_figure]),
        ],
        f"What correlates with {pairs.of.title} of the pairs of {len(pairs.languages)} languages?",
        notes=[*_list_notes(correlations)],
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
    return Table(Column.read("relate"), rows, dense=True)


def _list_notes(correlations: Correlations) -> Iterator[str]:
    pairs, options, bootstrap = correlations.pairs, correlations.options, correlations.bootstrap
    yield (
        f"{pairs.of.title} of {len(pairs.languages)} languages, {len(pairs.table):,} facts: "
        f"{shorten_signature(pairs.run.settings().signature)}"
    )
    yield "p: assumes independent pairs, as in the papers; too small, because pairs share languages"
    blocks = f" within the same {options.within}" if options.within else ""
    n = f"{options.n_resamples:,}"
    yield f"Mantel p: {n} permutations of the languages{blocks}, or all if fewer"
    resamples = f"{bootstrap.n_resamples:,} resamples of {name_units(bootstrap.clusters)}"
    yield f"95%: bootstrap of r, {resamples}; languages are fixed"
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


def _draw(correlations: Correlations) -> tuple[list[Drawing], Drawing]:
    """Draw a scatter plot and a heat map of each similarity, and a heat map of the figure."""
    pairs, title = correlations.pairs, correlations.pairs.of.title
    languages, values = pairs.languages, pairs.values

    def draw_heat(name: str, measure: str, table: np.ndarray, **choice: str) -> Drawing:
        cells = np.where(np.eye(len(table), dtype=bool), np.nan, table)
        heat = Heat(measure, languages, languages, cells, measure, similar=values)
        return Drawing(f"{name}-map", heat, choice)

    scatters, heats = [], []
    for row in correlations.rows:
        r, name = row.correlation, row.similarity.name
        names = name_pairs([languages[place] for place in row.places])
        xs, ys = (flatten(x, row.places).tolist() for x in (row.similarity.values, values))
        points = [Point(*point) for point in zip(names, xs, ys, strict=True)]
        line = None if r.slope is None or r.intercept is None else (r.slope, r.intercept)
        p = f"Mantel p = {format_p_value(r.p_mantel)}"
        caption = f"r = {format_value(r.r)}, {p}, {r.n:,} pairs"
        scatter = Points(caption, points, name, title, line)
        scatters.append(Drawing(name, scatter, {"similarity": name}))
        heats.append(draw_heat(name, name, row.similarity.values, similarity=name))
    return [*scatters, *heats], draw_heat(pairs.of.name, title, values)
