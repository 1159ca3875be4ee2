"""Compare names by their letters: a ranking of candidates that needs no model and no knowledge."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array


def share_bigrams(names: Sequence[str], first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Compute Dice's coefficient of the pairs of adjacent characters in pairs of names.

    >>> share_bigrams(["night", "nacht"], np.array([0]), np.array([1]))
    array([0.25])
    """
    sets = [{*map("".join, pairwise(name))} for name in names]
    number: dict[str, int] = {}
    columns = [number.setdefault(pair, len(number)) for pairs in sets for pair in pairs]
    ends: np.ndarray = np.insert(np.cumsum([len(pairs) for pairs in sets], dtype=int), 0, 0)
    shape = (len(sets), max(len(number), 1))
    marks = csr_array((np.ones(len(columns)), columns, ends), shape=shape)
    common = marks[first].multiply(marks[second]).sum(axis=1)
    total = np.diff(ends)[first] + np.diff(ends)[second]
    return np.divide(2 * common, total, out=np.zeros(len(first)), where=total > 0)
