"""One file of the score store: rows by key, believed only where they are what was written."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def _lists(kind: pa.DataType) -> pa.DataType:
    return pa.list_(pa.field("element", kind, nullable=False))


# The file's metadata adds the identity that the rows belong to, and the hash of its content.
ROWS = pa.schema(
    [
        pa.field("key", pa.binary(32), nullable=False),
        pa.field("scores", _lists(pa.float32()), nullable=False),
        pa.field("n_tokens", _lists(pa.int32()), nullable=False),
        pa.field("unknown", _lists(pa.int32()), nullable=False),
    ]
)
# Surrogates stand alone in a path or a damaged text; each must stay what it is.
_encode = json.JSONEncoder(ensure_ascii=False).encode


class Known(NamedTuple):
    """What is kept of one query.

    Attributes:
        scores: float32 values, in candidate order.
        n_tokens: how many tokens each score is made of.
        unknown: indices of the candidates that are nothing but unknown tokens.
    """

    scores: list[float]
    n_tokens: list[int]
    unknown: list[int]


class Column(NamedTuple):
    """A column of lists: row r is `values[offsets[r]:offsets[r + 1]]`."""

    offsets: np.ndarray
    values: np.ndarray

    def row(self, number: int) -> list[Any]:
        """Return one row's list."""
        return self.values[self.offsets[number] : self.offsets[number + 1]].tolist()


class Rows(NamedTuple):
    """The rows of a file; those of equal number belong together."""

    keys: list[bytes]
    scores: Column
    n_tokens: Column
    unknown: Column

    def known(self, number: int) -> Known:
        """Return what is kept in one row."""
        return Known(*(column.row(number) for column in self[1:]))


class DamagedFileError(ValueError):
    """A file whose rows cannot be believed; the text says why."""


def key_of(prompt: str, candidates: Sequence[str]) -> bytes:
    """Return the 32 bytes that a query is found by: no two queries share the text they hash.

    That text is a JSON list of the prompt and the candidates in their order.
    """
    text = _encode([prompt, *candidates])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def canonical(identity: Mapping[str, str]) -> str:
    """Return the one JSON text of an identity, whatever the order of its parts."""
    return json.dumps(dict(identity), sort_keys=True, separators=(",", ":"))


def make_file(rows: Mapping[bytes, Known], identity: Mapping[str, str]) -> bytes:
    """Return a Parquet file of rows by key: in the order of the keys, with identity and hash."""
    keys = sorted(rows)
    columns = [keys, *([rows[key][n] for key in keys] for n in range(len(Known._fields)))]
    arrays = [pa.array(c, field.type) for c, field in zip(columns, ROWS, strict=True)]
    table = pa.Table.from_arrays(arrays, schema=ROWS)
    about = {"identity": canonical(identity), "content": _content_hash(table)}
    file = pa.BufferOutputStream()
    # keys and scores hardly repeat: a dictionary of them only takes room
    pq.write_table(
        table.replace_schema_metadata(about),
        file,
        compression="zstd",
        use_dictionary=False,
        write_statistics=False,
    )
    return file.getvalue().to_pybytes()


def read_rows(data: bytes, identity: Mapping[str, str]) -> Rows:
    """Return the rows of a file from its bytes.

    Parquet has checksums of its pages' data but none of their headers, nor of its footer, where a
    single flipped bit turns one number into another: the hash covers what was read.

    Raises:
        DamagedFileError: a file that is cut short, has another schema, belongs to another identity,
            or holds other rows than were written into it.
    """
    try:
        table = pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False)
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:  # damaged names are no UTF-8
        raise DamagedFileError("is no whole Parquet file") from error
    if not table.schema.equals(ROWS):
        raise DamagedFileError("has other columns than a part of the score store")
    about = table.schema.metadata or {}
    if about.get(b"identity") != canonical(identity).encode():
        raise DamagedFileError("holds scores of another model or another way to score")
    if about.get(b"content") != _content_hash(table).encode():
        raise DamagedFileError("does not hold what was written into it")
    lists = (_column(table, name) for name in ROWS.names[1:])
    return Rows(table["key"].to_pylist(), *lists)


def _column(table: pa.Table, name: str) -> Column:
    lists = table[name].combine_chunks()
    return Column(lists.offsets.to_numpy(), lists.values.to_numpy())


def _content_hash(table: pa.Table) -> str:
    """Return the SHA-256 of keys, lengths of lists and values, in hexadecimal digits."""
    digest = hashlib.sha256(b"".join(table["key"].to_pylist()))
    for name in ROWS.names[1:]:
        lists = table[name].combine_chunks()
        digest.update(lists.value_lengths().to_numpy().tobytes())
        digest.update(lists.flatten().to_numpy().tobytes())
    return digest.hexdigest()
