"""The ceiling of RankC: the score of a model with the same ranking of entities in all languages.

A draw assigns a random value to each entity of a query. Each language's candidates are ranked by
the values of their entities; in `answer_first` the answers rank above all others, as in a model
that knows the facts. Queries with the same entities in all languages score 1 and are not drawn.
"""

from collections.abc import Iterator, Mapping
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


class Draw(NamedTuple):
    """The queries to be drawn, as arrays of candidates."""

    places: np.ndarray  # number of a candidate's value: languages x queries x most candidates
    first: np.ndarray  # whether the candidate is an answer: the same shape
    present: np.ndarray  # whether the query has the candidate: queries x most candidates
    size: int  # numbers of values


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
    draw = prepare_draw(splits, judged, differ)
    indices = np.triu_indices(len(splits), 1)
    means, error, draws = average(draw, indices, share)
    # Exactly 1, unlike a sum of floats, where all queries are equal.
    equal = [
        [np.array_equal(values[k], values[j]) for k, j in zip(*indices, strict=True)]
        for values in (draw.places, draw.first)
    ]
    means[np.array([equal[0], np.logical_and(*equal)])] = 1
    random, answer_first = (
        dict(zip(pairs, (1 - share * (1 - row)).tolist(), strict=True)) for row in means
    )
    return Ceiling(random, answer_first, draws, error, left_out)


def prepare_draw(
    splits: Mapping[str, Split], judged: Mapping[str, Judged], rows: list[int]
) -> Draw:
    """Return the rows as a `Draw`, with a number for each entity of each query."""
    sizes = [len(next(iter(splits.values())).candidates[row]) for row in rows]
    shape = (len(splits), len(rows), max(sizes))
    places: np.ndarray = np.zeros(shape, dtype=np.intp)
    first: np.ndarray = np.zeros(shape, dtype=bool)
    size = 0
    for query, row in enumerate(rows):
        numbers: dict[str, int] = {}
        for k, language in enumerate(splits):
            names = judged[language].entities[row]
            values = [numbers.setdefault(name, size + len(numbers)) for name in names]
            places[k, query, : len(values)] = values
            first[k, query, splits[language].answers[row]] = True
        size += len(numbers)
    present = np.arange(max(sizes)) < np.array(sizes)[:, None]
    return Draw(places, first, present, size)


def average(
    draw: Draw, pairs: tuple[np.ndarray, ...], share: float
) -> tuple[np.ndarray, float, int]:
    """Return the means over draws, their largest error, and the number of draws."""
    # The means have the shape (random, answer first) x pairs. The error is that of the mean over
    # all rows; `share` is the share of drawn rows.
    generator = np.random.default_rng(SEED)
    copies = max(1, QUERIES // len(draw.present))
    total, squares = np.zeros((2, 2, len(pairs[0])))
    for number in range(1, MOST + 1):
        sample = np.stack([values[pairs] for values in score_draw(draw, generator, copies)])
        total, squares = total + sample, squares + sample**2
        if number < FEWEST:
            continue
        variance = np.maximum(squares - total**2 / number, 0) / (number - 1)
        error = share * float(np.sqrt(variance / number).max())
        if error < STANDARD_ERROR:
            break
    return total / number, error, number * copies


def score_draw(draw: Draw, generator: np.random.Generator, copies: int) -> Iterator[np.ndarray]:
    """Yield RankC of all pairs for random values, then for the same values with answers first."""
    from polyprobe.metrics.rankc.formulas import rankc_matrix  # here: see audit/__init__.py

    values = generator.random((copies, draw.size))
    masked = ~np.tile(draw.present, (copies, 1))
    for lift in (0, 1):
        lifted = values[:, draw.places] + lift * draw.first  # copies x the shape of `places`
        yield rankc_matrix(
            {
                str(language): np.ma.masked_array(lifted[:, language].reshape(masked.shape), masked)
                for language in range(len(draw.places))
            }
        )
