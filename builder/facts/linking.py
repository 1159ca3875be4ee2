"""Linking of rows to Wikidata ids by their labels, with a vote for each language."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import polars as pl

from . import Facts

MINIMUM = 1 / 4  # share of the languages that must agree
Pairs = tuple[Sequence[str], Sequence[str]]  # labels of the subjects and answers of rows


class Link(NamedTuple):
    """The fact of a row, and the share of the languages that voted for it."""

    subject_id: str
    object_id: str
    votes: float


def link_rows(
    relations: Sequence[str], rows: Mapping[str, Pairs], facts: Facts
) -> list[Link | None]:
    """Return for each row the known fact with the most votes of languages, or None.

    A language votes for every fact of the row's relation whose subject and object have the labels
    of the row's subject and answer. If a label has changed in one language, or is that of two
    entities there, the other languages outvote it. The link is None if fewer than a quarter of the
    languages agree, or in a tie. `rows` are parallel: row i is the same fact in every language.
    """
    labels = facts.labels.partition_by("language", as_dict=True)
    votes = [
        vote_by_labels(relations, pairs, facts.facts, labels.get((language,), facts.labels.clear()))
        for language, pairs in rows.items()
    ]
    maximum = pl.col("votes").max().over("number")
    totals = (
        pl.concat(votes)
        .group_by("number", "subject_id", "object_id")
        .len("votes")
        .filter(pl.col("votes") == maximum, pl.col("votes") / len(rows) >= MINIMUM)
        # two facts with as many votes: neither is taken
        .filter(pl.len().over("number") == 1)
    )
    links: list[Link | None] = [None] * len(relations)
    for number, subject, answer, count in totals.iter_rows():
        links[number] = Link(subject, answer, count / len(rows))
    return links


def vote_by_labels(
    relations: Sequence[str], pairs: Pairs, facts: pl.DataFrame, labels: pl.DataFrame
) -> pl.DataFrame:
    """Return `number`, `subject_id`, `object_id`: one row for each vote of a language."""
    subjects = labels.select(subject_id="id", subject="label")
    objects = labels.select(object_id="id", object="label")
    subject, answer = pairs
    names = facts.join(subjects, on="subject_id").join(objects, on="object_id")
    questions = pl.DataFrame(
        {
            "number": range(len(relations)),
            "relation": relations,
            "subject": subject,
            "object": answer,
        }
    )
    votes = questions.join(names, on=["relation", "subject", "object"])
    return votes.select("number", "subject_id", "object_id")
