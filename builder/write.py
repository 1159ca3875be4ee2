"""Datasets on disk: one Parquet file a split, a configuration replaced as a whole or not at all."""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from polyprobe import PolyprobeError

from .progress import track
from .table import Row, split_name, to_table

LEVEL = 9  # of zstd
NOTES = "polyprobe"


def write_config(
    folder: Path, config: str, splits: Mapping[str, Sequence[Row]], notes: str = ""
) -> None:
    """Write `folder/data/CONFIG/LANG.parquet` for every language, all of them or none.

    `notes`, how the configuration came about, stand in the metadata of each file under NOTES.

    The files are written into `data/.CONFIG.new` and moved in place when the last is complete:
    a full disk or Ctrl-C leaves the configuration that was there. The bytes depend on the rows
    and the version of pyarrow alone.
    """
    rows = track(splits.items(), f"writing {config}")
    write_tables(folder, config, ((language, to_table(part)) for language, part in rows), notes)


def write_tables(
    folder: Path, config: str, tables: Iterable[tuple[str, pa.Table]], notes: str = ""
) -> None:
    """Write a configuration as `write_config` does, of tables: (language, table)."""
    target = folder / "data" / config
    new = target.with_name(f".{config}.new")
    with explain_errors(folder), cleared(new):
        new.mkdir(parents=True)
        for language, table in tables:
            noted = table.replace_schema_metadata({NOTES: notes}) if notes else table
            write_split(noted, new / f"{split_name(language)}.parquet")
        replace_folder(new, target)


def write_table(table: pa.Table, path: Path) -> None:
    """Write one Parquet file atomically, and its folder where it is missing."""
    new = path.with_name(f".{path.name}.new")
    with explain_errors(path.parent), cleared(new):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_split(table, new)
        os.replace(new, path)


def write_split(table: pa.Table, path: Path) -> None:
    """Write one split as Parquet with zstd."""
    buffer = pa.BufferOutputStream()
    pq.write_table(table, buffer, compression="zstd", compression_level=LEVEL)
    path.write_bytes(buffer.getvalue())


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    new = path.with_name(f".{path.name}.new")
    with explain_errors(path.parent), cleared(new):
        new.write_text(text, encoding="utf-8", newline="\n")
        os.replace(new, path)


def replace_folder(new: Path, target: Path) -> None:
    """Move `new` to `target`; a folder that stands there goes, but only once `new` is in place."""
    old = target.with_name(f".{target.name}.old")
    if target.exists():
        shutil.rmtree(old, ignore_errors=True)
        target.rename(old)
    try:
        new.rename(target)
    except BaseException:
        if old.exists():
            old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def recover(folder: Path, config: str) -> None:
    """Put back a configuration that a build killed between its two renames has set aside."""
    target = folder / "data" / config
    old = target.with_name(f".{config}.old")
    if old.exists() and not target.exists():
        old.rename(target)


@contextmanager
def cleared(path: Path) -> Iterator[None]:
    """Remove `path`, a file or folder, before the block and after it."""
    remove(path)
    try:
        yield
    finally:
        remove(path)


def remove(path: Path) -> None:
    """Remove a file or a folder; nothing to remove is no error."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def explain_errors(folder: Path) -> Iterator[None]:
    """Turn the system's error in the block into one line that names the folder."""
    try:
        yield
    except OSError as error:
        raise PolyprobeError(
            f"cannot write to {folder}: {error.strerror or error}; what was there is unchanged"
        ) from error
