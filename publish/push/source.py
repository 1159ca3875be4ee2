"""What is pushed: the files of a dataset or a metric that belong on the Hub, with their hashes."""

import atexit
import hashlib
import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

import polyprobe
from polyprobe.publish.bundle import bundle
from polyprobe.system.errors import PolyprobeError

from .files import list_files, walk

ROOMS = ("metrics", "datasets")


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
    def place(self) -> Path:
        """Return the folder of the files: a dataset's own, a metric's bundle."""
        return self.files["README.md"].path.parent

    @property
    def fingerprint(self) -> str:
        """Return 12 hexadecimal digits made from paths and contents: equal builds, equal digits."""
        lines = (f"{path} {file.sha256}\n" for path, file in self.files.items())
        return hashlib.sha256("".join(lines).encode()).hexdigest()[:12]


def read_source(given: Path) -> Source:
    """Return what a folder would be on the Hub: of links what they lead to, nothing hidden.

    Raises:
        PolyprobeError: no such folder, neither a dataset nor a metric, a link out of it.
    """
    folder = find_folder(given)
    kind = kind_of(folder)
    paths, left_out = list_files(folder, kind)
    place = folder
    if kind == "space":
        place = bundle(folder, Path(_temporary_folder()))
        paths, stray = list_files(place, kind)
        left_out = sorted({*left_out, *stray} | {*list_files(folder, kind)[0]} - {*paths})
    return Source(folder, kind, {path: read_file(place / path) for path in paths}, left_out)


def _temporary_folder() -> str:
    """Return a new folder, which is removed when the program ends."""
    folder = tempfile.mkdtemp(prefix="polyprobe-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def find_folder(given: Path) -> Path:
    """Return the folder as it stands here, else the one of that name that was installed with us."""
    installed = Path(polyprobe.__path__[0], *given.parts)
    own = given.parts[:1] in {(room,) for room in ROOMS} and ".." not in given.parts
    for folder in (given, installed) if own else (given,):
        if folder.is_dir():
            return folder.resolve()
    if given.is_file():
        raise PolyprobeError(f"{given} is a file; give the folder of a dataset or a metric")
    rooms = [room for room in ROOMS if Path(polyprobe.__path__[0], room, given).is_dir()]
    guess = f"; did you mean {rooms[0]}/{given}?" if rooms else ""
    raise PolyprobeError(f"no such folder: {given}{guess}; `polyprobe build` makes datasets/NAME")


def kind_of(folder: Path) -> str:
    """Return `space` for a metric, `dataset` for a folder that holds Parquet."""
    if (folder / f"{folder.name}.py").is_file():
        return "space"
    if any(path.endswith(".parquet") for path in walk(folder)):
        return "dataset"
    raise PolyprobeError(
        f"{folder} is neither a dataset (no Parquet in it; see `polyprobe build`) "
        f"nor a metric (no {folder.name}.py in it)"
    )


def read_file(path: Path) -> File:
    """Return a file with its SHA-256 and the id that git gives its content."""
    content = path.read_bytes()
    header = f"blob {len(content)}\0".encode()
    git_oid = hashlib.sha1(header + content, usedforsecurity=False).hexdigest()
    return File(path, len(content), hashlib.sha256(content).hexdigest(), git_oid)
