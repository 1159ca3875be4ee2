"""The columns of every dataset, the checks of its rows, and their fingerprints and keys.

A row is a query, a split is a language; all splits are parallel.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polyprobe.system.messages import PolyprobeError

SLOT = "[Y]"
SENTENCE_START = "\x02"  # in a prompt behind a context, which is read and not scored
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
_OF_SENTENCES = (("object_last", pa.bool_()), ("confidence", pa.float32()))
SENTENCES = pa.schema([*SCHEMA, *_OF_SENTENCES])
# Columns of the tables that recipes make, in this order.
RELEASED = pa.schema(
    [
        *REPAIRED,
        *_OF_SENTENCES,
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
    return pa.Table.from_pylist([row._asdict() for row in rows], schema=schema)


def split_name(language: str) -> str:
    """Return the name of a language's split; a split name cannot contain `-`."""
    return language.replace("-", "_")


COLUMNS = {
    "fact_id": "text",
    "relation": "text",
    "prompt": "text",
    "candidates": "lists of text",
    "answers": "lists of whole numbers",
}
_NONE: np.ndarray = np.zeros(1, dtype=bool)  # of all rows
REMEDY = "correct the dataset or rebuild it"
PROMPTS = "prompts"  # a column that datasets may have: a prompt for each candidate
# Blanks, line breaks and characters without width.
PADDING = "".join(filter(str.isspace, map(chr, range(0x3001)))) + "\u200b\u2060\ufeff"


def check(
    tables: dict[str, pa.Table], name: str, own_candidates: bool = False, remedy: str = REMEDY
) -> None:
    """Raise PolyprobeError at the first invalid table; `name` is the dataset's."""
    # `remedy` is for splits that are not parallel.
    first = next(iter(tables))
    for language, table in tables.items():
        place = f"{name}: language '{language}'"
        _check_columns(table.schema, place)
        for problem, bad in list_faults(table):
            _refuse(bad, table, place, problem)
        if len(table) != len(tables[first]):
            raise PolyprobeError(
                f"{name}: the splits are not parallel: '{first}' has {len(tables[first])} rows, "
                f"'{language}' has {len(table)}; rebuild the dataset"
            )
        for problem, part in PARALLEL.items():
            # Each language may have other candidates.
            if own_candidates and problem == OTHER_CANDIDATES:
                continue
            differ = np.asarray(pc.not_equal(part(tables[first]), part(table)))
            _refuse(differ, table, place, f"the splits are not parallel: {problem}", remedy)


def _check_columns(schema: pa.Schema, place: str) -> None:
    for column, expected in {**COLUMNS, PROMPTS: "lists of text"}.items():
        kind = schema.field(column).type if column in schema.names else pa.null()
        if column in COLUMNS and column not in schema.names:
            raise PolyprobeError(f"{place} has no column {column!r}; expected {', '.join(COLUMNS)}")
        if _holds(kind) != expected and (column in COLUMNS or not pa.types.is_null(kind)):
            raise PolyprobeError(f"{place}: column {column!r} is {kind}; expected {expected}")


def _holds(kind: pa.DataType) -> str | None:
    """Return the content of a column of this type, in the words of COLUMNS."""
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"lists of {_holds(kind.value_type)}"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "text"
    return "whole numbers" if pa.types.is_integer(kind) else None


def _bad_slots(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.not_equal(pc.fill_null(pc.count_substring(texts, SLOT), 0), 1)


def _trim(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.utf8_trim(texts, characters=PADDING)


def _missing_value(table: pa.Table) -> np.ndarray:
    bad: np.ndarray = np.zeros(len(table), dtype=bool)
    for column, kind in COLUMNS.items():
        bad |= np.asarray(pc.is_null(table[column]))
        if kind.startswith("lists"):
            bad |= _rows_with(table[column], pc.is_null)
    return bad


def _is_empty(lists: pa.ChunkedArray) -> np.ndarray:
    return np.asarray(pc.equal(pc.list_value_length(lists), 0))


def _answer_out_of_range(table: pa.Table) -> np.ndarray:
    counts = np.asarray(pc.list_value_length(table["candidates"]))
    limits = counts[np.asarray(pc.list_parent_indices(table["answers"]))]
    return _rows_with(table["answers"], lambda x: (np.asarray(x) < 0) | (np.asarray(x) >= limits))


def _repeated_candidate(table: pa.Table) -> np.ndarray:
    lists = table["candidates"]
    labels = pc.list_flatten(lists).combine_chunks().dictionary_encode().indices
    keys = np.column_stack([np.asarray(pc.list_parent_indices(lists)), np.asarray(labels)])
    repeated: np.ndarray = np.ones(len(keys), dtype=bool)
    repeated[np.unique(keys, axis=0, return_index=True)[1]] = False
    return _rows_with(lists, lambda _: repeated) & ~_has_flag(table, REPEATED)


def _repeated_row(table: pa.Table) -> np.ndarray:
    """Mark rows that would count as another template of their fact without being one."""
    names = [name for name in ("fact_id", "template_id", "prompt") if name in table.column_names]
    rows = table.select(names).append_column("row", pa.array(range(len(table)), pa.int64()))
    bad: np.ndarray = np.ones(len(table), dtype=bool)
    bad[np.asarray(rows.group_by(names).aggregate([("row", "min")])["row_min"])] = False
    return bad & ~_has_flag(table, REPEATED_ROW)


def _has_flag(table: pa.Table, flag: str) -> np.ndarray:
    if "flags" not in table.column_names:
        return _NONE
    return _rows_with(table["flags"], lambda x: pc.fill_null(pc.equal(x, flag), False))


def list_faults(table: pa.Table) -> Iterator[tuple[str, np.ndarray]]:
    """Yield each fault that a table may have, with a mark for each row; later ones need earlier."""
    candidates, answers = table["candidates"], table["answers"]
    bad = np.asarray(_bad_slots(table["prompt"]))
    yield f"the prompt must hold the slot {SLOT} exactly once", bad
    yield "a value is missing", _missing_value(table)
    yield "there are no candidates", _is_empty(candidates)
    yield "a candidate is empty", _rows_with(candidates, lambda x: pc.equal(_trim(x), ""))
    padded = _rows_with(candidates, lambda x: pc.not_equal(_trim(x), x))
    yield "a candidate begins or ends with a blank, which belongs to the prompt", padded
    yield "a candidate occurs twice", _repeated_candidate(table)
    if has_prompts(table):
        sizes = (pc.list_value_length(table[column]) for column in (PROMPTS, "candidates"))
        differ = np.asarray(pc.fill_null(pc.not_equal(*sizes), False))
        yield "the number of prompts is not that of the candidates", differ
        bad = _rows_with(table[PROMPTS], _bad_slots)
        yield f"each of the prompts must hold the slot {SLOT} exactly once", bad
    yield "there is no right answer", _is_empty(answers)
    yield "an answer is no index into the candidates", _answer_out_of_range(table)
    yield "an earlier row has the same fact_id, template_id and prompt", _repeated_row(table)


_TEXTS = pa.list_(pa.string())
OTHER_CANDIDATES = "the number of candidates differs"
# What must be equal in all splits.
PARALLEL: dict[str, Callable[[pa.Table], pa.ChunkedArray]] = {
    "the fact_id differs": lambda table: table["fact_id"],
    OTHER_CANDIDATES: lambda table: pc.list_value_length(table["candidates"]),
    "the right answers differ": lambda table: pc.binary_join(table["answers"].cast(_TEXTS), " "),
}


def find_different(tables: Iterable[pa.Table], column: str = "candidates") -> np.ndarray:
    """Return for each row whether the lists of a column differ in length between languages."""
    sizes = np.stack([np.asarray(pc.list_value_length(table[column])) for table in tables])
    differ: np.ndarray = (sizes != sizes[0]).any(axis=0)
    return differ


def _refuse(bad: np.ndarray, table: pa.Table, place: str, fault: str, remedy: str = REMEDY) -> None:
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise PolyprobeError(
            f"{place}, row {row} ({table['fact_id'][row].as_py()}): {fault} "
            f"({int(bad.sum())} such rows); {remedy}"
        )


def _rows_with(lists: pa.ChunkedArray, find: Callable[[pa.ChunkedArray], Any]) -> np.ndarray:
    """Return whether a list has an element that `find` marks, for each row."""
    rows = np.asarray(pc.list_parent_indices(lists))
    bad = np.asarray(find(pc.list_flatten(lists)))
    return np.bincount(rows[bad], minlength=len(lists)).astype(bool)


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


def read_text_lists(column: pa.ChunkedArray) -> list[list[str]]:
    """Return the lists of text of a column; equal ones are one object, for memory."""
    shared: dict[tuple[str, ...], list[str]] = {}
    lists: list[list[str]] = []
    for start in range(0, len(column), 256):
        rows: list[list[str] | None] = column.slice(start, 256).to_pylist()
        lists += [shared.setdefault(tuple(row or ()), row or []) for row in rows]
    return lists


def name_candidates(table: pa.Table) -> list[list[str]]:
    """Return each row's candidates by id, or by label in rows without ids."""
    labels = read_text_lists(table["candidates"])
    if "candidate_ids" not in table.column_names:
        return labels
    ids = read_text_lists(table["candidate_ids"])
    return [
        names if names and len(names) == len(row) else row
        for names, row in zip(ids, labels, strict=True)
    ]
