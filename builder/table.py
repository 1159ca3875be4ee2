"""The table that every dataset shares: one row a query, one split a language."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import pyarrow as pa

SLOT = "[Y]"
SENTENCE = "-sentence"  # the end of the name of a sentence-level twin

SCHEMA = pa.schema(
    [
        ("fact_id", pa.string()),
        ("relation", pa.string()),
        ("subject_id", pa.string()),
        ("object_id", pa.string()),
        ("subject", pa.string()),
        ("prompt", pa.string()),
        ("candidates", pa.list_(pa.string())),
        ("candidate_ids", pa.list_(pa.string())),
        ("answers", pa.list_(pa.int32())),
        ("answer_forms", pa.list_(pa.string())),
        ("template_id", pa.string()),
    ]
)
REPAIRED = pa.schema([*SCHEMA, ("repairs", pa.list_(pa.string())), ("published_row", pa.string())])
SENTENCES = pa.schema([*SCHEMA, ("object_last", pa.bool_()), ("confidence", pa.float32())])


class Row(NamedTuple):
    """One query in one language; the fields are the columns of `REPAIRED`, in its order.

    The last two are for rows made of published ones; other datasets have the columns of `SCHEMA`.
    """

    fact_id: str
    relation: str
    subject_id: str
    object_id: str
    subject: str
    prompt: str
    candidates: list[str]
    candidate_ids: list[str]
    answers: list[int]
    answer_forms: list[str]
    template_id: str
    repairs: Sequence[str] = ()
    published_row: str = ""


def to_table(rows: Iterable[Row]) -> pa.Table:
    """Return the rows as an Arrow table of `REPAIRED` or `SCHEMA`, in the order given."""
    rows = list(rows)
    schema = REPAIRED if any(row.published_row for row in rows) else SCHEMA
    return pa.Table.from_pylist([row._asdict() for row in rows], schema=schema)


def split_name(language: str) -> str:
    """Return the name of a language's split: `-` is no letter of a split name, `_` is.

    >>> split_name("zh-hans")
    'zh_hans'
    """
    return language.replace("-", "_")
