"""The cache folder: upstream archives, each file checked by its SHA-256, and values by key."""

import hashlib
import os
import sqlite3
import sys
import zipfile
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from .messages import PolyprobeError, report
from .sending import check_address, extend

PATIENCE = 60.0  # seconds to wait for another process's transaction
CHECKSUM = 16  # bytes before a value
KEYS_PER_QUERY = 500  # older versions of SQLite accept at most 999
MOMENTS = "moments"  # the table, and the file, of the second moments of edits
ELSEWHERE = "set POLYPROBE_CACHE to another folder"
ENDPOINT = "https://github.com"
ENDPOINT_VARIABLE = "POLYPROBE_GITHUB"
TIMEOUT = 30  # seconds without a byte
# What zipfile raises for a damaged archive: in its directory, flags, data, offsets.
ZIP_ERRORS = (
    zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError
)  # fmt: skip


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
    journal is a rollback journal: network file systems, as of homes on clusters, have no WAL.
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


class Repository(NamedTuple):
    """A GitHub repository at one commit: `OWNER/REPO`, and the SHA-256 of what we read.

    The key of `sha256` is a file, or a folder with `/` at the end. A folder's SHA-256 is that of
    the lines that `LC_ALL=C sha256sum *` prints in it.
    """

    name: str
    commit: str
    sha256: Mapping[str, str]

    @property
    def archive(self) -> str:
        """The name of the repository's zipball in a mirror folder and in the cache."""
        return f"{self.name.replace('/', '__')}@{self.commit[:12]}.zip"

    @property
    def url(self) -> str:
        """The address of the zipball: on GitHub, or the server of POLYPROBE_GITHUB."""
        address = os.environ.get(ENDPOINT_VARIABLE, ENDPOINT)
        endpoint = check_address(ENDPOINT_VARIABLE, address)
        return extend(endpoint, f"/{self.name}/archive/{self.commit}.zip")


def read_sums(package: str, name: str) -> dict[str, str]:
    """Read {path: SHA-256} from a file of the lines that `sha256sum` prints."""
    lines = files(package).joinpath(name).read_text(encoding="utf-8").splitlines()
    return {path: digest for digest, path in (line.split("  ", 1) for line in lines)}


def read_files(
    repository: Repository, paths: Iterable[str], mirror: Path | None = None
) -> Iterator[Any]:
    """Yield the content of each path, in the given order, with its SHA-256 checked.

    That of a folder, whose path ends with `/`, is {name: content} of its files. The files are in
    the zipball of the commit. With `mirror`, a folder, it is `OWNER__REPO@COMMIT12.zip` there.
    Without, it is downloaded from GitHub into the user's cache folder; a damaged archive in the
    cache is downloaded again, a damaged download is deleted.
    """
    rest = deque(paths)
    if mirror is not None:
        check_archive(repository, mirror)
        yield from _read_members(repository, rest, mirror / repository.archive)
        return
    archive = cache_folder() / "upstream" / repository.archive
    if archive.is_file():
        with suppress(PolyprobeError):
            yield from _read_members(repository, rest, archive)
            return
        archive.unlink()
    _download(repository.url, archive, None)
    try:
        yield from _read_members(repository, rest, archive)
    except PolyprobeError as error:
        archive.unlink()
        raise PolyprobeError(f"{repository.url}: {error}; the download was deleted") from error


def _read_members(repository: Repository, paths: deque[str], archive: Path) -> Iterator[Any]:
    """Yield the content of each path in a zipball, and remove the path from `paths`."""
    root = f"{repository.name.partition('/')[2]}-{repository.commit}"
    try:
        with zipfile.ZipFile(archive) as zipball:
            while paths:
                path = f"{root}/{paths[0]}"
                content: Any
                if path.endswith("/"):
                    names = (x for x in zipball.namelist() if x.rpartition("/")[0] + "/" == path)
                    content = {x.removeprefix(path): zipball.read(x) for x in sorted(names)}
                    content.pop("", None)  # the folder itself
                    if not content:
                        raise KeyError(f"no files in the folder {path}")
                    # what `LC_ALL=C sha256sum *` prints
                    lines = (f"{hashlib.sha256(y).hexdigest()}  {x}\n" for x, y in content.items())
                    hashed = "".join(lines).encode()
                else:
                    content = hashed = zipball.read(path)
                _check(hashed, repository.sha256[paths[0]], f"{archive}: {paths[0]}")
                paths.popleft()
                yield content
    except KeyError as error:
        raise PolyprobeError(f"a file is missing in {archive}: {error.args[0]}") from error
    except ZIP_ERRORS as error:
        raise PolyprobeError(
            f"{archive} is cut short or corrupt ({error}); download it again"
        ) from error


def _check(content: bytes, expected: str, source: str) -> None:
    digest = hashlib.sha256(content).hexdigest()
    if digest != expected:
        raise PolyprobeError(
            f"{source}: expected SHA-256 {expected}, got {digest}; nothing was built: download the "
            "archive again"
        )


def read_archive(url: str, sha256: str, mirror: Path | None = None) -> bytes:
    """Read an archive, from its URL into the cache or from `mirror`; its SHA-256 is checked."""
    name = url.rpartition("/")[2]
    if mirror is None:
        archive = cache_folder() / "upstream" / sha256[:12] / name
        _download(url, archive, sha256)
        return archive.read_bytes()
    archive = mirror / name
    if not archive.is_file():
        raise PolyprobeError(f"no archive {name} in the mirror folder {mirror}; download {url}")
    try:
        content = archive.read_bytes()
    except OSError as error:
        raise PolyprobeError(f"cannot read {archive}: {error.strerror or error}") from error
    _check(content, sha256, str(archive))
    return content


def check_archive(repository: Repository, mirror: Path | None) -> None:
    """Refuse a mirror without the archive of the repository."""
    if mirror is not None and not (mirror / repository.archive).is_file():
        raise PolyprobeError(
            f"no archive {repository.archive} in the mirror folder {mirror}; put GitHub's zipball "
            f"of {repository.name} at {repository.commit[:12]} there, or omit --mirror"
        )


def _download(url: str, file: Path, sha256: str | None) -> None:
    """Download a file completely or not at all; a file that is present and right is kept."""
    import pooch
    import requests

    pooch.get_logger().setLevel("ERROR")  # the progress bar is enough
    downloader = pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), timeout=TIMEOUT)
    try:
        pooch.retrieve(url, sha256, file.name, file.parent, downloader=downloader)
    except requests.RequestException as error:
        status = getattr(error.response, "status_code", None)
        reason = f"HTTP status {status}" if status else type(error).__name__
        raise PolyprobeError(
            f"cannot download {url} ({reason}); try again, or give the folder with {file.name} as "
            "--mirror"
        ) from None  # its text has the whole address
    except ValueError as error:  # another hash: pooch deleted the download
        raise PolyprobeError(f"{url}: {error}") from error
    except OSError as error:
        raise PolyprobeError(
            f"cannot write to the cache folder {file.parent}: {error.strerror or error}"
        ) from error
