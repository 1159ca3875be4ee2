"""Subword overlap of single queries (Qi et al. 2023, section 6.2: .17 for a query in ru and uk)."""

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from polyprobe.metrics.joint.relate import relate_within
from polyprobe.metrics.shared.intervals import estimate_figure, index_labels
from polyprobe.system.errors import PolyprobeError

from .pairs import Pairs
from .vocabularies import Corpus, split_at_blanks


class QueryOverlaps(NamedTuple):
    """The overlap of single queries and its correlation with their RankC."""

    n_facts: int  # queries in each language
    n: int  # queries times pairs of languages
    overlap: float  # mean
    # Within pairs of languages and relations: the mean of each pair in each relation is removed
    # from both. None if one of them is constant
    r: float | None
    ci: list[float] | None  # over facts or clusters


def relate_queries(pairs: Pairs, corpus: Corpus, options: dict[str, Any]) -> QueryOverlaps:
    """Correlate overlap and RankC over queries; `options` are those of the bootstrap."""
    if pairs.facts is None or not pairs.facts.matched:
        raise PolyprobeError(f"--by-query requires RankC, which {pairs.run.folder} does not have")
    overlaps = overlap_queries(corpus)
    relations = pairs.table["relation"].to_pylist()
    codes = index_labels(relations, len(relations), "relations")[1]
    figure = relate_within(overlaps, pairs.facts.rankc.astype(np.float64), codes)
    result = estimate_figure(figure, **options)
    mean = float(overlaps.mean())
    return QueryOverlaps(len(overlaps), overlaps.size, mean, result["r"], result.get("r_ci"))


def overlap_queries(corpus: Corpus) -> np.ndarray:
    """Compute the token overlap of each query [facts, pairs]; 0 if neither has tokens."""
    texts = [[part.fill(row) for row in range(len(part.prompts))] for part in corpus.texts.values()]
    if corpus.by_words:
        texts = [
            [[*{*chain.from_iterable(map(split_at_blanks, x))}] for x in rows] for rows in texts
        ]
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
