"""The files of a small world, its commands, and what each command makes without faults."""

import hashlib
import os
import shutil
import sqlite3
from collections.abc import Mapping
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from tests.making import tiny

HUB = "hub"  # the prefix of paths in repositories
TEMPORARY = "tmp"
INPUTS = ("facts-1.csv", "facts-2.csv", "templates.toml", "model")
NAMES = ("Oslo", "Lima", "Faya", "Rome", "Bonn")
TEMPLATES = """\
[capital]
en = "The capital of [X] is [Y]."
fr = "La capitale de [X] est [Y]."

[river]
en = "[X] lies at the [Y]."
fr = "[X] est sur la [Y]."
"""


class Command(NamedTuple):
    """A command line, the paths that it depends on, and the states in which it makes sense."""

    words: str
    touches: tuple[str, ...]  # prefixes of what it reads and writes
    changes: bool = True  # whether it may write anything


OWN = "build own facts-{}.csv --templates templates.toml --licence cc0-1.0 --output data"
SENTENCES = "build sentences own --translator parrot --lemmatizer none --languages fr --output data"
EVAL = "eval {} --dataset ./data --output runs/{}"
SERVE = EVAL.format("geolm --server http://model.test", "s")
A, B, S, DATA, BOARD = "runs/a/", "runs/b/", "runs/s/", "data/", "board/"
CACHE, TRANSLATIONS = "cache/scores/", "cache/translations"
INDEX = "export runs/a --format model-index --output index.md"
# In the order in which a user gives them.
COMMANDS = {
    "own": Command(OWN.format(1), (DATA,)),
    "sentences": Command(SENTENCES, (DATA, TRANSLATIONS)),
    "eval-en": Command(EVAL.format("geolm --languages en", "a"), (DATA, A, CACHE)),
    "eval": Command(EVAL.format("geolm", "a"), (DATA, A, CACHE)),
    "eval-b": Command(EVAL.format("./model", "b"), (DATA, B, CACHE)),
    "serve-en": Command(f"{SERVE} --languages en", (DATA, S, CACHE)),
    "serve": Command(SERVE, (DATA, S, CACHE)),
    "metrics": Command("metrics runs/a --resamples 7 --by-relation", (DATA, A)),
    "compare": Command(
        "compare runs/a runs/b --output compare.html --json compare.json",
        (DATA, A, B, "compare."),
    ),
    "report": Command(
        "report runs/a runs/b --output report.html --figure report.svg", (DATA, A, B, "report.")
    ),
    "board": Command(
        "board runs/a runs/b --output board --table board.csv", (A, B, BOARD, "board.csv")
    ),
    "csv": Command("export runs/a --format csv --output a.csv", (A, "a.csv")),
    "tasks": Command("export ./data --format lm-eval --output tasks", (DATA, "tasks/")),
    "index": Command(INDEX, (A, "index.md", "data/README.md")),
    "push": Command("push ./data me/data", (DATA, f"{HUB}/dataset/me/data/")),
    "push-board": Command("push ./board me/board", (BOARD, f"{HUB}/space/me/board/")),
    "install": Command("install ./data", (DATA, "hf/")),
    "install-metric": Command("install metrics/rankc", ("hf/",)),
    "clear": Command("cache clear", (CACHE,)),
    "own-2": Command(OWN.format(2), (DATA,)),
    "tokens": Command("tokens geolm --dataset ./data --languages en", (DATA,), changes=False),
    "dry-data": Command("push ./data me/other --dry-run", (DATA,), changes=False),
    "dry-board": Command("push ./board me/other --dry-run", (BOARD,), changes=False),
}
# What a full world has.
START_COMMANDS = (
    "own", "eval-en", "eval", "eval-b", "metrics", "compare", "report", "board", "csv", "tasks",
    "index", "push", "push-board",
)  # fmt: skip
READERS = ("report", "board", "csv", "tasks", "dry-data", "dry-board", "tokens", "compare")
SLOW = (
    "install-metric",
    "serve",
    "serve-en",
    "eval",
    "eval-b",
    "eval-en",
    "compare",
)  # drawn less often
Files = Mapping[str, bytes]


class State(NamedTuple):
    """The files of a world, and the repositories of the Hub."""

    files: Files
    repositories: Any = None  # of the stand-in


def write_inputs(root: Path) -> None:
    """Write what no command changes."""
    root.mkdir(parents=True, exist_ok=True)
    for number in (1, 2):
        lines = ["relation,subject_en,object_en,subject_fr,object_fr"]
        for relation, kind in (("capital", "land"), ("river", "town")):
            for name in NAMES[: 3 + number]:
                thing = name if relation == "capital" else f"{name[:2]}ava"
                lines.append(f"{relation},{name}{kind},{thing},{name}{kind[::-1]},{thing}")
        (root / f"facts-{number}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (root / "templates.toml").write_text(TEMPLATES, encoding="utf-8")
    tiny.save_model("gpt2", root / "model")


class World:
    """The folder of a world, whose state can be read and put back."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def read(self) -> dict[str, bytes]:
        """Read all files but the inputs and temporary ones; empty folders end with a slash."""
        files: dict[str, bytes] = {}
        for place, folders, names in os.walk(self.root):
            at = os.path.relpath(place, self.root)
            at = "" if at == "." else f"{at}/"
            if not at:
                folders[:] = [x for x in folders if x not in (*INPUTS, TEMPORARY)]
                names = [x for x in names if x not in INPUTS]
            folders.sort()
            if at and not folders and not names and not at.startswith("hf/"):
                files[at] = b""
            for name in sorted(names):
                if at.startswith("hf/") and name.endswith(".lock"):
                    continue  # of datasets, which keeps them
                files[at + name] = Path(place, name).read_bytes()
        return files

    def restore(self, files: Files) -> None:
        """Make the files those of a state."""
        now = self.read()
        for path in now.keys() - files.keys():
            if path.endswith("/"):
                (self.root / path).rmdir()
            else:
                (self.root / path).unlink()
        self._remove_empty(files)
        for path, content in files.items():
            target = self.root / path
            if path.endswith("/"):
                target.mkdir(parents=True, exist_ok=True)
            elif now.get(path) != content:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
        shutil.rmtree(self.root / TEMPORARY, ignore_errors=True)
        (self.root / TEMPORARY).mkdir()
        self.settle()

    def _remove_empty(self, files: Files) -> None:
        for place, *_ in os.walk(self.root, topdown=False):
            at = os.path.relpath(place, self.root)
            inside = at != "." and at.split("/")[0] not in (*INPUTS, TEMPORARY)
            if inside and f"{at}/" not in files and not os.listdir(place):
                os.rmdir(place)

    def settle(self) -> None:
        """Give all files the same time, which some exports write."""
        for place, _, names in os.walk(self.root):
            for name in names:
                os.utime(Path(place, name), (10**9, 10**9), follow_symlinks=False)


@lru_cache(4096)
def read_rows(content: bytes) -> tuple[tuple[str, bytes, bytes], ...]:
    """Read (table, key, value) of an SQLite file; the bytes of equal stores differ."""
    database = sqlite3.Connection(":memory:")
    try:
        database.deserialize(content)
        tables = [
            x for (x,) in database.execute("SELECT name FROM sqlite_master WHERE type='table'")
        ]
        rows = [(t, *row) for t in sorted(tables) for row in database.execute(f"SELECT * FROM {t}")]
        return tuple(sorted(rows))
    finally:
        database.close()


def simplify(path: str, content: bytes) -> object:
    """Reduce a file to what must be equal: an SQLite file to its rows."""
    if not path.endswith(".sqlite"):
        return content
    try:
        return read_rows(content) if content else ()
    except sqlite3.Error as error:
        return str(error)


def same(a: Files, b: Files) -> list[str]:
    """List the paths in which two states differ."""
    paths = sorted(a.keys() | b.keys())
    return [
        path
        for path in paths
        if a.get(path) != b.get(path)
        and (path not in a or path not in b or simplify(path, a[path]) != simplify(path, b[path]))
    ]


def digest(files: Files, touches: tuple[str, ...]) -> str:
    """Hash the files below prefixes."""
    hashed = hashlib.sha256()
    for path in sorted(files):
        if path.startswith(touches):
            hashed.update(f"{path}\0{simplify(path, files[path])!r}\0".encode())
    return hashed.hexdigest()


def read_hub(repositories: Mapping[tuple[str, str], Any]) -> dict[str, bytes]:
    """Read the files of the repositories as `hub/KIND/NAME/PATH`; an empty one has a slash."""
    files = {}
    for (kind, name), repository in repositories.items():
        commit = repository.find()
        files[f"{HUB}/{kind}/{name}/"] = b""
        for path, blob in (commit.files if commit else {}).items():
            files[f"{HUB}/{kind}/{name}/{path}"] = blob.oid.encode()
    return files


def copy_hub(repositories: Any) -> Any:
    """Copy repositories, so that a state keeps them."""
    return deepcopy(repositories)
