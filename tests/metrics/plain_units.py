"""The name rankers, the gain and the sign-flip test of `plain_subject`, in plain loops."""

import math
from collections.abc import Hashable, Sequence
from itertools import product
from statistics import fmean

from tests.metrics.plain_subject import Row, tabulate


def share_bigrams(first: str, second: str) -> float:
    """Compute 2 |X ∩ Y| / (|X| + |Y|) of the sets of character bigrams (Dice)."""
    texts = first.casefold(), second.casefold()
    one, two = ({text[k : k + 2] for k in range(len(text) - 1)} for text in texts)
    return 2 * len(one & two) / (len(one) + len(two)) if one or two else 0.0


def rank_by_bigrams(subject: str, candidates: Sequence[str]) -> list[float]:
    return [share_bigrams(subject, candidate) for candidate in candidates]


def rank_by_initials(subject: str, candidates: Sequence[str]) -> list[float]:
    """Score candidates: those with the subject's first letter first, then the shortest."""
    first = subject.casefold()[:1]
    ordered = sorted({(x.casefold()[:1] != first, len(x)) for x in candidates})
    return [-float(ordered.index((x.casefold()[:1] != first, len(x)))) for x in candidates]


def share_first(scores: Sequence[float], right: Sequence[int], ties: str = "expected") -> float:
    """Compute the probability that a right answer is first."""
    table = tabulate(scores, ties)
    return math.fsum(table[i][0] for i in right)


def gain(rows: Sequence[Row], language: str, ties: str = "expected") -> dict[str, float]:
    """Compute a language's accuracy about the subjects, and its gain over that about donors."""
    subject = fmean(share_first(row.subject[language], row.right, ties) for row in rows)
    donor = fmean(share_first(row.donor[language], row.right, ties) for row in rows)
    return {"accuracy": subject, "accuracy_donor": donor, "accuracy_gain": subject - donor}


def link_units(subjects: Sequence[Hashable], donors: Sequence[Hashable]) -> list[int]:
    """Number the units: rows are in one if subjects and donors link them, however indirectly."""
    groups: list[set[Hashable]] = []
    for pair in zip(subjects, donors, strict=True):
        linked = [group for group in groups if group & set(pair)]
        groups = [group for group in groups if not group & set(pair)]
        groups.append(set(pair).union(*linked))
    return [next(k for k, group in enumerate(groups) if x in group) for x in subjects]


def flip_units(values: Sequence[float], units: Sequence[Hashable]) -> float:
    """Compute the share of all 2^n signs of n units whose sum is as far from 0 as the observed."""
    sums = [
        math.fsum(x for x, y in zip(values, units, strict=True) if y == unit)
        for unit in dict.fromkeys(units)
    ]
    reached = 0
    for signs in product((1, -1), repeat=len(sums)):
        total = math.fsum(s * x for s, x in zip(signs, sums, strict=True))
        reached += abs(total) >= abs(math.fsum(sums)) - 1e-12
    return reached / 2 ** len(sums)
