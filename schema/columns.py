"""The columns of every dataset: one row for each query, one split for each language."""

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import pyarrow as pa

SLOT = "[Y]"
# What reading a damaged Parquet file raises; ValueError for names that are not UTF-8.
UNREADABLE = (pa.ArrowException, OSError, ValueError)

DESCRIPTIONS = {
    "fact_id": "identifier of the query, the same in every language and version",
    "relation": "Wikidata property, or a name",
    "subject_id": "identifier of the subject, empty if there is none",
    "object_id": "identifier of the object, empty if there is none",
    "subject": "label of the subject in this language",
    "prompt": "sentence with exactly one `[Y]`, the place of the object",
    "candidates": "possible objects, the same number in the same order in every language",
    "candidate_ids": "identifiers of the candidates, an empty list if there are none",
    "answers": "indices of the correct candidates",
    "answer_forms": "surface forms that count as correct",
    "template_id": "template of the prompt",
    "repairs": "codes of the changes to the published row (repaired configurations only)",
    "published_row": "`fact_id` of the published row (repaired configurations only)",
    "flags": "reasons to leave the row out of a figure, the same in every language (not in all "
    "datasets)",
    "object_last": "whether only punctuation follows `[Y]` (`-sentence` only)",
    "confidence": "similarity of the answer's label and its form, 0-100 (`-sentence` only)",
    "prompts": "a sentence for each candidate, null where all candidates share `prompt`",
    "dataset_id": "identifier of the released row",
    "reviewed": "whether a person reviewed the template",
    "label_from": "source of the label of the object in this language",
    "popularity": "how often the fact occurs in T-REx",
}

SECOND_ANSWERS = "second_answers"
REPEATED = "repeated_candidate"
FLAGS = {  # values of the column `flags`, and their meanings
    "answer_in_subject": "a correct candidate's label occurs in the subject's label, as whole "
    "words, in at least one language of the configuration",
    SECOND_ANSWERS: "many distractors are also correct (all rows of P530, diplomatic relations)",
    "inverted": "the prompt asks for the subject",
    "ends_in_answer": "the text before the slot ends in the correct answer",
    REPEATED: "a candidate occurs twice, as released",
}


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
    flags: Sequence[str] | None = None  # keys of FLAGS, None if the dataset has no flags


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
    """Return the rows as a table of `REPAIRED`, of `FLAGGED` if there are flags only, or `SCHEMA`.

    A table keeps its columns of `RELEASED`, in that order and with those types, and its metadata.
    """
    if isinstance(rows, pa.Table):
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
    """Return the name of a language's split; a split name cannot contain `-`.

    >>> split_name("zh-hans")
    'zh_hans'
    """
    return language.replace("-", "_")
