"""The exact revision of a model: a commit on the Hub, or a hash of its files."""

import os
from pathlib import Path

from polyprobe.system.hashing import hash_model

HASH = "sha256-"


def exact_revision(place: str, options: dict[str, str]) -> str:
    """Return the Hub's commit of a revision, or a hash of a folder's files."""
    if os.path.isdir(place):
        return HASH + hash_model(Path(place), options.get("gguf_file"))
    return _commit(place, options)


def is_hash(revision: str) -> bool:
    """Return whether it is a hash of files, not a commit."""
    return revision.startswith(HASH)


def _commit(place: str, options: dict[str, str]) -> str:
    """Return the Hub's commit of a revision: the name of the snapshot's folder."""
    from transformers.utils import cached_file  # reading run folders must not import it

    return Path(cached_file(place, "config.json", **options)).parent.name
