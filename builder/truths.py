"""Which objects are right for a subject, by everything that the sources know."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import polars as pl

from .facts import load_source

SYMMETRIC = ("P190", "P47", "P530")  # twinned with, shares a border, diplomatic relation
INVERSE = {"P36": "P1376", "P1376": "P36", "P361": "P527", "P527": "P361"}

SOURCES = ("mpararel", "xfactr")  # each has `read_truths(mirror)`
Truths = Mapping[tuple[str, str], frozenset[str]]


def read_truths(mirror: Path | None, sources: Sequence[str] = SOURCES) -> list[pl.DataFrame]:
    """Return the facts (`facts.FACTS`) of the sources, by default all that Wikidata's are in.

    X-FACTR lists every object of a subject, also those that no prompt asks for. Of BMLAMA-17's
    rows 1,023 have a distractor that is right by mParaRel, and 1,685 by both (with symmetric and
    inverse relations read both ways).
    """
    return [load_source(name).read_truths(mirror) for name in sources]


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
