"""The columns of every dataset: one row for each query, one split for each language."""

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import pyarrow as pa

SLOT = "[Y]"
# What reading a damaged Parquet file raises; ValueError for names that are not UTF-8.
UNREADABLE = (pa.ArrowException, OSError, ValueError)

# Values of the column `flags`; a card explains all of them (builder/output/columns.toml).
SECOND_ANSWERS = "second_answers"
ANSWER_IN_SUBJECT = "answer_in_subject"
REPEATED = "repeated_candidate"
REPEATED_ROW = "repeated_row"


class Row(NamedTuple):
    """One query in one language; its fields define the columns of `REPAIRED`."""

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
    repairs: Sequence[str] = ()  # of repaired rows, as `published_row`
    published_row: str = ""
    flags: Sequence[str] | None = None  # None if the dataset has no flags


_ARROW: dict[Any, pa.DataType] = {
    str: pa.string(),
    list[str]: pa.list_(pa.string()),
    Sequence[str]: pa.list_(pa.string()),
    Sequence[str] | None: pa.list_(pa.string()),
    list[int]: pa.list_(pa.int32()),
}
REPAIRED = pa.schema([(name, _ARROW[kind]) for name, kind in Row.__annotations__.items()])
SCHEMA = pa.schema([*REPAIRED][:-3])  # without `repairs`, `published_row` and `flags`
FLAGGED = pa.schema([*SCHEMA, REPAIRED.field("flags")])
SENTENCES = pa.schema([*SCHEMA, ("object_last", pa.bool_()), ("confidence", pa.float32())])
# Columns of the tables that recipes make, in this order.
RELEASED = pa.schema(
    [
        *REPAIRED,
        *[*SENTENCES][-2:],
        ("prompts", pa.list_(pa.string())),
        ("dataset_id", pa.string()),
        ("reviewed", pa.bool_()),
        ("label_from", pa.string()),
        ("popularity", pa.int32()),
    ]
)


def has_prompts(table: pa.Table) -> bool:
    """Return whether some row has a prompt for each candidate."""
    return "prompts" in table.column_names and table["prompts"].null_count < len(table)


def to_table(rows: Iterable[Row] | pa.Table) -> pa.Table:
    """Return a table of `REPAIRED`, of `FLAGGED` if there are flags only, or `SCHEMA`."""
    if isinstance(rows, pa.Table):  # it keeps its columns of `RELEASED`, and its metadata
        fields = [field for field in RELEASED if field.name in rows.column_names]
        schema = pa.schema(fields, metadata=rows.schema.metadata)
        return rows.select(schema.names).cast(schema)
    rows = list(rows)
    schema = SCHEMA if all(row.flags is None for row in rows) else FLAGGED
    if any(row.published_row for row in rows):
        schema = REPAIRED
    return pa.table(
        {name: list(map(attrgetter(name), rows)) for name in schema.names}, schema=schema
    )


def split_name(language: str) -> str:
    """Return the name of a language's split; a split name cannot contain `-`."""
    return language.replace("-", "_")
