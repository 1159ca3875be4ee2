"""Correlations of similarities of languages with a figure of their pairs."""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from polyprobe.analysis.compare.sentences.deltas import Pearson, compute_pearson
from polyprobe.analysis.figures.figures import NAMES_OF_PAIRS
from polyprobe.analysis.figures.units import link_donors, read_clusters, resolve_bootstrap
from polyprobe.analysis.options import Bootstrap
from polyprobe.metrics.joint import relate
from polyprobe.metrics.joint.significance import withhold
from polyprobe.metrics.shared import intervals
from polyprobe.schema.languages import list_traits
from polyprobe.schema.run.folder import Run
from polyprobe.schema.run.rows import ALL_ROWS
from polyprobe.system.messages import PolyprobeError, check_option

from . import DEFAULTS, SUBWORDS, RelateOptions
from .pairs import Pairs, Similarity, find_complete, flatten, load_rows, measure_pairs, spread
from .sources import find_similarities
from .vocabularies import Corpus, read_subwords, split_at_blanks


class Related(NamedTuple):
    """A similarity and its correlation with the figure."""

    similarity: Similarity
    places: list[int]  # of the languages whose pairs all have values
    left_out: dict[str, str]  # language → why
    correlation: relate.Correlation  # with the figure
    ci: list[float] | None  # of r over facts
    partial: relate.Correlation | None  # controls for the third table
    # Pearson's and Spearman's correlation of the numbers of languages, if the table consists of
    # them, with their accuracy
    of_languages: tuple[Pearson, Pearson] | None


class QueryOverlaps(NamedTuple):
    """The overlap of single queries and its correlation with their RankC (Qi 2023, section 6.2)."""

    n_facts: int  # queries in each language
    n: int  # queries times pairs of languages
    overlap: float  # mean
    # Within pairs of languages and relations: the mean of each pair in each relation is removed
    # from both. None if one of them is constant
    r: float | None
    ci: list[float] | None  # over facts or clusters


class Correlations(NamedTuple):
    """The correlations of a figure of pairs."""

    pairs: Pairs
    rows: list[Related]
    control: Similarity | None  # which partial correlations control for
    bootstrap: Bootstrap  # resolved
    options: RelateOptions
    queries: QueryOverlaps | None  # with `by_query`

    def as_json(self) -> dict[str, Any]:
        """List the settings, the figure of each pair, and each similarity with its correlations."""
        pairs, choice = self.pairs, self.options.choice
        return {
            "signature": pairs.run.settings().signature,
            "of": pairs.of.name,
            "languages": pairs.languages,
            "n_queries": len(pairs.table),
            "left_out": pairs.left_out,
            "subset": None if choice == ALL_ROWS else choice.as_json(),
            "given": self.control.name if self.control else None,
            "permutations": self.options.n_resamples,
            "permuted_within": self.options.within,
            "resampling": asdict(self.bootstrap),
            "accuracy": dict(zip(pairs.languages, map(_defined, pairs.accuracy), strict=True)),
            "values": self._name_values(pairs.values),
            "similarities": {row.similarity.name: self._describe(row) for row in self.rows},
            "by_query": self.queries and self.queries._asdict(),
        }

    def _describe(self, row: Related) -> dict[str, Any]:
        with_accuracy = None
        if row.of_languages:
            plain, ranked = row.of_languages
            with_accuracy = {**plain._asdict(), "rho": ranked.r, "p_rho": ranked.p}
        return {
            "says": row.similarity.description,
            **row.similarity.details,
            **row.correlation._asdict(),
            "r_ci": row.ci,
            "partial": row.partial and row.partial._asdict(),
            "with_accuracy": with_accuracy,
            "languages": [self.pairs.languages[place] for place in row.places],
            "left_out": row.left_out,
            "values": self._name_values(row.similarity.values),
        }

    def _name_values(self, table: np.ndarray) -> dict[str, float | None]:
        languages = self.pairs.languages
        values = flatten(table, range(len(languages)))
        return dict(zip(intervals.name_pairs(languages), map(_defined, values), strict=True))


def relate_run(
    run: Run,
    items: Sequence[str],
    options: RelateOptions = DEFAULTS,
    languages: Sequence[str] | None = None,
) -> Correlations:
    """Correlate similarities (`sources.find_similarities`) with a figure of a run's pairs."""
    check_option("--of", options.of, NAMES_OF_PAIRS)  # before anything slow
    sources = [*items, options.control] if options.control else [*items]
    if options.by_query and SUBWORDS not in sources:
        raise PolyprobeError(f"--by-query requires --with {SUBWORDS}")
    choice = options.choice
    tables, left_out = load_rows(run, choice, languages)
    with ThreadPoolExecutor(1) as thread:  # numpy and tokenizers can work at the same time
        future: Future[tuple[Corpus, Similarity]] | None = None
        if SUBWORDS in sources:
            corpus = (options.corpus, options.tokenizer)
            future = thread.submit(read_subwords, run, tables, *corpus)
        pairs = measure_pairs(run, options.of, tables, left_out)
        parts = [find_similarities(item, pairs, choice, future) for item in sources]
    third = parts.pop()[0] if options.control else None
    similarities = [similarity for part in parts for similarity in part]
    names = [similarity.name for similarity in similarities]
    if doubled := [name for name in names if names.count(name) > 1]:
        raise PolyprobeError(f"--with has {doubled[0]} twice; leave one out, or rename it")
    limit = intervals.choose_resamples(len(pairs.table), len(pairs.figure.names))
    bounded = replace(options, n_resamples=min(options.n_resamples, limit))
    bootstrap = resolve_bootstrap(bounded, pairs.table, len(pairs.languages))
    linked = link_donors(pairs.table, bootstrap.clusters) if pairs.of.of_second else None
    clusters = linked or read_clusters(pairs.table, bootstrap.clusters)
    draws = asdict(bootstrap) | {"clusters": clusters}
    pairs = pairs._replace(figure=withhold(pairs.figure, intervals.Resampling(**draws)))
    queries = None
    if options.by_query and future:
        queries = _relate_queries(pairs, future.result()[0], draws)
    rows = _bound(pairs, _test(pairs, similarities, third, options), draws)
    return Correlations(pairs, rows, third, bootstrap, options, queries)


def _test(
    pairs: Pairs,
    similarities: Sequence[Similarity],
    third: Similarity | None,
    options: RelateOptions,
) -> list[Related]:
    values, languages = pairs.values, pairs.languages
    within = options.within
    # a language without the trait is a block of its own: it is not permuted
    traits = list_traits(languages, within) if within else dict.fromkeys(languages, "")
    blocks = np.array([traits.get(language, language) for language in languages])
    controls = [third.values] if third else []
    places = [tuple(find_complete([values, x.values, *controls])) for x in similarities]
    rows: dict[int, Related] = {}
    # One set of permutations serves all similarities of the same languages.
    for common in dict.fromkeys(places):
        numbers = [number for number, x in enumerate(places) if x == common]
        reasons = [_explain(pairs, similarities[i], common, third) for i in numbers]
        if len(common) < relate.FEWEST:
            causes = "; ".join(f"{x}: {why}" for x, why in reasons[0].items())
            raise PolyprobeError(
                f"--with {similarities[numbers[0]].name}: a correlation over pairs requires "
                f"{relate.FEWEST} languages or more; left out are {causes}"
            )
        tables = np.array([flatten(similarities[i].values, common) for i in numbers])
        how: dict[str, Any] = {"n_permutations": options.n_resamples, "seed": options.seed}
        how["blocks"] = np.unique(blocks[[*common]], return_inverse=True)[1]
        figures = flatten(values, common)
        plain = relate.correlate(figures, tables, **how)
        partial: Sequence[relate.Correlation | None] = [None] * len(numbers)
        if third:
            partial = relate.correlate(figures, tables, flatten(third.values, common), **how)
        for i, reason, r, partial_r in zip(numbers, reasons, plain, partial, strict=True):
            with_accuracy = _correlate_numbers(similarities[i].numbers, pairs.accuracy)
            rows[i] = Related(similarities[i], [*common], reason, r, None, partial_r, with_accuracy)
    return [rows[i] for i in range(len(similarities))]


def _bound(pairs: Pairs, rows: Sequence[Related], options: dict[str, Any]) -> list[Related]:
    """Add the intervals of the correlations that are defined."""
    size = len(pairs.languages)
    numbers = spread(np.arange(size * (size - 1) / 2), size)
    tests = []
    for row in (row for row in rows if row.correlation.r is not None):
        places = flatten(numbers, row.places).astype(int).tolist()
        similarity = row.similarity.figure or flatten(row.similarity.values, row.places)
        tests.append((places, similarity))
    bounds = iter(relate.bound_correlations(pairs.figure, tests, **options))
    return [row if row.correlation.r is None else row._replace(ci=next(bounds)) for row in rows]


def _explain(
    pairs: Pairs, similarity: Similarity, places: Sequence[int], third: Similarity | None
) -> dict[str, str]:
    reasons = {**(third.missing if third else {}), **similarity.missing}
    excluded = (x for place, x in enumerate(pairs.languages) if place not in places)
    return {x: reasons.get(x, "a pair has no value") for x in excluded}


def _correlate_numbers(
    numbers: np.ndarray | None, accuracy: np.ndarray
) -> tuple[Pearson, Pearson] | None:
    """Compute Pearson's and Spearman's correlation over the languages with both."""
    if numbers is None:
        return None
    defined = ~np.isnan(numbers) & ~np.isnan(accuracy)
    x, y = numbers[defined], accuracy[defined]
    return compute_pearson(x, y), compute_pearson(rankdata(x), rankdata(y))


def _defined(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _relate_queries(pairs: Pairs, corpus: Corpus, options: dict[str, Any]) -> QueryOverlaps:
    """Correlate overlap and RankC over queries; `options` are those of the bootstrap."""
    if pairs.facts is None or not pairs.facts.matched:
        raise PolyprobeError(f"--by-query requires RankC, which {pairs.run.folder} does not have")
    overlaps = _overlap_queries(corpus)
    relations = pairs.table["relation"].to_pylist()
    codes = intervals.index_labels(relations, len(relations), "relations")[1]
    figure = relate.relate_within(overlaps, pairs.facts.rankc.astype(np.float64), codes)
    result = intervals.estimate_figure(figure, **options)
    mean = float(overlaps.mean())
    return QueryOverlaps(len(overlaps), overlaps.size, mean, result["r"], result.get("r_ci"))


def _overlap_queries(corpus: Corpus) -> np.ndarray:
    """Compute the token overlap of each query [facts, pairs]; 0 if neither has tokens."""
    texts = [[part.fill(row) for row in range(len(part.prompts))] for part in corpus.texts.values()]
    if corpus.by_words:
        texts = [[[*{*chain.from_iterable(map(split_at_blanks, x))}] for x in y] for y in texts]
    distinct = [*{*chain.from_iterable(chain.from_iterable(texts))}]
    tokenizer = corpus.tokenizer
    ids = {
        text: frozenset(tokens) - tokenizer.special
        for text, tokens in zip(distinct, tokenizer.encode(distinct), strict=True)
    }
    firsts, seconds = np.triu_indices(len(texts), 1)
    overlaps = np.zeros((len(texts[0]), len(firsts)))
    for overlap, of_languages in zip(overlaps, zip(*texts, strict=True), strict=True):
        marks = _mark([frozenset().union(*(ids[text] for text in row)) for row in of_languages])
        shared, sizes = (marks @ marks.T)[firsts, seconds], marks.sum(axis=1)
        union = sizes[firsts] + sizes[seconds] - shared
        np.divide(shared, union, out=overlap, where=union > 0)
    return overlaps


def _mark(sets: Sequence[frozenset[int]]) -> np.ndarray:
    """Mark by 1 where a set has a token [sets, distinct tokens], so that products count tokens."""
    sizes = [*map(len, sets)]
    flat = np.fromiter(chain.from_iterable(sets), np.int64, sum(sizes))
    distinct, places = np.unique(flat, return_inverse=True)
    table = np.zeros((len(sets), len(distinct)))
    table[np.repeat(np.arange(len(sets)), sizes), places] = 1
    return table
