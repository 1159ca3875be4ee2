"""Upstream files, each checked against its SHA-256: from GitHub, or out of a mirror's archives."""

import hashlib
import os
import zipfile
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

from .errors import PolyprobeError

ENDPOINT = "https://raw.githubusercontent.com"
ENDPOINT_VARIABLE = "POLYPROBE_GITHUB_RAW"
CHUNK = 8192  # bytes; what a cut connection loses at most
TIMEOUT = 30  # seconds without a byte
RETRIES = 2
# What zipfile raises on a damaged archive: of its directory, its flags, its data, its offsets.
ZIP_ERRORS = (
    zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError
)  # fmt: skip
THREADS = 8  # thousands of small files: most of the time goes into asking
AHEAD = 4 * THREADS  # files that are fetched before the one that is read


class Repository(NamedTuple):
    """A GitHub repository at one commit: `OWNER/REPO`, and the SHA-256 of each file we read."""

    name: str
    commit: str
    sha256: Mapping[str, str]

    @property
    def archive(self) -> str:
        """Return the name of the repository's zipball in a mirror folder."""
        return f"{self.name.replace('/', '__')}@{self.commit[:12]}.zip"


def parse_sums(text: str) -> dict[str, str]:
    r"""Return {path: SHA-256} from the lines that `sha256sum` prints.

    >>> parse_sums("00ff  data/en.tsv\n")
    {'data/en.tsv': '00ff'}
    """
    pairs = (line.split("  ", 1) for line in text.splitlines())
    return {path: digest for digest, path in pairs}


def read_files(
    repository: Repository, paths: Iterable[str], mirror: Path | None = None
) -> Iterator[bytes]:
    """Yield the content of each path, in the order given, its SHA-256 checked.

    Without `mirror` the files come from raw.githubusercontent.com (or from the server that the
    environment variable POLYPROBE_GITHUB_RAW names), THREADS at a time, and stay in the user's
    cache folder; a download that was cut goes on where it stopped. With `mirror`, a folder, they
    come out of `OWNER__REPO@COMMIT12.zip` there, laid out as GitHub's zipball of the commit.
    """
    if mirror is None:
        return _read_github(repository, paths)
    return _read_mirror(repository, paths, mirror)


def read_archive(url: str, sha256: str, mirror: Path | None = None) -> bytes:
    """Return one archive, its SHA-256 checked: from its URL, or the file of its name in `mirror`.

    As in `read_files`, a download stays in the cache folder and goes on where it was cut.
    """
    name = url.rpartition("/")[2]
    if mirror is None:
        return _read_url(url, sha256)
    archive = mirror / name
    if not archive.is_file():
        raise PolyprobeError(f"no archive {name} in the mirror folder {mirror}; it is at {url}")
    try:
        content = archive.read_bytes()
    except OSError as error:
        raise PolyprobeError(f"cannot read {archive}: {error.strerror or error}") from error
    _check(content, sha256, str(archive))
    return content


def _read_mirror(repository: Repository, paths: Iterable[str], mirror: Path) -> Iterator[bytes]:
    archive = mirror / repository.archive
    if not archive.is_file():
        raise PolyprobeError(describe_missing(repository, mirror))
    root = f"{repository.name.partition('/')[2]}-{repository.commit}"
    try:
        with zipfile.ZipFile(archive) as zipball:
            for path in paths:
                content = zipball.read(f"{root}/{path}")
                _check(content, repository.sha256[path], f"{archive}: {path}")
                yield content
    except KeyError as error:
        raise PolyprobeError(f"{archive} lacks a file: {error.args[0]}") from error
    except ZIP_ERRORS as error:
        raise PolyprobeError(
            f"{archive} is cut short or corrupt ({error}); fetch it again"
        ) from error


def describe_missing(repository: Repository, mirror: Path) -> str:
    """Return what is said of an archive that the mirror lacks."""
    return (
        f"no archive {repository.archive} in the mirror folder {mirror}; put GitHub's zipball of "
        f"{repository.name} at {repository.commit[:12]} there, or leave out --mirror"
    )


def check_archive(repository: Repository, mirror: Path | None) -> None:
    """Raise PolyprobeError where the mirror lacks the archive, before hours of work need it."""
    if mirror is not None and not (mirror / repository.archive).is_file():
        raise PolyprobeError(describe_missing(repository, mirror))


def _check(content: bytes, expected: str, source: str) -> None:
    got = hashlib.sha256(content).hexdigest()
    if got != expected:
        raise PolyprobeError(
            f"{source}: expected SHA-256 {expected}, got {got}; nothing was built, "
            "the archive was left as it is: fetch it again"
        )


def _read_github(repository: Repository, paths: Iterable[str]) -> Iterator[bytes]:
    import pooch

    pooch.get_logger().setLevel("ERROR")  # the progress bar says it
    endpoint = os.environ.get(ENDPOINT_VARIABLE, ENDPOINT).rstrip("/")
    cache = pooch.create(
        path=Path(pooch.os_cache("polyprobe"), *repository.name.split("/"), repository.commit),
        base_url=f"{endpoint}/{repository.name}/{repository.commit}/",
        registry=dict(repository.sha256),
        retry_if_failed=RETRIES,
    )
    for file in _fetch_ahead(cache, paths, repository.archive):
        yield Path(file).read_bytes()


def _fetch_ahead(cache: Any, paths: Iterable[str], archive: str) -> Iterator[str]:
    """Yield the names of the cached files in the order of the paths, AHEAD of them under way.

    Whatever ends the reading, an error or Ctrl-C, stops the others at their next bytes.
    """
    stop = Event()
    pool = ThreadPoolExecutor(THREADS)
    waiting: deque[Future[str]] = deque()
    try:
        for path in paths:
            waiting.append(pool.submit(_fetch, cache, path, archive, stop))
            if len(waiting) > AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def _read_url(url: str, sha256: str) -> bytes:
    import pooch

    pooch.get_logger().setLevel("ERROR")
    folder, _, name = url.rpartition("/")
    cache = pooch.create(
        path=Path(pooch.os_cache("polyprobe"), sha256[:12]),
        base_url=f"{folder}/",
        registry={name: sha256},
        retry_if_failed=RETRIES,
    )
    return Path(_fetch(cache, name, name, Event())).read_bytes()


def _fetch(cache: Any, path: str, archive: str, stop: Event) -> str:
    """Return the name of the cached file; a `pooch.Pooch` downloads and checks it if need be."""
    import requests

    try:
        (cache.abspath / path).parent.mkdir(parents=True, exist_ok=True)  # pooch's threads collide
        return cache.fetch(path, downloader=partial(_resume, stop=stop))
    except requests.RequestException as error:
        status = getattr(error.response, "status_code", None)
        reason = f"HTTP status {status}" if status else type(error).__name__
        raise PolyprobeError(
            f"cannot download {cache.get_url(path)} ({reason}); try again, what has come is kept, "
            f"or give the folder that holds {archive} with --mirror"
        ) from error
    except ValueError as error:  # pooch's: expected, got, and that the download was deleted
        raise PolyprobeError(f"{cache.get_url(path)}: {error}") from error
    except OSError as error:
        raise PolyprobeError(
            f"cannot write to the cache folder {cache.abspath}: {error.strerror or error}"
        ) from error


def _resume(url: str, output_file: str, _pooch: object, *, stop: Event) -> None:
    """Download to `NAME.part` beside `output_file`, going on from the bytes that are there.

    A connection that is cut is taken up again for as long as each attempt brings something.
    """
    import requests

    part = Path(output_file).with_name(f"{url.rpartition('/')[2]}.part")
    while True:
        before = _size(part)
        try:
            _append(url, part, before, stop)
            break
        except requests.RequestException:
            if _size(part) <= before:
                raise
    os.replace(part, output_file)


def _append(url: str, part: Path, size: int, stop: Event) -> None:
    import requests

    headers = {"Accept-Encoding": "identity"}  # a range of compressed bytes would not fit
    if size:
        headers["Range"] = f"bytes={size}-"
    with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as response:
        if size and response.status_code == requests.codes.requested_range_not_satisfiable:
            return  # nothing is missing; the checksum decides
        response.raise_for_status()
        resumed = response.status_code == requests.codes.partial_content
        with part.open("ab" if resumed else "wb") as file:
            for chunk in response.iter_content(CHUNK):
                file.write(chunk)
                if stop.is_set():
                    raise CancelledError


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
