"""Subjects that occur with several objects, as the released code of mParaRel finds them."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Repeated(NamedTuple):
    """Marks of tuples (bool, shape (n,))."""

    subject: np.ndarray  # its subject occurs in several tuples of the group
    twin: np.ndarray  # both labels are those of an earlier tuple of the group


def find_repeated(subjects: Sequence[str], objects: Sequence[str], groups: Sequence) -> Repeated:
    """Mark the tuples by the labels of subject and object in each group.

    The released code (coastalcph/mpararel) keeps predictions by the key SUBJECT-OBJECT, so that
    tuples with equal labels are one, and reads the subject back as the text before the first
    hyphen. The paper leaves out subjects with two objects, without saying how subjects are compared
    (footnote 10); by ids, "Jean-Paul Sartre" and "Jean-Luc Godard" are two.

    >>> names = ["Jean-Paul", "Jean-Luc", "Ulm", "Ulm"]
    >>> find_repeated(names, ["Paris", "Paris", "Germany", "Germany"], ["P19"] * 4)
    Repeated(subject=array([ True,  True, False, False]), twin=array([False, False, False,  True]))
    """
    keys = list(zip(groups, subjects, objects, strict=True))
    first: dict[tuple, int] = {}
    for place, key in enumerate(keys):
        first.setdefault(key, place)
    counts = Counter((group, subject.partition("-")[0]) for group, subject, _ in first)
    repeated = [counts[group, subject.partition("-")[0]] > 1 for group, subject, _ in keys]
    twins = [first[key] != place for place, key in enumerate(keys)]
    return Repeated(np.array(repeated, bool), np.array(twins, bool))
