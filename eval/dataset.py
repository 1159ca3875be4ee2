"""Find a dataset by name, load its splits, and refuse what cannot be evaluated."""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from polyprobe import PolyprobeError

from .errors import one_line
from .known import is_dataset, list_folders, suggest
from .slot import SLOT

COLUMNS = {
    "fact_id": "text",
    "relation": "text",
    "prompt": "text",
    "candidates": "lists of text",
    "answers": "lists of whole numbers",
}


def load_facts(
    dataset: str, config: str | None = None, languages: Sequence[str] | None = None
) -> dict[str, pa.Table]:
    """Return one Arrow table a language, checked: same facts, same candidates' number, row by row.

    Args:
        dataset: a folder, the name of a folder under ./datasets, the name of an embedded or
            installed dataset, or OWNER/NAME on the Hub; looked for in this order.
        config: a configuration of it; None takes its default.
        languages: split names, in the order wanted; None takes all in the order of the card.

    Raises:
        PolyprobeError: nothing of that name, an unknown language, splits that are not parallel,
            or a row that no model can be asked (see `CHECKS`).
    """
    tables = read_splits(dataset, config, languages)
    check(tables, _name(dataset, config))
    return tables


def read_splits(
    dataset: str, config: str | None = None, languages: Sequence[str] | None = None
) -> dict[str, pa.Table]:
    """Return what `load_facts` does, unchecked: a table as it stands in the file a language."""
    place = locate(dataset)
    name = _name(dataset, config)
    with _plain_errors(name, place):
        # A folder is streamed: datasets 5.2 caches it by the text of its card alone, and would
        # serve what stood there before the Parquet changed.
        splits = datasets.load_dataset(place, config, streaming=os.path.isdir(place))
        chosen = _known(languages, list(splits), name)
        return {language: _read(splits[language]) for language in chosen}


def locate(dataset: str) -> str:
    """Return what `datasets.load_dataset` shall open: an absolute folder, or the name itself."""
    for folder in (Path(dataset), *(place / dataset for place in list_folders())):
        if dataset and is_dataset(folder):
            return str(folder.resolve())
    return dataset


def check(tables: dict[str, pa.Table], name: str) -> None:
    """Raise PolyprobeError at the first table that cannot be evaluated; name says which dataset."""
    first = next(iter(tables))
    for language, table in tables.items():
        _check_columns(table.schema, f"{name}: language '{language}'")
        for problem, find in CHECKS.items():
            _refuse(find(table), table, f"{name}: language '{language}'", problem)
        if len(table) != len(tables[first]):
            raise PolyprobeError(
                f"{name}: the splits are not parallel: '{first}' has {len(tables[first])} rows, "
                f"'{language}' has {len(table)}; rebuild the dataset"
            )
        for problem, differ in PARALLEL.items():
            _refuse(differ(tables[first], table), table, f"{name}: language '{language}'", problem)


def fingerprint(table: pa.Table, also: Sequence[str] = ()) -> str:
    """Return 12 hex digits that change with any fact, prompt, candidate or answer of a split.

    `also` names further columns that the scores depend on; those that are missing are left out.
    """
    columns = table.select([*COLUMNS, *(x for x in also if x in table.schema.names)]).to_pydict()
    return hashlib.sha256(json.dumps(columns, ensure_ascii=False).encode()).hexdigest()[:12]


def key_rows(ids: Sequence[str]) -> list[tuple[str, int]]:
    """Return each row's fact id and how many rows (templates) of the same fact stand before it.

    >>> key_rows(["a", "a", "b"])
    [('a', 0), ('a', 1), ('b', 0)]
    """
    seen: dict[str, int] = {}
    keys = []
    for fact in ids:
        keys.append((fact, seen.get(fact, 0)))
        seen[fact] = seen.get(fact, 0) + 1
    return keys


def _name(dataset: str, config: str | None) -> str:
    return f"{dataset}/{config}" if config else dataset


def _read(split: datasets.Dataset | datasets.IterableDataset) -> pa.Table:
    return pa.concat_tables(split.with_format("arrow").iter(batch_size=100_000)).combine_chunks()


def _check_columns(schema: pa.Schema, place: str) -> None:
    for column, expected in COLUMNS.items():
        if column not in schema.names:
            raise PolyprobeError(f"{place} has no column {column!r}; expected {', '.join(COLUMNS)}")
        kind = schema.field(column).type
        if _holds(kind) != expected:
            raise PolyprobeError(f"{place}: column {column!r} is {kind}; expected {expected}")


def _holds(kind: pa.DataType) -> str | None:
    """Return in the words of COLUMNS what a column of this type holds."""
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"lists of {_holds(kind.value_type)}"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "text"
    return "whole numbers" if pa.types.is_integer(kind) else None


def _bad_slot(table: pa.Table) -> np.ndarray:
    slots = pc.fill_null(pc.count_substring(table["prompt"], SLOT), 0)
    return np.asarray(pc.not_equal(slots, 1))


def _missing_value(table: pa.Table) -> np.ndarray:
    bad: np.ndarray = np.zeros(len(table), dtype=bool)
    for column, kind in COLUMNS.items():
        bad |= np.asarray(pc.is_null(table[column]))
        if kind.startswith("lists"):
            inner = pc.is_null(pc.list_flatten(table[column]))
            bad |= _rows_with(table[column], np.asarray(inner))
    return bad


def _no_candidates(table: pa.Table) -> np.ndarray:
    return np.asarray(pc.equal(pc.list_value_length(table["candidates"]), 0))


def _empty_candidate(table: pa.Table) -> np.ndarray:
    blank = pc.equal(pc.utf8_trim_whitespace(pc.list_flatten(table["candidates"])), "")
    return _rows_with(table["candidates"], np.asarray(blank))


def _no_answer(table: pa.Table) -> np.ndarray:
    return np.asarray(pc.equal(pc.list_value_length(table["answers"]), 0))


def _answer_out_of_range(table: pa.Table) -> np.ndarray:
    answers = np.asarray(pc.list_flatten(table["answers"]))
    counts = np.asarray(pc.list_value_length(table["candidates"]))
    limits = counts[np.asarray(pc.list_parent_indices(table["answers"]))]
    return _rows_with(table["answers"], (answers < 0) | (answers >= limits))


CHECKS: dict[str, Callable[[pa.Table], np.ndarray]] = {
    f"the prompt must hold the slot {SLOT} exactly once": _bad_slot,
    "a value is missing": _missing_value,  # those below expect that none is
    "there are no candidates": _no_candidates,
    "a candidate is empty": _empty_candidate,
    "there is no right answer": _no_answer,
    "an answer is no index into the candidates": _answer_out_of_range,
}


def _other_fact(first: pa.Table, table: pa.Table) -> np.ndarray:
    return np.asarray(pc.not_equal(first["fact_id"], table["fact_id"]))


def _other_candidates(first: pa.Table, table: pa.Table) -> np.ndarray:
    lengths = (pc.list_value_length(t["candidates"]) for t in (first, table))
    return np.asarray(pc.not_equal(*lengths))


def _other_answers(first: pa.Table, table: pa.Table) -> np.ndarray:
    pairs = zip(first["answers"].to_pylist(), table["answers"].to_pylist(), strict=True)
    return np.array([a != b for a, b in pairs], dtype=bool)


PARALLEL: dict[str, Callable[[pa.Table, pa.Table], np.ndarray]] = {
    "the splits are not parallel: another fact_id stands here": _other_fact,
    "the splits are not parallel: the number of candidates differs": _other_candidates,
    "the splits are not parallel: the right answers differ": _other_answers,
}


def _refuse(bad: np.ndarray, table: pa.Table, place: str, problem: str) -> None:
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise PolyprobeError(
            f"{place}, row {row} ({table['fact_id'][row].as_py()}): {problem} "
            f"({int(bad.sum())} such rows); mend the dataset or rebuild it"
        )


def _rows_with(lists: pa.ChunkedArray, bad: np.ndarray) -> np.ndarray:
    """Return for each row whether one of its list's flattened elements is bad."""
    rows = np.asarray(pc.list_parent_indices(lists))
    return np.bincount(rows[bad], minlength=len(lists)).astype(bool)


def _known(wanted: Iterable[str] | None, available: list[str], name: str) -> list[str]:
    chosen = list(dict.fromkeys(wanted)) if wanted is not None else available
    if not chosen:
        raise PolyprobeError(
            f"no languages were named; available in {name}: {', '.join(available)}"
        )
    for language in chosen:
        if language not in available:
            raise PolyprobeError(
                f"unknown language '{language}' in {name}; available: {', '.join(available)}"
            )
    return chosen


@contextmanager
def _plain_errors(name: str, place: str) -> Iterator[None]:
    """Turn what `datasets` raises into one line, and keep its own bars and log lines silent.

    Foreign cards and files make it fail in many ways, so everything is caught.
    """
    level = datasets.logging.get_verbosity()
    datasets.logging.set_verbosity(datasets.logging.CRITICAL)
    datasets.disable_progress_bars()
    try:
        yield
    except PolyprobeError:
        raise
    except (datasets.exceptions.DatasetNotFoundError, OSError) as error:
        known = "" if "/" in place else f"{suggest(place)}; "
        raise PolyprobeError(
            f"no dataset '{name}' here, under ./datasets, installed or on the Hub; {known}build it "
            "(polyprobe build), install it (polyprobe install), or give a folder or OWNER/NAME "
            f"({one_line(error)})"
        ) from error
    except Exception as error:
        if "BuilderConfig" in str(error) and "not found" in str(error):
            available = str(error).rpartition("Available: ")[2]
            raise PolyprobeError(
                f"unknown configuration in '{name}'; available: {available}"
            ) from error
        raise PolyprobeError(_bad_file(place) or f"{name}: {one_line(error)}") from error
    finally:
        datasets.enable_progress_bars()
        datasets.logging.set_verbosity(level)


def _bad_file(place: str) -> str | None:
    for file in sorted(Path(place).glob("**/*.parquet")) if os.path.isdir(place) else ():
        try:
            if not pq.read_table(file).num_rows:
                return f"{file} has no rows; build the dataset again"
        except (pa.ArrowInvalid, OSError) as error:
            return f"{file} is not readable Parquet ({one_line(error)}); build the dataset again"
    return None
