"""Select the queries that a figure counts: the bootstrap draws from these only.

A group without a counted query keeps its first query, as an undefined value: the group then appears
in the results, and the macro average can count it as 0 or skip it.

>>> groups = ["P36", "P36", "P19", "P19"]
>>> pick_counted([True, False, False, False], groups)
[0, 2]
>>> count_by_group([True, False, False, False], groups)
{'P36': 1, 'P19': 0}
"""

from collections.abc import Collection, Hashable, Iterable, Sequence


def pick_counted(counted: Collection[bool], groups: Sequence[Hashable] | None) -> list[int]:
    """Return the indices of the counted queries, and of the first query of each group without one.

    `groups` has one label for each query; None is one group.
    """
    labels = [None] * len(counted) if groups is None else groups
    without = {label for label, n in count_by_group(counted, labels).items() if not n}
    places = []
    for place, (counts, label) in enumerate(zip(counted, labels, strict=True)):
        if counts or label in without:
            places.append(place)
            without.discard(label)
    return places


def count_by_group(counted: Iterable[bool], groups: Sequence[Hashable]) -> dict[Hashable, int]:
    """Return the number of counted queries of each group, in order of first occurrence."""
    sizes = dict.fromkeys(groups, 0)
    for counts, label in zip(counted, groups, strict=True):
        sizes[label] += bool(counts)
    return sizes


def take(labels: Sequence[Hashable] | None, places: Iterable[int]) -> list[Hashable] | None:
    """Return the labels at some indices; None for None."""
    return None if labels is None else [labels[place] for place in places]
