"""Hashes of models, files and texts."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

# Before the hash of a model's files, where a model on the Hub has its commit.
HASH = "sha256-"
# Files in a model's folder that do not change its output.
_IGNORED = {".md", ".png", ".jpg", ".svg", ".pt", ".pth", ".log", ".lock"}


def hash_text(text: str) -> int:
    """Compute the SHA-256 of a text as a number, the same on every machine."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8")).digest(), "big")


def hash_json(value: Mapping[str, Any]) -> str:
    """Compute the SHA-256, in hex digits, of a value as JSON; the order of its keys counts."""
    return hashlib.sha256(json.dumps(value).encode("ascii")).hexdigest()


def shuffle_items(items: Sequence[str], key: str) -> Iterator[str]:
    """Yield the items in a random order that depends only on key and items.

    Fisher-Yates shuffle: draw n takes one of the m remaining items by SHA-256 of `key|n` modulo m,
    with a bias below m / 2**256. It is independent of the random generators of libraries.
    """
    items_in_order: dict[int, str] = {}
    for number, item in enumerate(items):
        place = number + hash_text(f"{key}|{number}") % (len(items) - number)
        yield items_in_order.get(place, items[place])
        items_in_order[place] = items_in_order.get(number, item)


def hash_files(files: Iterable[tuple[str, Path]]) -> str:
    """Compute the SHA-256, in hex digits, of files under given names, in the given order."""
    digest = hashlib.sha256()
    for name, path in files:
        digest.update(name.encode())
        with path.open("rb") as handle:
            digest.update(hashlib.file_digest(handle, "sha256").digest())
    return digest.hexdigest()


def hash_model(folder: Path, file: str | None = None) -> str:
    """Compute the SHA-256 of a folder's weights, settings and tokenizer, or of one file in it."""
    paths = [folder / file] if file else sorted(list_model_files(folder))
    return hash_files((str(path.relative_to(folder)), path) for path in paths)


def is_hash(revision: str) -> bool:
    """Check whether a model's revision is a hash of its files, not a commit."""
    return revision.startswith(HASH)


def list_model_files(folder: Path) -> Iterator[Path]:
    """Yield the files of a model's folder that its hash is made of."""
    for path in folder.rglob("*"):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.is_file() and path.suffix not in _IGNORED and not hidden:
            yield path
