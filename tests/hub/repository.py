"""A folder on disk seen as a Hub repository: its files, their ids and the commit they make."""

import hashlib
import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

LFS_SUFFIXES = {".parquet", ".safetensors", ".bin", ".gguf", ".arrow"}
SKIPPED = {".git", "__pycache__", ".pytest_cache"}
DATE = "2026-01-01T00:00:00.000Z"


class Blob(NamedTuple):
    """One file: where it lies, its git blob id, its SHA-256 and its size."""

    file: Path
    oid: str
    sha256: str
    size: int

    @property
    def etag(self) -> str:
        """Return the id that the Hub sends: the SHA-256 of an LFS file, else the git blob's."""
        return self.sha256 if self.file.suffix in LFS_SUFFIXES else self.oid


class Repository:
    """A plain folder served as it stands at the moment of each request, revision `main`."""

    def __init__(self, kind: str, name: str, folder: Path) -> None:
        self.kind, self.name, self.folder = kind, name, Path(folder)

    def blobs(self) -> dict[str, Blob]:
        """Return the files by their path in the repository, sorted."""
        files = sorted(file for file in self.folder.rglob("*") if file.is_file())
        inside = {file.relative_to(self.folder): file for file in files}
        return {
            path.as_posix(): read_blob(file, file.stat().st_mtime_ns, file.stat().st_size)
            for path, file in inside.items()
            if not SKIPPED.intersection(path.parts)
        }

    def commit(self) -> str:
        """Return the commit: 40 hexadecimal digits made from paths and contents alone."""
        listing = "".join(f"{path}\0{blob.oid}\n" for path, blob in self.blobs().items())
        return hashlib.sha1(f"{self.kind}\n{listing}".encode()).hexdigest()

    def has_revision(self, revision: str) -> bool:
        """Tell whether the revision is `main` or names the present commit (7 digits or more)."""
        digits = re.fullmatch("[0-9a-f]{7,40}", revision)
        return revision == "main" or bool(digits and self.commit().startswith(revision))

    def info(self) -> dict[str, Any]:
        """Return what `/api/KINDs/NAME` tells."""
        name = {"modelId": self.name} if self.kind == "model" else {}
        sdk = {"sdk": "gradio"} if self.kind == "space" else {}
        return {
            **name,
            **sdk,
            "_id": self.commit()[:24],
            "id": self.name,
            "author": self.name.split("/")[0],
            "sha": self.commit(),
            "lastModified": DATE,
            "createdAt": DATE,
            "private": False,
            "gated": False,
            "disabled": False,
            "downloads": 0,
            "likes": 0,
            "tags": [],
            "siblings": [{"rfilename": path} for path in self.blobs()],
        }

    def refs(self) -> dict[str, Any]:
        """Return what `/refs` tells: one branch."""
        main = {"name": "main", "ref": "refs/heads/main", "targetCommit": self.commit()}
        return {"branches": [main], "tags": [], "converts": [], "pullRequests": []}

    def tree(self, under: str, recursive: bool, expand: bool) -> list[dict[str, Any]]:
        """Return the entries of a folder (empty: the root), of its subfolders too on demand."""
        entries = self.entries(expand)
        prefix = f"{under}/" if under else ""
        inside = [path for path in entries if path.startswith(prefix)]
        return [entries[path] for path in inside if recursive or "/" not in path[len(prefix) :]]

    def paths_info(self, paths: list[str], expand: bool) -> list[dict[str, Any]]:
        """Return the entries of the paths that exist; the others are left out, as the Hub does."""
        entries = self.entries(expand)
        return [entries[path] for path in paths if path in entries]

    def entries(self, expand: bool) -> dict[str, dict[str, Any]]:
        """Return files and folders by path, sorted, as the Hub's JSON describes them."""
        blobs = self.blobs()
        folders = {str(parent) for path in blobs for parent in Path(path).parents} - {"."}
        last = {"id": self.commit(), "title": "as on disk", "date": DATE}
        extra = {"lastCommit": last, "securityFileStatus": None} if expand else {}
        files = {path: describe(path, blob) | extra for path, blob in blobs.items()}
        trees = {path: describe_folder(path) | extra for path in folders}
        return dict(sorted((files | trees).items()))


def describe(path: str, blob: Blob) -> dict[str, Any]:
    """Return a file's entry; that of an LFS file names the SHA-256 of its content."""
    entry = {"type": "file", "oid": blob.oid, "size": blob.size, "path": path}
    if blob.file.suffix in LFS_SUFFIXES:
        entry["lfs"] = {"oid": blob.sha256, "size": blob.size, "pointerSize": 134}
    return entry


def describe_folder(path: str) -> dict[str, Any]:
    """Return a folder's entry; its id is made from its path, no client looks at it."""
    return {"type": "directory", "oid": hashlib.sha1(path.encode()).hexdigest(), "size": 0} | {
        "path": path
    }


@cache
def read_blob(file: Path, modified: int, size: int) -> Blob:
    """Return a file's ids, read once for each time that it was modified."""
    content = file.read_bytes()
    oid = hashlib.sha1(b"blob %d\0" % size + content).hexdigest()
    return Blob(file, oid, hashlib.sha256(content).hexdigest(), size)
