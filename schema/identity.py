"""Fingerprints of splits, keys of rows, names of subjects and candidates."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import count

import pyarrow as pa

from polyprobe.system.errors import PolyprobeError

from .columns import COLUMNS, PROMPTS


def fingerprint(table: pa.Table, also: Sequence[str] = ()) -> str:
    """Return 12 hex digits that change with any fact, prompt, candidate or answer of a split."""
    # Other columns that the scores depend on; those that the split has count.
    also = [name for name in (PROMPTS, *also) if name in table.schema.names]
    columns = table.select([*COLUMNS, *also]).to_pydict()
    return hashlib.sha256(json.dumps(columns, ensure_ascii=False).encode()).hexdigest()[:12]


def key_rows(ids: Sequence[str]) -> list[tuple[str, int]]:
    """Return each row's fact id and the number of earlier rows (templates) of the same fact.

    >>> key_rows(["a", "a", "b"])
    [('a', 0), ('a', 1), ('b', 0)]
    """
    counts: dict[str, Iterator[int]] = defaultdict(count)
    return [(fact, next(counts[fact])) for fact in ids]


def place_rows(table: pa.Table, ids: Sequence[str]) -> list[int]:
    """List where the rows of these fact ids are in a table that has all of them, see `key_rows`."""
    places = {key: row for row, key in enumerate(key_rows(table["fact_id"].to_pylist()))}
    keys = key_rows(ids)
    for fact, number in keys:
        if (fact, number) not in places:
            raise PolyprobeError(f"row {number + 1} of fact {fact!r} is not in the dataset")
    return [places[key] for key in keys]


def split_fact(fact: str) -> tuple[str, str, str] | None:
    """Return relation, subject and object of a fact id; None if it does not name them.

    >>> split_fact("P36:Q142:Q90"), split_fact("17:0042")
    (('P36', 'Q142', 'Q90'), None)
    """
    relation, *ends = fact.split(":")
    return (relation, ends[0], ends[1]) if len(ends) == 2 else None


def name_subjects(table: pa.Table) -> list[str]:
    """Return each row's subject: from the fact id, else its id, its label, or the prompt."""
    names = [name for name in ("subject_id", "subject", "prompt") if name in table.column_names]
    columns = [table[name].to_pylist() for name in ("fact_id", *names)]
    return [
        parts[1] if (parts := split_fact(fact)) else next(str(name) for name in values if name)
        for fact, *values in zip(*columns, strict=True)
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
