"""The cache folder, and a store of texts by content in SQLite."""

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from .errors import PolyprobeError

PATIENCE = 60.0  # seconds that a process waits for another one's transaction
ASKED = 500  # keys in one query; SQLite takes 999 in its older versions
# A rollback journal and not WAL: homes of clusters lie on network file systems, which lack what
# WAL needs.
TABLE = "CREATE TABLE IF NOT EXISTS translations (key BLOB PRIMARY KEY, text TEXT NOT NULL)"


def cache_folder() -> Path:
    """Return the folder that keeps scores and translations for later runs.

    The first that is set: POLYPROBE_CACHE, XDG_CACHE_HOME/polyprobe, ~/.cache/polyprobe. A relative
    XDG_CACHE_HOME is ignored, as the XDG specification requires.
    """
    try:
        if own := os.environ.get("POLYPROBE_CACHE"):
            return Path(own).expanduser()
        caches = Path(os.environ.get("XDG_CACHE_HOME", ""))
        return (caches if caches.is_absolute() else Path.home() / ".cache") / "polyprobe"
    except RuntimeError as error:
        raise PolyprobeError(f"no folder for the cache ({error}); set POLYPROBE_CACHE") from error


def key_of(
    signature: str, source: str, target: str, sentence: str, terms: Mapping[str, str]
) -> bytes:
    """Return the SHA-256 of all that a text depends on; the order of the terms is none of it."""
    parts = [signature, source, target, sentence, sorted(terms.items())]
    return hashlib.sha256(json.dumps(parts, ensure_ascii=True).encode()).digest()


class Memory:
    """Texts by key, in one SQLite file that several processes may read and fill at once.

    Raises:
        PolyprobeError: the file is damaged, or cannot be written; what was kept before stays.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        with self._explained():
            file.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(file, timeout=PATIENCE)
            with self._database:
                self._database.execute(TABLE)

    def __enter__(self) -> "Memory":
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def find(self, keys: Iterable[bytes]) -> dict[bytes, str]:
        """Return {key: text} of those that are known."""
        found: dict[bytes, str] = {}
        with self._explained():
            wanted = list(dict.fromkeys(keys))
            for start in range(0, len(wanted), ASKED):
                some = wanted[start : start + ASKED]
                marks = ",".join("?" * len(some))
                query = f"SELECT key, text FROM translations WHERE key IN ({marks})"
                found.update(self._database.execute(query, some))
        return found

    def add(self, texts: Mapping[bytes, str]) -> None:
        """Keep {key: text} in one transaction; it is on disk when this returns."""
        with self._explained(), self._database:
            self._database.executemany(
                "INSERT OR REPLACE INTO translations VALUES (?, ?)", texts.items()
            )

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise PolyprobeError(f"cannot use {self.file}: {error}; {_remedy(error)}") from error


def _remedy(error: Exception) -> str:
    name = getattr(error, "sqlite_errorname", "")
    if name in ("SQLITE_NOTADB", "SQLITE_CORRUPT"):
        return "it is damaged: move it away, and its translations are asked for again"
    if name == "SQLITE_BUSY":
        return "another process holds it: end that one, what was translated before is kept"
    return (
        "what was translated before is kept: make room or give the right to write there, or set "
        "POLYPROBE_CACHE to another folder"
    )
