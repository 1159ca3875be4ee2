"""A figure of pairs of languages, and tables of similarities."""

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from polyprobe.analysis.figures.facts import ScoredFacts, read_chosen, read_scored
from polyprobe.analysis.figures.figures import BY_NAME, RunFigure
from polyprobe.analysis.figures.modules import find_lack
from polyprobe.analysis.figures.predictions import find_overlaps, mark_accuracy, mark_predictions
from polyprobe.metrics.accuracy_at_1.formulas import find_accuracy
from polyprobe.metrics.joint.relate import FEWEST
from polyprobe.metrics.shared.intervals import Figure
from polyprobe.schema.languages import find_language, refuse_languages
from polyprobe.schema.run.folder import Run
from polyprobe.schema.run.rows import Choice
from polyprobe.system.messages import PolyprobeError

OVERLAP = "coverlap"


class Pairs(NamedTuple):
    """A figure of all pairs of languages of a run."""

    run: Run
    of: RunFigure
    languages: list[str]
    table: pa.Table  # of the first language
    figure: Figure  # sums of each fact, `mean` last
    accuracies: Figure  # sums of each fact by language, `mean` last
    facts: ScoredFacts | None  # None for free predictions
    left_out: dict[str, int]  # rows, by reason

    @property
    def values(self) -> np.ndarray:
        """Compute the figure as a symmetric table [L, L]; NaN if undefined and on the diagonal."""
        return spread(measure(self.figure)[:-1], len(self.languages))

    @property
    def accuracy(self) -> np.ndarray:
        """Compute the accuracy of each language [L]; NaN if no fact was asked."""
        return measure(self.accuracies)[:-1]


class Similarity(NamedTuple):
    """A table of pairs of languages."""

    name: str
    description: str
    values: np.ndarray  # symmetric [L, L]; NaN: unknown
    missing: Mapping[str, str] = MappingProxyType({})  # language → why it has no values
    details: Mapping[str, Any] = MappingProxyType({})  # of the JSON
    numbers: np.ndarray | None = None  # of the languages [L], from which the values come
    # of all pairs, if the values come from the explained figure's facts
    figure: Figure | None = None


def load_rows(
    run: Run, choice: Choice, languages: Collection[str] | None = None
) -> tuple[dict[str, pa.Table], dict[str, int]]:
    """Read the chosen rows of a run in some languages (None: all), and count the other rows."""
    tables, left_out = read_chosen(run, choice)
    refuse_languages(languages or (), str(run.folder), tables)
    tables = {x: table for x, table in tables.items() if languages is None or x in languages}
    if len(tables) < FEWEST:
        raise PolyprobeError(
            f"{run.folder}: a correlation over pairs requires {FEWEST} languages or more; got "
            f"{', '.join(tables)}"
        )
    return tables, left_out


def measure_pairs(run: Run, of: str, tables: dict[str, pa.Table], counts: dict[str, int]) -> Pairs:
    """Measure a figure of all pairs of a run's languages, from the rows of `load_rows`."""
    settings, figure = run.settings(), BY_NAME[of]
    if settings.kind == "predictions":
        if of != OVERLAP:
            raise PolyprobeError(
                f"{run.folder} holds free predictions, which have no {of}; use --of {OVERLAP}"
            )
        right, facts = mark_predictions(tables), None
        sums, accuracy = find_overlaps(right), mark_accuracy(right)
    else:
        facts = read_scored(run, tables)
        if need := find_lack(of, facts):
            raise PolyprobeError(
                f"--of {of} needs {need}, which {run.folder} does not have; choose another figure"
            )
        sums, accuracy = figure.measure(facts), find_accuracy(facts.right)
    table = next(iter(tables.values()))
    return Pairs(run, figure, list(tables), table, sums, accuracy, facts, counts)


def measure(figure: Figure) -> np.ndarray:
    """Compute the values of a figure of all facts [names]."""
    return figure.statistic(figure.table.sum(axis=0))


def spread(values: np.ndarray, size: int) -> np.ndarray:
    """Spread values of pairs, in the order of `combinations`, over a table with NaN diagonal."""
    table = np.full((size, size), np.nan)
    firsts, seconds = np.triu_indices(size, 1)
    table[firsts, seconds] = table[seconds, firsts] = values
    return table


def flatten(table: np.ndarray, places: Sequence[int]) -> np.ndarray:
    """Take the values of the pairs of some languages, in the order of `combinations`."""
    firsts, seconds = np.array([*combinations(places, 2)], dtype=np.intp).reshape(-1, 2).T
    return np.asarray(table[firsts, seconds])


def find_complete(tables: Sequence[np.ndarray]) -> list[int]:
    """Find the places of languages whose pairs all have a value in every table."""
    missing = np.isnan(np.stack(tables)).any(axis=0)
    np.fill_diagonal(missing, False)
    places = [*range(len(missing))]
    while len(places) > 1 and missing[np.ix_(places, places)].any():
        # the language with the most missing values is left out first; of equal ones, the last
        counts = missing[np.ix_(places, places)].sum(axis=1)
        del places[len(counts) - 1 - int(np.argmax(counts[::-1]))]
    return places


def name_keys(split: str) -> list[str]:
    """List the names that a table or a corpus may use for a language, the best first.

    >>> name_keys("zh_hant")
    ['zh_hant', 'zh-hant', 'zho', 'zho_hant', 'chinese (traditional)']
    """
    entry = find_language(split)
    codes = [] if entry is None else [entry.code, entry.iso, entry.flores, entry.name]
    names = [split, split.replace("_", "-"), *codes]
    return [*dict.fromkeys(name.casefold() for name in names if name)]
