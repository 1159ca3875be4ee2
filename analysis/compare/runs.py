"""Compare two runs on the same facts: paired tests for every language, pair and mean."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from polyprobe.analysis.figures.compute import read_facts
from polyprobe.analysis.figures.declaration import LANGUAGE, RunFigure
from polyprobe.analysis.figures.facts import ScoredFacts
from polyprobe.analysis.figures.figures import HEADLINE, SEPARATE
from polyprobe.analysis.figures.further.relations import list_rows, pick_facts
from polyprobe.analysis.figures.options import (
    DEFAULTS,
    MetricOptions,
    clusters_within,
    read_clusters,
    resolve_clusters,
)
from polyprobe.analysis.figures.predictions import find_overlaps, mark_accuracy, mark_predictions
from polyprobe.metrics.joint.significance import Difference, compare_figures, correct
from polyprobe.metrics.shared.intervals import Figure
from polyprobe.metrics.shared.rows import take
from polyprobe.schema.identity import key_rows
from polyprobe.schema.run.fillings import choose_again
from polyprobe.schema.run.folder import Run, read_aligned
from polyprobe.schema.run.naming import describe_differing, name_runs
from polyprobe.schema.run.rows import ALL_ROWS, Choice, Chosen, choose, list_names
from polyprobe.scoring.options import is_normalised
from polyprobe.system.errors import PolyprobeError
from polyprobe.system.progress import track

from .decodings import Decodings, compare_decodings
from .gaps import Gaps, compare_gaps, differ_in_protocol

Marks = tuple[dict[str, np.ndarray], dict[str, np.ndarray]]


class Comparison(NamedTuple):
    """Two runs side by side.

    Attributes:
        names: short names of both.
        runs: the signatures of both.
        differ: the settings that differ, in one line.
        languages: those that both have, in the first one's order.
        left_out_languages: those that only one has.
        n_queries: rows that both have.
        n_units: facts or clusters that are swapped and drawn.
        left_out: rows that only the first, only the second has.
        differences: by figure, one row for each language or pair, `mean` last.
        settings: test, correction, resamples, seed, clusters (resolved), and the choice of rows.
        left_out_rows: common rows that the choice leaves out, by reason.
        relations: number of rows of each relation, if compared by relation.
        by_relation: by figure, the difference of the means in each relation; p-values are corrected
            over the relations.
        gaps: the gaps between languages, if the runs differ in their protocol alone.
        decodings: the facts that only one run knows, of free predictions.
    """

    names: tuple[str, str]
    runs: tuple[str, str]
    differ: str
    languages: list[str]
    left_out_languages: list[str]
    n_queries: int
    n_units: int
    left_out: tuple[int, int]
    differences: dict[str, list[Difference]]
    settings: dict[str, Any]
    left_out_rows: dict[str, int]
    relations: dict[str, int]
    by_relation: dict[str, list[Difference]]
    gaps: Gaps | None = None
    decodings: Decodings | None = None


class Matched(NamedTuple):
    """The rows that two runs have in common; see `Comparison`.

    `tables` are the scores of each run by language, row by row the same facts; `left_out_rows` are
    common rows that a choice leaves out.
    """

    languages: list[str]
    left_out_languages: list[str]
    tables: tuple[dict[str, pa.Table], dict[str, pa.Table]]
    left_out: tuple[int, int]
    left_out_rows: dict[str, int]


def compare_runs(
    first: Run,
    second: Run,
    *,
    clusters: str = "auto",
    choice: Choice = ALL_ROWS,
    by_relation: bool = False,
    figures: Sequence[RunFigure] = SEPARATE,
    measured: MetricOptions = DEFAULTS,
    **options: Any,
) -> Comparison:
    """Return the paired differences (first - second) of the figures that both runs have.

    Runs may differ in model, dtype, scoring; facts and languages that only one of them has are left
    out and counted, as are rows that `choice` leaves out. With `by_relation` the means of the
    headline figures are also compared in each relation. `measured` has the weights and ties, and
    the choice of fillings.
    `options` are those of `significance.compare_figures`.

    Raises:
        PolyprobeError: no common language or fact, or other candidates for the same fact.
    """
    matched = match_runs(first, second, choice)
    table = matched.tables[0][matched.languages[0]]
    clusters = resolve_clusters(table, clusters)
    units = read_clusters(table, clusters)
    free = first.settings().kind == "predictions"
    gaps = decodings = None
    try:
        if free:
            ours, theirs = matched.tables
            tables = _choose(ours, first, measured), _choose(theirs, second, measured)
            matched = matched._replace(tables=tables)
            marks = mark_both(matched)
            pairs = measure_decodings(marks, figures)
            decodings = compare_decodings(matched.tables, marks, options.get("correction", "holm"))
        else:
            parts = matched.tables
            facts = (read_facts(first, parts[0], measured), read_facts(second, parts[1], measured))
            pairs = measure_both(facts, figures)
            if len(matched.languages) > 1 and differ_in_protocol([first, second]):
                gaps = compare_gaps(facts, units, **options)
        differences = {
            name: compare_figures(*pair, clusters=units, **options)
            for name, pair in track(list(pairs.items()), "comparing")
        }
        relations = list_rows(table["relation"].to_pylist()) if by_relation else {}
        within = clusters_within(table, clusters)
        headline = [figure.name for figure in HEADLINE if by_relation and figure.name in pairs]
        found = {
            name: compare_relations(pairs[name], relations, within, options)
            for name in track(headline, "comparing relations")
        }
    except ValueError as error:
        raise PolyprobeError(str(error)) from error
    one, other = name_runs([first, second])
    return Comparison(
        (one, other),
        (first.settings().signature, second.settings().signature),
        describe_differing([first, second]),
        matched.languages,
        matched.left_out_languages,
        len(table),
        len(set(units)) if units else len(table),
        matched.left_out,
        differences,
        {"clusters": clusters, **options, **choice.as_json()},
        matched.left_out_rows,
        {name: len(rows) for name, rows in relations.items()},
        found,
        gaps,
        decodings,
    )


def _choose(
    tables: Mapping[str, pa.Table], run: Run, measured: MetricOptions
) -> dict[str, pa.Table]:
    """Return free predictions with the winners of the options."""
    norm = is_normalised(run.settings().scoring)
    return choose_again(tables, measured.length_norm, measured.max_masks, norm, run.folder)


def measure_both(
    facts: tuple[ScoredFacts, ScoredFacts], figures: Sequence[RunFigure]
) -> dict[str, tuple[Figure, Figure]]:
    """Return the compared figures that both runs have, by name."""
    many = len(facts[0].tables) > 1
    return {
        figure.name: (figure.measure(facts[0]), figure.measure(facts[1]))
        for figure in figures
        if figure.compared and (figure.per == LANGUAGE or many) and all(map(figure.applies, facts))
    }


def mark_both(matched: Matched) -> Marks:
    """Return the correct facts of two runs of free predictions; NaN where either was not asked."""
    one, other = map(mark_predictions, matched.tables)
    asked = {x: np.where(np.isnan(one[x] + other[x]), np.nan, 0) for x in matched.languages}
    return {x: one[x] + asked[x] for x in asked}, {x: other[x] + asked[x] for x in asked}


def measure_decodings(
    marks: Marks, figures: Sequence[RunFigure]
) -> dict[str, tuple[Figure, Figure]]:
    """Return accuracy (micro) of the facts that both runs were asked, and COverlap, by name."""
    kernels = {"accuracy": mark_accuracy}
    if len(marks[0]) > 1:
        kernels["coverlap"] = find_overlaps
    names = {figure.name for figure in figures}
    return {
        name: (kernel(marks[0]), kernel(marks[1]))
        for name, kernel in kernels.items()
        if name in names
    }


def compare_relations(
    figures: tuple[Figure, Figure],
    relations: Mapping[str, np.ndarray],
    units: Sequence[str] | None,
    options: Mapping[str, Any],
) -> list[Difference]:
    """Return the difference of a figure's mean in each relation, corrected over relations.

    Args:
        figures: of both runs.
        relations: relation to row numbers.
        units: of each row, drawn within a relation.
        options: those of `significance.compare_figures`.
    """
    found = []
    for relation, rows in relations.items():
        picked = {"clusters": take(units, rows.tolist())}
        parts = (pick_facts(figures[0], rows), pick_facts(figures[1], rows))
        *_, mean = compare_figures(*parts, **{**options, **picked})
        found.append(mean._replace(name=relation))
    p = np.array([np.nan if row.p is None else row.p for row in found])
    adjusted = correct(p, options.get("correction", "holm")).tolist()
    return [
        row._replace(p_adjusted=None if row.p is None else new)
        for row, new in zip(found, adjusted, strict=True)
    ]


def match_runs(first: Run, second: Run, choice: Choice = ALL_ROWS) -> Matched:
    """Return the scores of both runs on the languages and facts that both have.

    Flags are those of the first run, or of the second one if the first is of an older version.
    """
    kinds = [run.settings().kind for run in (first, second)]
    if kinds[0] != kinds[1]:
        free, scored = (first, second) if kinds[0] == "predictions" else (second, first)
        raise PolyprobeError(
            f"{free.folder} holds free predictions, {scored.folder} scores of candidates; compare "
            "two runs of one kind"
        )
    tables = [read_aligned(run) for run in (first, second)]
    languages = [language for language in tables[0] if language in tables[1]]
    if not languages:
        raise PolyprobeError(
            f"{first.folder} and {second.folder} have no language in common "
            f"({', '.join(tables[0])}; {', '.join(tables[1])})"
        )
    matched = [match_facts(tables[0][x], tables[1][x], (first, second), x) for x in languages]
    rows = matched[0]
    one, other = (len(table[languages[0]]) for table in tables)
    only = (one - len(rows[0]), other - len(rows[1]))
    chosen = _choose_common((first, second), tables, rows, choice)
    rows = ([rows[0][i] for i in chosen.rows], [rows[1][i] for i in chosen.rows])
    parts = [
        {x: table[x].take(taken) for x in languages}
        for table, taken in zip(tables, rows, strict=True)
    ]
    return Matched(
        languages,
        [x for x in {**tables[0], **tables[1]} if x not in languages],
        (parts[0], parts[1]),
        only,
        chosen.left_out,
    )


def _choose_common(
    runs: tuple[Run, Run],
    tables: Sequence[Mapping[str, pa.Table]],
    rows: tuple[list[int], list[int]],
    choice: Choice,
) -> Chosen:
    """Return the places of the common rows that a choice keeps."""
    whole = [next(iter(one.values())) for one in tables]
    known = {name for run in runs for name in run.settings().exclude}
    known |= list_names(whole[0]) | list_names(whole[1])
    older = "flags" in whole[0].column_names and whole[0]["flags"].null_count
    flagged = 1 if older else 0
    return choose(whole[flagged].take(rows[flagged]), choice, known)


def match_facts(
    first: pa.Table, second: pa.Table, runs: tuple[Run, Run], language: str
) -> tuple[list[int], list[int]]:
    """Return the rows of both tables that hold the same fact, in the first one's order.

    A fact with several rows (templates) is matched row by row. The prompts of free predictions may
    differ.
    """
    keys = [key_rows(table["fact_id"].to_pylist()) for table in (first, second)]
    known = {key: row for row, key in enumerate(keys[1])}
    pairs = [(row, known[key]) for row, key in enumerate(keys[0]) if key in known]
    if not pairs:
        raise PolyprobeError(
            f"{runs[0].folder} and {runs[1].folder} have no fact in common; compare runs on the "
            "same dataset and configuration"
        )
    if "scores" not in first.column_names:
        return [one for one, _ in pairs], [other for _, other in pairs]
    columns = [table.select(["answers", "scores"]).to_pydict() for table in (first, second)]
    asked = [list(zip(x["answers"], map(len, x["scores"]), strict=True)) for x in columns]
    for one, other in pairs:
        if asked[0][one] != asked[1][other]:
            raise PolyprobeError(
                f"{language}, fact {first['fact_id'][one]}: other candidates in {runs[0].folder} "
                f"(row {one}) than in {runs[1].folder} (row {other}); compare runs on the same "
                "dataset and configuration"
            )
    return [one for one, _ in pairs], [other for _, other in pairs]
