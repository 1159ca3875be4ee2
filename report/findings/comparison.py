"""The comparison of runs as a finding: tested differences, gaps, free predictions, wordings."""

from collections.abc import Iterable, Iterator, Sequence
from textwrap import fill
from typing import Any

from scipy.special import ndtri, stdtr

from polyprobe.analysis.compare.folders import PairOutcome
from polyprobe.analysis.compare.runs import Comparison, Decodings, Gaps
from polyprobe.analysis.compare.sentences.compare import CHRF, QE, VersionComparison
from polyprobe.analysis.compare.sentences.deltas import RECALL, ByRelation
from polyprobe.analysis.compare.sentences.gender import WORDS
from polyprobe.analysis.figures.figures import BY_NAME
from polyprobe.metrics.joint.significance import Difference, Paired
from polyprobe.metrics.shared.intervals import MIN_RESAMPLES
from polyprobe.report.finding import Cell, Column, Estimate, Finding, Part, Role, Table
from polyprobe.report.show import NARROW, NO_WIDTH, has_no_width, name_units

LEVEL = 0.05
EXAMPLES = 3  # of each direction in the terminal
ACCEPTED = 3  # accepted forms of an example
_GROUPS = ("women", "men")
_BY_LANGUAGE = ("recall@1", "mean_rank", "inflection delta", "QE")


def make_several_finding(outcomes: Sequence[PairOutcome]) -> Finding:
    """Make the finding of two compared runs, or of several pairs, one after the other."""
    findings = [*map(make_comparison_finding, outcomes)]
    if len(findings) == 1:
        return findings[0]
    parts = [x._replace(title=f"{of.title}: {x.title}") for of in findings for x in of.parts]
    signatures = dict.fromkeys(x for of in findings for x in of.settings)
    return Finding("; ".join(of.title for of in findings), parts, settings=[*signatures])


def make_comparison_finding(outcome: PairOutcome) -> Finding:
    """Make the finding of two compared runs."""
    comparison, names = outcome.comparison, outcome.comparison.names
    correction = comparison.settings["correction"]
    parts = [*list_comparison_parts(comparison, is_micro=outcome.wording is not None)]
    if wording := outcome.wording:
        title = f"difference (Δ): {wording.direction}"
        lines = _list_lines(wording)
        table = make_differences_table(wording.versions.sides, correction, lines, title=title)
        changes = _make_relations_tables(wording) if comparison.relations else []
        notes = list_notes_of_wording(wording)
        parts.append(Part("Effect of wording", [table, *changes, *notes]))
    if outcome.verdicts:
        parts.append(Part("Gate", [*map(": ".join, outcome.verdicts)]))
    return Finding(" − ".join(names), parts, settings=comparison.runs)


def list_comparison_parts(
    comparison: Comparison, examples: int = EXAMPLES, is_micro: bool = False
) -> Iterator[Part]:
    """Yield the tests, the gaps and the facts that both, one or neither knows.

    `examples` are those of each direction and language. With `is_micro` another part has macro
    averages of the same figures.
    """
    names, correction = comparison.names, comparison.settings["correction"]
    yield _make_tests_part(comparison, is_micro)
    if comparison.gaps:
        yield _make_gaps_part(comparison.gaps, names)
    if comparison.decodings:
        table = make_counts_table(comparison.decodings, names, correction)
        notes = list_notes_of_decodings(comparison.decodings, names, examples)
        yield Part("Facts that both, one or neither knows", [table, *notes])


def _make_tests_part(comparison: Comparison, is_micro: bool) -> Part:
    """List accuracy by language and the means of other figures, then all means by relation."""
    parts = list[list[tuple[str, Difference]]]()
    means = {x: y if x == "accuracy" else y[-1:] for x, y in comparison.differences.items()}
    for by_figure in (means, comparison.by_relation):
        parts.append([])
        for figure, rows in by_figure.items():
            # another table has a macro average of the figure
            of_rows = is_micro or (comparison.decodings and figure == "accuracy")
            end = " (micro)" if of_rows else ""
            parts[-1] += [(f"{BY_NAME[figure].heading} {x.name}{end}", x) for x in rows]
    correction = comparison.settings["correction"]
    tables = [make_differences_table(comparison.names, correction, lines) for lines in parts]
    marks = [NO_WIDTH] if any(has_no_width(x.ci) for lines in parts for _, x in lines) else []
    direction = f"Δ: {comparison.names[0]} less {comparison.names[1]}; {comparison.differ}"
    return Part("Differences", [*tables, *marks, direction, *list_notes(comparison)])


def make_differences_table(
    sides: Sequence[str],
    correction: str,
    rows: Iterable[tuple[str, Difference | Paired]],
    head: str = "figure",
    title: str = "",
) -> Table:
    """List name and both values of each row, their difference (Δ), its interval and p-value."""
    ends = (Column(head, Role.LABEL), Column(f"p ({correction})", Role.P))
    values = [[name, x.first, x.second, x.difference, x.ci, x.p_adjusted] for name, x in rows]
    return Table(_list_columns(sides, *ends), values, title, ruled=True)


def _list_columns(sides: Sequence[str], first: Column, last: Column) -> list[Column]:
    """List the columns of values, their difference (Δ) and its interval, between two others."""
    values = (Column(fill(side, NARROW)) for side in sides)
    return [first, *values, Column("Δ", Role.NUMBER), Column("95%", Role.INTERVAL), last]


def list_notes(comparison: Comparison) -> Iterator[str]:
    """Yield the notes below the table, one line each."""
    settings = comparison.settings
    yield (
        f"{comparison.n_queries:,} rows, {len(comparison.languages)} languages: "
        f"{', '.join(comparison.languages)}; {settings['test']}, "
        f"{settings['n_resamples']:,} resamples of {comparison.n_units:,} "
        f"{name_units(settings['clusters'])}"
    )
    if comparison.score_difference is not None:
        yield f"scores of a candidate differ by {comparison.score_difference:.3g} nats at most"
    if {"rankc_subject", "accuracy_gain"} & {*comparison.differences}:
        yield f"centred RankC and gain: {comparison.n_linked:,} units, which donors link"
    yield from _list_left_out(comparison, comparison.names, " and ")
    for name, count in comparison.left_out_rows.items():
        yield f"{count:,} rows left out: {name}"
    if settings["n_resamples"] < MIN_RESAMPLES:
        yield f"neither tests nor intervals: they need {MIN_RESAMPLES} resamples"
        return
    for figure, rows in comparison.differences.items():
        yield _count_tests(figure, rows[:-1], settings["correction"])
    for figure, rows in comparison.by_relation.items():
        yield _count_tests(figure, rows, settings["correction"], " relations")
    if line := explain_least(comparison):
        yield line


def _list_left_out(
    comparison: Comparison | VersionComparison, names: Sequence[str], separator: str
) -> Iterator[str]:
    """Yield the languages and the numbers of rows that only one run has."""
    if comparison.left_out_languages:
        yield f"excluded (only in one run): languages {', '.join(comparison.left_out_languages)}"
    if any(comparison.left_out):
        pairs = zip(comparison.left_out, names, strict=True)
        counts = separator.join(f"{count:,} of {name}" for count, name in pairs)
        yield f"excluded (only in one run): rows, {counts}"


def _count_tests(figure: str, rows: Sequence[Difference], correction: str, unit: str = "") -> str:
    p = [row.p_adjusted for row in rows if row.p_adjusted is not None]
    share = f"{sum(value < LEVEL for value in p)} of {len(p)}{unit}"
    return f"{BY_NAME[figure].heading}: {share} differ at p ({correction}) < .05"


def explain_least(comparison: Comparison) -> str | None:
    """Name the figures whose p-values cannot fall below .05; None if all can."""
    settings = comparison.settings
    correction, n_resamples = settings["correction"], settings["n_resamples"]
    # the least uncorrected p-value is that of a difference which no resample reaches
    n_units, share = comparison.n_units, 1 / (1 + n_resamples)
    if settings["test"] == "randomisation":
        # n units can be swapped in 2^n ways; the observed one and the one that swaps all reach
        # any difference
        lowest = max(share, 2.0 ** (1 - n_units))
    else:
        # bound by the degrees of freedom (`significance.invert_intervals`); of one unit there is
        # no p
        lowest = 2 * stdtr(n_units - 1, ndtri(min(share, 0.5))) if n_units > 1 else 1.0
    bounds = {}
    for figure, rows in comparison.differences.items():
        tests = sum(row.p_adjusted is not None for row in rows[:-1])
        # Holm multiplies the least of k p-values by k; Benjamini-Hochberg leaves k equal ones.
        bounds[figure] = lowest * (tests if correction == "holm" else min(tests, 1))
    figures = [f"{BY_NAME[x].heading} {min(p, 1):.2g}" for x, p in bounds.items() if p >= LEVEL]
    if not figures:
        return None
    return (
        f"p ({correction}) cannot fall below .05 with {n_units:,} "
        f"{name_units(settings['clusters'], 'rows')} and {n_resamples:,} resamples; least possible "
        f"p: {', '.join(figures)}"
    )


def _make_gaps_part(gaps: Gaps, sides: Sequence[str]) -> Part:
    """List both gaps of each language, their difference (Δ), and its share of the first gap."""
    ends = (Column(f"{gaps.best} −", Role.NAME), Column("share", Role.PERCENT))
    rows: list[list[Any]] = []
    for gap, *_, share, ci in gaps.rows if len(gaps.rows) > 2 else gaps.rows[:1]:  # of one no mean
        estimate = None if share is None else Estimate(share, ci)
        rows.append([gap.name, gap.first, gap.second, gap.difference, gap.ci, estimate])
    table = Table(_list_columns(sides, *ends), rows, ruled=True)
    return Part("Gaps between languages", [table, *list_notes_of_gaps(gaps, sides)])


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


def make_counts_table(decodings: Decodings, names: Sequence[str], correction: str) -> Table:
    """List the facts that both, one or neither run knows, by language and length."""
    columns = [
        Column("facts", Role.LABEL),
        Column("both", Role.COUNT),
        *(Column(f"only\n{name}", Role.COUNT) for name in names),
        Column("neither", Role.COUNT),
        Column(f"p ({correction})", Role.P),
    ]
    rows = [
        [f"{x.language} {x.part}", x.agreed, x.only_first, x.only_second, x.neither, x.p_adjusted]
        for x in decodings.counts
    ]
    return Table(columns, rows, ruled=True)


def list_notes_of_decodings(
    decodings: Decodings, names: Sequence[str], examples: int
) -> Iterator[str]:
    """Yield the notes and examples below the table of counts, one line each."""
    yield "p: McNemar's exact test of the facts that only one run knows, taken as independent"
    yield f"single, multi: the answer is one token, several tokens of {names[0]}'s model"
    for language, count in decodings.not_asked.items():
        if count:
            yield f"{count:,} facts in {language} are left out: not asked in one or both runs"
    for place, (name, knows) in enumerate(zip(names, ("first", "second"), strict=True)):
        for language in decodings.not_asked:
            facts = [x for x in decodings.one_sided if (x.language, x.knows) == (language, knows)]
            for fact in facts[:examples]:
                predictions = (fact.first, fact.second)
                yield (
                    f"only {name}, {language}: {fact.prompt} {predictions[place]!r}, not "
                    f"{predictions[1 - place]!r} ({' | '.join(fact.answer_forms[:ACCEPTED])})"
                )


def _list_lines(comparison: VersionComparison) -> Iterator[tuple[str, Paired]]:
    """Yield title and values of macro averages and micro means, in the order of the runs."""
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


def _make_relations_tables(comparison: VersionComparison) -> list[Table]:
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
    rows.append(["mean", sum(part.n_queries.values()), *part.means.values()])
    correlations = [part.correlations.get(name) for name in part.figures]
    ends = [(None, None) if x is None or x.ci is None else x.ci for x in correlations]
    of_figures: Sequence[tuple[str, Role, list[Any]]] = (
        (f"r with {RECALL}", Role.VALUE, [x and x.r for x in correlations]),
        ("p", Role.P, [x and x.p for x in correlations]),
        ("95% from", Role.VALUE, [low for low, _ in ends]),
        ("95% to", Role.VALUE, [high for _, high in ends]),
        ("relations", Role.COUNT, [x and x.n for x in correlations]),
    )
    for name, role, values in of_figures:
        pairs = zip(correlations, values, strict=True)
        rows.append([name, "", *(Cell(value, role) if x else "" for x, value in pairs)])
    return Table(columns, rows, title, ruled=True, sections=[len(part.n_queries)])


def list_notes_of_wording(comparison: VersionComparison) -> Iterator[str]:
    """Yield the notes below the table of a wording, one line each."""
    yield (
        f"{comparison.n_queries:,} rows in both; macro: mean over relations, micro: over rows; "
        "ranks are of the best correct answer, ties in expectation"
    )
    yield from _list_left_out(comparison, comparison.versions.sides, ", ")
    yield from _list_counts(comparison)
    yield from comparison.notes
    yield from (f"omitted: {line}" for line in comparison.failures)


def _list_counts(comparison: VersionComparison) -> Iterator[str]:
    """Yield what each measure of the texts counts, and by which model or settings."""
    reference, variant = comparison.versions.wordings
    for name, (figures, fields, *_) in comparison.measures.items():
        if name == WORDS:
            for group, counts in fields["n_facts"].items():
                yield f"{group}: facts " + ", ".join(f"{x} {n:,}" for x, n in counts.items() if n)
        elif name == QE and figures:
            source = f"source {fields['source']}/en, {fields['n_queries']:,} rows"
            yield f"{name}: {fields['model']}, {source}"
        elif name == CHRF:
            for language, chrf in fields["by_language"].items():
                ci = chrf["sentences_ci"]
                interval = f"{ci[0]:.1f} to {ci[1]:.1f}" if ci else "–"
                yield (
                    f"{name} {language}: {chrf['corpus']:.1f}, mean of sentences "
                    f"{chrf['sentences']:.1f} ({interval}), {fields['compared']}s, "
                    f"{variant} against {reference} as reference"
                )
            yield f"{name} signature: {fields['signature']}"
