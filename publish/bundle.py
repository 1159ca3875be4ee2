"""Make the folder of a metric self-contained, for push and install.

In this repository metrics import shared modules by their full name (`polyprobe.metrics.shared`).
`evaluate` copies the siblings that a module imports as `from .NAME import`; a Space runs `app.py`
with its folder on the path. A bundle contains every imported file, and imports it in these forms.
"""

import ast
import re
import shutil
from pathlib import Path

import polyprobe
from polyprobe.system.errors import PolyprobeError

ROOT = "polyprobe.metrics"
_IMPORT = re.compile(rf"^(\s*from ){re.escape(ROOT)}\.(?:\w+\.)*(\w+)(?= import\b)", re.MULTILINE)


def bundle(folder: Path, target: Path) -> Path:
    """Copy a metric's folder to `target/NAME` with every file that it imports; return the copy.

    Python files that neither the module nor `app.py` imports are left out.

    Raises:
        PolyprobeError: a file is not Python, or two imported files have the same name.
    """
    whole = target / folder.name
    whole.mkdir(parents=True)
    main = f"{folder.name}.py"
    for name, path in sorted(find_modules(folder, [main, "app.py"]).items()):
        before = r"\1.\2" if name == main else r"\1\2"
        text = _IMPORT.sub(before, path.read_text(encoding="utf-8"))
        (whole / name).write_text(text, encoding="utf-8")
    for path in folder.iterdir():
        if path.is_file() and path.suffix != ".py" and not path.name.startswith("."):
            shutil.copyfile(path, whole / path.name)
    return whole


def find_modules(folder: Path, names: list[str]) -> dict[str, Path]:
    """Return file name in the bundle → file, for some files and all polyprobe files they import."""
    found: dict[str, Path] = {}
    paths = [folder / name for name in names if (folder / name).is_file()]
    while paths:
        path = paths.pop()
        known = found.setdefault(path.name, path)
        if known != path:
            raise PolyprobeError(f"{known} and {path} have the same name; rename one of them")
        if known is path:
            imported = (find_module(folder, name) for name, _ in read_imports(path))
            paths += [module for module in imported if module and module not in found.values()]
    return found


def find_module(folder: Path, name: str) -> Path | None:
    """Return the file of an imported module in polyprobe.metrics or the folder, or None."""
    if name.startswith(f"{ROOT}."):
        return Path(polyprobe.__path__[0], *name.split(".")[1:]).with_suffix(".py")
    sibling = folder / f"{name.split('.')[0]}.py"
    return sibling if sibling.is_file() else None


def read_imports(path: Path) -> list[tuple[str, bool]]:
    """Return the modules that a file imports, and whether the import is relative (`from .NAME`).

    Raises:
        PolyprobeError: the file is not Python in UTF-8.
    """
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError) as error:
        raise PolyprobeError(f"{path} cannot be read as Python: {error}") from error
    found: list[tuple[str, bool]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, False) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.append((node.module, node.level > 0))
        elif isinstance(node, ast.ImportFrom):
            found += [(alias.name, True) for alias in node.names]
    return found
