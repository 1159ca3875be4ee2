"""Compare two runs, whatever they are, and print the outcome or return it as JSON."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from rich.table import Table
from scipy.special import ndtri, stdtr

from polyprobe.analysis.compare.decodings import counts_table
from polyprobe.analysis.compare.decodings import list_notes as list_notes_of_decodings
from polyprobe.analysis.compare.gaps import gaps_table
from polyprobe.analysis.compare.gaps import list_notes as list_notes_of_gaps
from polyprobe.analysis.compare.runs import Comparison, compare_runs
from polyprobe.analysis.compare.sentences.compare import VersionComparison, Wanted, compare_versions
from polyprobe.analysis.compare.sentences.several import Several, compare_several
from polyprobe.analysis.compare.sentences.texts import find_versions
from polyprobe.report.format import NO_WIDTH, has_no_width
from polyprobe.report.results import differences_table, short_title
from polyprobe.schema.run.folder import Run
from polyprobe.system.errors import PolyprobeError

from . import wordings as sentences_table

LEVEL = 0.05


class Outcome(NamedTuple):
    """The comparison of two runs.

    Attributes:
        found: tests of all figures.
        between: the effect of wording; None if the runs are not two wordings of one configuration.
    """

    found: Comparison
    between: VersionComparison | None

    @property
    def failures(self) -> list[str]:
        """Return the requested measures of wording that failed."""
        return self.between.failures if self.between else []

    def as_json(self) -> dict[str, Any]:
        """Return differences as figure, name or relation, values; `difference` is their direction.

        `versions` is of two sentence versions.
        """
        found = {
            name: {
                figure: {row.name: dict(list(row._asdict().items())[1:]) for row in rows}
                for figure, rows in getattr(self.found, name).items()
            }
            for name in ("differences", "by_relation")
        }
        direction = {"difference": " - ".join(self.found.names)}
        versions = {"versions": sentences_table.as_json(self.between)} if self.between else {}
        gaps = {"gaps": self.found.gaps and self.found.gaps.as_json()}
        decodings = {"decodings": self.found.decodings and self.found.decodings.as_json()}
        return {**self.found._asdict(), **direction, **found, **gaps, **decodings, **versions}

    def render(self) -> Iterator[Table | str]:
        """Yield tables and lines for a rich console."""
        found = self.found
        micro = [*found.differences] if self.between else ["accuracy"] if found.decodings else []
        tables = [
            [
                (f"{short_title(figure)} {row.name}{' (micro)' if figure in micro else ''}", row)
                for figure, rows in differences.items()
                for row in (rows if whole or figure == "accuracy" else rows[-1:])
            ]
            for differences, whole in ((found.differences, False), (found.by_relation, True))
        ]
        for rows in filter(None, tables):
            yield differences_table(found.names, found.settings["correction"], rows)
        if any(has_no_width(row.ci) for rows in tables for _, row in rows):
            yield NO_WIDTH
        yield f"Δ: {found.names[0]} less {found.names[1]}; {found.differ}"
        yield from list_notes(found)
        if found.gaps:
            yield gaps_table(found.gaps, found.names)
            yield from list_notes_of_gaps(found.gaps, found.names)
        if found.decodings:
            yield counts_table(found.decodings, found.names, found.settings["correction"])
            yield from list_notes_of_decodings(found.decodings, found.names)
        if self.between:
            yield sentences_table.versions_table(self.between, found.settings["correction"])
            if found.relations:
                yield from sentences_table.relations_tables(self.between)
            yield from sentences_table.list_notes(self.between)


def compare_folders(
    runs: Sequence[Run],
    wanted: Wanted,
    needing: dict[str, object],
    by_relation: bool = False,
    **options: Any,
) -> Outcome | Several:
    """Return the comparison of two runs, with the effect of wording if they differ in wording.

    Free predictions have no such effect: they are compared fact by fact. More than two runs are
    compared as wordings of one configuration. `needing` are the options, by name, that are refused
    of other runs; `options` are those of `compare_runs`.
    """
    if len(runs) > 2:
        return compare_several(runs, wanted, by_relation, **options)
    first, second = runs
    free = "predictions" in (first.settings().kind, second.settings().kind)
    versions = None if free else find_versions(first, second)
    if versions:
        found = compare_runs(first, second, by_relation=by_relation, **options)
        return Outcome(found, compare_versions(versions, wanted, **options))
    named = [option for option, value in needing.items() if value]
    if named:
        one, other = (run.settings().data_name for run in (first, second))
        raise PolyprobeError(
            f"{', '.join(named)}: only for two wordings of a configuration; got {one} and {other}, "
            "expected a configuration and the same one with -sentence or -chatgpt"
        )
    return Outcome(compare_runs(first, second, by_relation=by_relation, **options), None)


def list_notes(found: Comparison) -> Iterator[str]:
    """Yield the notes below the table, one line each."""
    clusters, correction = found.settings["clusters"], found.settings["correction"]
    units = "facts" if clusters == "none" else f"{clusters}s"
    yield (
        f"{found.n_queries:,} rows, {len(found.languages)} languages: "
        f"{', '.join(found.languages)}; {found.settings['test']}, "
        f"{found.settings['n_resamples']:,} resamples of {found.n_units:,} {units}"
    )
    if found.left_out_languages:
        yield f"excluded (only in one run): languages {', '.join(found.left_out_languages)}"
    if any(found.left_out):
        only = " and ".join(
            f"{n:,} of {x}" for n, x in zip(found.left_out, found.names, strict=True)
        )
        yield f"excluded (only in one run): rows, {only}"
    for name, count in found.left_out_rows.items():
        yield f"{count:,} rows left out: {name}"
    for figure, rows in found.differences.items():
        tested = [row.p_adjusted for row in rows[:-1] if row.p_adjusted is not None]
        differ = sum(p < LEVEL for p in tested)
        yield f"{short_title(figure)}: {differ} of {len(tested)} differ at p ({correction}) < .05"
    for figure, rows in found.by_relation.items():
        known = [row.p_adjusted for row in rows if row.p_adjusted is not None]
        differ = sum(p < LEVEL for p in known)
        share = f"{differ} of {len(known)} relations"
        yield f"{short_title(figure)}: {share} differ at p ({correction}) < .05"
    if line := explain_least(found):
        yield line


def find_least(test: str, n_units: int, n_resamples: int) -> float:
    """Return the least uncorrected p-value, that of a difference which no resample reaches.

    n units can be swapped in 2^n ways, of which the observed one and the one that swaps all reach
    any difference: 2^(1 - n). The bootstrap is bound by its degrees of freedom, at most n - 1
    (`significance.invert_intervals`); with a single unit it has no p-value, which counts as 1.
    """
    drawn = 1 / (1 + n_resamples)
    if test == "randomisation":
        return max(drawn, 2.0 ** (1 - n_units))
    return float(2 * stdtr(n_units - 1, ndtri(min(drawn, 0.5)))) if n_units > 1 else 1.0


def explain_least(found: Comparison) -> str | None:
    """Return a line on the figures whose p-values cannot fall below .05; None if all can.

    Holm multiplies the least of k p-values by k; Benjamini-Hochberg leaves k equal ones unchanged.
    """
    correction, n_resamples = found.settings["correction"], found.settings["n_resamples"]
    least = find_least(found.settings["test"], found.n_units, n_resamples)
    bounds = {}
    for figure, rows in found.differences.items():
        tested = sum(row.p_adjusted is not None for row in rows[:-1])
        bounds[figure] = least * (tested if correction == "holm" else min(tested, 1))
    bound = [f"{short_title(figure)} {min(p, 1):.2g}" for figure, p in bounds.items() if p >= LEVEL]
    if not bound:
        return None
    clusters = found.settings["clusters"]
    units = "rows" if clusters == "none" else f"{clusters}s"
    return (
        f"p ({correction}) cannot fall below .05 with {found.n_units:,} {units} and "
        f"{n_resamples:,} resamples; least possible p: {', '.join(bound)}"
    )
