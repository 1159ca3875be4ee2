"""Compare two runs on the same facts: paired tests for every language, pair and mean."""

from typing import Any, NamedTuple

import pyarrow as pa

from polyprobe.eval.results.compute import read_clusters, read_facts, resolve_clusters
from polyprobe.eval.results.figures import LANGUAGE, SEPARATE
from polyprobe.eval.run.folder import Run, read_aligned
from polyprobe.metrics.joint.significance import Difference, compare_figures
from polyprobe.schema.identity import key_rows
from polyprobe.system.errors import PolyprobeError
from polyprobe.system.progress import track


class Comparison(NamedTuple):
    """Two runs side by side.

    Attributes:
        runs: the signatures of both.
        languages: those that both have, in the first one's order.
        left_out_languages: those that only one has.
        n_queries: rows that both have.
        n_units: facts or clusters that are swapped and drawn.
        left_out: rows that only the first, only the second has.
        differences: by figure, a row a language or pair, `mean` last.
        settings: test, correction, resamples, seed and clusters, `auto` resolved.
    """

    runs: tuple[str, str]
    languages: list[str]
    left_out_languages: list[str]
    n_queries: int
    n_units: int
    left_out: tuple[int, int]
    differences: dict[str, list[Difference]]
    settings: dict[str, Any]


class Matched(NamedTuple):
    """The rows that two runs have in common; see `Comparison`.

    `tables` are the scores of each run by language, row by row the same facts.
    """

    languages: list[str]
    left_out_languages: list[str]
    tables: tuple[dict[str, pa.Table], dict[str, pa.Table]]
    left_out: tuple[int, int]


def compare_runs(first: Run, second: Run, *, clusters: str = "auto", **options: Any) -> Comparison:
    """Return the paired differences (first - second) of all figures that both runs have.

    Runs may differ in model, dtype, scoring; facts and languages that only one of them has are left
    out and counted. `options` are those of `significance.compare_figures`.

    Raises:
        PolyprobeError: no common language or fact, or other candidates for the same fact.
    """
    matched = match_runs(first, second)
    parts, languages = matched.tables, matched.languages
    facts = (read_facts(first, parts[0]), read_facts(second, parts[1]))
    clusters = resolve_clusters(facts[0].table, clusters)
    units = read_clusters(facts[0].table, clusters)
    compared = [
        figure
        for figure in SEPARATE
        if figure.compared
        and (figure.per == LANGUAGE or len(languages) > 1)
        and all(map(figure.applies, facts))
    ]
    try:
        differences = {
            f.name: compare_figures(*map(f.measure, facts), clusters=units, **options)
            for f in track(compared, "comparing")
        }
    except ValueError as error:
        raise PolyprobeError(str(error)) from error
    n_queries = len(facts[0].table)
    return Comparison(
        (first.settings().signature, second.settings().signature),
        languages,
        matched.left_out_languages,
        n_queries,
        len(set(units)) if units else n_queries,
        matched.left_out,
        differences,
        {"clusters": clusters, **options},
    )


def match_runs(first: Run, second: Run) -> Matched:
    """Return the scores of both runs on the languages and facts that both have."""
    for run in (first, second):
        if run.settings().kind == "predictions":
            raise PolyprobeError(
                f"{run.folder} holds free predictions; runs that score candidates are compared"
            )
    tables = [read_aligned(run) for run in (first, second)]
    languages = [language for language in tables[0] if language in tables[1]]
    if not languages:
        raise PolyprobeError(
            f"{first.folder} and {second.folder} have no language in common "
            f"({', '.join(tables[0])}; {', '.join(tables[1])})"
        )
    rows = match_facts(tables[0][languages[0]], tables[1][languages[0]], (first, second))
    one, other = (
        {x: table[x].take(taken) for x in languages}
        for table, taken in zip(tables, rows, strict=True)
    )
    sizes = [len(table[languages[0]]) for table in tables]
    return Matched(
        languages,
        [x for x in {**tables[0], **tables[1]} if x not in languages],
        (one, other),
        (sizes[0] - len(rows[0]), sizes[1] - len(rows[1])),
    )


def match_facts(
    first: pa.Table, second: pa.Table, runs: tuple[Run, Run]
) -> tuple[list[int], list[int]]:
    """Return the rows of both tables that hold the same fact, in the first one's order.

    A fact with several rows (templates) is matched row by row.
    """
    keys = [key_rows(table["fact_id"].to_pylist()) for table in (first, second)]
    known = {key: row for row, key in enumerate(keys[1])}
    pairs = [(row, known[key]) for row, key in enumerate(keys[0]) if key in known]
    if not pairs:
        raise PolyprobeError(
            f"{runs[0].folder} and {runs[1].folder} have no fact in common; compare runs on the "
            "same dataset and configuration"
        )
    columns = [table.select(["answers", "scores"]).to_pydict() for table in (first, second)]
    asked = [list(zip(x["answers"], map(len, x["scores"]), strict=True)) for x in columns]
    for one, other in pairs:
        if asked[0][one] != asked[1][other]:
            raise PolyprobeError(
                f"fact {first['fact_id'][one]} has other candidates in {runs[0].folder} (row "
                f"{one}) than in {runs[1].folder} (row {other}); compare runs on the same dataset "
                "and configuration"
            )
    return [one for one, _ in pairs], [other for _, other in pairs]
