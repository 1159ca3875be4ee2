"""Reading of splits for the audit, which accepts invalid rows in order to count them."""

import hashlib
import json
from collections.abc import Mapping
from typing import NamedTuple

import pyarrow as pa

from polyprobe.schema.columns import SCHEMA
from polyprobe.system.messages import PolyprobeError

NEEDED = ("prompt", "candidates", "answers")


class Split(NamedTuple):
    """One language, with a list for each column; row i is the same query in all languages."""

    # Null values and missing columns are empty; `answers` are valid indices in ascending order.
    language: str
    fact_id: list[str]
    relation: list[str]
    subject_id: list[str]
    object_id: list[str]
    subject: list[str]
    prompt: list[str]
    candidates: list[list[str]]
    candidate_ids: list[list[str]]
    answers: list[list[int]]


def make_splits(tables: Mapping[str, pa.Table], name: str) -> dict[str, Split]:
    """Return {language: split} of a dataset; `name` identifies it in errors."""
    if not tables:
        raise PolyprobeError(f"{name} has no languages; name some that it has")
    splits = {language: read_split(language, table, name) for language, table in tables.items()}
    first = next(iter(splits.values()))
    for split in splits.values():
        if len(split.prompt) != len(first.prompt):
            raise PolyprobeError(
                f"{name}: '{first.language}' has {len(first.prompt)} rows, '{split.language}' has "
                f"{len(split.prompt)}; rows are compared by number: give files of equal length"
            )
    if not first.prompt:
        raise PolyprobeError(f"{name} has no rows; build the dataset again")
    return splits


def read_split(language: str, table: pa.Table, name: str) -> Split:
    """Return one language's columns in the types of `SCHEMA`."""
    place, names = f"{name}: '{language}'", Split._fields[1:]
    columns = {column: read_column(table, column, place) for column in names}
    columns["answers"] = [
        sorted({index for index in row if index is not None and 0 <= index < len(labels)})
        for row, labels in zip(columns["answers"], columns["candidates"], strict=True)
    ]
    return Split(language, **columns)


def read_column(table: pa.Table, column: str, place: str) -> list:
    """Return a column as a list; a missing optional column gives empty values."""
    kind = SCHEMA.field(column).type
    nested = pa.types.is_list(kind)
    if column not in table.column_names:
        if column in NEEDED:
            raise PolyprobeError(f"{place} has no column {column!r}; expected {', '.join(NEEDED)}")
        return [[] if nested else "" for _ in range(table.num_rows)]
    try:
        values = table[column].cast(kind).to_pylist()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        actual = table.schema.field(column).type
        raise PolyprobeError(f"{place}: column {column!r} is {actual}; expected {kind}") from error
    if not nested:
        return [value or "" for value in values]
    if pa.types.is_integer(kind.value_type):
        return [row or [] for row in values]
    return [[item or "" for item in row or []] for row in values]


def find_ids(splits: Mapping[str, Split]) -> list[bool]:
    """Return for each row whether all candidates have ids in all languages."""
    columns = (zip(x.candidates, x.candidate_ids, strict=True) for x in splits.values())
    rows = zip(*columns, strict=True)
    return [all(len(x) == len(ids) > 0 and all(ids) for x, ids in row) for row in rows]


def hash_splits(splits: Mapping[str, Split]) -> str:
    """Return a hash (12 hex digits) of all data that the audit reads."""
    digest = hashlib.sha256()
    for split in splits.values():
        digest.update(json.dumps(split, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:12]
