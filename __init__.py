"""polyprobe tells whether a language model knows the same facts in every language.

The rooms: `polyprobe.builder` makes datasets, `polyprobe.eval` puts a model in front of them,
`polyprobe.metrics` holds the evaluate modules, `polyprobe.cli` the `polyprobe` command.
"""

import hashlib
import os
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

__version__ = version("polyprobe")
# What nothing depends on, of the files in a model's folder.
_ASIDE = {".md", ".png", ".jpg", ".svg", ".pt", ".pth", ".log", ".lock"}


class PolyprobeError(Exception):
    """A mistake that the user can mend: one line that names the value, the place and the remedy.

    The command line prints it without a traceback and exits with status 1.
    """


def cache_folder() -> Path:
    """Return where scores and translations are kept for later runs.

    It is POLYPROBE_CACHE where that is set, else XDG_CACHE_HOME/polyprobe, else ~/.cache/polyprobe.

    As the XDG specification has it, an XDG_CACHE_HOME that is no absolute path does not count.
    """
    try:
        if own := os.environ.get("POLYPROBE_CACHE"):
            return Path(own).expanduser()
        caches = Path(os.environ.get("XDG_CACHE_HOME", ""))
        return (caches if caches.is_absolute() else Path.home() / ".cache") / "polyprobe"
    except RuntimeError as error:
        raise PolyprobeError(f"no place for the cache ({error}); set POLYPROBE_CACHE") from error


def hash_model(folder: Path, file: str | None = None) -> str:
    """Return a hash of a folder's weights, settings and tokenizer, or of one file in it.

    It depends on the files' names in the folder and on what they hold, not on where it lies; hidden
    files do not count.
    """
    digest = hashlib.sha256()
    for path in [folder / file] if file else sorted(_list_files(folder)):
        digest.update(str(path.relative_to(folder)).encode())
        with path.open("rb") as handle:
            digest.update(hashlib.file_digest(handle, "sha256").digest())
    return digest.hexdigest()


def _list_files(folder: Path) -> Iterator[Path]:
    """Yield all files that a model may be read from."""
    for path in folder.rglob("*"):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.is_file() and path.suffix not in _ASIDE and not hidden:
            yield path
