"""Pick the queries that a figure counts, so that the bootstrap draws from these alone.

A group of which no query counts keeps its first one, to be given without a value: so the group is
still named among the results, and the macro average can count it 0 or not. The folders of metrics/
hold this file as a link, so that each of them is whole.

>>> groups = ["P36", "P36", "P19", "P19"]
>>> pick_counted([True, False, False, False], groups)
[0, 2]
>>> count_by_group([True, False, False, False], groups)
{'P36': 1, 'P19': 0}
"""

from collections.abc import Hashable, Iterable, Sequence


def pick_counted(counted: Sequence[bool], groups: Sequence[Hashable] | None) -> list[int]:
    """Return the places of the queries that count, and of the first of each group without one.

    `groups` is each query's group; None is one group.
    """
    labels = [None] * len(counted) if groups is None else groups
    without = {label for label, n in count_by_group(counted, labels).items() if not n}
    places = []
    for place, (counts, label) in enumerate(zip(counted, labels, strict=True)):
        if counts or label in without:
            places.append(place)
            without.discard(label)
    return places


def count_by_group(counted: Sequence[bool], groups: Sequence[Hashable]) -> dict[Hashable, int]:
    """Return how many queries of each group count, in the order in which groups first occur."""
    sizes = dict.fromkeys(groups, 0)
    for counts, label in zip(counted, groups, strict=True):
        sizes[label] += bool(counts)
    return sizes


def take(labels: Sequence[Hashable] | None, places: Iterable[int]) -> list[Hashable] | None:
    """Return the labels at these places; None, for no labels, stays."""
    return None if labels is None else [labels[place] for place in places]
