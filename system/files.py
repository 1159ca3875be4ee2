"""Files and folders that are written completely or not at all; hashes of files and texts."""

import codecs
import csv
import hashlib
import json
import os
import shutil
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from .messages import PolyprobeError, report

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

LOCK, TAB = ".lock", "\t"
# Before the hash of a model's files, where a model on the Hub has its commit.
HASH = "sha256-"
# Files in a model's folder that do not change its output.
_IGNORED = {".md", ".png", ".jpg", ".svg", ".pt", ".pth", ".log", ".lock"}


def read_user_text(file: Path, option: str = "") -> str:
    """Read a text file in UTF-8, or in UTF-16 with a byte order mark; `option` names it."""
    name = f"{option} {file}".lstrip()
    try:
        content = file.read_bytes()
    except OSError as error:
        raise PolyprobeError(f"cannot read {name}: {error.strerror or error}") from error
    if content.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise PolyprobeError(f"{name} is an Excel workbook or an archive; save it as CSV UTF-8")
    # Excel's `Unicode text` is UTF-16.
    wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return content.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise PolyprobeError(
            f"{name}, line {line}: not UTF-8 text; save the file in UTF-8 (in Excel: CSV UTF-8)"
        ) from error


def read_tsv(file: Path, option: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the stripped cells of each filled line of an option's TSV file."""
    text = read_user_text(file, option)
    if not text.strip():
        raise PolyprobeError(f"{option} {file} is empty")
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, [cell.strip() for cell in line.split(TAB)]


def read_toml(package: str, name: str) -> dict[str, Any]:
    """Read the tables of a TOML file in a package."""
    return tomllib.loads(files(package).joinpath(name).read_text(encoding="utf-8"))


def read_table_rows(package: str, name: str) -> list[dict[str, str]]:
    """Read the rows of a CSV file in a package, by the names of its columns."""
    text = files(package).joinpath(name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def part_of(file: Path) -> Path:
    """Name the temporary file that becomes `file`; an interrupted run's rest is replaced."""
    return file.with_name(f".{file.name}.part")


def write_whole(file: Path, write: Callable[[Path], object], remedy: str) -> None:
    """Let `write` fill a temporary file, then rename it to `file`; an error keeps the old content.

    Of processes that write the same file at once, each waits for the one before; the last one's
    file remains. The message of an error ends with `remedy`.
    """
    try:
        if file.exists() and not file.is_file() and not file.is_dir():
            write(file)  # a device or pipe, such as /dev/stdout
            return
        part = part_of(file)
        file.parent.mkdir(parents=True, exist_ok=True)
        with _claimed(part) as handle:
            try:
                write(part)
                os.fsync(handle)
                part.replace(file)
            except BaseException:  # Ctrl-C too
                with suppress(OSError):
                    part.unlink()
                raise
    except (OSError, ValueError) as error:  # ValueError: a path without a name, such as `.`
        reason = getattr(error, "strerror", None) or error
        if isinstance(error, UnicodeEncodeError):
            remedy = "correct the text where it comes from"
        raise PolyprobeError(f"cannot write {file}: {reason}; {remedy}") from error


@contextmanager
def _claimed(part: Path) -> Iterator[int]:
    """Create the file, wait until no other process writes it, and yield its open handle."""
    while True:
        handle = os.open(part, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if fcntl is not None:
                with suppress(OSError):  # a file system without locks
                    fcntl.flock(handle, fcntl.LOCK_EX)
            with suppress(FileNotFoundError):  # renamed by the process before
                if os.path.samestat(os.fstat(handle), part.stat()):
                    yield handle
                    return
        finally:
            os.close(handle)


def write_text(path: Path, text: str, remedy: str = "its old content is unchanged") -> None:
    """Write a text file in UTF-8, completely or not at all, as `write_whole` does."""
    write_whole(path, lambda part: part.write_text(text, encoding="utf-8", newline="\n"), remedy)


@contextmanager
def replacing(target: Path, folder: Path) -> Iterator[Path]:
    """Yield a new folder that replaces `target` after the block, unless an error removes it.

    The message of an error names `folder`, of which `target` is a part.
    """
    new, old = (target.with_name(f".{target.name}.{state}") for state in ("new", "old"))
    shutil.rmtree(new, ignore_errors=True)
    try:
        new.unlink(missing_ok=True)  # a file
        new.mkdir(parents=True)
        yield new
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
    except OSError as error:
        raise PolyprobeError(
            f"cannot write to {folder}: {error.strerror or error}; its old content is unchanged"
        ) from error
    finally:
        shutil.rmtree(new, ignore_errors=True)


@contextmanager
def locked(folder: Path, wait: bool = False) -> Iterator[None]:
    """Make a folder and keep other processes out of it, where its file system has locks.

    The system releases the lock of a killed process. A folder in use is refused, or waited for.
    """
    lock = FileLock(folder / LOCK)
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    with suppress(OSError):  # run.json names the reason better
        folder.mkdir(parents=True, exist_ok=True)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        if not wait:
            raise PolyprobeError(
                f"another process is writing to {folder}; wait for it, or choose another --output"
            ) from None
        report(f"another process is writing to {folder}; waiting for it")
        lock.acquire(timeout=-1)  # forever
    except (OSError, NotImplementedError):
        pass  # a file system without locks
    try:
        yield
    finally:
        with suppress(OSError):
            (folder / LOCK).unlink()
        lock.release()
        with suppress(OSError):  # not empty, unless an error came first
            for place in made:
                place.rmdir()


def hash_text(text: str) -> int:
    """Compute the SHA-256 of a text as a number, the same on every machine."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8")).digest(), "big")


def hash_json(value: Mapping[str, Any]) -> str:
    """Compute the SHA-256, in hex digits, of a value as JSON; the order of its keys counts."""
    return hashlib.sha256(json.dumps(value).encode("ascii")).hexdigest()


def shuffle_items(items: Sequence[str], key: str) -> Iterator[str]:
    """Yield the items in a random order that depends only on key and items.

    Fisher-Yates shuffle: draw n takes one of the m remaining items by SHA-256 of `key|n` modulo m,
    with a bias below m / 2**256. It is independent of the random generators of libraries.
    """
    items_in_order: dict[int, str] = {}
    for number, item in enumerate(items):
        place = number + hash_text(f"{key}|{number}") % (len(items) - number)
        yield items_in_order.get(place, items[place])
        items_in_order[place] = items_in_order.get(number, item)


def hash_files(files: Iterable[tuple[str, Path]]) -> str:
    """Compute the SHA-256, in hex digits, of files under given names, in the given order."""
    digest = hashlib.sha256()
    for name, path in files:
        digest.update(name.encode())
        with path.open("rb") as handle:
            digest.update(hashlib.file_digest(handle, "sha256").digest())
    return digest.hexdigest()


def hash_model(folder: Path, file: str | None = None) -> str:
    """Compute the SHA-256 of a folder's weights, settings and tokenizer, or of one file in it."""
    paths = [folder / file] if file else sorted(list_model_files(folder))
    return hash_files((str(path.relative_to(folder)), path) for path in paths)


def is_hash(revision: str) -> bool:
    """Check whether a model's revision is a hash of its files, not a commit."""
    return revision.startswith(HASH)


def list_model_files(folder: Path) -> Iterator[Path]:
    """Yield the files of a model's folder that its hash is made of."""
    for path in folder.rglob("*"):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.is_file() and path.suffix not in _IGNORED and not hidden:
            yield path
