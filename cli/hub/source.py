"""What is pushed: the files of a dataset or a metric that belong on the Hub, with their hashes."""

import hashlib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

import polyprobe
from polyprobe import PolyprobeError

# By what the Hub calls the repository; `*` stands for folders too.
PUBLISHED = {
    "dataset": ("README.md", "eval.yaml", "LICENSE*", "data/*.parquet", "sentences/*.parquet"),
    "space": ("README.md", "requirements.txt", "*.py"),
}


class File(NamedTuple):
    """A file as it would be in the repository, with both ids by which the Hub knows contents."""

    path: Path
    size: int
    sha256: str
    git_oid: str


class Source(NamedTuple):
    """A folder to push: `kind` is `dataset` or `space`, `files` go by their path in it, sorted."""

    folder: Path
    kind: str
    files: dict[str, File]
    left_out: list[str]

    @property
    def name(self) -> str:
        """Return the folder's name, which is the dataset's or the metric's."""
        return self.folder.name

    @property
    def fingerprint(self) -> str:
        """Return 12 hexadecimal digits made from paths and contents: equal builds, equal digits."""
        lines = (f"{path} {file.sha256}\n" for path, file in self.files.items())
        return hashlib.sha256("".join(lines).encode()).hexdigest()[:12]


def read_source(given: Path) -> Source:
    """Return what a folder would be on the Hub; links are followed, hidden files never leave.

    Raises:
        PolyprobeError: no such folder, or it is neither a dataset nor a metric.
    """
    folder = find_folder(given)
    kind = kind_of(folder)
    files, left_out = {}, []
    for path in sorted(walk(folder)):
        name = path.relative_to(folder).as_posix()
        if any(fnmatch(name, pattern) for pattern in PUBLISHED[kind]):
            files[name] = read_file(path)
        else:
            left_out.append(name)
    return Source(folder, kind, files, left_out)


def find_folder(given: Path) -> Path:
    """Return the folder as it stands here, else the one of that name that was installed with us."""
    installed = Path(polyprobe.__path__[0], *given.parts)
    own = given.parts[:1] in {("metrics",), ("datasets",)} and ".." not in given.parts
    for folder in (given, installed) if own else (given,):
        if folder.is_dir():
            return folder.resolve()
    remedy = "build it first (`polyprobe build`)" if given.parts[:1] == ("datasets",) else "look"
    raise PolyprobeError(f"no such folder: {given}; {remedy}, or give the path to it")


def kind_of(folder: Path) -> str:
    """Return `space` for a metric, `dataset` for a folder that holds Parquet."""
    if (folder / f"{folder.name}.py").is_file():
        return "space"
    if any(folder.rglob("*.parquet")):
        return "dataset"
    raise PolyprobeError(
        f"{folder} is neither a dataset (no Parquet in it; see `polyprobe build`) "
        f"nor a metric (no {folder.name}.py in it)"
    )


def walk(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder; hidden ones, caches and what a build left half done stay out."""
    for path in folder.rglob("*"):
        parts = path.relative_to(folder).parts
        if path.is_file() and not any(p.startswith(".") or p == "__pycache__" for p in parts):
            yield path


def read_file(path: Path) -> File:
    """Return a file with its SHA-256 and the id that git gives its content."""
    content = path.read_bytes()
    header = f"blob {len(content)}\0".encode()
    git_oid = hashlib.sha1(header + content, usedforsecurity=False).hexdigest()
    return File(path, len(content), hashlib.sha256(content).hexdigest(), git_oid)
