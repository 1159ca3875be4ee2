"""Which files of a folder belong on the Hub, and which stay."""

import ast
import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from polyprobe import PolyprobeError

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

    Of a metric's Python files those go that module and app import, from one to the next.

    Raises:
        PolyprobeError: a link that leads to nothing, or to something that is not the folder's.
    """
    found = sorted(walk(folder))
    ours = [path for path in found if is_published(path, kind)]
    if kind == "space":
        needed = follow_imports(folder, [f"{folder.name}.py", "app.py"])
        ours = [path for path in ours if path in needed or not path.endswith(".py")]
    for path in ours:
        check_link(folder, path, kind)
    return ours, [path for path in found if path not in ours]


def walk(folder: Path) -> Iterator[str]:
    """Yield the paths of files and broken links; hidden ones, caches and half builds stay out."""
    for place, folders, names in os.walk(folder, followlinks=True):
        folders[:] = [n for n in folders if not n.startswith(".") and n != "__pycache__"]
        at = PurePosixPath(Path(place).relative_to(folder).as_posix())
        yield from (str(at / name) for name in names if not name.startswith("."))


def check_link(folder: Path, path: str, kind: str) -> None:
    """Refuse a link out of the folder; metrics share files that lie beside theirs."""
    target = (folder / path).resolve()
    home = folder.resolve().parent if kind == "space" else folder.resolve()
    if not target.is_file():
        raise PolyprobeError(f"{folder / path} is a link to nothing; mend or remove it")
    if not target.is_relative_to(home):
        raise PolyprobeError(
            f"{folder / path} leads out of {home}, to {target}; what is pushed must lie there"
        )


def follow_imports(folder: Path, names: list[str]) -> set[str]:
    """Return the files of a folder that some of them import, directly or by others."""
    found: set[str] = set()
    while names:
        name = names.pop()
        if name not in found and (folder / name).is_file():
            found.add(name)
            names += [f"{module}.py" for module, _ in read_imports(folder / name)]
    return found


def read_imports(path: Path) -> list[tuple[str, bool]]:
    """Return what a file imports: first names of modules, and whether it is `from .name`.

    Raises:
        PolyprobeError: it is no Python, or no UTF-8.
    """
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, ValueError) as error:
        raise PolyprobeError(f"{path} cannot be read as Python: {error}") from error
    found: list[tuple[str, bool]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name.split(".")[0], False) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.append((node.module.split(".")[0], node.level > 0))
        elif isinstance(node, ast.ImportFrom):
            found += [(alias.name, True) for alias in node.names]
    return found
