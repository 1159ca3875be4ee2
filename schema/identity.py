"""Fingerprints of splits, keys of rows, names of subjects and candidates."""

import hashlib
import json
from collections.abc import Sequence

import pyarrow as pa

from .checks import COLUMNS, PROMPTS


def fingerprint(table: pa.Table, also: Sequence[str] = ()) -> str:
    """Return 12 hex digits that change with any fact, prompt, candidate or answer of a split.

    The prompts of candidates (`prompts`) are included if the split has them, as are the columns of
    `also`, which name what else the scores depend on.
    """
    also = [name for name in (PROMPTS, *also) if name in table.schema.names]
    columns = table.select([*COLUMNS, *also]).to_pydict()
    return hashlib.sha256(json.dumps(columns, ensure_ascii=False).encode()).hexdigest()[:12]


def key_rows(ids: Sequence[str]) -> list[tuple[str, int]]:
    """Return each row's fact id and the number of earlier rows (templates) of the same fact.

    >>> key_rows(["a", "a", "b"])
    [('a', 0), ('a', 1), ('b', 0)]
    """
    seen: dict[str, int] = {}
    keys = []
    for fact in ids:
        keys.append((fact, seen.get(fact, 0)))
        seen[fact] = seen.get(fact, 0) + 1
    return keys


def place_rows(table: pa.Table, ids: Sequence[str]) -> list[int]:
    """List where the rows of these fact ids are in a table that has all of them, see `key_rows`."""
    places = {key: row for row, key in enumerate(key_rows(table["fact_id"].to_pylist()))}
    return [places[key] for key in key_rows(ids)]


def split_fact(fact: str) -> tuple[str, str, str] | None:
    """Return relation, subject and object of a fact id; None if it does not name them.

    >>> split_fact("P36:Q142:Q90"), split_fact("17:0042")
    (('P36', 'Q142', 'Q90'), None)
    """
    relation, *ends = fact.split(":")
    return (relation, ends[0], ends[1]) if len(ends) == 2 else None


def name_subjects(table: pa.Table) -> list[str]:
    """Return each row's subject: from the fact id (RELATION:SUBJECT:OBJECT), else the columns.

    Without an id and a label of the subject, the prompt is its name.
    """
    columns = [
        table[name].to_pylist() if name in table.column_names else [None] * len(table)
        for name in ("subject_id", "subject", "prompt")
    ]
    facts = map(split_fact, table["fact_id"].to_pylist())
    return [
        parts[1] if parts else next(str(name) for name in names if name)
        for parts, *names in zip(facts, *columns, strict=True)
    ]


def read_lists(column: pa.ChunkedArray) -> list[list[str]]:
    """Return the lists of text of a column; equal ones are one object, for memory."""
    shared: dict[tuple[str, ...], list[str]] = {}
    lists: list[list[str]] = []
    for start in range(0, len(column), 256):
        rows: list[list[str] | None] = column.slice(start, 256).to_pylist()
        lists += [shared.setdefault(tuple(row or ()), row or []) for row in rows]
    return lists


def name_candidates(table: pa.Table) -> list[list[str]]:
    """Return each row's candidates by id, or by label in rows without ids."""
    labels = read_lists(table["candidates"])
    if "candidate_ids" not in table.column_names:
        return labels
    ids = read_lists(table["candidate_ids"])
    return [
        names if names and len(names) == len(row) else row
        for names, row in zip(ids, labels, strict=True)
    ]
