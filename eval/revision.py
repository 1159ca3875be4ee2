"""What exactly a model is: a commit of the Hub, or a hash of its files."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

HASH = "sha256-"
# What no score depends on, of the files in a model's folder.
ASIDE = {".md", ".png", ".jpg", ".svg", ".pt", ".pth", ".log", ".lock"}


def exact_revision(place: str, options: dict[str, str]) -> str:
    """Return the commit that the Hub's revision stands for, or a hash of a folder's files."""
    return _hash(place, options) if os.path.isdir(place) else _commit(place, options)


def is_hash(revision: str) -> bool:
    """Tell a hash of files from a commit."""
    return revision.startswith(HASH)


def _commit(place: str, options: dict[str, str]) -> str:
    """Return the commit that the Hub's revision stands for: the name of the snapshot's folder."""
    from transformers.utils import cached_file  # run folders are read without it

    return Path(cached_file(place, "config.json", **options)).parent.name


def _files(folder: Path) -> Iterator[Path]:
    """Yield all files that a model may be read from: weights, settings, tokenizer."""
    for file in folder.rglob("*"):
        hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
        if file.is_file() and file.suffix not in ASIDE and not hidden:
            yield file


def _hash(place: str, options: dict[str, str]) -> str:
    """Return a hash of a folder's weights, settings and tokenizer, or of a GGUF file."""
    digest = hashlib.sha256()
    folder = Path(place)
    for file in [folder / options["gguf_file"]] if options else sorted(_files(folder)):
        digest.update(str(file.relative_to(folder)).encode())
        with file.open("rb") as handle:
            digest.update(hashlib.file_digest(handle, "sha256").digest())
    return f"{HASH}{digest.hexdigest()}"
