"""Compare two runs on the same facts: paired tests, and what only one of two decodings knows."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence, Set
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from scipy.special import bdtr

from polyprobe.analysis.figures.compute import OPTIONS
from polyprobe.analysis.figures.facts import ScoredFacts, read_scored
from polyprobe.analysis.figures.figures import BY_NAME, HEADLINE, LANGUAGE, SEPARATE, RunFigure
from polyprobe.analysis.figures.options import MetricOptions
from polyprobe.analysis.figures.parts import list_rows, pick_facts
from polyprobe.analysis.figures.predictions import find_overlaps, mark_accuracy, read_predictions
from polyprobe.analysis.figures.units import link_donors, read_clusters, resolve_clusters
from polyprobe.metrics.accuracy_at_1.formulas import chance_accuracy
from polyprobe.metrics.joint.significance import Difference, compare_figures, correct_values
from polyprobe.metrics.shared.intervals import NO_SHARES, Figure, add_mean, divide, estimate_figure
from polyprobe.metrics.shared.rows import take
from polyprobe.schema.columns import key_rows
from polyprobe.schema.run.folder import Run, compare_settings, describe_differing, name_runs
from polyprobe.schema.run.rows import ALL_ROWS, Choice
from polyprobe.system.messages import PolyprobeError, track
from polyprobe.system.options import check_arguments

from .match import Match, Pair, match_runs

Marks = Mapping[str, np.ndarray]
Both = tuple[Figure, Figure]
# of both runs, by name; measured when it is compared: a figure of 1,378 pairs takes much memory
Figures = dict[str, Callable[[], Both]]
_Units = tuple[Sequence[Hashable], Sequence[Hashable]]  # of each row
# Parts of the signature that belong to the protocol, and those that may differ beside it: of two
# runs the common rows are compared, and the product changes scores by rounding only.
PROTOCOL = {"scoring", "chat"}
BESIDE = {"other languages", "rows", "relations", "exclude", "product"}


class Counts(NamedTuple):
    """The facts of one language and length that both, one or neither of two runs know."""

    language: str
    part: str  # `all`, `single` (the answer is one token of the first run's model) or `multi`
    agreed: int  # right in both
    only_first: int
    only_second: int
    neither: int
    p: float | None  # of McNemar's exact test; None without a fact that only one knows
    p_adjusted: float | None  # corrected over the languages of this part


class OneSided(NamedTuple):
    """A fact that only one run knows."""

    language: str
    fact_id: str
    relation: str
    knows: str  # `first` or `second`, the run that is right
    single_token: bool  # of the first run's model
    prompt: str  # of the first run
    answer_forms: list[str]  # accepted by the first run
    first: str  # the predictions
    second: str


class Decodings(NamedTuple):
    """The facts that two runs know."""

    counts: list[Counts]  # of each language and length, in this order
    # by language; the first run's first, one of each relation before a second
    one_sided: list[OneSided]
    not_asked: dict[str, int]  # facts by language that one of the runs was not asked, left out here
    by_relation: dict[str, dict[str, dict[str, int]]]  # by language, with `n_queries`

    def as_json(self) -> dict[str, Any]:
        """List all fields, the counts by language and length."""
        counts: dict[str, dict[str, Any]] = {}
        for language, part, agreed, *values in self.counts:
            names = dict(zip(Counts._fields[3:], values, strict=True))
            counts.setdefault(language, {})[part] = {"both": agreed, **names}
        facts = [fact._asdict() for fact in self.one_sided]
        return {**self._asdict(), "counts": counts, "one_sided": facts}


def find_mcnemar_p(only_first: int, only_second: int) -> float | None:
    """Compute the two-sided p of McNemar's exact test (binomial, p = 1/2); None for 0 and 0.

    >>> find_mcnemar_p(1, 5)  # 2 (1 + 6) / 2^6
    0.21875
    """
    n = only_first + only_second
    return min(1.0, 2 * float(bdtr(min(only_first, only_second), n, 0.5))) if n else None


def compare_decodings(
    tables: Pair, right: tuple[Marks, Marks], correction: str = "holm"
) -> Decodings:
    """Compare the facts that both runs were asked by their marks (`mark_predictions`)."""
    counts: list[Counts] = []
    one_sided: list[OneSided] = []
    not_asked, by_relation = {}, {}
    for language, first in tables[0].items():
        marks = [right[0][language], right[1][language]]
        common = ~np.isnan(marks[0] + marks[1])  # asked in both runs
        single = np.array([bool(flag) for flag in first["single_token"].to_pylist()])
        not_asked[language] = int((~common).sum())
        parts = {"all": common, "single": common & single, "multi": common & ~single}
        counts += [_count(language, part, marks, rows) for part, rows in parts.items()]
        for knows, sign in (("first", 1), ("second", -1)):
            places = np.flatnonzero(common & (marks[0] - marks[1] == sign))
            rows = _spread(first["relation"], places)
            one_sided += _list_facts(language, knows, first, tables[1][language], rows)
        by_relation[language] = {
            relation: {
                "n_queries": int(common[rows].sum()),
                "only_first": int((marks[0][rows] - marks[1][rows] == 1).sum()),
                "only_second": int((marks[1][rows] - marks[0][rows] == 1).sum()),
            }
            for relation, rows in list_rows(first["relation"].to_pylist()).items()
        }
    return Decodings(_correct(counts, correction), one_sided, not_asked, by_relation)


def _count(language: str, part: str, marks: Sequence[np.ndarray], rows: np.ndarray) -> Counts:
    pairs = Counter(zip(marks[0][rows].tolist(), marks[1][rows].tolist(), strict=True))
    agreed, first, second, neither = (pairs[pair] for pair in ((1, 1), (1, 0), (0, 1), (0, 0)))
    p = find_mcnemar_p(first, second)
    return Counts(language, part, agreed, first, second, neither, p, None)


def _correct(counts: Sequence[Counts], correction: str) -> list[Counts]:
    """Correct the p-values over the languages of each length."""
    adjusted: dict[tuple[str, str], float | None] = {}
    for part in dict.fromkeys(row.part for row in counts):
        rows = [row for row in counts if row.part == part]
        p = correct_values([row.p for row in rows], correction)
        adjusted |= zip(((row.language, part) for row in rows), p, strict=True)
    return [row._replace(p_adjusted=adjusted[row[:2]]) for row in counts]


def _spread(relations: pa.ChunkedArray, rows: np.ndarray) -> list[int]:
    """Order rows with one of each relation before a second one: reports show the first few."""
    turns = [turn for _, turn in key_rows(relations.take(rows).to_pylist())]
    return [row for _, row in sorted(zip(turns, rows.tolist(), strict=True))]


def _list_facts(
    language: str, knows: str, first: pa.Table, second: pa.Table, rows: Sequence[int]
) -> Iterator[OneSided]:
    places = pa.array(rows, pa.int64())
    predictions = second["prediction"].take(places).to_pylist()
    for row, prediction in zip(first.take(places).to_pylist(), predictions, strict=True):
        columns = [row[name] for name in ("single_token", "prompt", "answer_forms", "prediction")]
        columns.append(prediction)
        yield OneSided(language, row["fact_id"], row["relation"], knows, *columns)


class Gap(NamedTuple):
    """The gap of a language to the best one in both runs, or `mean`, of all these gaps."""

    gap: Difference
    first_ci: list[float] | None  # 95% intervals of the two gaps
    second_ci: list[float] | None
    # difference / first, the part of the first gap that changes with the protocol: 1 if the second
    # run has no gap, below 0 if it has a larger one. None if `first_ci` includes 0: there is no gap
    # to explain
    share: float | None
    share_ci: list[float] | None


class Gaps(NamedTuple):
    """The gaps of accuracy of two runs."""

    best: str  # with the highest mean of both runs' accuracies; the first of equals
    rows: list[Gap]  # `mean` last
    # Whether the best language's interval of accuracy is above the most frequent answers (chance,
    # if unknown) in each run; None without an interval. Else gaps are small, whatever the model
    # knows
    above_floor: tuple[bool | None, bool | None]

    def as_json(self) -> dict[str, Any]:
        """Name the best language, and list the values of each language by name."""
        by_name = {}
        for (name, *values), *bounds in self.rows:
            names = (*Difference._fields[1:], *Gap._fields[1:])
            by_name[name] = dict(zip(names, [*values, *bounds], strict=True))
        return {"best": self.best, "above_floor": self.above_floor, "gaps": by_name}


class Comparison(NamedTuple):
    """Two runs side by side."""

    names: Sequence[str]
    runs: Sequence[str]  # signatures
    differ: str  # the settings that differ, in one line
    languages: list[str]  # of both, in the first one's order
    left_out_languages: list[str]  # of one alone
    n_queries: int  # common rows
    n_units: int  # facts or clusters that are swapped and drawn
    n_linked: int  # those of centred RankC and gain, which donors link
    left_out: tuple[int, int]  # rows of the first, of the second alone
    differences: dict[str, list[Difference]]  # by figure, `mean` last
    settings: dict[str, Any]  # of the tests, and the choice of rows
    left_out_rows: dict[str, int]  # common rows without the choice, by reason
    relations: dict[str, int]  # rows by relation, if these are compared
    by_relation: dict[str, list[Difference]]  # by figure, of the means; p corrected over relations
    gaps: Gaps | None = None  # of runs that differ in their protocol alone
    decodings: Decodings | None = None  # of free predictions
    # The largest difference of a candidate's scores, of a served model and a second source
    score_difference: float | None = None

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


@check_arguments
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

    Facts and languages of one alone are left out and counted, as are rows without the `choice`.
    With `by_relation` the means of the headline figures are also compared in each relation.
    `options` has weights, ties and fillings, `test` the options of `significance.compare_figures`.

    Raises:
        PolyprobeError: no common language or fact, or other candidates for the same fact.
    """
    runs, match = (first, second), match_runs(first, second, choice)
    table = match.tables[0][match.languages[0]]  # ids and relations are those of all languages
    units, clusters = _list_units(match, clusters), resolve_clusters(table, clusters)
    differing = compare_settings([run.settings() for run in runs])
    relations = list_rows(table["relation"].to_pylist()) if by_relation else {}
    within = _list_units(match, clusters, within=True) if by_relation else units
    try:
        pairs, facts, decodings = _measure(runs, match.tables, options, figures, test)
        by_figure, of_relations = _compare_pairs(pairs, units, relations, within, test)
        gaps, changes = None, differing.keys() - BESIDE
        if facts and len(match.languages) > 1 and changes and changes <= PROTOCOL:
            gaps = compare_gaps(facts, units[False], **test)
    except ValueError as error:
        raise PolyprobeError(str(error)) from error
    return Comparison(
        name_runs(runs),
        [run.settings().signature for run in runs],
        describe_differing(runs),
        match.languages,
        match.left_out_languages,
        len(table),
        len({*units[False]}),
        len({*units[True]}),
        match.left_out,
        by_figure,
        {"clusters": clusters, **test, **choice.as_json()},
        match.left_out_rows,
        {name: len(rows) for name, rows in relations.items()},
        of_relations,
        gaps,
        decodings,
        _find_score_difference(match.tables, differing.keys()),
    )


def _find_score_difference(tables: Pair, differing: Set[str]) -> float | None:
    """Find the largest difference of a candidate's scores in runs that differ in their server."""
    if "server" not in differing or differing & {"model", "scoring", "chat"}:
        return None
    first, second = (
        [np.array(x["scores"].combine_chunks().flatten()) for x in side.values()] for side in tables
    )
    return float(max(np.nanmax(np.abs(a - b)) for a, b in zip(first, second, strict=True)))


def _measure(
    runs: tuple[Run, Run],
    tables: Pair,
    options: MetricOptions,
    figures: Sequence[RunFigure],
    test: Mapping[str, Any],
) -> tuple[Figures, tuple[ScoredFacts, ScoredFacts] | None, Decodings | None]:
    """Measure the figures that both runs have; free predictions are compared fact by fact too."""
    if runs[0].settings().kind == "predictions":
        marks, decodings = _measure_predictions(runs, tables, options, test)
        return {x.name: marks[x.name] for x in figures if x.name in marks}, None, decodings
    sides = zip(runs, tables, strict=True)
    first, second = (read_scored(*side, options, with_parts=False) for side in sides)
    pairs: Figures = {
        figure.name: partial(_measure_both, figure, first, second)
        for figure in figures
        if figure.compared
        and (figure.per == LANGUAGE or len(first.languages) > 1)
        and figure.applies(first)
        and figure.applies(second)
    }
    return pairs, (first, second), None


def _measure_both(figure: RunFigure, first: ScoredFacts, second: ScoredFacts) -> Both:
    """Measure a figure of both runs, without the weights of its intervals."""
    pair = []
    for facts in (first, second):
        pair.append(figure.measure(facts)._replace(shares=NO_SHARES))
        if figure.of_second and figure.input.matched:  # once: these take half of the memory
            facts.second = None
    return pair[0], pair[1]


def _measure_predictions(
    runs: tuple[Run, Run], tables: Pair, options: MetricOptions, test: Mapping[str, Any]
) -> tuple[Figures, Decodings]:
    """Measure free predictions with the winners of the options, and compare them by fact."""
    sides = zip(runs, tables, strict=True)
    first, second = (read_predictions(*side, options) for side in sides)
    marks = (first.right, second.right)
    for language in first.languages:
        # A fact that either was not asked counts in neither.
        blank = np.isnan(marks[0][language] + marks[1][language])
        for side in marks:
            side[language][blank] = np.nan
    correction = test.get("correction", "holm")
    decodings = compare_decodings((first.tables, second.tables), marks, correction)
    kernels = {"accuracy": mark_accuracy}
    if len(first.languages) > 1:
        kernels["coverlap"] = find_overlaps

    def mark(name: str) -> Both:
        return kernels[name](marks[0]), kernels[name](marks[1])

    return {name: partial(mark, name) for name in kernels}, decodings


def _list_units(match: Match, kind: str, within: bool = False) -> _Units:
    """List the units of the rows, for figures of their own sentences and of donors'."""
    first, second = (side[match.languages[0]] for side in match.tables)
    units = read_clusters(first, kind, within)
    linked = link_donors(pa.concat_tables([first, second]), kind, within)
    rows = units or range(len(first))
    return rows, linked[: len(first)] if linked else rows


def _compare_pairs(
    pairs: Figures,
    units: _Units,
    relations: Mapping[str, np.ndarray],
    within: _Units,
    test: Mapping[str, Any],
) -> tuple[dict[str, list[Difference]], dict[str, list[Difference]]]:
    """Compare all figures over `units`, headline figures in each relation over those `within`."""
    by_figure, of_relations = {}, {}
    for name in track([*pairs], "comparing"):
        pair, is_linked = pairs[name](), BY_NAME[name].of_second
        by_figure[name] = compare_figures(*pair, clusters=units[is_linked], **test)
        if relations and BY_NAME[name] in HEADLINE:
            of_relations[name] = _compare_relations(pair, relations, within[is_linked], test)
    return by_figure, of_relations


def _compare_relations(
    pair: Both,
    relations: Mapping[str, np.ndarray],
    units: Sequence[Hashable],
    test: Mapping[str, Any],
) -> list[Difference]:
    """Compare the means of a figure in each relation, p corrected over relations."""
    means = []
    for relation, rows in relations.items():
        first, second = (pick_facts(figure, rows) for figure in pair)
        *_, mean = compare_figures(first, second, **test, clusters=take(units, rows.tolist()))
        means.append(mean._replace(name=relation))
    adjusted = correct_values([row.p for row in means], test.get("correction", "holm"))
    return [row._replace(p_adjusted=p) for row, p in zip(means, adjusted, strict=True)]


def compare_gaps(
    facts: tuple[ScoredFacts, ScoredFacts], units: Sequence[object] | None, **options: Any
) -> Gaps:
    """Compare the gaps of accuracy between the best language and each of the others."""
    accuracy = [BY_NAME["accuracy"].measure(scores) for scores in facts]
    # The best language by both runs: the choice favours neither.
    values = sum(figure.statistic(figure.table.sum(axis=0))[:-1] for figure in accuracy)
    best = int(np.argmax(values))
    first, second = (find_gaps(figure, best) for figure in accuracy)
    rows = compare_figures(first, second, clusters=units, **options)
    resampling: dict[str, Any] = {"n_resamples": 10_000, "clusters": units}
    resampling |= {name: options[name] for name in ("n_resamples", "seed") if name in options}
    # One seed draws the same units for all figures.
    figures = (first, second, find_share(first, second), *accuracy)
    of_first, of_second, share, *levels = (estimate_figure(x, **resampling) for x in figures)
    gaps = []
    for row in rows:
        key = f"{row.name}_ci"
        interval = of_first.get(key)
        # Without a gap in the first run there is none to explain.
        open_gap = interval is not None and not interval[0] <= 0 <= interval[1]
        values_of_share = (share[row.name], share[key]) if open_gap else (None, None)
        gaps.append(Gap(row, interval, of_second.get(key), *values_of_share))
    name, above_floor = accuracy[0].names[best], []
    for scores, level in zip(facts, levels, strict=True):
        interval = level.get(f"{name}_ci")
        if scores.baseline:
            floor = scores.baseline[name]
        else:
            floor = chance_accuracy(scores.scores[name], scores.answers)
        above_floor.append(None if interval is None else bool(interval[0] > floor.mean()))
    return Gaps(name, gaps, (above_floor[0], above_floor[1]))


def find_gaps(figure: Figure, best: int) -> Figure:
    """Make the figure of one language's value less that of each other one, and their mean."""
    places = [place for place in range(len(figure.names) - 1) if place != best]

    def statistic(sums: np.ndarray) -> np.ndarray:
        values = figure.statistic(sums)
        return add_mean(values[..., [best]] - values[..., places])

    return Figure([*(figure.names[place] for place in places), "mean"], figure.table, statistic)


def find_share(first: Figure, second: Figure) -> Figure:
    """Make the figure of (first - second) / first of each name; NaN where first is 0."""
    width = first.table.shape[1]

    def statistic(sums: np.ndarray) -> np.ndarray:
        before, after = first.statistic(sums[..., :width]), second.statistic(sums[..., width:])
        sign = np.sign(before)  # `divide` is defined above 0, and a gap may be below
        return divide(np.concatenate([(before - after) * sign, before * sign], axis=-1))

    return Figure(first.names, np.concatenate([first.table, second.table], axis=1), statistic)
