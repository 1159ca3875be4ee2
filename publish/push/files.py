"""Which files of a folder belong on the Hub, and which stay."""

import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from polyprobe.system.errors import PolyprobeError

# By what the Hub calls the repository; `*` stands for no slash.
PUBLISHED = {
    "dataset": ("README.md", "eval.yaml", "LICENSE*", "data/*/*.parquet", "sentences/*.parquet"),
    "space": ("README.md", "requirements.txt", "*.py"),
}


def is_published(path: str, kind: str) -> bool:
    """Tell whether a push of that kind of repository writes a path.

    >>> [is_published(f"data/{path}.parquet", "dataset") for path in ("17/en", "17/x/en")]
    [True, False]
    """
    parts = path.split("/")
    return any(
        len(parts) == len(pattern.split("/")) and all(map(fnmatchcase, parts, pattern.split("/")))
        for pattern in PUBLISHED[kind]
    )


def list_files(folder: Path, kind: str) -> tuple[list[str], list[str]]:
    """Return what is pushed of a folder and what stays in it, sorted; hidden files are neither.

    Raises:
        PolyprobeError: a link that leads to nothing, or to something that is not the folder's.
    """
    found = sorted(walk(folder))
    ours = [path for path in found if is_published(path, kind)]
    for path in ours:
        check_link(folder, path)
    return ours, [path for path in found if path not in ours]


def walk(folder: Path) -> Iterator[str]:
    """Yield the paths of files and broken links; hidden ones, caches and half builds stay out."""
    for place, folders, names in os.walk(folder, followlinks=True):
        folders[:] = [n for n in folders if not n.startswith(".") and n != "__pycache__"]
        at = PurePosixPath(Path(place).relative_to(folder).as_posix())
        yield from (str(at / name) for name in names if not name.startswith("."))


def check_link(folder: Path, path: str) -> None:
    """Refuse a link out of the folder."""
    target, home = (folder / path).resolve(), folder.resolve()
    if not target.is_file():
        raise PolyprobeError(f"{folder / path} is a link to nothing; mend or remove it")
    if not target.is_relative_to(home):
        raise PolyprobeError(
            f"{folder / path} leads out of {home}, to {target}; what is pushed must lie there"
        )
