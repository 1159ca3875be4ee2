"""The layer between commands and the real files: functions of os, io, sqlite3, time and httpx.

Every operation that changes a file below the machine's root is counted first, and may fail. A dead
process changes nothing more: what runs on in `finally` has no effect, and its buffers are lost.
"""

import asyncio
import builtins
import errno
import fcntl
import io
import os
import selectors
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from .machine import Killed, Machine, Process

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
REAL_OPEN, REAL_FLOCK, REAL_CLOSE = io.open, fcntl.flock, os.close
NO_SPACE = os.strerror(errno.ENOSPC)


class File(io.FileIO):
    """A file that is written: each write is an operation."""

    def __init__(self, process: Process, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._process = process
        process.handles.add(self.fileno())

    def write(self, data: Any) -> int:
        """Write, or as much as a fault lets through."""
        process = self._process
        if process.dead:
            return len(data)
        kind = process.operate("write")
        process.machine.unsynced.add(os.fstat(self.fileno()).st_ino)
        if kind in ("torn", "full"):
            part = process.fault.part if process.fault else 0.0
            super().write(bytes(data)[: int(part * len(data))])
        if kind == "torn":
            assert process.fault is not None
            process.machine.kill(process, process.fault)
        if kind == "full":
            raise OSError(errno.ENOSPC, NO_SPACE)
        return super().write(data)

    def close(self) -> None:
        """Close the file, once."""
        if not self.closed:
            self._process.handles.discard(self.fileno())
        super().close()


class Connection(sqlite3.Connection):
    """A connection whose statements and commits are operations."""

    machine: Machine

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        assert self.machine.current is not None
        self._process = self.machine.current
        self._file = str(arguments[0])
        super().__init__(*arguments, **{**keywords, "timeout": 0.0})

    def _try(self, work: Callable[[], Any]) -> Any:
        if self._process.operate("sql") == "full":
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorname = "SQLITE_FULL"
            raise error
        while True:
            try:
                return work()
            except sqlite3.OperationalError as error:
                if error.sqlite_errorname != "SQLITE_BUSY":
                    raise
                self.machine.wait()

    def execute(self, *arguments: Any) -> Any:
        return self._try(lambda: super(Connection, self).execute(*arguments))

    def executemany(self, *arguments: Any) -> Any:
        return self._try(lambda: super(Connection, self).executemany(*arguments))

    def __exit__(self, kind: Any, *error: Any) -> Any:
        if kind is not None or self._process.dead:
            return super().__exit__(kind or Killed, *error)  # rolls back
        result = self._try(lambda: super(Connection, self).__exit__(None, None, None))
        if self.machine.seen:
            self.machine.seen(self._file)
        return result


class Entries:
    """The entries of a folder in the order of their names."""

    def __init__(self, entries: Any) -> None:
        with entries:
            self._entries = iter(sorted(entries, key=lambda entry: entry.name))

    def __enter__(self) -> "Entries":
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._entries)

    def close(self) -> None:
        """End the iteration."""
        self._entries = iter(())


class Streams(io.TextIOBase):
    """Standard output or error: that of the process that runs."""

    def __init__(self, machine: Machine, name: str) -> None:
        self._machine, self._name = machine, name

    def write(self, text: str) -> int:
        process = self._machine.current
        return getattr(process, self._name).write(text) if process else len(text)

    def flush(self) -> None:
        """Nothing is buffered here."""


@contextmanager
def layer(machine: Machine, real: bool = False) -> Iterator[pytest.MonkeyPatch]:
    """Put the layer in place; `real`: without a clock, servers and processes of its own."""
    with pytest.MonkeyPatch.context() as patch:
        _replace_paths(machine, patch)
        _replace_handles(machine, patch)
        patch.setattr(Connection, "machine", machine, raising=False)
        connect = sqlite3.connect
        patch.setattr(
            sqlite3, "connect", lambda *a, **k: connect(*a, **{**k, "factory": Connection})
        )
        patch.setattr(shutil, "_USE_CP_SENDFILE", False)
        patch.setattr(shutil, "_use_fd_functions", False)
        if not real:
            _replace_order(patch)
            _replace_clock(machine, patch)
            patch.setattr(fcntl, "flock", _make_flock(machine))
            patch.setattr(sys, "stdout", Streams(machine, "output"))
            patch.setattr(sys, "stderr", Streams(machine, "errors"))
        yield patch


def _replace_paths(machine: Machine, patch: pytest.MonkeyPatch) -> None:
    """Count the functions that take a path; `io.open` too, if it writes."""

    def count(name: str, kind: str) -> None:
        function = getattr(os, name)

        def call(path: Any, *arguments: Any, **keywords: Any) -> Any:
            process = machine.current
            if process is None or not machine.holds(path):
                return function(path, *arguments, **keywords)
            if process.dead:
                return None
            if process.operate(kind) == "full":
                raise OSError(errno.ENOSPC, NO_SPACE, path)
            result = function(path, *arguments, **keywords)
            if kind == "rename" and machine.seen:
                machine.seen(os.fspath(arguments[0]))
            return result

        patch.setattr(os, name, call)

    for name, kind in {
        "replace": "rename", "rename": "rename", "unlink": "unlink", "remove": "unlink",
        "rmdir": "unlink", "mkdir": "mkdir",
    }.items():  # fmt: skip
        count(name, kind)

    def open_file(
        file: Any, mode: str = "r", buffering: int = -1, encoding: Any = None, errors: Any = None,
        newline: Any = None, closefd: bool = True, opener: Any = None,
    ) -> Any:  # fmt: skip
        process = machine.current
        written = {*"wax+"} & {*mode}
        if process is None or not written or isinstance(file, int) or not machine.holds(file):
            return REAL_OPEN(file, mode, buffering, encoding, errors, newline, closefd, opener)
        process.operate("open")
        raw = File(process, file, mode.replace("b", "").replace("t", ""), closefd, opener)
        if buffering == 0:
            return raw
        buffer = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        if "b" in mode:
            return buffer
        text = io.TextIOWrapper(buffer, encoding, errors, newline)
        text.mode = mode
        return text

    patch.setattr(io, "open", open_file)
    patch.setattr(builtins, "open", open_file)


def _replace_handles(machine: Machine, patch: pytest.MonkeyPatch) -> None:
    """Count `os.open` and `os.fsync`; know which descriptors a process has."""
    real_open, real_sync = os.open, os.fsync

    def open_handle(path: Any, flags: int, *arguments: Any, **keywords: Any) -> int:
        process = machine.current
        if process is None or not machine.holds(path):
            return real_open(path, flags, *arguments, **keywords)
        if flags & WRITES:
            process.operate("open")
        handle = real_open(path, flags, *arguments, **keywords)
        process.handles.add(handle)
        return handle

    def close(handle: int) -> None:
        if machine.current:
            machine.current.handles.discard(handle)
        REAL_CLOSE(handle)

    def sync(handle: Any) -> None:
        process = machine.current
        if process is None:
            return
        process.operate("fsync")
        number = handle if isinstance(handle, int) else handle.fileno()
        machine.unsynced.discard(os.fstat(number).st_ino)
        real_sync(number)

    patch.setattr(os, "open", open_handle)
    patch.setattr(os, "close", close)
    patch.setattr(os, "fsync", sync)


def _make_flock(machine: Machine) -> Callable[[int, int], None]:
    """Make a `flock` that lets the other process run instead of blocking."""

    def flock(handle: int, operation: int) -> None:
        if machine.current is None or operation & (fcntl.LOCK_NB | fcntl.LOCK_UN):
            REAL_FLOCK(handle, operation)
            return
        while True:
            try:
                REAL_FLOCK(handle, operation | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                machine.wait()

    return flock


def _replace_order(patch: pytest.MonkeyPatch) -> None:
    """List folders in one order, whatever was in them before."""
    listdir, scandir = os.listdir, os.scandir
    patch.setattr(os, "listdir", lambda path=".": sorted(listdir(path)))
    patch.setattr(os, "scandir", lambda path=".": Entries(scandir(path)))


def _replace_clock(machine: Machine, patch: pytest.MonkeyPatch) -> None:
    """Let waits pass at once, also those of asyncio."""

    class Selector(selectors.DefaultSelector):
        def select(self, timeout: float | None = None) -> Any:
            if events := super().select(0):
                return events
            if timeout is None:
                return super().select(0.01)  # for a thread
            machine.now += max(timeout, 0.0)
            return events

    class Loop(asyncio.SelectorEventLoop):
        def __init__(self) -> None:
            super().__init__(Selector())

        def time(self) -> float:
            return machine.now

    def run(main: Any, *, debug: bool | None = None) -> Any:
        with asyncio.Runner(debug=debug, loop_factory=Loop) as runner:
            return runner.run(main)

    patch.setattr(asyncio, "run", run)
    patch.setattr(time, "sleep", machine.wait)
