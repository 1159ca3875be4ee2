"""The figures of two languages that read the subject, from their definitions, in plain loops.

C is the RankC of two rankings of the same candidates, s a row's subject, d its donor: the same
candidates in a sentence about another subject. Candidate i is among the first j with probability

    p(i, j) = clip((j - better) / equal, 0, 1)

if `better` candidates are above it and `equal` ones have its score. A table is p[i][j - 1].
"""

import math
import random
from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby
from statistics import fmean
from typing import NamedTuple

from tests.metrics.definitions import define_weights

Table = list[list[float]]
FEWEST = 10  # facts of a cell


class Row(NamedTuple):
    """A row without the donor's answers; scores by language."""

    place: int  # in the run
    fact: str
    relation: str
    subject: dict[str, list[float]]
    donor: dict[str, list[float]]
    right: list[int]


def restrict(scores, donor_scores, answers, donor_answers, facts=None, relations=None):
    """List the rows with a donor and two candidates that are not its answers.

    `scores[language][row][candidate]`; `donor_scores` the same, None for a row without a donor.
    """
    rows = []
    for place, right in enumerate(answers):
        leaves = donor_answers[place]
        if leaves is None or any(donor_scores[x][place] is None for x in scores):
            continue
        pool = next(iter(scores.values()))[place]
        stays = [i for i in range(len(pool)) if i not in leaves]
        if len(stays) < 2:
            continue
        rows.append(
            Row(
                place,
                facts[place] if facts else str(place),
                relations[place] if relations else "",
                {x: [scores[x][place][i] for i in stays] for x in scores},
                {x: [donor_scores[x][place][i] for i in stays] for x in scores},
                [stays.index(i) for i in right if i in stays],
            )
        )
    return rows


def order_ties(scores: Sequence[float]) -> list[float]:
    """Break ties as released: of equal scores the earlier is better."""
    ranked = sorted(range(len(scores)), key=lambda i: (-scores[i], i))
    return [-float(ranked.index(i)) for i in range(len(scores))]


def tabulate(scores: Sequence[float], ties: str = "expected") -> Table:
    """Compute p(i, j) for j = 1 … N."""
    if ties == "released":
        scores = order_ties(scores)
    table = []
    for score in scores:
        better, equal = sum(x > score for x in scores), sum(x == score for x in scores)
        table.append([min(max((j + 1 - better) / equal, 0.0), 1.0) for j in range(len(scores))])
    return table


def agree(first: Table, second: Table, weights: str) -> float:
    """Compute C = Σ_j w_j / j Σ_i p(i, j) q(i, j)."""
    return math.fsum(multiply(p, q, weights) for p, q in zip(first, second, strict=True))


def multiply(p: Sequence[float], q: Sequence[float], weights: str) -> float:
    """Compute Σ_j w_j / j p(j) q(j), the part of one candidate in C."""
    terms = enumerate(zip(define_weights(len(p), weights), p, q, strict=True), start=1)
    return math.fsum(w / j * x * y for j, (w, x, y) in terms)


class Terms(NamedTuple):
    """A row's terms for a pair of languages; the figures are of their sums."""

    r: float  # C(A_s, B_s)
    crossed: tuple[float, float]  # C(A_s, B_d), C(A_d, B_s)
    q: float  # C(A_d, B_d)
    right: float  # the numerator's part of the right answers
    rest: float
    limits: tuple[float, float]  # C(A_s, A_d), C(B_s, B_d)

    @property
    def p(self) -> float:
        return fmean(self.crossed)

    @property
    def interaction(self) -> float:
        return self.r - 2 * self.p + self.q

    @property
    def room(self) -> float:
        return 1 - 2 * self.p + self.q


def find_terms(row: Row, a: str, b: str, weights: str, ties: str) -> Terms:
    """Compute a row's terms."""
    subject_a, subject_b = tabulate(row.subject[a], ties), tabulate(row.subject[b], ties)
    donor_a, donor_b = tabulate(row.donor[a], ties), tabulate(row.donor[b], ties)
    parts = {True: 0.0, False: 0.0}
    for i in range(len(subject_a)):
        about_a = [x - y for x, y in zip(subject_a[i], donor_a[i], strict=True)]
        about_b = [x - y for x, y in zip(subject_b[i], donor_b[i], strict=True)]
        parts[i in row.right] += multiply(about_a, about_b, weights)
    return Terms(
        agree(subject_a, subject_b, weights),
        (agree(subject_a, donor_b, weights), agree(donor_a, subject_b, weights)),
        agree(donor_a, donor_b, weights),
        parts[True],
        parts[False],
        (agree(subject_a, donor_a, weights), agree(subject_b, donor_b, weights)),
    )


def make_cells(rows: Sequence[Row], language: str, ties: str) -> dict[int, list[Row]]:
    """List, for each row's place, the rows of other facts in its cell; empty without a floor."""
    kinds = defaultdict(list)
    for row in rows:
        if len(row.right) == 1:
            kinds[row.relation, len(row.subject[language])].append(row)
    cells: dict[int, list[Row]] = {row.place: [] for row in rows}
    for kind in kinds.values():
        for cell in join_ranks([(rank_right(row, language, ties), row) for row in kind]):
            for row in cell:
                cells[row.place] = [x for x in cell if x.fact != row.fact]
    return cells


def rank_right(row: Row, language: str, ties: str) -> float:
    """Compute the expected rank of the right answer in the donor's sentence."""
    scores = order_ties(row.donor[language]) if ties == "released" else row.donor[language]
    score = scores[row.right[0]]
    return sum(x > score for x in scores) + (sum(x == score for x in scores) + 1) / 2


def join_ranks(ranked: Sequence[tuple[float, Row]]) -> list[list[Row]]:
    """Join neighbouring ranks, the lowest first, until each cell has enough facts."""
    cells: list[list[Row]] = [[]]
    ordered = sorted(ranked, key=lambda pair: pair[0])
    for _, group in groupby(ordered, key=lambda pair: pair[0]):
        if len({row.fact for row in cells[-1]}) >= FEWEST:
            cells.append([])
        cells[-1].extend(row for _, row in group)
    if len({row.fact for row in cells[-1]}) < FEWEST:
        rest = cells.pop()
        for cell in cells[-1:]:
            cell.extend(rest)
    return cells


def shift_right(row: Row, language: str, cell: Sequence[Row], ties: str) -> Table:
    """Compute the expected table of X: the donor's ranking, the right answer as in another fact."""
    place, size = row.right[0], len(row.subject[language])
    tables = [tabulate(x.subject[language], ties)[x.right[0]] for x in cell]
    first = [fmean(table[j] for table in tables) for j in range(size)]
    wrong = [x for i, x in enumerate(row.donor[language]) if i != place]
    curves = []
    for table in tabulate(wrong, ties):
        # p(i, j) among the others, j = 0 … N; the last one is that of all N - 1
        shares = [0.0, *table, 1.0]
        steps = enumerate(first, start=1)
        curves.append([(1 - f) * shares[j] + f * shares[j - 1] for j, f in steps])
    curves.insert(place, first)
    return curves


def draw_shift(row: Row, language: str, cell: Sequence[Row], rng: random.Random) -> Table:
    """Draw X: the rank in one other fact, candidates with equal scores in one order."""
    place, example = row.right[0], rng.choice(cell)
    rank = draw_order(example.subject[language], rng).index(example.right[0])
    order = [i for i in draw_order(row.donor[language], rng) if i != place]
    order.insert(rank, place)
    return tabulate([-float(order.index(i)) for i in range(len(order))])


def draw_order(scores: Sequence[float], rng: random.Random) -> list[int]:
    """Draw an order of the candidates, best first."""
    return sorted(range(len(scores)), key=lambda i: (-scores[i], rng.random()))


def find_floor(row: Row, a: str, b: str, shifts: Sequence[Table], weights: str, ties: str) -> float:
    """Compute a row's numerator with X in A's place, and in B's; the mean of both."""
    values = []
    for (first, second), x in zip(((b, a), (a, b)), shifts, strict=True):
        about = tabulate(row.subject[first], ties), tabulate(row.donor[first], ties)
        still = tabulate(row.donor[second], ties)  # B_d
        values += [agree(about[0], x, weights) - agree(about[0], still, weights)]
        values[-1] -= agree(about[1], x, weights) - agree(about[1], still, weights)
    return fmean(values)


def find_floors(rows: Sequence[Row], a: str, b: str, weights: str, ties: str) -> list[float | None]:
    """Compute each row's numerator of independent knowledge, None without a cell."""
    cells = {x: make_cells(rows, x, ties) for x in (a, b)}
    floors: list[float | None] = []
    for row in rows:
        peers = [(x, cells[x][row.place]) for x in (a, b)]
        shifts = [shift_right(row, x, cell, ties) for x, cell in peers if cell]
        floors.append(find_floor(row, a, b, shifts, weights, ties) if len(shifts) == 2 else None)
    return floors


def divide(above: float, below: float) -> float | None:
    return above / below if below > 1e-9 else None


def compare(rows: Sequence[Row], a: str, b: str, weights="softmax", ties="expected") -> dict:
    """Compute the figures of a pair of languages, from sums over rows."""
    terms = [find_terms(row, a, b, weights, ties) for row in rows]
    floors = find_floors(rows, a, b, weights, ties)
    room, above = math.fsum(t.room for t in terms), math.fsum(t.interaction for t in terms)
    below = [(t, floor) for t, floor in zip(terms, floors, strict=True) if floor is not None]
    room_below = math.fsum(t.room for t, _ in below)
    independent = math.fsum(floor for _, floor in below)
    limits = [1 - fmean(t.limits[k] for t in terms) for k in (0, 1)]
    above_floor = math.fsum(t.interaction for t, _ in below) - independent
    return {
        "rankc": fmean(t.r for t in terms),
        "rankc_donor": fmean(t.p for t in terms),
        "rankc_both_donor": fmean(t.q for t in terms),
        "rankc_difference": fmean(t.r - t.p for t in terms),
        "rankc_interaction": above / len(terms),
        "rankc_room": room / len(terms),
        "rankc_subject": divide(above, room),
        "rankc_right": divide(math.fsum(t.right for t in terms), room),
        "rankc_rest": divide(math.fsum(t.rest for t in terms), room),
        "rankc_independent": divide(independent, room_below),
        "rankc_beyond": divide(above_floor, room_below),
        "cauchy_schwarz": divide(above / len(terms), 2 * math.sqrt(max(math.prod(limits), 0))),
        "n": len(terms),
        "n_independent": len(below),
    }
