"""Fingerprints of splits and keys of rows."""

import hashlib
import json
from collections.abc import Sequence

import pyarrow as pa

from .checks import COLUMNS


def fingerprint(table: pa.Table, also: Sequence[str] = ()) -> str:
    """Return 12 hex digits that change with any fact, prompt, candidate or answer of a split.

    `also` names further columns that the scores depend on; missing ones are ignored.
    """
    columns = table.select([*COLUMNS, *(x for x in also if x in table.schema.names)]).to_pydict()
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
