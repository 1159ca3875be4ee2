"""Files that are written whole or not at all."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from polyprobe import PolyprobeError


def part_of(file: Path) -> Path:
    """Return where a file is written; one name, so that a killed run's rest is replaced."""
    return file.with_name(f".{file.name}.part")


def write_whole(file: Path, write: Callable[[Path], object], remedy: str) -> None:
    """Let `write` fill a file beside `file`, then put it in its place.

    What is there and is no file (/dev/stdout) is written into, not replaced.

    Raises:
        PolyprobeError: it cannot be written (no room, no folder, no permission); what stood there
            is kept. The remedy ends the message.
    """
    try:
        if file.exists() and not file.is_file() and not file.is_dir():
            write(file)
            return
        part = part_of(file)
        file.parent.mkdir(parents=True, exist_ok=True)
        write(part)
        with part.open("rb") as handle:
            os.fsync(handle.fileno())
        part.replace(file)
    except (OSError, ValueError) as error:  # ValueError: a path without a name, such as `.`
        with suppress(OSError, ValueError):
            part_of(file).unlink()
        reason = getattr(error, "strerror", None) or error
        raise PolyprobeError(f"cannot write {file}: {reason}; {remedy}") from error
