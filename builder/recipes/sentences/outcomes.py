"""Outcomes of all rows in all languages, in a table on disk."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from polyprobe.builder.output.write import write_table

FOUND = "found"
NO_ANSWER = "no-answer"
EMPTY = "empty"
UNCHANGED = "unchanged"
NO_OBJECT = "no-object"
BAD_SLOT = "bad-slot"
COLLISION = "collision"
UNTRANSLATED = (NO_ANSWER, EMPTY, UNCHANGED)

STATUSES = {
    FOUND: "the object was found in the sentence",
    NO_ANSWER: "the translator gave no usable answer",
    EMPTY: "the translation is empty",
    UNCHANGED: "the translation is the sentence of the source language",
    NO_OBJECT: "no words of the translation are the answer, in the language it is in",
    BAD_SLOT: "the sentence itself contains [X] or [Y]",
    COLLISION: "two candidates read the same",
}

OUTCOMES = pa.schema(
    [
        ("language", pa.string()),
        ("row", pa.int32()),
        ("fact_id", pa.string()),
        ("english", pa.string()),
        ("translation", pa.string()),
        ("label", pa.string()),
        ("form", pa.string()),
        ("start", pa.int32()),
        ("end", pa.int32()),
        ("score", pa.float32()),
        ("status", pa.string()),
        ("reason", pa.string()),
    ]
)


class Outcome(NamedTuple):
    """The outcome of a base row in one language; the fields are the columns of OUTCOMES.

    `english` is the sentence in the source language. `form` is the text of the translation from
    character `start` to `end`, and `score` (0-100) its similarity to the label; they are "", 0 and
    0 if nothing was found. `reason` is empty if the status is FOUND.
    """

    language: str
    row: int
    fact_id: str
    english: str
    translation: str
    label: str
    form: str = ""
    start: int = 0
    end: int = 0
    score: float = 0.0
    status: str = FOUND
    reason: str = ""


def write_outcomes(folder: Path, name: str, outcomes: Iterable[Outcome]) -> Path:
    """Write `folder/sentences/NAME.parquet` and return its path."""
    path = folder / "sentences" / f"{name}.parquet"
    table = pa.Table.from_pylist([outcome._asdict() for outcome in outcomes], schema=OUTCOMES)
    write_table(table, path)
    return path
