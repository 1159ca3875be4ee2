"""Compare names by their letters: a ranking of candidates that needs no model and no knowledge."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array


def compare_names(pairs: Sequence[tuple[str, str]]) -> tuple[np.ndarray, np.ndarray]:
    """Compare pairs of names: Dice's coefficient of their bigrams, and whether they start alike.

    >>> compare_names([("Night", "nacht")])
    (array([0.25]), array([ True]))
    """
    number: dict[str, int] = {}
    places = np.array([[number.setdefault(x, len(number)) for x in pair] for pair in pairs], int)
    first, second = places.reshape(-1, 2).T
    names = [name.strip().casefold() for name in number]
    sets = [{*map("".join, pairwise(name))} for name in names]
    column: dict[str, int] = {}
    columns = [column.setdefault(bigram, len(column)) for bigrams in sets for bigram in bigrams]
    ends: np.ndarray = np.insert(np.cumsum([len(x) for x in sets], dtype=int), 0, 0)
    shape = (len(sets), max(len(column), 1))
    marks = csr_array((np.ones(len(columns)), columns, ends), shape=shape)
    both = marks[first].multiply(marks[second]).sum(axis=1)
    total = np.diff(ends)[first] + np.diff(ends)[second]
    shares = np.divide(2 * both, total, out=np.zeros(len(first)), where=total > 0)
    initials = np.array([name[:1] for name in names] or [""])
    return shares, initials[first] == initials[second]
