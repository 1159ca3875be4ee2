"""Commands in this process, on the simulated machine."""

import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml
from datasets.fingerprint import Hasher
from jinja2 import Environment

from polyprobe.analysis.figures import compute
from polyprobe.builder import build, translators
from polyprobe.eval.work import fill
from polyprobe.schema.run.folder import Run, read_run_tables
from polyprobe.scoring import load

from .faults import Fault
from .layer import layer
from .machine import Machine, Process
from .servers import TOKEN, Network, Parrot
from .simulator import End, Simulator
from .world import COMMANDS, TEMPORARY, State, World, copy_hub, read_hub, write_inputs


class Simulated:
    """Runs commands on a simulated machine over a folder."""

    def __init__(self, root: Path) -> None:
        self.world, self.machine = World(root), Machine(root)
        self.network = Network(self.machine)
        self.machine.words = lambda name: COMMANDS[name].words.split()
        self._repositories: Any = {}

    def put(self, state: State) -> None:
        """Make the files and repositories those of a state."""
        self.world.restore({x: y for x, y in state.files.items() if not x.startswith("hub/")})
        self.machine.unsynced.clear()
        self.network.hub.repositories = copy_hub(state.repositories)

    def get(self) -> State:
        """Read the files and repositories."""
        self.world.settle()
        repositories = self.network.hub.repositories
        return State({**self.world.read(), **read_hub(repositories)}, copy_hub(repositories))

    def run(self, name: str, fault: Fault | None = None, at: int = 0, record: bool = False) -> End:
        """Run a command."""
        seen: dict[str, set[bytes]] = {}
        self.machine.seen = (lambda path: note(self.world.root, path, seen)) if record else None
        process = self.machine.run(COMMANDS[name].words.split(), fault, at)
        self.network.hub.clear()
        contents = {path: frozenset(of) for path, of in seen.items()}
        second = self.machine.second
        other = make_end(second) if second else None
        return make_end(process)._replace(seen=contents, other=other)


def make_end(process: Process) -> End:
    """Describe the end of a process."""
    texts = process.output.getvalue(), process.errors.getvalue()
    return End(process.status, *texts, process.hit, process.counts)


def note(root: Path, path: str, seen: dict[str, set[bytes]]) -> None:
    """Note the content of a file, or of the files of a folder."""
    place = root / path
    for file in place.rglob("*") if place.is_dir() else [place]:
        if file.is_file():
            seen.setdefault(os.path.relpath(file, root), set()).add(file.read_bytes())


def shorten_work(patch: pytest.MonkeyPatch) -> None:
    """Leave out what takes time and is not about files: making figures and models again."""
    patch.setattr(typer.main, "get_command", cache(typer.main.get_command))
    patch.setattr(yaml, "SafeLoader", yaml.CSafeLoader)
    patch.setattr(fill, "CANDIDATES", 16)  # several tasks in a language
    patch.setattr(Environment, "compile", remember(Environment.compile))
    patch.setattr(Hasher, "hash", staticmethod(lambda x: hashlib.sha256(name_call(x)).hexdigest()))
    patch.setattr(load, "_read_tokenizer", remember(load._read_tokenizer))
    patch.setattr(load, "_load_named", remember(load._load_named))
    patch.setattr(fill, "score_here", partial(score_again, {}, fill.score_here))
    find_results = remember(compute.find_results)

    def find_again(run: Run, *arguments: Any) -> Any:
        read_run_tables(run)  # which checks the files
        return deepcopy(find_results(Sealed(run), *arguments))

    patch.setattr(compute, "find_results", find_again)
    patch.setitem(translators.TRANSLATORS, "parrot", "Parrot")
    patch.setattr(build, "load_translator", lambda name, **options: Parrot())


def score_again(
    known: dict[Any, Any], score: Callable[..., Any], scorer: Any, tasks: Any, report: Any
) -> Iterator[Any]:
    """Score tasks; a model in this process scores each one once."""
    for task in tasks:
        key = (id(scorer), *task.prompts, *map(tuple, task.candidates))
        if scorer.model is None or key not in known:
            [(_, known[key])] = score(scorer, [task], report)
        yield task, known[key]


def remember(function: Callable[..., Any]) -> Callable[..., Any]:
    """Call a function once for arguments of the same text."""
    known: dict[bytes, Any] = {}

    def call(*arguments: Any, **keywords: Any) -> Any:
        key = name_call(arguments, keywords)
        if key not in known:
            known[key] = function(*arguments, **keywords)
        return known[key]

    return call


def name_call(*values: Any) -> bytes:
    """Write values without the addresses of objects."""
    return re.sub(r" at 0x\w+", "", repr(values)).encode("utf-8", "surrogatepass")


class Sealed(Run):
    """A run whose text is that of its content."""

    def __init__(self, run: Run) -> None:
        super().__init__(run.folder)
        self.__dict__ |= run.__dict__

    def __repr__(self) -> str:
        return f"{self.folder} {self.seal}"


@contextmanager
def simulate(root: Path) -> Iterator[Simulator]:
    """Make a simulator over a folder, which becomes the working directory."""
    write_inputs(root)
    (root / TEMPORARY).mkdir(exist_ok=True)
    machine = Simulated(root)
    before = os.getcwd()
    os.chdir(root)
    try:
        with layer(machine.machine) as patch:
            patch.setattr(tempfile, "tempdir", str(root / TEMPORARY))
            patch.setenv("HF_TOKEN", TOKEN)
            machine.network.install(patch)
            shorten_work(patch)
            yield Simulator(machine, State({}, {}))
    finally:
        os.chdir(before)
        machine.network.close()
