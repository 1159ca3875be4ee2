"""The simulated machine: its clock, its processes, their operations and faults."""

import errno
import io
import os
import random
import signal
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from .faults import KINDS, NETWORK, Fault

PATIENCE = 20_000  # waits of a process before it counts as stuck


class Killed(BaseException):
    """The process is dead: what it does from now on has no effect."""


class Stuck(BaseException):
    """A process waits for something that never comes."""


class Process:
    """A command, its operations so far, and what became of it."""

    def __init__(self, machine: "Machine", words: Sequence[str], fault: Fault | None, at: int):
        self.machine, self.words, self.fault, self.at = machine, words, fault, at
        self.counts: Counter[str] = Counter()
        self.dead = self.full = self.hit = False
        self.failing = 0  # requests that fail from now on
        self.handles: set[int] = set()  # open descriptors
        self.baton = threading.Semaphore(0)
        self.output, self.errors = io.StringIO(), io.StringIO()
        self.status: int | str | None = None  # None: it runs, or was killed
        self.waits = 0

    def operate(self, kind: str) -> str:
        """Count an operation before it has an effect; raise the fault, or return its kind."""
        if self.dead:
            raise Killed
        self.counts[kind] += 1
        self.machine.pass_baton(self)
        fault = self.fault
        if self.full and kind in KINDS["full"]:
            return "full"
        if self.failing and kind == "request":
            self.failing -= 1
            return fault.kind if fault else ""
        if fault is None or self.hit or kind not in KINDS[fault.kind]:
            return ""
        if sum(self.counts[x] for x in KINDS[fault.kind]) < self.at:
            return ""
        self.hit = True
        return self.strike(fault)

    def strike(self, fault: Fault) -> str:
        """Raise the fault, or return its kind if the operation itself must fail."""
        if fault.kind in ("kill", "power"):
            self.machine.kill(self, fault)
        if fault.kind == "interrupt":
            signal.raise_signal(signal.SIGINT)  # what handles it, handles it as it comes
            return ""
        if fault.kind == "second":
            self.machine.start_second(fault)
            return ""
        if fault.kind in ("rename", "fsync"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if fault.kind == "denied":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        if fault.kind == "full":
            self.full = True
            self.machine.fill()
        self.failing = fault.times - 1 if fault.kind in NETWORK else 0
        return fault.kind

    def run(self) -> None:
        """Run the command as a process of its own would run it."""
        from polyprobe.cli import main

        sys.argv = ["polyprobe", *self.words]
        try:
            main()
        except SystemExit as end:
            self.status = end.code if isinstance(end.code, int) else int(bool(end.code))
        except Stuck:
            self.status = "stuck"
        except BaseException:
            if not self.dead:
                self.errors.write(traceback.format_exc())
                self.status = "traceback"
        if self.dead:
            self.status = None
        elif self.fault and not self.hit and self.fault.kind in ("kill", "power"):
            self.hit, self.dead, self.status = True, True, None  # behind the last operation
            if self.fault.kind == "power":
                self.machine.lose_power(self.fault)
        self.machine.close(self)


class Machine:
    """Runs one or two processes at a time over the files below `root`."""

    def __init__(self, root: Path) -> None:
        self.root = str(root) + os.sep
        self.now = 0.0  # seconds since the start
        self.current: Process | None = None
        self.second: Process | None = None
        self.first: Process | None = None
        self.unsynced: set[int] = set()  # numbers of files (inodes)
        self.seen: Callable[[str], None] | None = None  # called with a path that was replaced
        self.words: Callable[[str], Sequence[str]] = str.split
        self.turns = random.Random(0)
        self.quantum = 0

    def run(self, words: Sequence[str], fault: Fault | None = None, at: int = 0) -> Process:
        """Run a command, and the second process that a fault starts, to their ends."""
        self.second, self.quantum = None, 0
        process = self.first = self.current = Process(self, words, fault, at)
        process.run()
        while self.second and self.second.status is None and not self.second.dead:
            self.switch(process, self.second)
        self.current = None
        return process

    # Processes take turns: only the one that has the baton runs, so that a seed repeats exactly.
    def start_second(self, fault: Fault) -> None:
        """Let another process begin, in a thread; it and the first one take turns."""
        assert self.first is not None
        self.turns = random.Random(f"{fault.part}")
        other = self.second = Process(self, self.words(fault.command), None, 0)

        def live() -> None:
            other.baton.acquire()
            other.run()
            assert self.first is not None
            self.current = self.first
            self.first.baton.release()

        threading.Thread(target=live, daemon=True).start()
        self.switch(self.first, other)

    def other(self, process: Process) -> Process | None:
        """Find the other process that can run."""
        others = [x for x in (self.first, self.second) if x is not None and x is not process]
        return next((x for x in others if x.status is None and not x.dead), None)

    def switch(self, process: Process, other: Process) -> None:
        """Let another process run until it passes the baton back."""
        self.quantum = self.turns.choice((1, 2, 5, 20, 100))
        self.current = other
        other.baton.release()
        process.baton.acquire()

    def pass_baton(self, process: Process) -> None:
        """Let the other process run, if this one had its number of operations."""
        if self.second is None or (other := self.other(process)) is None:
            return
        self.quantum -= 1
        if self.quantum < 0:
            self.switch(process, other)

    def wait(self, seconds: float = 0.05) -> None:
        """Pass time; the other process runs meanwhile."""
        self.now += seconds
        process = self.current
        if process is None:
            return
        process.waits += 1
        if process.waits > PATIENCE:
            raise Stuck
        if other := self.other(process):
            self.switch(process, other)

    def kill(self, process: Process, fault: Fault) -> None:
        """End a process at once."""
        process.dead = True
        if fault.kind == "power":
            self.lose_power(fault)
        raise Killed

    def fill(self) -> None:
        """Leave no space: operations fail one by one, see `Process.full`."""

    def lose_power(self, fault: Fault) -> None:
        """Cut the files that were not synced; renames are on disk (journals keep their order)."""
        for place, _, names in os.walk(self.root):
            for name in names:
                path = os.path.join(place, name)
                state = os.lstat(path)
                if state.st_ino in self.unsynced and "/tmp/" not in path:
                    draw = random.Random(f"{fault.part} {path.removeprefix(self.root)}")
                    os.truncate(path, int(state.st_size * draw.choice((0, draw.random()))))
        self.unsynced.clear()

    def close(self, process: Process) -> None:
        """Close what a process left open, as the system does; its locks are released."""
        for handle in process.handles:
            with suppress(OSError):
                os.close(handle)
        process.handles.clear()

    def holds(self, path: Any) -> bool:
        """Tell whether a path is below the root, which is the working directory."""
        if isinstance(path, int):
            return False
        text = os.fspath(path)
        text = os.fsdecode(text)
        return not os.path.isabs(text) or text.startswith(self.root)
