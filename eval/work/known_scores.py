"""The score store: what was scored once is known to every later run of the same model."""

import hashlib
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from polyprobe.system.errors import PolyprobeError
from polyprobe.system.files import write_whole

from .store_file import DamagedFileError, Known, Rows, canonical, key_of, make_file, read_rows

__all__ = ["Known", "ScoreStore"]

IDENTITY, NAME = "identity.json", "name.txt"
REMEDY = "set POLYPROBE_CACHE to another folder, or leave the score store out with --no-cache"
STALE = 3600.0
"""Seconds after which a file that was never put in its place is the rest of a killed process."""


class ScoreStore:
    """Scores by content, of one identity: FOLDER/scores/HASH/identity.json and Parquet files.

    Several processes may read and add at once. What this one has added or met is served to its
    end, be the folder cleared meanwhile; of the rows of one query its own, or the first it met.

    Args:
        folder: the cache folder.
        identity: all that a score depends on beside the query (model, revision, dtype, …).
        name: what people call the model, for `polyprobe cache`; scores do not depend on it.
        remedy: what to do where the folder is of no use, for error messages.

    Raises:
        PolyprobeError: the folder cannot be written or read, or holds another identity.
    """

    def __init__(
        self, folder: Path, identity: Mapping[str, str], name: str = "", remedy: str = REMEDY
    ) -> None:
        self.identity = dict(identity)
        self._remedy = remedy
        self.folder = Path(folder) / "scores" / folder_name(identity)
        self._files: dict[str, Rows] = {}
        self._seen: set[str] = set()
        self._damaged: dict[str, tuple[int, ...]] = {}
        self._where: dict[bytes, tuple[str, int]] = {}
        self._claim()
        if name != read_name(self.folder):
            with suppress(PolyprobeError):  # a store that may only be read serves as well
                self._write(NAME, name.encode())
        self._remove_rests()

    def find(
        self, prompts: Sequence[str], candidates: Sequence[Sequence[str]]
    ) -> list[Known | None]:
        """Return what is known of each query, None where nothing is.

        What other processes have added by now counts. A file that cannot be believed is told in a
        line on standard error and is taken as absent.
        """
        self._read_new()
        asked = list(zip(prompts, candidates, strict=True))
        keys = [key_of(prompt, row) for prompt, row in asked]
        while True:
            found = [self._known(key) for key in keys]
            wrong = {
                self._where[key][0]
                for key, known, (_, row) in zip(keys, found, asked, strict=True)
                if known and not len(known.scores) == len(known.n_tokens) == len(row)
            }
            if not wrong:
                return found
            for name in sorted(wrong):
                self._refuse(name, "has other numbers of scores than candidates")

    def add(
        self,
        prompts: Sequence[str],
        candidates: Sequence[Sequence[str]],
        known: Sequence[Known],
    ) -> None:
        """Keep the scores of queries in one file, whole or not at all.

        A query that is given twice is kept once, the last time; a file that could not be believed
        gives way.

        Raises:
            PolyprobeError: the file cannot be written; all that was added before stays.
        """
        rows = {}
        for prompt, asked, scored in zip(prompts, candidates, known, strict=True):
            assert len(scored.scores) == len(scored.n_tokens) == len(asked), prompt
            rows[key_of(prompt, asked)] = scored
        if not rows:
            return
        data = make_file(rows, self.identity)
        name = f"{hashlib.sha256(b''.join(sorted(rows))).hexdigest()[:32]}.parquet"
        self._claim()
        self._write(name, data)
        self._remove_damaged()
        self._keep(name, read_rows(data, self.identity))

    def _known(self, key: bytes) -> Known | None:
        at = self._where.get(key)
        return self._files[at[0]].known(at[1]) if at else None

    def _read_new(self) -> None:
        """Read the files that were not read before, in the order of their names."""
        try:
            names = sorted(name for name in os.listdir(self.folder) if name.endswith(".parquet"))
            for name in names:
                if name not in self._seen:
                    with suppress(FileNotFoundError):  # cleared by another process
                        self._read_file(name)
        except FileNotFoundError:
            return
        except OSError as error:
            place = error.filename or self.folder
            raise PolyprobeError(
                f"cannot read {place}: {error.strerror}; {self._remedy}"
            ) from error

    def _read_file(self, name: str) -> None:
        data = (self.folder / name).read_bytes()
        self._seen.add(name)
        try:
            rows = read_rows(data, self.identity)
        except DamagedFileError as error:
            self._refuse(name, str(error))
        else:
            self._keep(name, rows, self._where.keys() & rows.keys)

    def _keep(self, name: str, rows: Rows, known: Set[bytes] = frozenset()) -> None:
        """Have a file's rows found, but for the queries that are known already."""
        self._seen.add(name)
        self._files[name] = rows
        at = {key: (name, number) for number, key in enumerate(rows.keys) if key not in known}
        self._where.update(at)

    def _refuse(self, name: str, reason: str) -> None:
        """Forget a file, say so, and keep in mind that it is to give way."""
        file = self.folder / name
        # through sys.stderr, where a progress bar that is being drawn makes way for it
        print(f"warning: {file} {reason}; its rows are scored again", file=sys.stderr)
        if self._files.pop(name, None):
            self._where = {key: at for key, at in self._where.items() if at[0] != name}
        with suppress(OSError):
            self._damaged[name] = _state(file)

    def _remove_damaged(self) -> None:
        """Remove the files that were refused, but for those in whose place others stand now."""
        for name, state in self._damaged.items():
            with suppress(OSError):
                if _state(self.folder / name) == state:
                    (self.folder / name).unlink()
        self._damaged.clear()

    def _claim(self) -> None:
        """Make the folder this identity's and note its use, or refuse one that is another's."""
        file = self.folder / IDENTITY
        try:
            held = read_identity(self.folder)
        except (FileNotFoundError, NotADirectoryError):
            text = json.dumps(self.identity, indent=2, sort_keys=True) + "\n"
            self._write(IDENTITY, text.encode())
            return
        except OSError as error:
            raise PolyprobeError(f"cannot read {file}: {error.strerror}; {self._remedy}") from error
        if held != self.identity:
            raise PolyprobeError(
                f"{file} does not name this run's model and settings (it was changed, or two share "
                f"a hash), so the scores there are not taken: delete {self.folder}, {self._remedy}"
            )
        with suppress(OSError):  # a store that may only be read serves as well
            os.utime(file)

    def _write(self, name: str, data: bytes) -> None:
        """Write a file whole or not at all, while others may be writing the same one.

        Each writes under a name of its own; the last to be done stays.
        """
        file = self.folder / name
        own = self.folder / f"{name}.{uuid4().hex[:8]}.new"
        try:
            write_whole(own, lambda part: part.write_bytes(data), self._remedy)
            own.replace(file)
        except (PolyprobeError, OSError) as error:
            cause = error.__cause__ or error
            raise PolyprobeError(
                f"cannot keep scores in {self.folder}: {getattr(cause, 'strerror', cause)}; what "
                f"was written before is kept: make room, or {self._remedy}"
            ) from error
        _sync(self.folder)

    def _remove_rests(self) -> None:
        """Remove what processes that were killed in mid-write have left."""
        for file in [*self.folder.glob("*.new"), *self.folder.glob(".*.new.part")]:
            with suppress(OSError):
                if time.time() - file.stat().st_mtime > STALE:
                    file.unlink()


def folder_name(identity: Mapping[str, str]) -> str:
    """Return the name of an identity's folder: 16 hexadecimal digits."""
    return hashlib.sha256(canonical(identity).encode()).hexdigest()[:16]


def read_identity(folder: Path) -> dict[str, str] | None:
    """Return what a store's identity.json says; None where that is no JSON object."""
    try:
        held = json.loads((folder / IDENTITY).read_text(encoding="utf-8"))
    except ValueError:
        return None
    return held if isinstance(held, dict) else None


def read_name(folder: Path) -> str:
    """Return what the model of a store was last called."""
    try:
        return (folder / NAME).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _state(file: Path) -> tuple[int, ...]:
    """Return what changes when another file is put in a file's place."""
    state = file.stat()
    return state.st_ino, state.st_mtime_ns, state.st_size


def _sync(folder: Path) -> None:
    """Make a file's name outlast a loss of power; not every system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
