"""The entities of candidates, and whether the candidates of a row are parallel.

Rows with ids in all languages are judged by ids. For other rows a dictionary is inferred from the
data. The answer of a row is the same entity in all languages, so each row gives a pair of labels:
the answer in the reference and in the language. Pairs are collected for each block (relation),
since the same English word may have another translation in another relation.

Homonyms: English "Georgia" has two translations in P47. All observed translations are the same
entity, since labels cannot distinguish them. By this rule 847 rows of es and 1,858 of el in the
published BMLAMA-17 are not parallel to English. With `strict`, labels of more than one pair do not
match; the counts are then 859 and 1,872. Other rules were compared. If a label is the Wikidata id
that it most often has among the objects of the relation in mParaRel, the counts are 865 (also
reported elsewhere) and 1,919. If it is any id that it has there, they are 847 and 1,857.

A pair is judged in its block if both labels are answers there, otherwise over all blocks. A pair
with a label that is never an answer is not judged: it counts as parallel and in `not_judged`.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from .split import Split

Place = tuple[str, str]  # relation ("" for all) and label


class Dictionary(NamedTuple):
    """Counts of rows by pairs of answers: {place of one label: {other label: rows}}."""

    to_reference: dict[Place, Counter[str]]
    from_reference: dict[Place, Counter[str]]


class Judged(NamedTuple):
    """One language's candidates compared with the reference's.

    - `entities`: a name for each candidate, unique to its entity within a row: its id, or the
      reference's label.
    - `not_parallel`, `not_parallel_strict`: one bool for each row.
    - `not_judged`: number of candidates that cannot be compared.
    """

    entities: list[list[str]]
    not_parallel: np.ndarray
    not_parallel_strict: np.ndarray
    not_judged: int


def find_ids(splits: Mapping[str, Split]) -> list[bool]:
    """Return for each row whether all candidates have ids in all languages."""
    with_ids = [True] * len(next(iter(splits.values())).prompt)
    for split in splits.values():
        pairs = zip(split.candidates, split.candidate_ids, strict=True)
        for row, (labels, ids) in enumerate(pairs):
            with_ids[row] &= len(labels) == len(ids) > 0 and all(ids)
    return with_ids


def judge_language(reference: Split, split: Split, with_ids: list[bool]) -> Judged:
    """Return the entities of one language, and the rows where they differ from the reference's."""
    dictionary = make_dictionary(reference, split)
    entities: list[list[str]] = []
    loose, strict, not_judged = [], [], 0
    for row, labels in enumerate(split.candidates):
        if with_ids[row]:
            entities.append(split.candidate_ids[row])
            loose.append(split.candidate_ids[row] != reference.candidate_ids[row])
            strict.append(loose[-1])
            continue
        block, originals = reference.relation[row], reference.candidates[row]
        judged = [
            match_entity(dictionary, block, j, label, originals) for j, label in enumerate(labels)
        ]
        names = [name if name is not None else originals[j] for j, name in enumerate(judged)]
        not_judged += judged.count(None)
        entities.append(names)
        loose.append(names != originals)
        strict.append(loose[-1] or has_homonym(dictionary, block, labels, originals))
    return Judged(entities, np.array(loose), np.array(strict), not_judged)


def make_dictionary(reference: Split, split: Split) -> Dictionary:
    """Return the pairs of labels that are answers of the same row."""
    forward: dict[Place, Counter[str]] = defaultdict(Counter)
    backward: dict[Place, Counter[str]] = defaultdict(Counter)
    for row, block in enumerate(reference.relation):
        for index in reference.answers[row]:
            if index in split.answers[row]:
                original, label = reference.candidates[row][index], split.candidates[row][index]
                # Counted in the relation and over all: the second is for pairs unseen in the first.
                for place in {block, ""}:
                    forward[place, label][original] += 1
                    backward[place, original][label] += 1
    return Dictionary(dict(forward), dict(backward))


def match_entity(
    dictionary: Dictionary, block: str, index: int, label: str, originals: list[str]
) -> str | None:
    """Return the reference's label for a candidate, or None if it cannot be judged.

    The order of preference: the label at the same index, labels in the row, frequency, code points.
    Only observed labels are considered. A candidate that cannot be judged keeps its own label if
    the reference has none at its index.
    """
    same = originals[index] if index < len(originals) else ""
    for place in (block, ""):
        seen = dictionary.to_reference.get((place, label))
        if seen and (place, same) in dictionary.from_reference:
            if same in seen:
                return same
            return min(seen, key=lambda name: (name not in originals, -seen[name], name))
    return None if index < len(originals) else label


def has_homonym(
    dictionary: Dictionary, block: str, labels: list[str], originals: list[str]
) -> bool:
    """Return whether a label of the row was observed with several labels in the other language."""
    return any(len(dictionary.to_reference.get((block, label), ())) > 1 for label in labels) or any(
        len(dictionary.from_reference.get((block, label), ())) > 1 for label in originals
    )
