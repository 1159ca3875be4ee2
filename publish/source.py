"""The files of a dataset, a metric or a board that belong on the Hub, with their hashes.

A metric imports shared modules by their full name. `evaluate` copies only the siblings that a
module imports as `from .NAME import`; a Space runs `app.py` with its folder on the path.
"""

import ast
import atexit
import hashlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from importlib.metadata import packages_distributions, requires
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import polyprobe
from polyprobe.analysis.board import FILES, JSON
from polyprobe.system.files import hash_files
from polyprobe.system.messages import PolyprobeError

ROOMS = ("metrics", "datasets")
ROOT = "polyprobe.metrics"
# Patterns of the uploaded files by the kind of the folder; `*` matches no slash.
PUBLISHED = {
    "board": FILES,
    "dataset": ("README.md", "eval.yaml", "LICENSE*", "data/*/*.parquet", "sentences/*.parquet"),
    "space": ("README.md", "space.md", "requirements.txt", "*.py"),
}
_IMPORT = re.compile(rf"^(\s*from ){re.escape(ROOT)}\.(?:\w+\.)*(\w+)(?= import\b)", re.MULTILINE)

# The beginnings of examples in a card, before the name of the dataset or metric.
_LOADS = r"""(?<!`)load_dataset\(["']|(?<!`)evaluate\.load\(["']|--dataset """


class File(NamedTuple):
    """A file to upload, with both ids by which the Hub may know its content."""

    path: Path
    size: int
    sha256: str
    git_oid: str


class Source(NamedTuple):
    """A folder to push; its name is that of the dataset or metric."""

    folder: Path
    kind: str  # dataset, space (a metric) or board
    files: dict[str, File]  # to upload, by their path in the repository, sorted
    left_out: list[str]  # the other paths in the folder, sorted
    place: Path = Path()  # of the files: the folder, or a metric's bundle
    card: Mapping[str, Any] = {}  # the YAML of README.md

    @property
    def name(self) -> str:
        """The name of the folder."""
        return self.folder.name

    @property
    def repo_type(self) -> str:
        """The Hub's name of its repository: a board is a Space too."""
        return "space" if self.kind == "board" else self.kind

    @property
    def fingerprint(self) -> str:
        """12 hex digits that depend on the paths and contents of the files only."""
        return hash_files((path, file.path) for path, file in self.files.items())[:12]


def read_source(name: Path) -> Source:
    """List the files of a folder that belong on the Hub."""
    # Links are followed within the folder, others refused; hidden files are ignored.
    from polyprobe.schema.locate import read_card  # here: the command line imports this module

    folder = find_folder(name)
    kind = find_kind(folder)
    paths, place = list_files(folder, kind), folder
    if kind == "space":
        place = bundle(folder, make_temporary())
        if not (requirements := place / "requirements.txt").exists():
            lines = list_requirements([*place.glob("*.py")])
            requirements.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        paths = list_files(place, kind)
    left_out = sorted({*walk(folder)} - {*paths})
    files = {path: identify_file(place / path) for path in paths}
    card = read_card(place / "README.md") if "README.md" in files else {}
    return Source(folder, kind, files, left_out, place, card)


def make_temporary() -> Path:
    """Make a folder that is removed when Python ends."""
    temporary = tempfile.mkdtemp(prefix="polyprobe-")
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    return Path(temporary)


def address_card(source: Source, repo_id: str) -> Source:
    """Put the repository's id in place of the name in the examples of a source's card."""
    # The name in the card is that of the folder or of the build, or OWNER and that of the folder. A
    # sentence about a local name (in backticks) stays.
    card = source.files["README.md"].path
    text = card.read_text(encoding="utf-8")
    names = {source.name, *re.findall(r"^<!-- made by `polyprobe build ([\w-]+)`", text, re.M)}
    name = "|".join(map(re.escape, sorted(names)))
    addressed = text.replace(f"OWNER/{source.name}", repo_id)
    addressed = re.sub(rf"""({_LOADS})(?:{name})(?=["'\s])""", rf"\g<1>{repo_id}", addressed)
    addressed = re.sub(rf"from the folder with (?:{name})/; ", "", addressed)
    if addressed == text:
        return source
    copy = make_temporary() / card.name
    copy.write_text(addressed, encoding="utf-8", newline="")
    return source._replace(files={**source.files, card.name: identify_file(copy)})


def find_folder(name: Path) -> Path:
    """Find the folder itself, or else the one of this name that is part of the package."""
    package = Path(polyprobe.__path__[0])
    relative = name.parts[:1] in {(room,) for room in ROOMS} and ".." not in name.parts
    for folder in (name, package / name) if relative else (name,):
        if folder.is_dir():
            return folder.resolve()
    if name.is_file():
        raise PolyprobeError(f"{name} is a file; give the folder of a dataset, a metric or a board")
    folders = {path.name: path for room in ROOMS for path in sorted(package.glob(f"{room}/[!.]*"))}
    matches = get_close_matches(name.name, folders, n=1)
    hint = f"; did you mean {folders[matches[0]].relative_to(package)}?" if matches else ""
    raise PolyprobeError(f"no such folder: {name}{hint}; `polyprobe build` makes datasets/NAME")


def find_kind(folder: Path) -> str:
    """Tell `space` (a metric), `board` and `dataset` (Parquet) apart; refuse any other folder."""
    if is_metric(folder):
        return "space"
    if (folder / JSON).is_file():
        return "board"
    if (folder / "run.json").is_file():
        raise PolyprobeError(
            f"{folder} is a run, not a dataset; polyprobe export writes its results for the Hub: "
            "--format eval-results or model-index"
        )
    if has_parquet(folder):
        return "dataset"
    raise PolyprobeError(
        f"{folder} is neither a dataset (no Parquet in it; see `polyprobe build`) nor a metric "
        f"(no {folder.name}.py in it) nor a board (no {JSON} in it; see `polyprobe board`)"
    )


def is_metric(folder: Path) -> bool:
    """Tell whether a folder is an `evaluate` module: NAME/NAME.py."""
    return (folder / f"{folder.name}.py").is_file()


def has_parquet(folder: Path) -> bool:
    """Tell whether a folder has a Parquet file at any depth."""
    return any(path.endswith(".parquet") for path in walk(folder))


def list_files(folder: Path, kind: str) -> list[str]:
    """List the paths to upload, sorted; refuse broken and outward links."""
    home = folder.resolve()
    published = sorted(path for path in walk(folder) if is_published(path, kind))
    for path in published:
        target = (folder / path).resolve()
        if not target.is_file():
            raise PolyprobeError(f"{folder / path} is a broken link; repair or remove it")
        if not target.is_relative_to(home):
            raise PolyprobeError(
                f"{folder / path} links to {target}, outside {home}; copy the file into the folder"
            )
    return published


def is_published(path: str, kind: str) -> bool:
    """Tell whether a push to a repository of this kind writes a path.

    >>> [is_published(f"data/{path}.parquet", "dataset") for path in ("17/en", "17/x/en")]
    [True, False]
    """
    patterns = (p for p in PUBLISHED[kind] if p.count("/") == path.count("/"))
    return any(PurePosixPath(path).match(pattern) for pattern in patterns)


def walk(folder: Path) -> Iterator[str]:
    """Yield the paths of files and broken links, except hidden ones and Python's caches."""
    for place, folders, names in os.walk(folder, followlinks=True):
        folders[:] = [n for n in folders if not n.startswith(".") and n != "__pycache__"]
        at = PurePosixPath(Path(place).relative_to(folder).as_posix())
        yield from (str(at / name) for name in names if not name.startswith("."))


def identify_file(path: Path) -> File:
    """Compute the SHA-256 of a file and the id that git gives its content."""
    content = path.read_bytes()
    header = f"blob {len(content)}\0".encode()
    git_oid = hashlib.sha1(header + content, usedforsecurity=False).hexdigest()
    return File(path, len(content), hashlib.sha256(content).hexdigest(), git_oid)


def bundle(folder: Path, target: Path) -> Path:
    """Copy a metric's folder to `target/NAME` with every file that it imports; return the copy."""
    output = target / folder.name
    output.mkdir(parents=True)
    main = f"{folder.name}.py"
    siblings = {path.stem for path in find_modules(folder, [main]).values()} - {folder.name}
    for name, path in sorted(find_modules(folder, [main, "app.py"]).items()):
        relative = path.stem in {*siblings, folder.name}
        text = path.read_text(encoding="utf-8")
        text = _IMPORT.sub(r"\1.\2" if relative else r"\1\2", text)
        if name == main:  # `evaluate` copies only what the module itself imports
            names = set(re.findall(r"^from \.(\w+)", text, re.MULTILINE))
            lines = (f"from .{name} import __name__ as _\n" for name in sorted(siblings - names))
            text = re.sub(r"^from \.", f"{''.join(lines)}from .", text, count=1, flags=re.MULTILINE)
        (output / name).write_text(text, encoding="utf-8")
    for path in folder.iterdir():
        if path.is_file() and path.suffix != ".py" and not path.name.startswith("."):
            shutil.copyfile(path, output / path.name)
    return output


def list_requirements(files: Collection[Path]) -> list[str]:
    """List the packages that the files of a Space import, with the bounds of polyprobe."""
    # gradio is a requirement by `sdk_version` in the card.
    internal = {*sys.stdlib_module_names, *(file.stem for file in files), "gradio"}
    distributions, packages = packages_distributions(), set()
    for file in files:
        names = {name.partition(".")[0] for name, relative in read_imports(file) if not relative}
        for name in sorted(names - internal):
            if name not in distributions:
                text = "is neither in the folder nor installed"
                raise PolyprobeError(f"{file.name} imports {name}, which {text}")
            # A package may differ from its module in name: scikit-learn has sklearn.
            packages.add(canonicalize_name(distributions[name][0]))
    needs = [Requirement(text) for text in requires("polyprobe") or ()]
    bounds = {canonicalize_name(x.name): str(x) for x in needs if not x.marker}
    return sorted(bounds.get(package, package) for package in packages)


def find_modules(folder: Path, names: list[str]) -> dict[str, Path]:
    """Map name in the bundle → file, for some files and all polyprobe files they import."""
    modules: dict[str, Path] = {}
    paths = [folder / name for name in names if (folder / name).is_file()]
    while paths:
        path = paths.pop()
        previous = modules.setdefault(path.name, path)
        if previous != path:
            raise PolyprobeError(
                f"{previous} and {path} have the same name in the bundle; rename one of them, or "
                "move what two metrics use to polyprobe/metrics/shared"
            )
        if previous is path:
            imported = (find_module(folder, name) for name, _ in read_imports(path))
            paths += [module for module in imported if module and module not in modules.values()]
    return modules


def find_module(folder: Path, name: str) -> Path | None:
    """Find the file of a module in polyprobe.metrics or the folder; None for other modules."""
    if name.startswith(f"{ROOT}."):
        package = Path(polyprobe.__path__[0]).resolve()  # as `folder`, in a checkout behind a link
        module = package.joinpath(*name.split(".")[1:]).with_suffix(".py")
        if module.parent.name == folder.name and module.parent != folder.resolve():
            raise PolyprobeError(
                f"{folder} is not the metric of the installed package, which is {module.parent}: "
                "give that folder, or install the checkout of this one (pip install -e)"
            )
        return module
    sibling = folder / f"{name.split('.')[0]}.py"  # none for a package, such as numpy
    return sibling if sibling.is_file() else None


def read_imports(path: Path) -> list[tuple[str, bool]]:
    """List the modules that a file imports, and whether the import is relative (`from .NAME`)."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError) as error:
        raise PolyprobeError(f"{path} cannot be read as Python: {error}") from error
    imports: list[tuple[str, bool]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports += [(alias.name, False) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module] if node.module else [alias.name for alias in node.names]
            imports += [(name, node.level > 0) for name in names]
    return imports
