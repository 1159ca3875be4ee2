"""The effect of wording as a finding: of two wordings, or of several beside their reference."""

from collections.abc import Iterator, Sequence
from typing import Any

from polyprobe.analysis.compare.sentences.compare import VersionComparison
from polyprobe.analysis.compare.sentences.relations import RECALL, ByRelation
from polyprobe.analysis.compare.sentences.several import Several
from polyprobe.metrics.joint.significance import Paired
from polyprobe.report.finding import Cell, Column, Finding, Part, Role, Table

from .differences import make_differences_table

_GROUPS = ("women", "men")
_BY_LANGUAGE = ("recall@1", "mean_rank", "inflection delta", "feminine verb forms", "QE")


def make_wording_part(comparison: VersionComparison, correction: str, by_relation: bool) -> Part:
    """List macro averages, and the micro means; the columns are in the order of the runs."""
    sides, title = comparison.versions.sides, f"difference (Δ): {comparison.direction}"
    table = make_differences_table(sides, correction, _list_rows(comparison), title)
    changes = make_relations_tables(comparison) if by_relation else []
    return Part("Effect of wording", [table, *changes, *list_notes_of_wording(comparison)])


def _list_rows(comparison: VersionComparison) -> Iterator[tuple[str, Paired]]:
    """Yield the title and the values of each row."""
    single = len(comparison.languages) == 1
    for name, averages in comparison.figures.items():
        macro, micro = averages["macro"], averages["micro"]
        if name.partition(":")[0] in _GROUPS:  # as in the paper's table 6
            yield from ((f"{name} {row.name} (micro)", row) for row in micro[:-1])
            continue
        rows = macro[:1] if single else macro if name in _BY_LANGUAGE else macro[-1:]
        yield from ((f"{name} {row.name} (macro)", row) for row in rows)
        if name in _BY_LANGUAGE:
            yield f"{name} mean (micro)", micro[-1]


def make_relations_tables(comparison: VersionComparison) -> list[Table]:
    """List the changes by relation of each language."""
    direction = comparison.relation_direction
    return [
        make_changes_table(part, f"{language}, by relation: {direction}")
        for language, part in comparison.by_relation.items()
    ]


def make_changes_table(part: ByRelation, title: str = "") -> Table:
    """List the changes of relations, their mean, and r with recall@1, its p, interval and n."""
    columns = [Column("relation", Role.NAME), Column("rows", Role.COUNT)]
    columns += [Column(name) for name in part.figures]
    rows: list[list[Any]] = [
        [relation, n, *(values[relation] for values in part.figures.values())]
        for relation, n in part.n_queries.items()
    ]
    correlations = [part.correlations.get(name) for name in part.figures]
    ends = [(None, None) if x is None or x.ci is None else x.ci for x in correlations]

    def add(name: str, values: Sequence[Any], role: Role = Role.VALUE) -> None:
        pairs = zip(correlations, values, strict=True)
        rows.append([name, "", *(Cell(value, role) if x else "" for x, value in pairs)])

    rows.append(["mean", sum(part.n_queries.values()), *part.means.values()])
    add(f"r with {RECALL}", [x and x.r for x in correlations])
    add("p", [x and x.p for x in correlations], Role.P)
    add("95% from", [low for low, _ in ends])
    add("95% to", [high for _, high in ends])
    add("relations", [x and x.n for x in correlations], Role.COUNT)
    return Table(columns, rows, title, ruled=True, sections=[len(part.n_queries)])


def list_notes_of_wording(comparison: VersionComparison) -> Iterator[str]:
    """Yield the notes below the table, one line each."""
    reference, variant = comparison.versions.wordings
    overlap, words = comparison.overlap, comparison.words
    feminine, quality = comparison.feminine, comparison.quality
    yield (
        f"{comparison.n_queries:,} rows in both; macro: mean over relations, micro: over rows; "
        "ranks are of the best correct answer, ties in expectation"
    )
    if comparison.left_out_languages:
        yield f"excluded (only in one run): languages {', '.join(comparison.left_out_languages)}"
    if any(comparison.left_out):
        counts = zip(comparison.left_out, comparison.versions.sides, strict=True)
        yield "excluded (only in one run): rows, " + ", ".join(f"{n:,} of {x}" for n, x in counts)
    if overlap:
        for language, chrf in overlap.by_language.items():
            ci = chrf.sentences_ci
            interval = f"{ci[0]:.1f} to {ci[1]:.1f}" if ci else "–"
            yield (
                f"chrF {language}: {chrf.corpus:.1f}, mean of sentences {chrf.sentences:.1f} "
                f"({interval}), {overlap.unit}s, {variant} against {reference} as reference"
            )
        yield f"chrF signature: {overlap.signature}"
    for group, counts_of_group in words.n_facts.items() if words else ():
        yield f"{group}: facts " + ", ".join(f"{x} {n:,}" for x, n in counts_of_group.items() if n)
    for language, forms in feminine.forms.items() if feminine else ():
        yield (
            f"feminine verb forms {language}: {forms.variant_feminine} of {forms.variant} in "
            f"{variant}, {forms.reference_feminine} of {forms.reference} in {reference}"
        )
    if quality and quality.score:
        yield (
            f"QE: {quality.model} (comet {quality.version}), source {quality.source}/en, "
            f"{quality.n_queries:,} rows"
        )
    yield from comparison.notes
    yield from (f"omitted: {line}" for line in comparison.failures)


def make_several_finding(several: Several) -> Finding:
    """Make the finding of several wordings: all values, then differences from the reference."""
    reference, *wordings = several.wordings
    blocks: list[Table | str] = [_list_values(several), _list_differences(several)]
    for comparison in several.comparisons if several.by_relation else ():
        blocks += make_relations_tables(comparison)
    settings = several.settings
    if "n_resamples" in settings:
        test = settings.get("test", "randomisation")
        units = "facts" if settings["clusters"] == "none" else f"{settings['clusters']}s"
        blocks.append(f"p: {test}, {settings['n_resamples']:,} resamples of {units}")
    for wording, comparison in zip(wordings, several.comparisons, strict=True):
        blocks += [f"{wording}: {line}" for line in list_notes_of_wording(comparison)]
    title = f"{', '.join(wordings)} − {reference}"
    return Finding(title, [Part("Wordings", blocks)], settings=settings["signatures"])


def _pivot(several: Several) -> dict[str, list[Paired | None]]:
    """List the values of each figure, one for each wording; None where it was not measured."""
    columns = [dict(_list_rows(comparison)) for comparison in several.comparisons]
    names = dict.fromkeys(name for column in columns for name in column)
    return {name: [column.get(name) for column in columns] for name in names}


def _list_values(several: Several) -> Table:
    """List figures as rows and wordings as columns, the reference first."""
    rows = []
    for name, pairs in _pivot(several).items():
        of_reference = next(pair.second for pair in pairs if pair)
        rows.append([name, of_reference, *(pair and pair.first for pair in pairs)])
    heads = [Column(wording, Role.NUMBER) for wording in several.wordings]
    return Table([Column("value", Role.LABEL), *heads], rows, ruled=True)


def _list_differences(several: Several) -> Table:
    """List figures as rows; each wording's difference from the reference and its p as columns.

    p is corrected over the languages of a figure and a wording. Intervals are in the JSON.
    """
    reference, *wordings = several.wordings
    correction = several.settings["correction"]
    p = "p" if correction == "none" else f"p ({correction})"
    columns = [Column("difference", Role.LABEL)]
    for wording in wordings:
        columns += [Column(f"{wording} -\n{reference}", Role.NUMBER), Column(p, Role.P)]
    rows = [
        [name, *(x and getattr(x, key) for x in pairs for key in ("difference", "p_adjusted"))]
        for name, pairs in _pivot(several).items()
    ]
    return Table(columns, rows, ruled=True)
