"""Sources of the similarities of `relate --with`."""

from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path

import numpy as np

from polyprobe.metrics.joint.relate import FEWEST
from polyprobe.metrics.shared.intervals import Figure
from polyprobe.schema.languages import TRAITS, find_language
from polyprobe.schema.run.folder import Run
from polyprobe.schema.run.naming import name_runs
from polyprobe.schema.run.rows import Choice
from polyprobe.system.errors import PolyprobeError

from . import ACCURACIES, ACCURACY, DISTANCES, SUBWORDS, check_with
from .pairs import Pairs, Similarity, flatten, measure, measure_pairs, read_rows, spread
from .tables import read_table
from .uriel import NO_CODE, read_uriel
from .vocabularies import Subwords

OF_ACCURACIES = {
    "accuracy_min": ("the smaller accuracy of the two languages", np.minimum),
    "accuracy_product": ("the product of the two accuracies", np.multiply),
    "accuracy_difference": (
        "the absolute difference of the two accuracies",
        lambda one, other: np.abs(one - other),
    ),
}


def find_similarities(
    item: str, pairs: Pairs, choice: Choice, subwords: Future[Subwords] | None
) -> list[Similarity]:
    """Return the similarities of a name, a TSV file or another run's folder.

    Args:
        item: item of `--with`.
        pairs: figure of the run.
        choice: choice of rows, also in another run.
        subwords: vocabularies; None unless `subwords` is an item.

    Raises:
        PolyprobeError: an unknown name, or a file or run that cannot be read.
    """
    check_with(item)
    if item in DISTANCES:
        return [read_uriel(item, pairs.languages)]
    if item in TRAITS:
        return [compare_traits(item, pairs.languages)]
    if item == ACCURACY or item in ACCURACIES:
        names = ACCURACIES if item == ACCURACY else (item,)
        return [compare_accuracies(name, pairs) for name in names]
    if item == SUBWORDS and subwords:
        return [subwords.result().similarity]
    if Path(item).is_dir():
        return [read_other(Run(item), pairs, choice)]
    return [read_table(Path(item), pairs.languages)]


def compare_traits(trait: str, languages: Sequence[str]) -> Similarity:
    """Return 1 for pairs of languages of the same script, family or branch, else 0."""
    found = [find_language(split) for split in languages]
    values = np.array(
        [
            [getattr(a, trait) == getattr(b, trait) if a and b else np.nan for b in found]
            for a in found
        ]
    ).astype(float)
    missing = {x: NO_CODE for x, own in zip(languages, found, strict=True) if own is None}
    return Similarity(trait, f"1 for the same {trait}, else 0", values, missing)


def compare_accuracies(name: str, pairs: Pairs) -> Similarity:
    """Return a combination of the accuracies of each pair."""
    says, combine = OF_ACCURACIES[name]
    one, other = np.triu_indices(len(pairs.languages), 1)
    accuracies = pairs.accuracies

    def statistic(sums: np.ndarray) -> np.ndarray:
        found = accuracies.statistic(sums)
        return np.asarray(combine(found[..., one], found[..., other]))

    figure = Figure(pairs.figure.names[:-1], accuracies.table, statistic)
    values = spread(measure(figure), len(pairs.languages))
    return Similarity(name, says, values, figure=figure)


def read_other(run: Run, pairs: Pairs, choice: Choice) -> Similarity:
    """Return the same figure of another run, over the languages that both have."""
    own = run.settings().languages
    common = [x for x in own if x in pairs.languages]
    if len(common) < FEWEST:
        raise PolyprobeError(
            f"{run.folder} has fewer than {FEWEST} languages in common with {pairs.run.folder}: "
            f"{', '.join(own)} / {', '.join(pairs.languages)}"
        )
    other = measure_pairs(run, pairs.of.name, *read_rows(run, choice, common))
    size = len(pairs.languages)
    n_pairs = size * (size - 1) // 2
    numbers = spread(np.arange(n_pairs), size)
    places: np.ndarray = flatten(
        numbers, [pairs.languages.index(x) for x in other.languages]
    ).astype(int)

    def statistic(sums: np.ndarray) -> np.ndarray:
        found = np.full((*sums.shape[:-1], n_pairs), np.nan)
        found[..., places] = other.figure.statistic(sums)[..., :-1]
        return found

    figure = Figure(pairs.figure.names[:-1], other.figure.table, statistic)
    name = name_runs([pairs.run, run])[1]
    missing = {x: f"not in {name}" for x in pairs.languages if x not in common}
    return Similarity(
        name,
        f"{pairs.of.title} of {run.settings().signature}",
        spread(measure(figure), size),
        missing,
        figure=figure if other.table["fact_id"].equals(pairs.table["fact_id"]) else None,
    )
