"""The cache folder, and a store of values by key in SQLite."""

import hashlib
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import PolyprobeError, report

PATIENCE = 60.0  # seconds to wait for another process's transaction
CHECKSUM = 16  # bytes before a value
KEYS_PER_QUERY = 500  # older versions of SQLite accept at most 999
ELSEWHERE = "set POLYPROBE_CACHE to another folder"


def cache_folder() -> Path:
    """Find the folder of the scores and translations that later runs reuse.

    The first one that is set: POLYPROBE_CACHE, XDG_CACHE_HOME/polyprobe, ~/.cache/polyprobe. A
    relative XDG_CACHE_HOME is ignored, as the XDG specification requires.
    """
    try:
        if folder := os.environ.get("POLYPROBE_CACHE"):
            return Path(folder).expanduser()
        caches = Path(os.environ.get("XDG_CACHE_HOME", ""))
        return (caches if caches.is_absolute() else Path.home() / ".cache") / "polyprobe"
    except RuntimeError as error:
        raise PolyprobeError(
            f"cannot find a folder for the cache ({error}); set POLYPROBE_CACHE"
        ) from error


@dataclass(frozen=True)
class ContentStore:
    """Values by key in one table of an SQLite file, which several processes may use at once.

    Every call opens and closes the file: a file that is deleted meanwhile is created again. The
    journal is a rollback journal, because network file systems, where homes on clusters often are,
    do not support WAL.
    """

    file: Path
    table: str  # the kind of content, a plural noun; named in error messages
    remedy: str = ELSEWHERE  # the last resort in error messages
    # Bytes that the checksums depend on; None: no checksums. SQLite does not checksum its pages.
    seal: bytes | None = None

    def find(self, keys: Iterable[bytes]) -> dict[bytes, Any]:
        """Find {key: value} of the stored keys; damaged values are reported, and are absent."""
        rows: dict[bytes, Any] = {}
        names = list(dict.fromkeys(keys))
        with self._open() as database:
            for start in range(0, len(names), KEYS_PER_QUERY):
                some = names[start : start + KEYS_PER_QUERY]
                marks = ",".join("?" * len(some))
                query = f"SELECT * FROM {self.table} WHERE key IN ({marks})"
                rows.update(database.execute(query, some))
        if self.seal is None:
            return rows
        values = {key: value for key, row in rows.items() if (value := self._unseal(key, row))}
        if damaged := len(rows) - len(values):
            report(f"warning: {damaged} {self.table} in {self.file} are damaged; making them again")
        return values

    def add(self, values: Mapping[bytes, Any]) -> None:
        """Store {key: value} in one transaction, on disk at return; an old value is replaced."""
        rows = values.items()
        if self.seal is not None:  # the values are bytes, none of them empty
            rows = {key: self._checksum(key, value) + value for key, value in rows}.items()
        with self._open() as database:
            query = f"INSERT OR REPLACE INTO {self.table} VALUES (?, ?)"
            database.executemany(query, rows)

    def _checksum(self, key: bytes, value: bytes) -> bytes:
        return hashlib.sha256((self.seal or b"") + key + value).digest()[:CHECKSUM]

    def _unseal(self, key: bytes, row: object) -> bytes | None:
        intact = isinstance(row, bytes) and row[:CHECKSUM] == self._checksum(key, row[CHECKSUM:])
        return row[CHECKSUM:] if isinstance(row, bytes) and intact else None

    def count(self) -> int:
        """Count the stored values."""
        with self._open() as database:
            return database.execute(f"SELECT count(*) FROM {self.table}").fetchone()[0]

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        make = f"CREATE TABLE IF NOT EXISTS {self.table} (key BLOB PRIMARY KEY, value NOT NULL)"
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.file, timeout=PATIENCE)) as database, database:
                database.execute(make)
                yield database
        except (sqlite3.Error, OSError, ValueError, MemoryError) as error:
            reason = getattr(error, "strerror", None) or error
            raise PolyprobeError(
                f"cannot use {self.file}: {reason}; {self._find_remedy(error)}"
            ) from error

    def _find_remedy(self, error: Exception) -> str:
        name = getattr(error, "sqlite_errorname", "")  # "": Python could not decode a value
        damage = ("SQLITE_CORRUPT", "SQLITE_ERROR", "SQLITE_NOTADB", "SQLITE_TOOBIG", "")
        if name in damage and not isinstance(error, OSError):
            return f"it is damaged: move it away and run again to recreate its {self.table}"
        if name == "SQLITE_BUSY":
            return f"another process uses it: end that process; stored {self.table} are kept"
        return (
            f"stored {self.table} are kept: make room, allow writing there, or {self.remedy}; "
            "then run the same command again"
        )
