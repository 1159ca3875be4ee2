"""Write datasets: one Parquet file for each split, a configuration replaced whole or not at all."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from polyprobe.schema.columns import Row, split_name, to_table
from polyprobe.system.files import cleared, explain_errors, part_of, replace_folder
from polyprobe.system.progress import track

LEVEL = 9  # of zstd
NOTES = "polyprobe"


def write_config(
    folder: Path, config: str, splits: Mapping[str, Sequence[Row]], notes: str = ""
) -> None:
    """Write `folder/data/CONFIG/LANG.parquet` for every language, all or none.

    `notes` describe the build, in the metadata of each file under NOTES.

    The files are written to `data/.CONFIG.new` and moved into place when all are complete: after a
    full disk or Ctrl-C, the previous configuration remains. The bytes depend only on the rows and
    the version of pyarrow.
    """
    rows = track(splits.items(), f"writing {config}")
    write_tables(folder, config, ((language, to_table(part)) for language, part in rows), notes)


def write_tables(
    folder: Path, config: str, tables: Iterable[tuple[str, pa.Table]], notes: str = ""
) -> None:
    """Write a configuration from pairs (language, table), as `write_config` does."""
    target = folder / "data" / config
    new = target.with_name(f".{config}.new")
    with explain_errors(folder), cleared(new):
        new.mkdir(parents=True)
        for language, table in tables:
            noted = table.replace_schema_metadata({NOTES: notes}) if notes else table
            write_split(noted, new / f"{split_name(language)}.parquet")
        replace_folder(new, target)


def write_table(table: pa.Table, path: Path) -> None:
    """Write one Parquet file atomically, and create its folder if missing."""
    new = part_of(path)
    with explain_errors(path.parent), cleared(new):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_split(table, new)
        os.replace(new, path)


def write_split(table: pa.Table, path: Path) -> None:
    """Write one split as Parquet with zstd."""
    buffer = pa.BufferOutputStream()
    pq.write_table(table, buffer, compression="zstd", compression_level=LEVEL)
    path.write_bytes(buffer.getvalue())
