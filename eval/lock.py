"""One process at a time in a run folder."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from pathlib import Path

from polyprobe import PolyprobeError


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Make a folder and keep other processes out of it, where its file system can.

    The lock is the system's own on the open folder, so a process that is killed leaves none.

    Raises:
        PolyprobeError: another process is at work there.
    """
    with ExitStack() as stack:
        with suppress(OSError, ImportError):  # Windows, or a file system without locks
            fcntl = import_module("fcntl")
            folder.mkdir(parents=True, exist_ok=True)
            handle = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, handle)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise PolyprobeError(
                    f"another process is writing to {folder}; wait for it, or choose another "
                    "--output"
                ) from None
        yield
