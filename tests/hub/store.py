"""Contents of files: their ids, and the folder of uploaded contents."""

import hashlib
from functools import cache
from pathlib import Path
from typing import NamedTuple


class Blob(NamedTuple):
    """A content: its path, git blob id, SHA-256, size, and whether it is a file of LFS."""

    file: Path
    git_oid: str
    sha256: str
    size: int
    lfs: bool

    @property
    def pointer(self) -> bytes:
        """Return git's pointer to an LFS file."""
        return (
            "version https://git-lfs.github.com/spec/v1\n"
            f"oid sha256:{self.sha256}\nsize {self.size}\n"
        ).encode()

    @property
    def oid(self) -> str:
        """Return the id of the content in git: the file, or an LFS file's pointer."""
        return git_oid(self.pointer) if self.lfs else self.git_oid

    @property
    def etag(self) -> str:
        """Return the id sent by the Hub: the SHA-256 of an LFS file, else the git blob id."""
        return self.sha256 if self.lfs else self.git_oid


class Store(NamedTuple):
    """A folder of uploaded contents, each under its SHA-256."""

    folder: Path

    def keep(self, content: bytes, lfs: bool) -> Blob:
        """Write a content and return its ids."""
        sha256 = hashlib.sha256(content).hexdigest()
        file = self.folder / sha256
        if not file.exists():
            file.write_bytes(content)
        return Blob(file, git_oid(content), sha256, len(content), lfs)


def git_oid(content: bytes) -> str:
    """Return the git id of a file with this content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@cache
def read_blob(file: Path, modified: int, size: int, lfs: bool) -> Blob:
    """Return a file's ids, read once for each modification."""
    content = file.read_bytes()
    return Blob(file, git_oid(content), hashlib.sha256(content).hexdigest(), size, lfs)
