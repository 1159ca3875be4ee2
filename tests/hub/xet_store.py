"""The stand-in Xet storage: xorbs, the chunks in each, and places to upload more."""

import hashlib
from collections.abc import Callable

from tests.hub.history import Repository
from tests.hub.xet_format import File, XetError, read_files, read_xorb

LIFETIME = 3600  # seconds, of a token


class XetStore:
    """Xorbs by their hash, stored for all repositories, and the tokens of their uploads.

    Hashes of chunks, xorbs and files are BLAKE3 and not verified; files registered by a shard must
    have the SHA-256 given there. A xorb without a shard is kept, as on the Hub.
    """

    def __init__(self) -> None:
        self.writers: dict[str, Repository] = {}
        self.grants: dict[str, bytes] = {}
        self.xorbs: dict[str, list[bytes]] = {}

    def issue_token(self, repository: Repository) -> str:
        """Return a new token that writes a repository."""
        token = f"xet_{len(self.writers)}"
        self.writers[token] = repository
        return token

    def issue_grant(self) -> str:
        """Return the number of a new place to put a xorb."""
        number = f"{len(self.grants)}"
        self.grants[number] = b""
        return number

    def keep(self, name: str, content: bytes) -> bool:
        """Keep the chunks of a xorb and return whether it is new."""
        new = name not in self.xorbs
        self.xorbs[name] = read_xorb(content)
        return new

    def register(self, content: bytes, keep: Callable[[bytes], object]) -> None:
        """Assemble and store the files of a shard, all of them or none."""
        for file in [self.put_together(file) for file in read_files(content)]:
            keep(file)

    def put_together(self, file: File) -> bytes:
        """Return a file's content; a chunk that is not here or another SHA-256 is an error."""
        parts = []
        for term in file.terms:
            chunks = self.xorbs.get(term.xorb, [])[term.start : term.stop]
            parts.append(b"".join(chunks))
            if len(chunks) != term.stop - term.start or len(parts[-1]) != term.size:
                raise XetError(f"xorb {term.xorb} has no chunks {term.start} to {term.stop}")
        content = b"".join(parts)
        found = hashlib.sha256(content).hexdigest()
        if found != file.sha256:
            raise XetError(f"file of SHA-256 {found}, announced as {file.sha256}")
        return content
