"""Correlations with a figure of pairs: table, JSON and pictures."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from rich.table import Table
from rich.text import Text
from scipy.stats import rankdata

from polyprobe.analysis.compare.sentences.relations import Correlation as OverLanguages
from polyprobe.analysis.compare.sentences.relations import correlate as correlate_languages
from polyprobe.analysis.figures.options import Bootstrap, read_clusters
from polyprobe.metrics.joint.relate import (
    FEWEST,
    Correlation,
    bound_correlations,
    correlate,
)
from polyprobe.metrics.shared.intervals import choose_resamples
from polyprobe.metrics.shared.rows import name_pairs
from polyprobe.report.format import format_interval, format_p_value, number
from polyprobe.report.pictures.picture import Heat, Picture, Point, Points
from polyprobe.schema.languages import list_traits
from polyprobe.schema.run.folder import Run
from polyprobe.schema.run.naming import name_runs, shorten_signature
from polyprobe.schema.run.rows import ALL_ROWS, Choice
from polyprobe.system.errors import PolyprobeError, check_option

from . import ACCURACIES, ACCURACY, FILLED, PROMPTS, SUBWORDS
from .pairs import (
    EXPLAINED,
    Pairs,
    Similarity,
    find_known,
    flatten,
    measure_pairs,
    read_rows,
    spread,
)
from .queries import Queries, relate_queries
from .sources import find_similarities
from .vocabularies import Subwords, read_subwords

HEADS = ("similarity", "pairs", "", "value", "95%", "p", "Mantel p")


class Related(NamedTuple):
    """A similarity and its correlation with the figure.

    Attributes:
        similarity: table of the similarity.
        places: places of the languages whose pairs all have values.
        left_out: other language → the reason.
        found: correlations.
        ci: 95% interval of r over facts.
        partial: partial correlations that control for the third table; None without one.
        of_languages: Pearson's and Spearman's correlation of numbers of languages with their
            accuracy; None if the table does not consist of numbers of languages.
    """

    similarity: Similarity
    places: list[int]
    left_out: dict[str, str]
    found: Correlation
    ci: list[float] | None
    partial: Correlation | None
    of_languages: tuple[OverLanguages, OverLanguages] | None


class Outcome(NamedTuple):
    """The correlations of a figure of pairs.

    Attributes:
        pairs: the figure.
        rows: one for each similarity.
        given: third table, which partial correlations control for; None without one.
        bootstrap: resolved options of the intervals.
        n_permutations: maximum number of permutations of the languages.
        within: trait whose values limit the permutations; None without one.
        queries: correlation over single queries; None without `by_query`.
        choice: choice of rows.
    """

    pairs: Pairs
    rows: list[Related]
    given: Similarity | None
    bootstrap: Bootstrap
    n_permutations: int
    within: str | None
    queries: Queries | None
    choice: Choice

    @property
    def name(self) -> str:
        """Return the run's short name."""
        return name_runs([self.pairs.run])[0]

    def as_json(self) -> dict[str, Any]:
        """Return the settings, the figure of each pair, and each similarity with its correlations.

        Undefined values are null. `languages` of a similarity are those in its correlations.
        """
        pairs = self.pairs
        return {
            "signature": pairs.run.settings().signature,
            "of": pairs.of.name,
            "languages": pairs.languages,
            "n_queries": len(pairs.table),
            "left_out": pairs.left_out,
            "subset": None if self.choice == ALL_ROWS else self.choice.as_json(),
            "given": self.given.name if self.given else None,
            "permutations": self.n_permutations,
            "permuted_within": self.within,
            "resampling": self.bootstrap._asdict(),
            "accuracy": dict(zip(pairs.languages, map(_defined, pairs.accuracy), strict=True)),
            "values": self._name_values(pairs.values),
            "similarities": {row.similarity.name: self._describe(row) for row in self.rows},
            "by_query": self.queries and self.queries._asdict(),
        }

    def _describe(self, row: Related) -> dict[str, Any]:
        of_languages = row.of_languages and {
            **row.of_languages[0]._asdict(),
            "rho": row.of_languages[1].r,
            "p_rho": row.of_languages[1].p,
        }
        return {
            "says": row.similarity.says,
            **row.similarity.details,
            **row.found._asdict(),
            "r_ci": row.ci,
            "partial": row.partial and row.partial._asdict(),
            "with_accuracy": of_languages,
            "languages": [self.pairs.languages[place] for place in row.places],
            "left_out": row.left_out,
            "values": self._name_values(row.similarity.values),
        }

    def _name_values(self, table: np.ndarray) -> dict[str, float | None]:
        languages = self.pairs.languages
        found = flatten(table, range(len(languages)))
        return dict(zip(name_pairs(languages), map(_defined, found), strict=True))

    def render(self) -> Iterator[Table | str]:
        """Yield the table and the lines below it for a rich console."""
        yield make_table(self)
        yield from list_notes(self)


def relate_run(
    run: Run,
    items: Sequence[str],
    *,
    of: str = "rankc",
    given: str | None = None,
    languages: Sequence[str] | None = None,
    choice: Choice = ALL_ROWS,
    corpus: str = FILLED,
    tokenizer: str | None = None,
    by_query: bool = False,
    n_permutations: int = 10_000,
    within: str | None = None,
    seed: int = 0,
    clusters: str = "auto",
) -> Outcome:
    """Return the correlations of similarities of languages with a figure of a run's pairs.

    Args:
        run: run with scores or predictions.
        items: names of similarities, TSV files and run folders, see `sources.find_similarities`.
        of: name of the figure.
        given: another such item, which partial correlations control for.
        languages: splits; None: all.
        choice: choice of rows.
        corpus: corpus for `subwords`, see `vocabularies.read_subwords`.
        tokenizer: tokenizer for `subwords`: a model; None: that of the run.
        by_query: also correlate subword overlap with RankC over single queries.
        n_permutations: maximum number of permutations of the languages and of bootstrap resamples.
        within: permute languages with the same value of this trait only (`TRAITS`); None: all.
        seed: seed of permutations and bootstrap.
        clusters: resampling unit of the bootstrap.

    Raises:
        PolyprobeError: any mistake that the caller can correct, in one line.
    """
    check_option("--of", of, EXPLAINED)  # before anything slow
    wanted = [*items, given] if given else [*items]
    if given == ACCURACY:
        raise PolyprobeError(f"--given takes one similarity: {', '.join(ACCURACIES)}")
    if by_query and SUBWORDS not in wanted:
        raise PolyprobeError(f"--by-query requires --with {SUBWORDS}")
    if by_query and corpus not in (FILLED, PROMPTS):
        raise PolyprobeError(f"--by-query requires --corpus {FILLED} or {PROMPTS}; got {corpus}")
    tables, left_out = read_rows(run, choice, languages)
    with ThreadPoolExecutor(1) as thread:  # numpy and tokenizers can work at the same time
        subwords: Future[Subwords] | None = None
        if SUBWORDS in wanted:
            subwords = thread.submit(read_subwords, run, tables, corpus, tokenizer)
        pairs = measure_pairs(run, of, tables, left_out)
        parts = [find_similarities(item, pairs, choice, subwords) for item in wanted]
    third = parts.pop()[0] if given else None
    similarities = [one for found in parts for one in found]
    names = [one.name for one in similarities]
    if doubled := [name for name in names if names.count(name) > 1]:
        raise PolyprobeError(f"--with has {doubled[0]} twice; leave one out, or rename it")
    bootstrap = Bootstrap(
        min(n_permutations, choose_resamples(len(pairs.table), len(pairs.figure.names))),
        seed,
        clusters,
    ).resolve(pairs.table, len(pairs.languages))
    options = bootstrap._asdict() | {"clusters": read_clusters(pairs.table, bootstrap.clusters)}
    queries = None
    if by_query and subwords:
        queries = relate_queries(pairs, subwords.result().corpus, options)
    traits = list_traits(pairs.languages, within) if within else dict.fromkeys(pairs.languages, "")
    blocks = [traits.get(language, language) for language in pairs.languages]
    rows = _relate(pairs, similarities, third, n_permutations, blocks, options)
    return Outcome(pairs, rows, third, bootstrap, n_permutations, within, queries, choice)


def _relate(
    pairs: Pairs,
    similarities: Sequence[Similarity],
    third: Similarity | None,
    n_permutations: int,
    blocks: Sequence[str],
    options: dict[str, Any],
) -> list[Related]:
    """Return the rows of the table; similarities with the same languages are tested together."""
    values, size = pairs.values, len(pairs.languages)
    also = [third.values] if third else []
    known = [tuple(find_known([values, one.values, *also])) for one in similarities]
    found: dict[int, tuple[Correlation, Correlation | None]] = {}
    for places in dict.fromkeys(known):
        chosen = [i for i, own in enumerate(known) if own == places]
        if len(places) < FEWEST:
            one = similarities[chosen[0]]
            reasons = (f"{x}: {why}" for x, why in _explain(pairs, one, places, third).items())
            raise PolyprobeError(
                f"--with {one.name}: a correlation over pairs requires {FEWEST} languages or more; "
                f"left out are {'; '.join(reasons)}"
            )
        tables = np.array([flatten(similarities[i].values, places) for i in chosen])
        own = np.unique([blocks[place] for place in places], return_inverse=True)[1]
        how = {"n_permutations": n_permutations, "seed": options["seed"], "blocks": own}
        of_pairs = flatten(values, places)
        plain = correlate(of_pairs, tables, **how)
        partial: Sequence[Correlation | None] = [None] * len(chosen)
        if third:
            partial = correlate(of_pairs, tables, flatten(third.values, places), **how)
        found |= dict(zip(chosen, zip(plain, partial, strict=True), strict=True))
    numbers = spread(np.arange(size * (size - 1) / 2), size)
    tested = [i for i in found if found[i][0].r is not None]
    bounds = bound_correlations(
        pairs.figure,
        [
            (
                flatten(numbers, known[i]).astype(int).tolist(),
                similarities[i].figure or flatten(similarities[i].values, known[i]),
            )
            for i in tested
        ],
        **options,
    )
    intervals = dict(zip(tested, bounds, strict=True))
    return [
        Related(
            one,
            [*known[i]],
            _explain(pairs, one, known[i], third),
            found[i][0],
            intervals.get(i),
            found[i][1],
            None if one.numbers is None else _correlate_numbers(one.numbers, pairs.accuracy),
        )
        for i, one in enumerate(similarities)
    ]


def _explain(
    pairs: Pairs, one: Similarity, places: Sequence[int], third: Similarity | None
) -> dict[str, str]:
    """Return the reason why each language is left out."""
    reasons = {**(third.missing if third else {}), **one.missing}
    left = (x for place, x in enumerate(pairs.languages) if place not in places)
    return {x: reasons.get(x, "a pair has no value") for x in left}


def _correlate_numbers(
    numbers: np.ndarray, accuracy: np.ndarray
) -> tuple[OverLanguages, OverLanguages]:
    """Return Pearson's and Spearman's correlation over the languages with both."""
    known = ~np.isnan(numbers) & ~np.isnan(accuracy)
    x, y = numbers[known], accuracy[known]
    return correlate_languages(x, y), correlate_languages(rankdata(x), rankdata(y))


def make_table(found: Outcome) -> Table:
    """Return the correlations with both p-values, for a rich console."""
    table = Table(header_style="bold", highlight=False, box=None, padding=(0, 1, 0, 0))
    for place, head in enumerate(HEADS):
        table.add_column(head, justify="left" if place in (0, 2) else "right", no_wrap=place > 0)
    for cells in list_cells(found):
        table.add_row(*map(Text, cells))
    return table


def list_cells(found: Outcome) -> Iterator[list[str]]:
    """Yield the lines of each similarity: r and ρ, then partial r and partial ρ."""
    for row in found.rows:
        head = [row.similarity.name, f"{row.found.n:,}"]
        parts = [("", row.found, row.ci), ("partial ", row.partial, None)]
        for kind, one, ci in parts:
            if one is None:
                continue
            for sign, value, p, mantel in (
                ("r", one.r, one.p, one.p_mantel),
                ("ρ", one.rho, one.p_rho, one.p_mantel_rho),
            ):
                interval = format_interval(ci) if sign == "r" and not kind else ""
                tests = map(format_p_value, (p, mantel))
                yield [*head, f"{kind}{sign}", number(value), interval, *tests]
                head = ["", ""]


def list_notes(found: Outcome) -> Iterator[str]:
    """Yield the notes, one line each."""
    pairs, drawn = found.pairs, found.bootstrap
    yield (
        f"{pairs.of.title} of {len(pairs.languages)} languages, {len(pairs.table):,} facts: "
        f"{shorten_signature(pairs.run.settings().signature)}"
    )
    yield "p: assumes independent pairs, as in the papers; too small, because pairs share languages"
    within = f" within the same {found.within}" if found.within else ""
    yield (
        f"Mantel p: {found.n_permutations:,} permutations of the languages{within}, or all if fewer"
    )
    units = "facts" if drawn.clusters == "none" else f"{drawn.clusters}s"
    yield f"95%: bootstrap of r, {drawn.n_resamples:,} resamples of {units}; languages are fixed"
    if found.given:
        yield f"partial: controls for {found.given.name}; residuals are permuted"
    for row in found.rows:
        yield f"{row.similarity.name}: {row.similarity.says}"
        if row.left_out:
            why = ", ".join(f"{x} ({reason})" for x, reason in row.left_out.items())
            yield f"{row.similarity.name}: {len(row.left_out)} languages left out: {why}"
        if row.of_languages:
            plain, ranked = row.of_languages
            yield (
                f"{row.similarity.name} of a language and its accuracy: r {number(plain.r)}, "
                f"p {format_p_value(plain.p)}, 95% {format_interval(plain.ci)}; "
                f"ρ {number(ranked.r)}, p {format_p_value(ranked.p)}; {plain.n} languages"
            )
    if found.queries:
        one = found.queries
        yield (
            f"query by query: r of overlap and RankC within pairs {number(one.r)}, 95% "
            f"{format_interval(one.ci)}, {one.n:,} queries; mean overlap {number(one.overlap)}"
        )


def list_pictures(found: Outcome) -> dict[str, Picture]:
    """Return a scatter plot and a heat map of each similarity, and a heat map of the figure."""
    pairs, values = found.pairs, found.pairs.values
    of = pairs.of.title
    pictures: dict[str, Picture] = {}
    for row in found.rows:
        name = row.similarity.name
        pictures[name] = Points(title_of(row), list_points(found, row), name, of, line_of(row))
    pictures[f"{pairs.of.name}-map"] = _draw_map(of, pairs.languages, values, values)
    for row in found.rows:
        name = row.similarity.name
        pictures[f"{name}-map"] = _draw_map(name, pairs.languages, row.similarity.values, values)
    return pictures


def title_of(row: Related) -> str:
    """Return the correlation in words."""
    found = row.found
    return f"r = {number(found.r)}, Mantel p = {format_p_value(found.p_mantel)}, {found.n:,} pairs"


def list_points(found: Outcome, row: Related) -> list[Point]:
    """Return the points of a scatter plot: similarity and figure of each pair."""
    languages = [found.pairs.languages[place] for place in row.places]
    values = (flatten(x, row.places) for x in (row.similarity.values, found.pairs.values))
    return [
        Point(*xy)
        for xy in zip(name_pairs(languages), *map(np.ndarray.tolist, values), strict=True)
    ]


def line_of(row: Related) -> tuple[float, float] | None:
    """Return slope and intercept of the regression."""
    found = row.found
    if found.slope is None or found.intercept is None:
        return None
    return found.slope, found.intercept


def _draw_map(
    measure: str, languages: Sequence[str], values: np.ndarray, similar: np.ndarray
) -> Heat:
    drawn = np.where(np.eye(len(values), dtype=bool), np.nan, values)
    return Heat(measure, languages, languages, drawn, measure, similar=similar)


def _defined(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
