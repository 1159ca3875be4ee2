"""Commands in processes of their own, which are killed at an operation, by a real SIGKILL.

The processes are forked from one that has imported everything and has run nothing. Clock, page
cache and other processes are the system's; a full disk is a limit on the size of files. The Hub is
a real server in the parent, because it outlives a command; other servers have no state.
"""

import os
import pickle
import pkgutil
import resource
import selectors
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

import httpx

import polyprobe

from .faults import Fault
from .layer import layer
from .machine import Machine, Process
from .servers import TOKEN, Network
from .simulated import Simulated, note, shorten_work
from .simulator import End, Simulator
from .world import COMMANDS, TEMPORARY, State, write_inputs

ROOMS = ("analysis", "builder", "cli", "eval", "publish", "report", "scoring")
SECOND = b"second"


class RealMachine(Machine):
    """The machine of a child: faults are signals and limits."""

    def __init__(self, root: Path, control: int) -> None:
        super().__init__(root)
        self._control = control

    def kill(self, process: Process, fault: Fault) -> None:
        """End this process."""
        os.kill(os.getpid(), signal.SIGKILL)

    def start_second(self, fault: Fault) -> None:
        """Ask the parent to start another process."""
        os.write(self._control, SECOND)

    def fill(self) -> None:
        """Let no file grow."""
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))

    def wait(self, seconds: float = 0.05) -> None:
        """Wait for another process's transaction."""
        signal.sigtimedwait([], seconds)

    def lose_power(self, fault: Fault) -> None:
        """A real machine keeps its power."""


class Child:
    """A running command, and what it has written so far."""

    def __init__(self, children: "Children", name: str, fault: Fault | None, at: int, record: bool):
        pipes = [os.pipe() for _ in range(3)]
        self.number = os.fork()
        if not self.number:
            try:
                for reading, _ in pipes:
                    os.close(reading)
                os.dup2(pipes[0][1], 1)
                os.dup2(pipes[1][1], 2)
                children.live(name, fault, at, record, pipes[2][1])
            finally:
                os._exit(70)
        for _, writing in pipes:
            os.close(writing)
        self.parts: dict[int, bytes] = {reading: b"" for reading, _ in pipes}

    def end(self) -> End:
        """Wait for the end."""
        output, errors, message = self.parts.values()
        code = os.waitpid(self.number, 0)[1]
        killed = os.WIFSIGNALED(code)
        message = message.removeprefix(SECOND)
        counts, seen, hit = pickle.loads(message) if not killed else ({}, {}, True)
        status = os.waitstatus_to_exitcode(code)
        texts = (x.decode(errors="replace") for x in (output, errors))
        return End(None if status == -signal.SIGKILL else status, *texts, hit, counts, seen)


class Children(Simulated):
    """Runs commands in children."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.root = root

    def run(self, name: str, fault: Fault | None = None, at: int = 0, record: bool = False) -> End:
        """Run a command, and a second one if a fault starts it."""
        children = [Child(self, name, fault, at, record)]
        with selectors.DefaultSelector() as selector:
            for handle in children[0].parts:
                selector.register(handle, selectors.EVENT_READ, children[0])
            while selector.get_map():
                for key, _ in selector.select():
                    data = os.read(key.fd, 1 << 20)
                    key.data.parts[key.fd] += data
                    if not data:
                        selector.unregister(key.fd)
                        os.close(key.fd)
                    elif data == SECOND and len(children) == 1:
                        assert fault is not None
                        children.append(Child(self, fault.command, None, 0, record=False))
                        for handle in children[1].parts:
                            selector.register(handle, selectors.EVENT_READ, children[1])
        ends = [child.end() for child in children]
        self.network.hub.clear()
        return ends[0]._replace(other=ends[1] if len(ends) > 1 else None)

    def live(self, name: str, fault: Fault | None, at: int, record: bool, control: int) -> None:
        """Be the child."""
        seen: dict[str, set[bytes]] = {}
        machine = RealMachine(self.root, control)
        if record:
            machine.seen = lambda path: note(self.root, path, seen)
        for number, stream in enumerate(("stdout", "stderr"), start=1):
            setattr(sys, stream, os.fdopen(number, "w", encoding="utf-8", closefd=False))
        process = machine.first = machine.current = Process(
            machine, COMMANDS[name].words.split(), fault, at
        )
        with layer(machine, real=True) as patch:
            patch.setattr(tempfile, "tempdir", str(self.root / TEMPORARY))
            patch.setenv("HF_TOKEN", TOKEN)
            reach_hub(self.network, machine, patch)
            shorten_work(patch)
            process.run()
            sys.stderr.write(process.errors.getvalue())
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
        if process.dead:  # behind the last operation
            os.kill(os.getpid(), signal.SIGKILL)
        contents = {path: frozenset(of) for path, of in seen.items()}
        message = pickle.dumps((process.counts, contents, process.hit))
        while message:
            message = message[os.write(control, message) :]
        os._exit(process.status if isinstance(process.status, int) else 70)


def reach_hub(network: Network, machine: Machine, patch: Any) -> None:
    """Answer requests in this process, but those to the Hub."""
    network.machine = machine
    send = httpx.HTTPTransport.handle_request
    network.install(patch)
    answer = httpx.HTTPTransport.handle_request

    def handle(transport: Any, request: httpx.Request) -> httpx.Response:
        if request.url.host.endswith(".test"):
            return answer(transport, request)
        machine.current.operate("request")
        hub = httpx.URL(network.hub.url)
        request.url = request.url.copy_with(scheme="http", host=hub.host, port=hub.port)
        return send(transport, request)

    patch.setattr(httpx.HTTPTransport, "handle_request", handle)


def import_all() -> None:
    """Import every module of the product, since a child would import them again each time."""
    for room in ROOMS:
        for module in pkgutil.walk_packages(
            [f"{polyprobe.__path__[0]}/{room}"], f"polyprobe.{room}."
        ):
            with suppress(ImportError, PermissionError):  # extras that are not here
                import_module(module.name)


@contextmanager
def fork_children(root: Path) -> Iterator[Simulator]:
    """Make a simulator over a folder, which becomes the working directory."""
    write_inputs(root)
    (root / TEMPORARY).mkdir(exist_ok=True)
    import_all()
    machine = Children(root)
    before = os.getcwd()
    os.chdir(root)
    hub = Thread(target=machine.network.hub.serve_forever, args=(0.02,), daemon=True)
    hub.start()
    try:
        yield Simulator(machine, State({}, {}))
    finally:
        os.chdir(before)
        machine.network.hub.shutdown()
        hub.join()
        machine.network.close()
