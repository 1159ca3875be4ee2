"""Groups in the terminal and on a page, and as pictures."""

from collections.abc import Iterator

from rich.table import Table

from polyprobe.analysis.groups.measure import (
    ALL,
    MOST_PAIRED,
    MOST_PERMUTED,
    Group,
    Grouped,
    Outcome,
)
from polyprobe.metrics.joint.groups import ChiSquare, Pair, Permutation
from polyprobe.report.format import format_interval, format_p_value, number
from polyprobe.report.pictures.picture import Bars, Series
from polyprobe.report.results import make_table
from polyprobe.schema.run.rows import ALL_ROWS, describe

ENOUGH = 5  # expected rows, for the chi-squared distribution
PAIRS, SHOWN = 20, 8  # in the terminal: pairs, columns of the table of groups
Cells = tuple[list[str], list[list[str]]]  # head and rows


def list_groups(outcome: Outcome, found: Grouped) -> Cells:
    """Return head and rows of the table of groups; RankC only if a group has it."""
    ranked = any(group.rankc is not None for group in found.groups)
    size = "languages" if outcome.labels.of_languages else "facts"
    head = ["group", size, "right", "wrong", "share", "95%", "errors"]
    rows = [_list_cells(group, ranked) for group in found.groups]
    return head + ["RankC", "95% of RankC"] * ranked, rows


def _list_cells(group: Group, ranked: bool) -> list[str]:
    counts = (f"{round(n, 1):,.10g}" for n in (group.right, group.wrong))
    change = "–" if group.change is None else f"{group.change:+.1f}%"
    share = (number(group.share), format_interval(group.ci), change)
    rankc = [number(group.rankc), format_interval(group.rankc_ci)] if ranked else []
    return [group.name, f"{group.size:,}", *counts, *share, *rankc]


def list_pairs(found: Grouped) -> Cells:
    """Return head and rows of the table of pairs, those with the smallest p-values first."""

    def order(row: Pair) -> tuple[float, float]:
        permuted = row.permutation and row.permutation.p
        return 1 if permuted is None else permuted, 1 if row.test.p is None else row.test.p

    rows = [
        [
            found.groups[row.first].name,
            found.groups[row.second].name,
            number(row.test.chi2),
            format_p_value(row.p_adjusted),
            format_p_value(row.permuted_p_adjusted),
        ]
        for row in sorted(found.pairs, key=order)
    ]
    return ["group", "and", "χ²", "p (holm)", "p permuted (holm)"], rows


def describe_test(test: ChiSquare, permutation: Permutation, unit: str, n_units: int) -> str:
    """Return a test in one line; the reason if it is undefined."""
    if test.chi2 is None:
        reason = "all rows are right, or all wrong" if test.dof else "there is one group"
        return f"no test: {reason}"
    n = f"all {permutation.n:,} assignments" if permutation.exact else f"{permutation.n:,} drawn"
    yates = ", Yates" if test.dof == 1 else ""
    return (
        f"χ²({test.dof}{yates}) = {test.chi2:.3f}, p {show_p(test.p)}, "
        f"V = {number(test.cramers_v)}; permuted over {n_units:,} {unit}s: "
        f"p {show_p(permutation.p)} ({n})"
    )


def show_p(value: float | None) -> str:
    """Return a p-value with its sign; 0 is a value below the smallest double."""
    return "< 1e-300" if value == 0 else f"= {format_p_value(value)}"


def render(outcome: Outcome) -> Iterator[Table | str]:
    """Yield the tables and lines for the terminal."""
    for name, found in outcome.found.items():
        if name != ALL:
            yield f"\n{name}"
        head, rows = list_groups(outcome, found)
        yield make_table(head[:SHOWN], [row[:SHOWN] for row in rows])
        yield describe_test(found.test, found.permutation, outcome.unit, found.n_units)
        head, rows = list_pairs(found)
        if rows:
            yield make_table(head, rows[:PAIRS], words=2)
        if len(rows) > PAIRS:
            yield f"{len(rows) - PAIRS:,} further pairs are in --json and --output"
    yield from list_notes(outcome)
    yield from list_cautions(outcome)


def list_notes(outcome: Outcome) -> Iterator[str]:
    """Yield notes on the groups and figures, one line each."""
    yield outcome.labels.note
    groups = outcome.labels.groups
    if missing := groups.count(None):
        kind = "languages" if outcome.labels.of_languages else "rows of each language"
        yield f"{missing:,} of {len(groups):,} {kind} are in no group and left out"
    bootstrap = outcome.bootstrap
    if bootstrap.n_resamples:
        within = bootstrap.clusters == outcome.by == "relation"  # see clusters_within
        unit = "facts" if within or bootstrap.clusters == "none" else f"{bootstrap.clusters}s"
        yield f"95%: bootstrap, {bootstrap.n_resamples:,} resamples of {unit}"
    yield "errors: the group's share of the errors, relative to its share of the rows"
    unit = outcome.unit
    yield f"p of χ² assumes independent rows; the permuted p keeps rows of a {unit} together"
    if outcome.choice != ALL_ROWS:
        yield f"figures of a part of the scored rows: {describe(outcome.choice)}"
    for reason, count in outcome.left_out.items():
        yield f"{count:,} rows left out: {reason}"


def list_cautions(outcome: Outcome) -> Iterator[str]:
    """Yield the reasons why tests are inexact or omitted."""
    if outcome.caution:
        yield outcome.caution
    found = outcome.found.values()
    least = [grouped.test.least_expected for grouped in found]
    if any(value is not None and value < ENOUGH for value in least):
        yield f"an expected count is below {ENOUGH}: p of χ² is inexact; use the permuted p"
    most = max(len(grouped.groups) for grouped in found)
    if most > MOST_PAIRED:
        yield f"pairs of groups are tested for at most {MOST_PAIRED} groups"
    elif most > MOST_PERMUTED:
        yield f"labels of pairs are permuted for at most {MOST_PERMUTED} groups"


def list_pictures(outcome: Outcome) -> dict[str, Bars]:
    """Return the bars of all languages together or of each one, by name; also those of RankC."""
    pictures = {}
    for name, found in outcome.found.items():
        where = "" if name == ALL else f" in {name}"
        labels = [group.name for group in found.groups]
        shares = Series("right", [x.share for x in found.groups], [x.ci for x in found.groups])
        title = f"Right rows by {outcome.by}{where}"
        pictures[name] = Bars(title, labels, [shares], "share of right rows")
        ranked = [group for group in found.groups if group.rankc is not None]
        if ranked:
            rankc = Series(
                "RankC",
                [x.rankc for x in ranked if x.rankc is not None],
                [x.rankc_ci for x in ranked],
            )
            bars = Bars(f"RankC by {outcome.by}", [x.name for x in ranked], [rankc], "mean RankC")
            pictures["rankc"] = bars
    return pictures
