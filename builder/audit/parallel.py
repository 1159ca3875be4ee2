"""Which entity a candidate is, and with that whether a row's candidates are parallel.

Rows that have ids in every language are judged by them. Elsewhere a dictionary is inferred from the
data itself: the answers of a row are one entity in all languages, so the pair of the reference's
answer and the language's answer is observed once a row, within a block (a relation: what is one
word in English may be two in another relation).

Homonyms: English "Georgia" has been seen with two translations in P47. Any translation that was
observed counts as the same entity, since a label alone cannot say more. On BMLAMA-17 as published
this leaves 847 rows of es and 1,858 of el not parallel to English. `strict` takes the other
side: no pair counts whose labels were seen with another one; then it is 859 and 1,872. If instead a
label stands for the one Wikidata id that it has most often among the objects of the relation in
mParaRel it is 865 in es, the other figure that was reported, but 1,919 in el; if it stands for
any id that it has there, 847 and 1,857.

A pair is judged in its block if both labels are answers there, otherwise over all blocks; where one
of them is an answer nowhere it is not judged: it passes for parallel and is counted.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from .split import Split

Place = tuple[str, str]  # relation ("" for all together) and label


class Dictionary(NamedTuple):
    """How often labels were the answers of one row: {place of one: {label of the other: rows}}."""

    to_reference: dict[Place, Counter[str]]
    from_reference: dict[Place, Counter[str]]


class Judged(NamedTuple):
    """One language's candidates against the reference's.

    - `entities`: a name for each candidate, equal for equal entities within a row: its id, or the
      reference's label.
    - `not_parallel`, `not_parallel_strict`: one bool a row.
    - `not_judged`: candidates of which nothing could be said.
    """

    entities: list[list[str]]
    not_parallel: np.ndarray
    not_parallel_strict: np.ndarray
    not_judged: int


def judge_languages(splits: Mapping[str, Split], reference: str) -> dict[str, Judged]:
    """Return the judgement of every language, the reference's own included."""
    with_ids = find_ids(splits)
    return {
        language: judge_language(splits[reference], split, with_ids)
        for language, split in splits.items()
    }


def find_ids(splits: Mapping[str, Split]) -> list[bool]:
    """Return for each row whether every candidate has an id in every language."""
    with_ids = [True] * len(next(iter(splits.values())).prompt)
    for split in splits.values():
        pairs = zip(split.candidates, split.candidate_ids, strict=True)
        for row, (labels, ids) in enumerate(pairs):
            with_ids[row] &= len(labels) == len(ids) > 0 and all(ids)
    return with_ids


def judge_language(reference: Split, split: Split, with_ids: list[bool]) -> Judged:
    """Return the entities of one language and the rows in which they are not the reference's."""
    dictionary = make_dictionary(reference, split)
    entities: list[list[str]] = []
    loose, strict, not_judged = [], [], 0
    for row, labels in enumerate(split.candidates):
        if with_ids[row]:
            entities.append(split.candidate_ids[row])
            loose.append(split.candidate_ids[row] != reference.candidate_ids[row])
            strict.append(loose[-1])
            continue
        block, theirs = reference.relation[row], reference.candidates[row]
        judged = [
            name_entity(dictionary, block, j, label, theirs) for j, label in enumerate(labels)
        ]
        names = [name if name is not None else theirs[j] for j, name in enumerate(judged)]
        not_judged += judged.count(None)
        entities.append(names)
        loose.append(names != theirs)
        strict.append(loose[-1] or has_homonym(dictionary, block, labels, theirs))
    return Judged(entities, np.array(loose), np.array(strict), not_judged)


def make_dictionary(reference: Split, split: Split) -> Dictionary:
    """Return the pairs of labels observed as answers of one row."""
    forward: dict[Place, Counter[str]] = defaultdict(Counter)
    backward: dict[Place, Counter[str]] = defaultdict(Counter)
    for row, block in enumerate(reference.relation):
        for index in reference.answers[row]:
            if index in split.answers[row]:
                theirs, ours = reference.label(row, index), split.label(row, index)
                for place in {block, ""}:
                    forward[place, ours][theirs] += 1
                    backward[place, theirs][ours] += 1
    return Dictionary(dict(forward), dict(backward))


def name_entity(
    dictionary: Dictionary, block: str, index: int, label: str, theirs: list[str]
) -> str | None:
    """Return the reference's label for a candidate, or None where nothing can be said.

    The label at the same index wins if it was ever observed, then one that is in the row, then
    the most frequent, then the first in code-point order.
    """
    same = theirs[index] if index < len(theirs) else ""
    for place in (block, ""):
        seen = dictionary.to_reference.get((place, label))
        if seen and (place, same) in dictionary.from_reference:
            if same in seen:
                return same
            return min(seen, key=lambda name: (name not in theirs, -seen[name], name))
    return None if index < len(theirs) else label


def has_homonym(dictionary: Dictionary, block: str, labels: list[str], theirs: list[str]) -> bool:
    """Tell whether a label of the row was observed with several labels of the other language."""
    return any(len(dictionary.to_reference.get((block, label), ())) > 1 for label in labels) or any(
        len(dictionary.from_reference.get((block, label), ())) > 1 for label in theirs
    )
