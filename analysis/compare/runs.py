"""Compare two runs on the same facts: paired tests for every language, pair and mean."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from polyprobe.analysis.figures.compute import OPTIONS
from polyprobe.analysis.figures.declaration import LANGUAGE, RunFigure
from polyprobe.analysis.figures.facts import ScoredFacts, read_scored
from polyprobe.analysis.figures.figures import HEADLINE, SEPARATE
from polyprobe.analysis.figures.further.relations import list_rows, pick_facts
from polyprobe.analysis.figures.options import FillingOptions, MetricOptions
from polyprobe.analysis.figures.predictions import find_overlaps, mark_accuracy, mark_predictions
from polyprobe.analysis.figures.units import clusters_within, read_clusters, resolve_clusters
from polyprobe.metrics.joint.significance import Difference, compare_figures, correct
from polyprobe.metrics.shared.intervals import Figure
from polyprobe.metrics.shared.rows import take
from polyprobe.schema.run.fillings import choose_again
from polyprobe.schema.run.folder import Run
from polyprobe.schema.run.naming import describe_differing, list_differing, name_runs
from polyprobe.schema.run.rows import ALL_ROWS, Choice
from polyprobe.scoring.options import is_normalised
from polyprobe.system.errors import PolyprobeError
from polyprobe.system.progress import track

from .decodings import Decodings, Marks, compare_decodings
from .gaps import Gaps, compare_gaps, differ_in_protocol
from .match import Match, Pair, Tables, match_runs

Figures = dict[str, tuple[Figure, Figure]]  # of both runs, by name
Facts = tuple[ScoredFacts, ScoredFacts]


class Comparison(NamedTuple):
    """Two runs side by side."""

    names: tuple[str, str]
    runs: tuple[str, str]  # signatures
    differ: str  # the settings that differ, in one line
    languages: list[str]  # of both, in the first one's order
    left_out_languages: list[str]  # of one alone
    n_queries: int  # common rows
    n_units: int  # facts or clusters that are swapped and drawn
    left_out: tuple[int, int]  # rows of the first, of the second alone
    differences: dict[str, list[Difference]]  # by figure, `mean` last
    settings: dict[str, Any]  # of the tests, and the choice of rows
    left_out_rows: dict[str, int]  # common rows without the choice, by reason
    relations: dict[str, int]  # rows by relation, if these are compared
    by_relation: dict[str, list[Difference]]  # by figure, of the means; p corrected over relations
    gaps: Gaps | None = None  # of runs that differ in their protocol alone
    decodings: Decodings | None = None  # of free predictions

    def as_json(self) -> dict[str, Any]:
        """List all parts; differences by figure, and by name or relation."""
        return {
            **self._asdict(),
            "differences": _list_by_name(self.differences),
            "by_relation": _list_by_name(self.by_relation),
            "gaps": self.gaps and self.gaps.as_json(),
            "decodings": self.decodings and self.decodings.as_json(),
            "difference": " - ".join(self.names),
        }


def _list_by_name(differences: Mapping[str, Sequence[Difference]]) -> dict[str, Any]:
    return {
        figure: {row.name: dict(list(row._asdict().items())[1:]) for row in rows}
        for figure, rows in differences.items()
    }


def compare_runs(
    first: Run,
    second: Run,
    *,
    clusters: str = "auto",
    choice: Choice = ALL_ROWS,
    by_relation: bool = False,
    figures: Sequence[RunFigure] = SEPARATE,
    options: MetricOptions = OPTIONS,
    **test: Any,
) -> Comparison:
    """Compute the paired differences (first - second) of the figures that both runs have.

    Runs may differ in model, dtype, scoring; facts and languages that only one of them has are left
    out and counted, as are rows that `choice` leaves out. With `by_relation` the means of the
    headline figures are also compared in each relation. `options` has the weights and ties, and
    the choice of fillings. `test` has the options of `significance.compare_figures`.

    Raises:
        PolyprobeError: no common language or fact, or other candidates for the same fact.
    """
    runs = (first, second)
    match = match_runs(first, second, choice)
    table = match.tables[0][match.languages[0]]  # ids and relations are those of all languages
    settings = {"clusters": clusters, **test, **choice.as_json()}
    units = read_clusters(table, clusters)
    settings["clusters"] = clusters = resolve_clusters(table, clusters)
    comparison = _describe(runs, match, settings, units)
    try:
        if first.settings().kind == "predictions":
            pairs, decodings = _measure_predictions(runs, match.tables, options, figures, test)
            comparison = comparison._replace(decodings=decodings)
        else:
            facts = (
                read_scored(first, match.tables[0], options),
                read_scored(second, match.tables[1], options),
            )
            pairs = measure_facts(facts, figures)
        for name, pair in track(list(pairs.items()), "comparing"):
            comparison.differences[name] = compare_figures(*pair, clusters=units, **test)
        several = len(match.languages) > 1 and not comparison.decodings
        if several and differ_in_protocol(list_differing(runs)):
            comparison = comparison._replace(gaps=compare_gaps(facts, units, **test))
        if by_relation:
            relations = list_rows(table["relation"].to_pylist())
            comparison.relations.update((name, len(rows)) for name, rows in relations.items())
            within = clusters_within(table, clusters)
            headline = [figure.name for figure in HEADLINE if figure.name in pairs]
            for name in track(headline, "comparing relations"):
                part = compare_relations(pairs[name], relations, within, test)
                comparison.by_relation[name] = part
    except ValueError as error:
        raise PolyprobeError(str(error)) from error
    return comparison


def _describe(
    runs: tuple[Run, Run], match: Match, settings: dict[str, Any], units: Sequence[str] | None
) -> Comparison:
    """Describe the runs and their common rows, without any results."""
    first, second = (run.settings().signature for run in runs)
    names, n_queries = name_runs(runs), len(match.tables[0][match.languages[0]])
    return Comparison(
        (names[0], names[1]),
        (first, second),
        describe_differing(runs),
        match.languages,
        match.left_out_languages,
        n_queries,
        len(set(units)) if units else n_queries,
        match.left_out,
        {},
        settings,
        match.left_out_rows,
        {},
        {},
    )


def _measure_predictions(
    runs: tuple[Run, Run],
    tables: Pair,
    options: MetricOptions,
    figures: Sequence[RunFigure],
    test: Mapping[str, Any],
) -> tuple[Figures, Decodings]:
    """Measure free predictions with the winners of the options, and compare them by fact."""
    first, second = (_choose(*pair, options) for pair in zip(tables, runs, strict=True))
    marks = mark_common(first, second)
    decodings = compare_decodings((first, second), marks, test.get("correction", "holm"))
    return measure_marks(marks, figures), decodings


def _choose(tables: Tables, run: Run, options: FillingOptions) -> Tables:
    norm = is_normalised(run.settings().scoring)
    return choose_again(tables, options.length_norm, options.max_masks, norm, run.folder)


def measure_facts(facts: Facts, figures: Sequence[RunFigure]) -> Figures:
    """Measure the compared figures that both runs have."""
    several = len(facts[0].tables) > 1
    return {
        figure.name: (figure.measure(facts[0]), figure.measure(facts[1]))
        for figure in figures
        if figure.compared
        and (figure.per == LANGUAGE or several)
        and all(map(figure.applies, facts))
    }


def mark_common(first: Tables, second: Tables) -> tuple[Marks, Marks]:
    """Mark the correct facts of two runs of free predictions; NaN where either was not asked."""
    marks = (mark_predictions(first), mark_predictions(second))
    blanks = {x: np.where(np.isnan(marks[0][x] + marks[1][x]), np.nan, 0) for x in first}
    return {x: marks[0][x] + blanks[x] for x in first}, {x: marks[1][x] + blanks[x] for x in first}


def measure_marks(marks: tuple[Marks, Marks], figures: Sequence[RunFigure]) -> Figures:
    """Measure accuracy (micro) of the facts that both runs were asked, and COverlap."""
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
    test: Mapping[str, Any],
) -> list[Difference]:
    """Compare a figure's mean in each relation; p-values are corrected over relations.

    Args:
        figures: of both runs.
        relations: relation to row numbers.
        units: of each row, drawn within a relation.
        test: options of `significance.compare_figures`.
    """
    means = []
    for relation, rows in relations.items():
        parts = (pick_facts(figures[0], rows), pick_facts(figures[1], rows))
        *_, mean = compare_figures(*parts, **{**test, "clusters": take(units, rows.tolist())})
        means.append(mean._replace(name=relation))
    p = np.array([np.nan if row.p is None else row.p for row in means])
    adjusted = correct(p, test.get("correction", "holm")).tolist()
    return [
        row._replace(p_adjusted=None if row.p is None else value)
        for row, value in zip(means, adjusted, strict=True)
    ]
