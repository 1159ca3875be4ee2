"""Groups of a run as a finding: right and wrong rows, tests, bars."""

from collections.abc import Iterator
from operator import attrgetter

from polyprobe.analysis.groups import groups as analysis
from polyprobe.analysis.groups.groups import Groups, GroupTable
from polyprobe.metrics.joint.groups import ChiSquare, Pair, Permutation
from polyprobe.report.finding import Column, Drawing, Finding, Part, Role, Table
from polyprobe.report.show import format_p_value, format_value, name_units
from polyprobe.schema.run.folder import name_runs
from polyprobe.schema.run.rows import ALL_ROWS, describe_choice
from polyprobe.system.files import read_toml

ENOUGH = 5  # expected rows, for the chi-squared distribution
LISTED = 20  # pairs in the terminal
TERMS = read_toml(__package__, "terms.toml")["groups"]


def make_groups_finding(groups: Groups) -> Finding:
    """Make the finding of the groups of a run."""
    settings, [name] = groups.run.settings(), name_runs([groups.run])
    lead = ""
    if len(groups.tables) == 1:
        ordered = sorted(next(iter(groups.tables.values())).groups, key=attrgetter("share"))
        worst, best = ordered[0], ordered[-1]
        lead = (
            f"{name} is right in {format_value(best.share)} of the rows of {best.name} and in "
            f"{format_value(worst.share)} of the rows of {worst.name}."
        )
    return Finding(
        f"{name} on {settings.data_name} by {groups.by}",
        [_make_part(groups, language) for language in groups.tables],
        lead,
        settings=[settings.signature],
        notes=[*_list_notes(groups)],
        cautions=[*_list_cautions(groups)],
        terms=[*TERMS.items()],
    )


def _make_part(groups: Groups, language: str) -> Part:
    table, heading = groups.tables[language], "" if language == analysis.TOGETHER else language
    test = describe_test(table.test, table.permutation, groups.unit, table.n_units)
    size = "languages" if groups.labels.of_languages else "facts"
    columns = [Column("group", Role.LABEL), Column(size, Role.COUNT), *Column.read("groups")]
    rows = [[x.name, x.size, x.right, x.wrong, x.share, x.ci, x.change] for x in table.groups]
    if any(group.rankc is not None for group in table.groups):
        columns += Column.read("groups with RankC")
        pairs = zip(rows, table.groups, strict=True)
        rows = [[*row, group.rankc, group.rankc_ci] for row, group in pairs]
    shares = Table(columns, rows)
    pictures = [*_draw(shares, groups.by, language)]
    title = f"Right rows, {heading or 'all languages'}"
    return Part(title, [shares, test, _list_pairs(table)], pictures, heading)


def _list_pairs(table: GroupTable) -> Table:
    """List the tested pairs, those with the smallest p-values first."""

    def order(pair: Pair) -> tuple[float, float]:
        permuted = pair.permutation and pair.permutation.p
        return 1 if permuted is None else permuted, 1 if pair.test.p is None else pair.test.p

    names = [group.name for group in table.groups]
    rows = [
        [names[x.first], names[x.second], x.test.chi2, x.p_adjusted, x.permuted_p_adjusted]
        for x in sorted(table.pairs, key=order)
    ]
    columns = Column.read("pairs of groups")
    return Table(columns, rows, limit=LISTED, noun="pairs", folded="Pairs of groups")


def describe_test(test: ChiSquare, permutation: Permutation, unit: str, n_units: int) -> str:
    """Describe a test in one line; give the reason if it is undefined."""
    if test.chi2 is None:
        reason = "all rows are right, or all wrong" if test.dof else "there is one group"
        return f"no test: {reason}"
    n = f"all {permutation.n:,} assignments" if permutation.exact else f"{permutation.n:,} drawn"
    yates = ", Yates" if test.dof == 1 else ""
    return (
        f"χ²({test.dof}{yates}) = {test.chi2:.3f}, p {_sign_p(test.p)}, "
        f"V = {format_value(test.cramers_v)}; permuted over {n_units:,} {unit}s: "
        f"p {_sign_p(permutation.p)} ({n})"
    )


def _sign_p(value: float | None) -> str:
    """Format a p-value with its sign; 0 is a value below the smallest double."""
    return "< 1e-300" if value == 0 else f"= {format_p_value(value)}"


def _list_notes(groups: Groups) -> Iterator[str]:
    labels, bootstrap, unit = groups.labels, groups.bootstrap, groups.unit
    yield labels.note
    if missing := labels.groups.count(None):
        kind = "languages" if labels.of_languages else "rows of each language"
        yield f"{missing:,} of {len(labels.groups):,} {kind} are in no group and left out"
    if bootstrap.n_resamples:
        within = bootstrap.clusters == groups.by == "relation"  # see read_clusters
        resampled = name_units("none" if within else bootstrap.clusters)
        yield f"95%: bootstrap, {bootstrap.n_resamples:,} resamples of {resampled}"
    yield "errors: the group's share of the errors, relative to its share of the rows"
    yield f"p of χ² assumes independent rows; the permuted p keeps rows of a {unit} together"
    if groups.choice != ALL_ROWS:
        yield f"figures of a part of the scored rows: {describe_choice(groups.choice)}"
    for reason, count in groups.left_out.items():
        yield f"{count:,} rows left out: {reason}"


def _list_cautions(groups: Groups) -> Iterator[str]:
    if groups.caution:
        yield groups.caution
    counts = [table.test.least_expected for table in groups.tables.values()]
    if any(count is not None and count < ENOUGH for count in counts):
        yield f"an expected count is below {ENOUGH}: p of χ² is inexact; use the permuted p"
    n = max(len(table.groups) for table in groups.tables.values())
    if n > analysis.MOST_PAIRED:
        yield f"pairs of groups are tested for at most {analysis.MOST_PAIRED} groups"
    elif n > analysis.MOST_PERMUTED:
        yield f"labels of pairs are permuted for at most {analysis.MOST_PERMUTED} groups"


def _draw(table: Table, by: str, language: str) -> Iterator[Drawing]:
    """Draw bars of all languages together or of one, and those of RankC."""
    where = "" if language == analysis.TOGETHER else f" in {language}"
    bars = table.draw(f"Right rows by {by}{where}", "share of right rows", ["share"])
    yield Drawing(language, bars)
    if "RankC" in (column.head for column in table.columns):
        ranked = table._replace(rows=[row for row in table.rows if row[-2] is not None])
        yield Drawing("rankc", ranked.draw(f"RankC by {by}", "mean RankC", ["RankC"]))
