"""What is kept in the cache folder: the stores in it, their size, their removal."""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from .known_scores import IDENTITY, NAME, read_identity, read_name

FOLDER = re.compile("[0-9a-f]{16}")
OWN = re.compile(rf".*\.parquet|{re.escape(NAME)}|\.?.+\.new(\.part)?")
"""The names of the files that a store makes beside its identity.json."""


class Stored(NamedTuple):
    """A store on disk.

    Attributes:
        identity: what identity.json says; empty where it cannot be read.
        name: what the model was last called.
        rows: queries in the files that can be read; one in two files counts twice.
        size: bytes of all that `remove` would remove.
        used: when it was last opened or written, in seconds since 1970.
    """

    folder: Path
    identity: dict[str, str]
    name: str
    rows: int
    size: int
    used: float


def list_stores(cache: Path) -> list[Stored]:
    """Return the stores in a cache folder by model, the one used last first."""
    try:
        folders = sorted((cache / "scores").iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    stores = [_look_at(folder) for folder in folders if _is_store(folder)]
    return sorted(stores, key=lambda s: (s.name, -s.used))


def remove(store: Stored) -> bool:
    """Remove a store's own files and its folder; return False where other files keep the folder.

    Links are removed, never followed. identity.json goes last: what is interrupted is still listed.
    """
    for file in [*_own_files(store.folder), store.folder / IDENTITY]:
        file.unlink(missing_ok=True)
    with suppress(OSError):
        store.folder.rmdir()
    return not store.folder.exists()


def _is_store(folder: Path) -> bool:
    """Tell whether a folder is one that a store made; a link is none."""
    identity = folder / IDENTITY
    named = FOLDER.fullmatch(folder.name) is not None
    return named and not folder.is_symlink() and identity.is_file() and not identity.is_symlink()


def _look_at(folder: Path) -> Stored:
    states, rows = [], 0
    for file in [folder / IDENTITY, *_own_files(folder)]:
        with suppress(FileNotFoundError):  # a run that goes on renames its files
            states.append(file.lstat())
            rows += _count_rows(file)
    size = sum(state.st_size for state in states)
    used = max((state.st_mtime for state in states), default=0.0)
    identity = {name: str(value) for name, value in (read_identity(folder) or {}).items()}
    return Stored(
        folder, identity, read_name(folder) or identity.get("model", ""), rows, size, used
    )


def _own_files(folder: Path) -> Iterator[Path]:
    for file in sorted(folder.iterdir()):
        if OWN.fullmatch(file.name) and (file.is_symlink() or file.is_file()):
            yield file


def _count_rows(file: Path) -> int:
    if file.suffix != ".parquet":
        return 0
    try:
        return pq.read_metadata(file).num_rows
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, ValueError):  # damaged: scored again when it is asked for
        return 0
