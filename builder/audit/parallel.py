"""The entities of candidates, and whether the candidates of a row are parallel.

Rows with ids in all languages are judged by ids. For other rows a dictionary is inferred from the
answers, which are the same entity in all languages, by relation.

Homonyms: English "Georgia" has two translations in P47. All observed translations are the same
entity, since labels cannot distinguish them. By this rule 847 rows of es and 1,858 of el in the
published BMLAMA-17 are not parallel to English, by the Wikidata ids of mParaRel 847 and 1,857; with
`strict`, where labels of more than one pair do not match, 859 and 1,872.
"""

from collections import Counter, defaultdict
from typing import NamedTuple

import numpy as np

from .split import Split

Place = tuple[str, str]  # relation ("" for all) and label


class Dictionary:
    """Counts of rows by pairs of their answers: {place of one label: {other label: rows}}."""

    def __init__(self, reference: Split, split: Split) -> None:
        self.to_reference: dict[Place, Counter[str]] = defaultdict(Counter)
        self.from_reference: dict[Place, Counter[str]] = defaultdict(Counter)
        for row, block in enumerate(reference.relation):
            for index in {*reference.answers[row]} & {*split.answers[row]}:
                original, label = reference.candidates[row][index], split.candidates[row][index]
                # Counted in the relation and over all: the second is for pairs unseen in the first.
                for place in {block, ""}:
                    self.to_reference[place, label][original] += 1
                    self.from_reference[place, original][label] += 1

    def match(self, block: str, label: str, originals: list[str], index: int) -> str | None:
        """Return the reference's label for a candidate, or None if it cannot be judged."""
        same = originals[index] if index < len(originals) else ""
        for place in (block, ""):
            seen = self.to_reference.get((place, label))
            if seen and (place, same) in self.from_reference:
                # First the label at the index, then labels in the row, by frequency, code points.
                best = min(seen, key=lambda name: (name not in originals, -seen[name], name))
                return same if same in seen else best
        # A candidate that cannot be judged keeps its label if the reference has none at its index.
        return None if index < len(originals) else label

    def has_homonym(self, block: str, labels: list[str], originals: list[str]) -> bool:
        """Tell whether a label of the row was observed with several in the other language."""
        sides = ((self.to_reference, labels), (self.from_reference, originals))
        return any(len(pairs.get((block, x), ())) > 1 for pairs, names in sides for x in names)


class Judged(NamedTuple):
    """One language's candidates compared with the reference's, row by row."""

    # A name for each candidate, one for an entity within a row: its id, or the reference's label.
    entities: list[list[str]]
    not_parallel: np.ndarray
    not_parallel_strict: np.ndarray
    not_judged: int  # candidates


def judge_language(reference: Split, split: Split, with_ids: list[bool]) -> Judged:
    """Return the entities of one language, and the rows where they differ from the reference's."""
    dictionary = Dictionary(reference, split)
    entities: list[list[str]] = []
    loose, strict, not_judged = [], [], 0
    for row, labels in enumerate(split.candidates):
        if with_ids[row]:
            entities.append(split.candidate_ids[row])
            loose.append(split.candidate_ids[row] != reference.candidate_ids[row])
            strict.append(loose[-1])
            continue
        block, originals = reference.relation[row], reference.candidates[row]
        judged = [dictionary.match(block, label, originals, j) for j, label in enumerate(labels)]
        not_judged += judged.count(None)
        names = [originals[j] if name is None else name for j, name in enumerate(judged)]
        entities.append(names)
        loose.append(names != originals)
        strict.append(loose[-1] or dictionary.has_homonym(block, labels, originals))
    return Judged(entities, np.array(loose), np.array(strict), not_judged)
