"""The floors of a run: figures of rankings that know nothing; only above them one counts."""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from polyprobe.metrics.rankc.formulas import find_rankc_adjusted, rankc_pairs
from polyprobe.metrics.shared.rows import Rows

from .facts import ScoredFacts, masked_scores

Values = dict[str, float | None]


class Floor(NamedTuple):
    """One floor."""

    name: str  # key in `floors` of results.json
    title: str  # of a row in tables
    definition: str  # one sentence for the report
    find: Callable[[ScoredFacts], Values]  # the figures that it has, in their means


def find_floors(facts: ScoredFacts, figures: Collection[str]) -> dict[str, Values]:
    """Compute floor → figure → mean value, of the figures that the run allows."""
    floors = {}
    for floor in FLOORS:
        values = {x: value for x, value in floor.find(facts).items() if x in figures}
        if values:
            floors[floor.name] = values
    return floors


def _find_donor(facts: ScoredFacts) -> Values:
    second = facts.second
    if second is None:
        return {}
    accuracy = float(second.donor_right[second.covered].mean())
    return {"accuracy": accuracy, **_of_rankings(facts, second.donor_rankc, second.covered)}


def _average(levels: Mapping[str, np.ndarray] | None) -> Values:
    return {} if levels is None else {"accuracy": float(np.mean([*levels.values()]))}


def _rank_by(column: str, facts: ScoredFacts) -> Values:
    """Rank candidates by a list column, the smallest number first; nothing if a file lacks it."""
    if not facts.matched or any(table[column].null_count for table in facts.tables.values()):
        return {}
    flat = {x: -masked_scores(t, column).compressed() for x, t in facts.tables.items()}
    ranked = facts.settle({x: Rows(numbers, facts.sizes) for x, numbers in flat.items()})
    return _of_rankings(facts, rankc_pairs(ranked, facts.options.weights))


def _of_rankings(
    facts: ScoredFacts, values: np.ndarray, covered: np.ndarray | None = None
) -> Values:
    """Compute RankC and adjusted RankC of values [facts, pairs], over the covered facts."""
    rows: Any = slice(None) if covered is None else covered
    if not values.shape[1]:
        return {}
    sizes, weights = facts.sizes[rows], facts.options.weights
    adjusted = find_rankc_adjusted(facts.languages, values[rows], sizes, weights)
    mean = float(adjusted.statistic(adjusted.table.sum(axis=0))[-1])
    defined = not np.isnan(mean)  # else every fact has one candidate
    return {"rankc": float(values[rows].mean()), "rankc_adjusted": mean if defined else None}


def _find_independent(facts: ScoredFacts) -> Values:
    """Compute COverlap of independent languages with the accuracies a and b: ab / (a + b - ab)."""
    means = np.array([right.mean() for right in facts.right.values()])
    first, second = (means[places] for places in np.triu_indices(len(means), 1))
    joint = first * second
    union = first + second - joint
    defined = union > 0
    return {"coverlap": float((joint[defined] / union[defined]).mean())} if defined.any() else {}


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
        lambda facts: _average(facts.baseline),
    ),
    Floor(
        "majority",
        "majority",
        "The relation's most frequent answer among the candidates, the fact itself counted.",
        lambda facts: _average(facts.majority),
    ),
    Floor(
        "length",
        "length",
        "Candidates ranked by their number of characters, the shortest first.",
        partial(_rank_by, "n_characters"),
    ),
    Floor(
        "tokens",
        "tokens",
        "Candidates ranked by the number of tokens of their scores, the fewest first.",
        partial(_rank_by, "n_tokens"),
    ),
    Floor(
        "independence",
        "independent",
        "Languages with the same accuracies whose correct answers are independent.",
        _find_independent,
    ),
)
