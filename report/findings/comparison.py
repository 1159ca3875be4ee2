"""The comparison of two runs as a finding: tested differences, and gaps between languages."""

from collections.abc import Iterator, Sequence
from textwrap import fill

from scipy.special import ndtri, stdtr

from polyprobe.analysis.compare.folders import DifferenceRow, PairOutcome
from polyprobe.analysis.compare.gaps import Gap, Gaps
from polyprobe.analysis.compare.runs import Comparison
from polyprobe.analysis.compare.sentences.several import Several
from polyprobe.analysis.figures.figures import BY_NAME
from polyprobe.metrics.joint.significance import Difference
from polyprobe.report.finding import Column, Estimate, Finding, Part, Role, Table
from polyprobe.report.format import NARROW, NO_WIDTH, has_no_width

from .decodings import make_decodings_part
from .differences import make_differences_table
from .wordings import make_several_finding, make_wording_part

LEVEL = 0.05


def make_comparison_finding(outcome: PairOutcome | Several) -> Finding:
    """Make the finding of two compared runs, or of several wordings."""
    if isinstance(outcome, Several):
        return make_several_finding(outcome)
    comparison, names = outcome.comparison, outcome.comparison.names
    correction = comparison.settings["correction"]
    parts = [_make_tests_part(outcome)]
    if comparison.gaps:
        parts.append(make_gaps_part(comparison.gaps, names))
    if comparison.decodings:
        parts.append(make_decodings_part(comparison.decodings, names, correction))
    if outcome.wording:
        parts.append(make_wording_part(outcome.wording, correction, bool(comparison.relations)))
    return Finding(" − ".join(names), parts, settings=comparison.runs)


def _make_tests_part(outcome: PairOutcome) -> Part:
    """List accuracy by language and the means of other figures, then all means by relation."""
    comparison, tables = outcome.comparison, []
    rows = [x for x in outcome.rows if x.level != "name" or x.figure == "accuracy"]
    for of_relations in (False, True):
        lines = [
            (_name_row(row), row.difference)
            for row in rows
            if (row.level == "relation") == of_relations
        ]
        correction = comparison.settings["correction"]
        tables.append(make_differences_table(comparison.names, correction, lines))
    marks = [NO_WIDTH] if any(has_no_width(row.difference.ci) for row in rows) else []
    direction = f"Δ: {comparison.names[0]} less {comparison.names[1]}; {comparison.differ}"
    return Part("Differences", [*tables, *marks, direction, *list_notes(comparison)])


def _name_row(row: DifferenceRow) -> str:
    weighting = f" ({row.weighting})" if row.weighting else ""
    return f"{BY_NAME[row.figure].heading} {row.difference.name}{weighting}"


def list_notes(comparison: Comparison) -> Iterator[str]:
    """Yield the notes below the table, one line each."""
    settings = comparison.settings
    yield (
        f"{comparison.n_queries:,} rows, {len(comparison.languages)} languages: "
        f"{', '.join(comparison.languages)}; {settings['test']}, "
        f"{settings['n_resamples']:,} resamples of {comparison.n_units:,} "
        f"{_name_units(comparison, 'facts')}"
    )
    if comparison.left_out_languages:
        yield f"excluded (only in one run): languages {', '.join(comparison.left_out_languages)}"
    if any(comparison.left_out):
        pairs = zip(comparison.left_out, comparison.names, strict=True)
        counts = (f"{count:,} of {name}" for count, name in pairs)
        yield f"excluded (only in one run): rows, {' and '.join(counts)}"
    for name, count in comparison.left_out_rows.items():
        yield f"{count:,} rows left out: {name}"
    for figure, rows in comparison.differences.items():
        yield _count_significant(figure, rows[:-1], settings["correction"])
    for figure, rows in comparison.by_relation.items():
        yield _count_significant(figure, rows, settings["correction"], " relations")
    if line := explain_least(comparison):
        yield line


def _name_units(comparison: Comparison, single: str) -> str:
    clusters = comparison.settings["clusters"]
    return single if clusters == "none" else f"{clusters}s"


def _count_significant(
    figure: str, rows: Sequence[Difference], correction: str, unit: str = ""
) -> str:
    p = [row.p_adjusted for row in rows if row.p_adjusted is not None]
    share = f"{sum(value < LEVEL for value in p)} of {len(p)}{unit}"
    return f"{BY_NAME[figure].heading}: {share} differ at p ({correction}) < .05"


def find_least(test: str, n_units: int, n_resamples: int) -> float:
    """Compute the least uncorrected p-value, that of a difference which no resample reaches.

    n units can be swapped in 2^n ways, of which the observed one and the one that swaps all reach
    any difference: 2^(1 - n). The bootstrap is bound by its degrees of freedom, at most n - 1
    (`significance.invert_intervals`); with a single unit it has no p-value, which counts as 1.
    """
    share = 1 / (1 + n_resamples)
    if test == "randomisation":
        return max(share, 2.0 ** (1 - n_units))
    return float(2 * stdtr(n_units - 1, ndtri(min(share, 0.5)))) if n_units > 1 else 1.0


def explain_least(comparison: Comparison) -> str | None:
    """Name the figures whose p-values cannot fall below .05; None if all can.

    Holm multiplies the least of k p-values by k; Benjamini-Hochberg leaves k equal ones unchanged.
    """
    settings = comparison.settings
    correction, n_resamples = settings["correction"], settings["n_resamples"]
    lowest = find_least(settings["test"], comparison.n_units, n_resamples)
    bounds = {}
    for figure, rows in comparison.differences.items():
        tests = sum(row.p_adjusted is not None for row in rows[:-1])
        bounds[figure] = lowest * (tests if correction == "holm" else min(tests, 1))
    figures = [f"{BY_NAME[x].heading} {min(p, 1):.2g}" for x, p in bounds.items() if p >= LEVEL]
    if not figures:
        return None
    return (
        f"p ({correction}) cannot fall below .05 with {comparison.n_units:,} "
        f"{_name_units(comparison, 'rows')} and {n_resamples:,} resamples; least possible p: "
        f"{', '.join(figures)}"
    )


def make_gaps_part(gaps: Gaps, sides: Sequence[str]) -> Part:
    """List both gaps of each language, their difference (Δ), and its share of the first gap."""
    columns = [
        Column(f"{gaps.best} −", Role.NAME),
        *(Column(fill(side, NARROW)) for side in sides),
        Column("Δ", Role.NUMBER),
        Column("95%", Role.INTERVAL),
        Column("share", Role.PERCENT),
    ]
    rows = gaps.rows if len(gaps.rows) > 2 else gaps.rows[:1]  # of one gap no mean
    table = Table(columns, [_list_gap(row) for row in rows], ruled=True)
    return Part("Gaps between languages", [table, *list_notes_of_gaps(gaps, sides)])


def _list_gap(row: Gap) -> list[object]:
    share = None if row.share is None else Estimate(row.share, row.share_ci)
    return [row.gap.name, row.gap.first, row.gap.second, row.gap.difference, row.gap.ci, share]


def list_notes_of_gaps(gaps: Gaps, sides: Sequence[str]) -> Iterator[str]:
    """Yield the notes below the table of gaps, one line each."""
    yield (
        f"{gaps.best} −: accuracy of {gaps.best}, the best by the mean of both runs, less "
        "that of the language"
    )
    yield "share: Δ / the first run's gap, the part of it that changes with the protocol"
    for side, above in zip(sides, gaps.above_floor, strict=True):
        if above is False:
            yield (
                f"{side} is not above its floor in {gaps.best}: its gaps are small, whatever the "
                "model knows"
            )
    if any(has_no_width(row.gap.ci) for row in gaps.rows):
        yield NO_WIDTH
    if any(row.share is None for row in gaps.rows):
        yield "share –: no gap to explain; the 95% interval of the first run's includes 0"
