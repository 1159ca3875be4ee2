"""The floors of a run: the figures of rankings that know nothing about the facts.

A figure means something as far as it is above its floors, not only above chance.
"""

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import numpy as np

from polyprobe.metrics.rankc.formulas import find_rankc_adjusted
from polyprobe.metrics.shared.intervals import Figure

from .facts import ScoredFacts

Values = dict[str, float | None]


class Floor(NamedTuple):
    """One floor.

    Attributes:
        name: key in `floors` of results.json.
        title: name of the row in tables.
        says: one sentence for the report.
        find: kernel; the figures that the floor has, in their means over languages or pairs.
    """

    name: str
    title: str
    says: str
    find: Callable[[ScoredFacts], Values]


def find_floors(facts: ScoredFacts, figures: Collection[str] | None = None) -> dict[str, Values]:
    """Return floor → figure → mean value, of the figures (None: all) that the run's files allow."""
    found = {}
    for floor in FLOORS:
        values = floor.find(facts)
        found[floor.name] = {x: values[x] for x in values if figures is None or x in figures}
    return {name: values for name, values in found.items() if values}


def _find_donor(facts: ScoredFacts) -> Values:
    second = facts.second
    if second is None:
        return {}
    accuracy = float(second.donor_right[second.asked].mean())
    return {"accuracy": accuracy, **_of_rankings(facts, second.donor_rankc, second.asked)}


def _rank_answers_by(column: str) -> Callable[[ScoredFacts], Values]:
    def find(facts: ScoredFacts) -> Values:
        level = facts.read_level(column)
        return {} if level is None else {"accuracy": float(np.mean([*level.values()]))}

    return find


def _rank_by(column: str) -> Callable[[ScoredFacts], Values]:
    def find(facts: ScoredFacts) -> Values:
        values = facts.rank_by(column)
        return {} if values is None else _of_rankings(facts, values)

    return find


def _of_rankings(
    facts: ScoredFacts, values: np.ndarray, counted: np.ndarray | None = None
) -> Values:
    """Return RankC and adjusted RankC of values [facts, pairs], over the counted facts."""
    kept: Any = slice(None) if counted is None else counted
    if not values.shape[1]:
        return {}
    sizes, weights = facts.sizes[kept], facts.options.weights
    adjusted = find_rankc_adjusted(facts.languages, values[kept], sizes, weights)
    return {"rankc": float(values[kept].mean()), "rankc_adjusted": _mean(adjusted)}


def _find_independent(facts: ScoredFacts) -> Values:
    """Return COverlap of independent languages with the accuracies a and b: ab / (a + b - ab)."""
    means = np.array([right.mean() for right in facts.right.values()])
    one, other = np.triu_indices(len(means), 1)
    both = means[one] * means[other]
    either = means[one] + means[other] - both
    known = either > 0
    return {"coverlap": float((both[known] / either[known]).mean())} if known.any() else {}


def _mean(figure: Figure) -> float | None:
    value = float(figure.statistic(figure.table.sum(axis=0))[-1])
    return None if np.isnan(value) else value


FLOORS = (
    Floor(
        "donor",
        "other subject",
        "The model itself, asked about another subject (in one of the languages of a pair).",
        _find_donor,
    ),
    Floor(
        "frequency",
        "frequency",
        "Candidates ranked by how often each is the answer of the relation's other facts.",
        _rank_answers_by("baseline"),
    ),
    Floor(
        "majority",
        "majority",
        "The relation's most frequent answer among the candidates, the fact itself counted.",
        _rank_answers_by("majority"),
    ),
    Floor(
        "length",
        "length",
        "Candidates ranked by their number of characters, the shortest first.",
        _rank_by("n_characters"),
    ),
    Floor(
        "tokens",
        "tokens",
        "Candidates ranked by the number of tokens of their scores, the fewest first.",
        _rank_by("n_tokens"),
    ),
    Floor(
        "independence",
        "independent",
        "Languages with the same accuracies whose correct answers are independent.",
        _find_independent,
    ),
)
