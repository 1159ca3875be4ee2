"""The floors of a run: figures of rankings that know nothing; only above them one counts."""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polyprobe.metrics.accuracy_at_1.formulas import find_accuracy
from polyprobe.metrics.rankc import formulas
from polyprobe.metrics.shared.intervals import Figure, add_mean, divide, estimate_figure, name_pairs
from polyprobe.metrics.shared.rows import Rows
from polyprobe.system.files import read_toml

from .facts import ScoredFacts, masked_scores
from .figures import BY_NAME, HEADLINE

Values = dict[str, float | None]
Places = dict[str, Values]  # of each figure: by language or pair, and in the mean
_measure = partial(estimate_figure, n_resamples=0)
_LONGEST = 1e6  # characters; more than any name has


class Floor(NamedTuple):
    """One floor."""

    name: str  # key in `floors` of results.json
    title: str  # of a row in tables
    definition: str  # one sentence for the report
    find: Callable[[ScoredFacts], Places]


def find_floors(facts: ScoredFacts, figures: Collection[str]) -> dict[str, Places]:
    """Compute floor → figure → values, of the figures that the run allows."""
    floors = {}
    for floor in FLOORS:
        places = floor.find(facts).items()
        values = {x: y for x, y in places if x in figures and BY_NAME[x].applies(facts)}
        if values:
            floors[floor.name] = values
    return floors


def _average(levels: Mapping[str, np.ndarray] | None) -> Places:
    return {} if levels is None else {"accuracy": _measure(find_accuracy(levels))}


def _rank_by(column: str, facts: ScoredFacts) -> Places:
    """Rank candidates by a list column, the smallest number first; nothing if a file lacks it."""
    missing = any(table[column].null_count for table in facts.tables.values())
    if missing or not BY_NAME["rankc"].applies(facts):
        return {}
    flat = {x: -masked_scores(t, column).compressed() for x, t in facts.tables.items()}
    ranked = facts.settle({x: Rows(numbers, facts.sizes) for x, numbers in flat.items()})
    weights = facts.options.weights
    values = formulas.rankc_pairs(ranked, weights)
    if not values.shape[1]:
        return {}
    adjusted = formulas.find_rankc_adjusted(facts.languages, values, facts.sizes, weights)
    figures = {"rankc": formulas.find_rankc(facts.languages, values), "rankc_adjusted": adjusted}
    return {name: _measure(figure) for name, figure in figures.items()}


def _rank_by_names(rank: Callable[[pa.Table, str], np.ndarray], facts: ScoredFacts) -> Places:
    """Compute the figures of a ranking by the names of candidates and subject, as of a model."""
    tables = {}
    for language, table in facts.tables.items():
        if table["bigrams"].null_count:
            return {}
        for start in ("", "donor_"):
            column = f"{start}scores"
            sizes = pc.fill_null(pc.list_value_length(table[f"{start}bigrams"]), 0).to_numpy()
            ends = pa.array(np.insert(sizes.cumsum(), 0, 0), pa.int32())
            flat = rank(table, start)
            flat = _choose_first(flat, sizes) if facts.protocol.choices else flat
            lists = pa.ListArray.from_arrays(ends, pa.array(flat, pa.float32()))
            lists = pc.if_else(table[column].is_valid().combine_chunks(), lists, None)
            table = table.set_column(table.schema.get_field_index(column), column, lists)
        tables[language] = table
    ranked = ScoredFacts(tables, facts.options, facts.scoring, own_candidates=not facts.matched)
    figures = (*HEADLINE, BY_NAME["rankc_right"], BY_NAME["rankc_beyond"])
    return {x.name: _measure(x.measure(ranked)) for x in figures if x.applies(ranked)}


def _choose_first(flat: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Choose the first of each list, of equal ones each as likely; none if all are equal."""
    sizes = sizes[sizes > 0]
    starts = sizes.cumsum() - sizes
    first = flat == np.maximum.reduceat(flat, starts).repeat(sizes)
    n_first = np.add.reduceat(first, starts, dtype=np.intp)
    return first * (((n_first < sizes) | (sizes == 1)) / n_first).repeat(sizes)


def _rank_by_bigrams(table: pa.Table, start: str) -> np.ndarray:
    return table[f"{start}bigrams"].combine_chunks().flatten().to_numpy()


def _rank_by_initials(table: pa.Table, start: str) -> np.ndarray:
    """Rank the candidates with the subject's first letter first, then the shortest."""
    initials = table[f"{start}initials"].combine_chunks()
    lengths = table["n_characters"].combine_chunks().filter(initials.is_valid()).flatten()
    alike = initials.flatten().to_numpy(zero_copy_only=False)
    return alike * _LONGEST - lengths.to_numpy()


def _find_independent(facts: ScoredFacts) -> Places:
    """Compute the figures of languages that know facts independently of each other."""
    # COverlap of the accuracies a and b is ab / (a + b - ab).
    means = np.array([right.mean() for right in facts.right.values()])
    first, second = (means[places] for places in np.triu_indices(len(means), 1))
    sums = np.concatenate([first * second, first + second - first * second])[None]
    pairs = [*name_pairs(facts.languages), "mean"]
    places = {}
    if sums.any():
        places["coverlap"] = _measure(Figure(pairs, sums, lambda x: add_mean(divide(x))))
    figure = BY_NAME["rankc_independent"]
    if figure.applies(facts) and facts.languages[1:]:
        places["rankc_subject"] = _measure(figure.measure(facts))
    return places


def _find_nonsense(facts: ScoredFacts) -> Places:
    """Compute the part of the right answer for a random order for each subject, in all languages.

    Each candidate has the same part of the numerator 2 (1 - chance), which is the denominator.
    """
    second = facts.second
    applies = BY_NAME["rankc_right"].applies(facts) and facts.languages[1:]
    if second is None or not applies or not second.terms.counted.any():
        return {}
    rows = second.terms.counted
    sizes = second.sizes[rows]
    choices, weights = facts.protocol.choices, facts.options.weights
    room: np.ndarray = 1 - (1 / sizes if choices else formulas.rankc_chance(sizes, weights))
    level = float(second.n_right[rows] / sizes @ room / room.sum())
    return {"rankc_right": dict.fromkeys([*name_pairs(facts.languages), "mean"], level)}


_KERNELS: Mapping[str, Callable[[ScoredFacts], Places]] = {
    "frequency": lambda facts: _average(facts.baseline),
    "majority": lambda facts: _average(facts.majority),
    "length": partial(_rank_by, "n_characters"),
    "tokens": partial(_rank_by, "n_tokens"),
    "bigrams": partial(_rank_by_names, _rank_by_bigrams),
    "initials": partial(_rank_by_names, _rank_by_initials),
    "independence": _find_independent,
    "nonsense": _find_nonsense,
}
FLOORS = tuple(
    Floor(name, find=_KERNELS[name], **words)
    for name, words in read_toml(__package__, "floors.toml").items()
)
