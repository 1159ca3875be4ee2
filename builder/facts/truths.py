"""Which objects are right for a subject, by everything that the sources know."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import polars as pl

from .implied import Edges, find_edges, find_implied

SYMMETRIC = ("P190", "P47", "P530")  # twinned with, shares a border, diplomatic relation
INVERSE = {"P36": "P1376", "P1376": "P36", "P361": "P527", "P527": "P361"}
LOOSE = ("readers",)  # what they tell may be only arguable: nothing follows from it
Truths = Mapping[tuple[str, str], frozenset[str]]


class Knowledge(NamedTuple):
    """What is known to be true, and what things lie in or are kinds of."""

    truths: Truths
    edges: Edges

    def complete(self, answers: Iterable[str], questions: Collection[tuple[str, str]]) -> set[str]:
        """Return everything that is right where the answers are, what follows from it included.

        Args:
            answers: what is known to answer the question rightly.
            questions: (relation, subject) of all that the question's wording may ask for.
        """
        found = set(answers).union(*(self.truths.get(asked, ()) for asked in questions))
        return found.union(*(find_implied(*asked, found, self.edges) for asked in questions))


def learn(facts: Mapping[str, pl.DataFrame]) -> Knowledge:
    """Return what the sources' facts (`facts.FACTS`) tell."""
    firm = [table for name, table in facts.items() if name not in LOOSE]
    return Knowledge(find_truths(facts.values()), find_edges(firm))


def find_truths(facts: Iterable[pl.DataFrame]) -> dict[tuple[str, str], frozenset[str]]:
    """Return {(relation, subject): right objects} of tables with the columns of `facts.FACTS`.

    A fact of a symmetric relation is true the other way round as well, and one of capital and
    capital of, part of and has part makes one of its inverse.
    """
    objects = defaultdict(set)
    for table in facts:
        for relation, subject, answer in table.select(
            "relation", "subject_id", "object_id"
        ).iter_rows():
            objects[relation, subject].add(answer)
            if relation in SYMMETRIC:
                objects[relation, answer].add(subject)
            elif relation in INVERSE:
                objects[INVERSE[relation], answer].add(subject)
    return {key: frozenset(found) for key, found in objects.items()}
