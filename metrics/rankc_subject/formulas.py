"""Measure how alike two languages react to the subject of the question.

Each query is asked a second time, about a donor: another subject of the same relation. With s the
subject, d the donor, A and B the rankings of the same candidates in two languages, C their RankC:

    R = C(A_s, B_s)    P = (C(A_s, B_d) + C(A_d, B_s)) / 2    Q = C(A_d, B_d)
    rankc_subject = (R - 2 P + Q) / (1 - 2 P + Q), each the mean over the queries

RankC is sum_j w_j / j sum_i p_A(i, j) p_B(i, j), with p(i, j) = 1 if candidate i is among the
first j. With D(i, j) = p_s(i, j) - p_d(i, j) the numerator is sum_j w_j / j sum_i D_A(i, j) D_B(i,
j): the interaction of a two-way table, 0 if either language has one ranking for all subjects. It is
a sum over candidates, so that the right answer has its part (`rankc_right`), the others the rest.

>>> right = [[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]]
>>> donor = [[2.0, 1.0, 3.0], [2.0, 3.0, 1.0]]
>>> found = measure_rankc_subject(right, right, donor, donor, n_resamples=0)
>>> round(found["rankc"], 4), round(found["rankc_donor"], 4), round(found["rankc_subject"], 4)
(1.0, 0.2124, 1.0)
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from polyprobe.metrics.shared.intervals import (
    MIN_RESAMPLES,
    Figure,
    Resampling,
    add_mean,
    check_name,
    choose_resamples,
    estimate,
    index_labels,
    mean_of,
    name_pairs,
    sum_by,
)
from polyprobe.metrics.shared.ranks import (
    CHUNK,
    WEIGHTS,
    count_ties,
    make_curves,
    order_scores,
    prefix_shares,
    split_by_size,
    stack_curves,
    stack_scores,
)
from polyprobe.metrics.shared.rows import (
    TIES,
    Answers,
    Rows,
    Scores,
    mark_right,
    read_languages,
    read_rows,
)

INPUTS = ("predictions", "references", "donor_predictions", "donor_references")
ROOM = 0.005  # the denominator must be above it, else the figure is not defined
CELL = 10  # facts that a cell of independent knowledge has at least
_FLIPS, _ROWS = 2**22, 256  # at once


class Terms(NamedTuple):
    """RankC of each query and pair of languages about subject and donor [queries, pairs]."""

    languages: list[str]
    subject: np.ndarray  # R
    mixed: np.ndarray  # P
    donor: np.ndarray  # Q
    right: np.ndarray  # part of R - 2 P + Q that is the right answers'
    independent: np.ndarray  # R - 2 P + Q of languages that know facts independently
    matched: np.ndarray  # queries with `independent`, else 0 there [queries]
    counted: np.ndarray  # queries with a donor and several candidates, else 0 everywhere [queries]

    @property
    def interaction(self) -> np.ndarray:
        """Compute R - 2 P + Q."""
        return self.subject - self.mixed - self.mixed + self.donor

    @property
    def beyond(self) -> np.ndarray:
        """Compute the interaction less that of independent knowledge, where both are counted."""
        return self.matched[:, None] * (self.interaction - self.independent)

    @property
    def room(self) -> np.ndarray:
        """Compute 1 - 2 P + Q, 0 where a query is not counted."""
        return self.counted[:, None] - self.mixed - self.mixed + self.donor


def empty_terms(languages: Sequence[str], counted: np.ndarray, none: np.ndarray) -> Terms:
    """Make the terms of queries of which no pair of languages is compared: `none`, zeros."""
    return Terms([*languages], none, none, none, none, none, np.zeros_like(counted), counted)


def compare_subjects(
    scores: Mapping[str, Scores],
    donor_scores: Mapping[str, Scores],
    right: np.ndarray,
    relations: Sequence[Any] | None = None,
    facts: Sequence[Any] | None = None,
    weights: str = "softmax",
    with_parts: bool = True,
    choices: bool = False,
) -> Terms:
    """Compare the rankings about subject and donor of every pair of languages.

    Scores have the same candidates, without the donor's answers; `right` marks the correct ones,
    flat over the queries. With one candidate a query is not counted. `relations` (None: one) and
    `facts` (None: each query is one) are labels of the queries. Without parts, `Terms.right` and
    `Terms.independent` have no pairs. Scores of `choices` are probabilities of each candidate.
    """
    check_name(weights, WEIGHTS, "weights")
    (languages, sizes), (donors, _) = read_languages(scores), read_languages(donor_scores)
    codes = index_labels(relations, len(sizes), "relations")[1]
    facts = range(len(sizes)) if facts is None else facts
    numbers = index_labels(facts, len(sizes), "facts")[1]
    pairs = np.triu_indices(len(languages), 1)
    terms = np.zeros((5 if with_parts else 3, len(sizes), len(pairs[0])))
    matched: np.ndarray = np.zeros(len(sizes), dtype=bool)
    for size, queries, items in split_by_size(sizes):
        if size <= 1 or not len(pairs[0]):
            continue
        curves, scale, rest = make_curves(size, weights)
        scale, rest = (np.ones(1), 0.0) if choices else (scale, rest)
        if with_parts:
            labels = codes[queries], numbers[queries]
            learnt = _learn_depths(languages, donors, items, right[items], labels, choices)
            depths, matched[queries] = learnt
        step = max(1, CHUNK // (len(languages) * size * len(scale)))
        for start in range(0, len(queries), step):
            part = slice(start, start + step)
            rows = items[part]
            stack = stack_scores if choices else partial(stack_curves, curves=curves)
            first, second = (stack(x, rows) for x in (languages, donors))
            ways = ((first, first), (first, second), (second, second))
            products = [_multiply(*way) + rest for way in ways]
            if with_parts:
                marks, mask = right[rows], matched[queries[part], None, None]
                places = _move_right(donors, rows, marks, depths[part], choices)
                shifts = ((places * scale).reshape(first.shape) - second) * mask
                products += _multiply_parts(first - second, marks, shifts)
            for values, product in zip(terms, products, strict=True):
                values[queries[part]] = product[:, *pairs]
    subject, mixed, donor = terms[:3]
    none = np.zeros((len(sizes), 0))
    of_answers, independent = terms[3:] if with_parts else (none, none)
    of_queries = matched, sizes > 1
    return Terms([*scores], subject, mixed, donor, of_answers, independent, *of_queries)


def _multiply_parts(change: np.ndarray, right: np.ndarray, shifts: np.ndarray) -> list[np.ndarray]:
    """Multiply the right answers' part of the change of all candidates, and their shifts."""
    of_candidates = change.reshape(*change.shape[:2], right.shape[1], -1)
    of_right = (of_candidates * right[:, None, :, None]).reshape(change.shape)
    return [_multiply(of_right, of_right), _multiply(change, shifts)]


def _multiply(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Multiply the vectors of every pair of languages, mean of both ways [queries, L, L]."""
    products: np.ndarray = first @ second.transpose(0, 2, 1)
    return products if first is second else (products + products.transpose(0, 2, 1)) / 2


def _learn_depths(
    languages: list[np.ndarray],
    donors: list[np.ndarray],
    items: np.ndarray,
    right: np.ndarray,
    labels: tuple[np.ndarray, np.ndarray],
    choices: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Learn how deep the right answer stands, from other facts with the same rank about the donor.

    `labels` are relation and fact. Returns the probability that the right answer is among the first
    j = 1 … N - 1 [queries, languages, N - 1], of choices the first, and marks the queries that have
    it: a single right answer, and `CELL` facts in the relation.
    """
    (relations, facts), (n, size) = labels, items.shape
    depths = np.zeros((n, len(languages), 1 if choices else size - 1))
    matched: np.ndarray = np.zeros(n, dtype=bool)
    single = right.sum(axis=1) == 1
    parts = [np.flatnonzero(single & (relations == x)) for x in np.unique(relations[single])]
    parts = [rows for rows in parts if len(np.unique(facts[rows])) >= CELL]
    if not parts:
        return depths, matched
    rows, ends = np.concatenate(parts), np.cumsum([*map(len, parts)])[:-1]
    matched[rows] = True
    flat = items[rows, right[rows].argmax(axis=1)]
    number = np.unique(facts[rows], return_inverse=True)[1]
    for k, (scores, donor) in enumerate(zip(languages, donors, strict=True)):
        better, equal = _count_around(scores[items[rows]], scores[flat])
        share = scores[flat][:, None] if choices else prefix_shares(better, equal, size)
        # the mean over the cell, less the fact itself
        reached = np.column_stack([share, np.ones(len(rows))])
        better, equal = _count_around(donor[items[rows]], donor[flat])
        of_parts = (np.split(x, ends) for x in (better + (equal + 1) / 2, number))
        cells = np.concatenate([*map(join_ranks, *of_parts)]) + 2 * size * relations[rows]
        fact = np.unique(cells * len(rows) + number, return_inverse=True)[1]
        sums = sum_by(cells, reached)[cells] - sum_by(fact, reached)[fact]
        depths[rows, k] = sums[:, :-1] / sums[:, -1:]
    return depths, matched


def _count_around(scores: np.ndarray, score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Count the better and equal scores of each row, those of the right answer [queries]."""
    column = score[:, None]
    return (scores > column).sum(axis=1), (scores == column).sum(axis=1)


def join_ranks(ranks: np.ndarray, facts: np.ndarray, minimum: int = CELL) -> np.ndarray:
    """Number cells of neighbouring ranks, from the best, with `minimum` different facts each.

    >>> join_ranks(np.array([1, 3, 1, 2, 3, 3]), np.arange(6), minimum=2)
    array([0, 1, 0, 1, 1, 1])
    """
    places = np.unique(ranks, return_inverse=True)[1]
    facts_of_rank: list[set[int]] = [set() for _ in range(places.max() + 1)]
    for place, fact in zip(places.tolist(), facts.tolist(), strict=True):
        facts_of_rank[place].add(fact)
    # those of each rank and all behind it, which must fill a cell too
    rests = [*accumulate(reversed(facts_of_rank), lambda x, y: x | y)][::-1]
    cells, cell, inside = [], 0, set[int]()
    for of_rank, rest in zip(facts_of_rank, rests, strict=True):
        if len(inside) >= minimum and len(rest) >= minimum:
            cell, inside = cell + 1, set()
        cells.append(cell)
        inside = inside | of_rank
    return np.array(cells)[places]


def _move_right(
    donors: list[np.ndarray],
    items: np.ndarray,
    right: np.ndarray,
    depths: np.ndarray,
    choices: bool,
) -> np.ndarray:
    """Move the right answer in the rankings about the donor to the depths [queries, L, N, N - 1].

    With F(j) the probability that it is among the first j, and p the ranking of the others alone,
    another candidate is among the first j with (1 - F(j)) p(i, j) + F(j) p(i, j - 1).
    """
    place, rows = right.argmax(axis=1), np.arange(len(items))
    depths = depths.transpose(1, 0, 2)
    scores = np.stack([flat[items] for flat in donors])
    answer = scores[:, rows, place][..., None]
    if choices:
        share = (scores / np.where(answer < 1, 1 - answer, 1))[..., None]
    else:
        counts = (x.T.reshape(scores.shape) for x in count_ties(scores.reshape(-1, items.shape[1])))
        better, equal = next(counts) - (answer > scores), next(counts) - (answer == scores)
        share = prefix_shares(better, np.maximum(equal, 1), items.shape[1])  # of N - 1 others
    before = np.concatenate([np.zeros((*share.shape[:-1], 1)), share[..., :-1]], axis=-1)
    depth = depths[:, :, None]
    shares = (1 - depth) * share + depth * before
    shares[:, rows, place] = depths
    return shares.transpose(1, 0, 2, 3)


# Numerators over 1 - 2 P + Q, and the queries that they are summed over.
RATIOS: dict[str, Callable[[Terms], tuple[np.ndarray, np.ndarray]]] = {
    "rankc_subject": lambda terms: (terms.interaction, terms.counted),
    "rankc_right": lambda terms: (terms.right, terms.counted),
    "rankc_rest": lambda terms: (terms.interaction - terms.right, terms.counted),
    "rankc_independent": lambda terms: (terms.independent, terms.matched),
    "rankc_beyond": lambda terms: (terms.beyond, terms.matched),
}
MEANS: dict[str, Callable[[Terms], np.ndarray]] = {
    "rankc_donor": lambda terms: terms.mixed,
    "rankc_difference": lambda terms: terms.counted[:, None] * (terms.subject - terms.mixed),
    "rankc_interaction": lambda terms: terms.interaction,
    "rankc_room": lambda terms: terms.room,
}


def find_terms(name: str, terms: Terms) -> Figure:
    """Compute a figure of RATIOS or MEANS by pair."""
    pairs = name_pairs(terms.languages)
    if name in MEANS:
        return mean_of(pairs, MEANS[name](terms), terms.counted, share=name == "rankc_donor")
    table = np.ones((len(terms.counted), 2 * len(pairs) + 1))
    for start in range(0, len(table), _ROWS):
        part = slice(start, start + _ROWS)
        rows = Terms(terms.languages, *(values[part] for values in terms[1:]))
        numerators, counted = RATIOS[name](rows)
        table[part, :-1] = np.concatenate([numerators, rows.room], axis=1)
        table[part] *= counted[:, None]
    return Figure([*pairs, "mean"], table, lambda sums: add_mean(divide_terms(sums)), firm=True)


def divide_terms(sums: np.ndarray) -> np.ndarray:
    """Divide sums of numerators, of denominators and of queries [..., 2 k + 1].

    NaN where the mean denominator is not above ROOM; in a firm figure, with its interval.
    """
    counts = np.where(sums[..., -1:] > 0, sums[..., -1:], np.nan)
    means, rooms = np.split(sums[..., :-1] / counts, 2, axis=-1)
    defined = rooms > ROOM
    return np.where(defined, means / np.where(defined, rooms, 1), np.nan)


def measure_rankc_subject(
    predictions: Scores,
    references: Scores,
    donor_predictions: Scores,
    donor_references: Scores,
    answers: Answers | None = None,
    donor_answers: Answers | None = None,
    weights: str = "softmax",
    ties: str = "expected",
    **options: Any,
) -> dict[str, Any]:
    """Compute the centred RankC, its terms, and with `answers` its parts and floor."""
    columns = (predictions, references, donor_predictions, donor_references)
    rows = {x: Rows(*read_rows(y, x)) for x, y in zip(INPUTS, columns, strict=True)}
    read_languages(rows)
    first, second = ({x: rows[f"{start}{x}"] for x in INPUTS[:2]} for start in ("", "donor_"))
    known_answers, groups = (answers, donor_answers), options.get("groups")
    terms = compare_questions(first, second, *known_answers, groups, weights=weights, ties=ties)
    n = len(terms.counted)
    if options.get("n_resamples") is None:  # the same number for the test
        options["n_resamples"] = choose_resamples(n, 1)
    resampling, with_parts = Resampling(**options), answers is not None
    result = estimate(_join_figures(terms, with_parts), resampling)
    tests = {"p_value": (terms.interaction, terms.counted)}
    if with_parts:
        tests["p_beyond"] = (terms.beyond, terms.matched)
    p_values: dict[str, Any] = dict.fromkeys(tests)
    if resampling.n_resamples and resampling.n_resamples >= MIN_RESAMPLES:
        macro = resampling.average == "macro"
        codes = index_labels(groups if macro else None, n, "groups")[1]
        parts = [
            values[:, 0] / np.maximum(np.bincount(codes, counted), 1)[codes]
            for values, counted in tests.values()
        ]
        draws = (resampling.clusters, resampling.n_resamples, resampling.seed)
        p = flip_signs(np.column_stack(parts), *draws)
        p_values = dict(zip(tests, p.tolist(), strict=True))
    return {**result, **p_values, "n_queries": n, "n_counted": int(terms.counted.sum())}


def compare_questions(
    scores: Mapping[str, Scores],
    donor_scores: Mapping[str, Scores],
    answers: Answers | None = None,
    donor_answers: Answers | None = None,
    relations: Sequence[Any] | None = None,
    facts: Sequence[Any] | None = None,
    weights: str = "softmax",
    ties: str = "expected",
) -> Terms:
    """Compare the rankings of `compare_subjects` without the donor's answers, ties settled."""
    check_name(ties, TIES, "ties")
    (flats, sizes), (donors, _) = read_languages(scores), read_languages(donor_scores)
    keep, right, sizes = leave_out_answers(answers, donor_answers, sizes)
    ways = [[flat[keep] for flat in way] for way in (flats, donors)]
    if ties == "released":
        ways = [[order_scores(flat, sizes) for flat in way] for way in ways]
    first, second = ({x: Rows(y, sizes) for x, y in zip(scores, way, strict=True)} for way in ways)
    return compare_subjects(first, second, right, relations, facts, weights)


def leave_out_answers(
    answers: Answers | None, donor_answers: Answers | None, sizes: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mark candidates that are no donor's answers; of these, mark the right ones and count all."""
    right: np.ndarray = np.zeros(sizes.sum(), dtype=bool)
    if answers is not None:
        right = mark_right(answers, sizes, "answers")
    donor_answers = [[]] * len(sizes) if donor_answers is None else donor_answers
    marks = mark_right(donor_answers, sizes, "donor_answers", minimum=0)
    queries: np.ndarray = np.repeat(np.arange(len(sizes)), sizes)
    for query in queries[marks & right][:1]:
        raise ValueError(f"query {query} and its donor have the same answer; choose another donor")
    for query in np.flatnonzero(np.bincount(queries, marks) == sizes)[:1]:
        raise ValueError(f"all candidates of query {query} are answers of the donor")
    return ~marks, right[~marks], np.bincount(queries, ~marks, len(sizes)).astype(np.intp)


def link_units(subjects: Sequence[Hashable], donors: Sequence[Hashable]) -> list[int]:
    """Number the units of queries: those with a common subject or donor are in one unit.

    >>> link_units(["a", "b", "c", "d"], ["b", "a", "d", "e"])
    [0, 0, 1, 1]
    """
    codes = index_labels([*subjects, *donors], 2 * len(subjects), "subjects")[1]
    n = len(subjects)
    graph = coo_array((np.ones(n), (codes[:n], codes[n:])), shape=(len(codes), len(codes)))
    units = connected_components(graph, directed=False)[1][codes[:n]]
    return index_labels(units, n, "units")[1].tolist()


def _join_figures(terms: Terms, with_parts: bool) -> Figure:
    """Join the figures of one pair of languages; of the parts only `with_parts`."""
    names = [*(RATIOS if with_parts else [*RATIOS][:1]), *MEANS]
    figures = {name: find_terms(name, terms) for name in names}
    weights: np.ndarray = terms.counted.astype(np.float64)
    figures["rankc"] = mean_of(["a-b"], terms.subject, weights, share=True)
    ends = np.cumsum([figure.table.shape[1] for figure in figures.values()])[:-1]

    def statistic(sums: np.ndarray) -> np.ndarray:
        parts = zip(figures.values(), np.split(sums, ends, axis=-1), strict=True)
        return np.concatenate([f.statistic(part)[..., :1] for f, part in parts], axis=-1)

    n = len(terms.counted)
    shares = [np.broadcast_to(f.shares[:, :1], (n, 1)) for f in figures.values()]
    table = np.concatenate([figure.table for figure in figures.values()], axis=1)
    return Figure([*figures], table, statistic, np.concatenate(shares, axis=1), firm=True)


def flip_signs(
    differences: np.ndarray, clusters: Sequence[Any] | None, n_resamples: int, seed: int = 0
) -> np.ndarray:
    """Compute the two-sided p-value of each column's mean difference from 0 [columns].

    The sign-flip test (Fisher's randomisation test for paired differences): the signs of a query's
    differences, or of a cluster's, are flipped together in all columns;
    p = (1 + flips with a mean as far from 0) / (1 + flips). It is exact for differences that are
    symmetric about 0.
    """
    codes = index_labels(clusters, len(differences), "clusters")[1]
    units = differences if clusters is None else sum_by(codes, differences)
    observed, random = np.abs(units.sum(axis=0)), np.random.default_rng(seed)
    reached = np.zeros(units.shape[1])
    step = max(1, _FLIPS // max(units.shape))
    for start in range(0, n_resamples, step):
        signs = random.integers(2, size=(min(step, n_resamples - start), len(units))) * 2.0 - 1
        # equal sums must count as equal, whatever the order of summation
        reached += (np.abs(signs @ units) >= observed * (1 - 1e-9) - 1e-12).sum(axis=0)
    return (1 + reached) / (1 + n_resamples)
