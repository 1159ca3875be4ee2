"""A repository with a history: commits, branches, tags, pull requests, and a folder seen as one."""

import hashlib
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from tests.hub.contents import DATE, LFS_SUFFIXES, Blob, read_blob

SKIPPED = {".git", "__pycache__", ".pytest_cache"}


class Commit(NamedTuple):
    """A state of the files, by path, sorted; `parent` is empty in the first commit."""

    oid: str
    parent: str
    files: dict[str, Blob]
    title: str
    message: str
    author: str
    date: str


class Pull(NamedTuple):
    """A pull request: its number is its place in `Repository.pulls`, from 1."""

    title: str
    author: str
    base: str


class Repository:
    """Commits by id and the names that point at them; `objects` are uploaded LFS contents.

    Objects stay if no commit follows their upload: a repeated upload resumes from them.
    """

    def __init__(self, kind: str, name: str) -> None:
        self.kind, self.name = kind, name
        self.private, self.sdk = False, ""
        self.commits: dict[str, Commit] = {}
        self.branches: dict[str, str] = {}
        self.tags: dict[str, str] = {}
        self.pulls: list[Pull] = []
        self.objects: dict[str, Blob] = {}

    def refresh(self) -> None:
        """Read changes from outside: none, in a writable repository."""

    def find(self, revision: str = "main") -> Commit | None:
        """Return the commit of a branch, a tag, `refs/pr/N` or 7 to 40 digits of its id."""
        self.refresh()
        named = {f"refs/heads/{name}": oid for name, oid in self.branches.items()}
        oid = (named | self.tags | self.branches).get(revision)
        if oid is None and re.fullmatch("[0-9a-f]{7,40}", revision):
            oid = next((oid for oid in self.commits if oid.startswith(revision)), None)
        return self.commits[oid] if oid else None

    def commit(self, revision: str = "main") -> str:
        found = self.find(revision)
        assert found, f"no revision {revision} in {self.name}"
        return found.oid

    def log(self, revision: str = "main") -> list[Commit]:
        found = [self.commits[self.commit(revision)]]
        while found[-1].parent:
            found.append(self.commits[found[-1].parent])
        return found

    def pull_author(self, revision: str) -> str:
        """Return who opened the pull request `refs/pr/N`; empty for any other revision."""
        opened = {f"refs/pr/{n}": pull.author for n, pull in enumerate(self.pulls, start=1)}
        return opened.get(revision, "")

    def write(
        self, branch: str, files: dict[str, Blob], title: str, message: str, author: str
    ) -> Commit:
        """Make a commit of these files the head of a branch; an unknown branch begins with it."""
        parent = self.branches.get(branch, "")
        date = tell_date(len(self.commits))
        commit = make_commit(parent, dict(sorted(files.items())), title, message, author, date)
        self.commits[commit.oid] = commit
        self.branches[branch] = commit.oid
        return commit


class Folder(Repository):
    def __init__(self, kind: str, name: str, folder: Path) -> None:
        super().__init__(kind, name)
        self.folder = Path(folder)
        self.sdk = "gradio" if kind == "space" else ""

    def refresh(self) -> None:
        """Read the folder as the only commit; its id depends on the contents only."""
        files = sorted(file for file in self.folder.rglob("*") if file.is_file())
        inside = {file.relative_to(self.folder): file for file in files}
        blobs = {
            path.as_posix(): open_blob(file)
            for path, file in inside.items()
            if not SKIPPED.intersection(path.parts)
        }
        commit = make_commit("", blobs, "as on disk", "", "system", DATE)
        self.commits, self.branches = {commit.oid: commit}, {"main": commit.oid}


def open_blob(file: Path) -> Blob:
    """Return the ids of a file on disk; its suffix decides whether it is an LFS file."""
    told = file.stat()
    return read_blob(file, told.st_mtime_ns, told.st_size, file.suffix in LFS_SUFFIXES.split())


def make_commit(parent: str, files: dict[str, Blob], *told: Any) -> Commit:
    """Return a commit whose id depends on its parent, files, title, author and date."""
    listing = "".join(f"{path}\0{blob.oid}\n" for path, blob in files.items())
    oid = hashlib.sha1("\n".join([parent, *told, listing]).encode()).hexdigest()
    return Commit(oid, parent, files, *told)


def tell_date(number: int) -> str:
    date = datetime.fromisoformat(DATE) + timedelta(minutes=number)
    return date.strftime("%Y-%m-%dT%H:%M:%S.000Z")
