"""The ceiling of RankC: the score of a model with the same ranking of entities in all languages.

A draw assigns a random value to each entity of a query. Each language's candidates are ranked by
the values of their entities; in `answer_first` the answers rank above all others, as in a model
that knows the facts. Queries with the same entities in all languages score 1 and are not drawn.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from .parallel import Judged
from .split import Split

SEED = 20231210
QUERIES = 4096  # in a batch: a small dataset is drawn several times at once
FEWEST, MOST = 24, 1000  # batches
STANDARD_ERROR = 0.0002  # of the least certain pair; drawing ends below it


class Ceiling(NamedTuple):
    """RankC of a perfectly consistent model, for each unordered pair of languages, as "el-en"."""

    random: dict[str, float]
    answer_first: dict[str, float]
    draws: int
    standard_error: float  # the largest of all pairs in both, 0 without draws
    rows_left_out: int  # without candidates, or with different numbers of them by language


def compute_ceiling(splits: Mapping[str, Split], judged: Mapping[str, Judged]) -> Ceiling:
    """Return the ceiling of each pair of languages, over rows of equal size in all languages."""
    rows = list(zip(*(language.entities for language in judged.values()), strict=True))
    fit = [row for row, names in enumerate(rows) if len({len(n) for n in names}) == 1 and names[0]]
    differ = [row for row in fit if any(names != rows[row][0] for names in rows[row])]
    share = len(differ) / len(fit) if fit else 0.0
    pairs = ["-".join(pair) for pair in combinations(splits, 2)]
    left_out = len(rows) - len(fit)
    if not fit or not differ or not pairs:
        same = {pair: 1.0 for pair in pairs if fit}
        return Ceiling(same, dict(same), 0, 0.0, left_out)
    answers = [[split.answers[row] for split in splits.values()] for row in differ]
    places, first, absent = number_entities([rows[row] for row in differ], answers)
    indices = np.triu_indices(len(splits), 1)
    means, error, draws = average(places, first, absent, share)
    # Exactly 1, unlike a sum of floats, where all queries are equal.
    equal = [
        [np.array_equal(values[k], values[j]) for k, j in zip(*indices, strict=True)]
        for values in (places, first)
    ]
    means[np.array([equal[0], np.logical_and(*equal)])] = 1
    scores = (1 - share * (1 - means)).tolist()
    random, answer_first = (dict(zip(pairs, row, strict=True)) for row in scores)
    return Ceiling(random, answer_first, draws, error, left_out)


def number_entities(
    entities: Sequence[Sequence[Sequence[str]]], answers: Sequence[Sequence[Sequence[int]]]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Number the entities of each query, and mark answers and absent candidates.

    Lists are by query and language. The first two arrays are [languages, queries, most candidates],
    the third [queries, most candidates].
    """
    sizes = [len(names[0]) for names in entities]
    shape = (len(entities[0]), len(entities), max(sizes))
    places: np.ndarray = np.zeros(shape, dtype=np.intp)
    first: np.ndarray = np.zeros(shape, dtype=bool)
    size = 0
    for query, languages in enumerate(entities):
        numbers: dict[str, int] = {}
        for k, names in enumerate(languages):
            values = [numbers.setdefault(name, size + len(numbers)) for name in names]
            places[k, query, : len(values)] = values
            first[k, query, answers[query][k]] = True
        size += len(numbers)
    return places, first, np.arange(max(sizes)) >= np.array(sizes)[:, None]


def average(
    places: np.ndarray, first: np.ndarray, absent: np.ndarray, share: float
) -> tuple[np.ndarray, float, int]:
    """Return the means over draws, their largest error, and the number of draws."""
    # The means have the shape (random, answer first) x pairs. The error is that of the mean over
    # all rows; `share` is the share of drawn rows.
    generator = np.random.default_rng(SEED)
    copies = max(1, QUERIES // len(absent))
    masked = np.tile(absent, (copies, 1))
    pairs = np.triu_indices(len(places), 1)
    total, squares = np.zeros((2, 2, len(pairs[0])))
    for number in range(1, MOST + 1):
        values = generator.random((copies, places.max() + 1))[:, places]
        sample = np.stack([rank_languages(values + lift * first, masked)[pairs] for lift in (0, 1)])
        total, squares = total + sample, squares + sample**2
        if number < FEWEST:
            continue
        variance = np.maximum(squares - total**2 / number, 0) / (number - 1)
        error = share * float(np.sqrt(variance / number).max())
        if error < STANDARD_ERROR:
            break
    return total / number, error, number * copies


def rank_languages(values: np.ndarray, masked: np.ndarray) -> np.ndarray:
    """Return RankC of all pairs of languages, from values [copies, languages, …]."""
    from polyprobe.metrics.rankc.formulas import rankc_matrix  # here: see audit/__init__.py

    tables = (values[:, k].reshape(masked.shape) for k in range(values.shape[1]))
    return rankc_matrix({str(k): np.ma.masked_array(x, masked) for k, x in enumerate(tables)})
