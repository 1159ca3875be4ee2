"""The start of the `polyprobe` command, also as `python -m polyprobe`; it imports little."""

import os
import signal
import sys
from typing import Any

INTERRUPTED = "interrupted; run the same command again to resume\n"


def launch() -> None:
    """Run the command line; Ctrl-C during its imports ends in one line, as later."""
    open_streams()
    if (before := signal.getsignal(signal.SIGINT)) is signal.default_int_handler:  # not of nohup
        signal.signal(signal.SIGINT, stop)
    try:
        from polyprobe.cli import run as run_command
    except (ImportError, MemoryError) as error:  # a damaged package, or little address space
        sys.stderr.write(f"error: cannot import polyprobe's packages: {error or 'out of memory'}\n")
        sys.exit(2)  # 1 is a lost figure of `compare --fail-if`
    signal.signal(signal.SIGINT, before)
    run_command()


def open_streams() -> None:
    """Open standard streams that are closed, so that no other file gets their numbers."""
    while (number := os.open(os.devnull, os.O_RDWR)) < 3:
        pass
    os.close(number)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            number = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8"))


def stop(*_: Any) -> None:
    """End the process at once; an exception may be lost inside an import."""
    os.write(2, INTERRUPTED.encode())
    os._exit(130)


if __name__ == "__main__":
    launch()
