"""Linking of rows to Wikidata ids by their labels, with a vote for each language."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import polars as pl

from polyprobe.schema.columns import Row

from . import Facts

MINIMUM = 1 / 4  # share of the languages that must agree


class Link(NamedTuple):
    """The fact of a row, and the share of the languages that voted for it."""

    subject_id: str
    object_id: str
    votes: float


def link_rows(rows: Mapping[str, Sequence[Row]], known: Facts) -> list[Link | None]:
    """Return for each row the known fact with the most votes of languages, or None.

    A language votes for every fact of the row's relation whose subject and object have the labels
    of the row's subject and answer. If a label has changed in one language, or is that of two
    entities there, the other languages outvote it. The link is None if fewer than a quarter of the
    languages agree, or in a tie. `rows` are parallel: row i is the same fact in every language.
    """
    votes = pl.concat([count_votes(language, part, known) for language, part in rows.items()])
    fact = ["number", "subject_id", "object_id"]
    totals = votes.group_by(fact).len("votes").sort("number", "votes", "subject_id", "object_id")
    links: list[Link | None] = [None] * len(next(iter(rows.values())))
    for (number,), best in totals.group_by("number", maintain_order=True):
        *_, last = best.iter_rows(named=True)
        tied = (best["votes"] == last["votes"]).sum() > 1
        share = last["votes"] / len(rows)
        if share >= MINIMUM and not tied:
            links[int(number)] = Link(last["subject_id"], last["object_id"], share)
    return links


def count_votes(language: str, rows: Sequence[Row], known: Facts) -> pl.DataFrame:
    """Return `number`, `subject_id`, `object_id`: one row for each vote of a language."""
    labels = known.labels.filter(pl.col("language") == language).select("id", "label")
    named = (
        known.facts.join(labels.rename({"id": "subject_id", "label": "subject"}), on="subject_id")
        .join(labels.rename({"id": "object_id", "label": "object"}), on="object_id")
    )  # fmt: skip
    asked = pl.DataFrame(
        {
            "number": range(len(rows)),
            "relation": [row.relation for row in rows],
            "subject": [row.subject for row in rows],
            "object": [row.answer_forms[0] for row in rows],
        }
    )
    found = asked.join(named, on=["relation", "subject", "object"])
    return found.select("number", "subject_id", "object_id")
