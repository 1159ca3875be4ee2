"""What exactly a model is: a commit of the Hub, or a hash of its files."""

import os
from pathlib import Path

from polyprobe.system.hashing import hash_model

HASH = "sha256-"


def exact_revision(place: str, options: dict[str, str]) -> str:
    """Return the commit that the Hub's revision stands for, or a hash of a folder's files."""
    if os.path.isdir(place):
        return HASH + hash_model(Path(place), options.get("gguf_file"))
    return _commit(place, options)


def is_hash(revision: str) -> bool:
    """Tell a hash of files from a commit."""
    return revision.startswith(HASH)


def _commit(place: str, options: dict[str, str]) -> str:
    """Return the commit that the Hub's revision stands for: the name of the snapshot's folder."""
    from transformers.utils import cached_file  # run folders are read without it

    return Path(cached_file(place, "config.json", **options)).parent.name
