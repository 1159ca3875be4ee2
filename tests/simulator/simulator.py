"""Runs schedules, and checks after each command what must hold.

- A command ends as without faults, with the same files; or with one line on standard error; or it
  was killed. It never ends with a traceback.
- A file that it was writing is the old one, the new one, or one that the same command without
  faults shows on its way: no half of a file. No old file is gone, unless the command removes it.
- A command that reads what was left gives one line, or what it gives before or after.
- Repeated without a fault, the command gives the files that it gives without any, and nothing else.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from .faults import Fault
from .schedule import Schedule, Step
from .world import COMMANDS, HUB, START_COMMANDS, State, digest, read_rows, same, simplify

# Of a command that ends well without one of its files, or without some sentences.
NOTICES = ("no report:", "no-answer", "broken-answer", "no answer", "broken answer")
LACK = b"The texts of the examples are not at hand"  # in a page, with the reason
MARKS = ("error: ", "interrupted;")
INTERRUPTED = 130


class End(NamedTuple):
    """How a command ended."""

    status: int | str | None  # None: killed
    output: str
    errors: str
    hit: bool = False  # whether the fault happened
    counts: Mapping[str, int] = {}
    seen: Mapping[str, frozenset[bytes]] = {}  # the contents that each path had on the way
    other: Any = None  # the end of a second process


class Machine(Protocol):
    """What runs commands: `simulated.py` or `children.py`."""

    def put(self, state: State) -> None:
        """Make the files and repositories those of a state."""

    def get(self) -> State:
        """Read the files and repositories."""

    def run(self, name: str, fault: Fault | None = None, at: int = 0, record: bool = False) -> End:
        """Run a command."""


class Broken(Exception):  # noqa: N818
    """Something that must hold does not: the rule, and what is wrong."""

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(f"{rule}: {text}")
        self.rule = rule


class Reference(NamedTuple):
    """A command without faults: how it ends, and the files that it changes (None: removes)."""

    end: End
    changes: Mapping[str, bytes | None]
    repositories: Any

    def apply(self, state: State) -> State:
        """Make the state behind the command."""
        files = {**state.files, **self.changes}
        kept = {path: content for path, content in files.items() if content is not None}
        moved = any(path.startswith(f"{HUB}/") for path in self.changes)
        return State(kept, self.repositories if moved else state.repositories)


class Simulator:
    """Runs schedules on a machine; what commands make without faults is known from then on."""

    def __init__(self, machine: Machine, empty: State) -> None:
        self.machine, self.empty = machine, empty
        self._references: dict[tuple[str, str], Reference] = {}
        self.runs = 0

    def refer(self, name: str, state: State) -> Reference:
        """Run a command without faults, once for each state of the files that it depends on."""
        key = (name, digest(state.files, COMMANDS[name].touches))
        if key not in self._references:
            self.machine.put(state)
            end = self.machine.run(name, record=True)
            self.runs += 1
            after = self.machine.get()
            changes = {path: after.files.get(path) for path in same(state.files, after.files)}
            reference = Reference(end, changes, after.repositories)
            check_end(end, name)
            outside = [x for x in changes if not x.startswith(COMMANDS[name].touches)]
            if outside:
                raise Broken("elsewhere", f"{name} writes {outside}")
            self._references[key] = reference
        return self._references[key]

    def run(self, schedule: Schedule) -> None:
        """Run a schedule; raise `Broken` where something does not hold."""
        state = self.empty
        if schedule.start == "full":
            for name in START_COMMANDS:
                state = self.refer(name, state).apply(state)
        for step in schedule.steps:
            if step.faults:
                state = self.repeat(step, state)
            else:
                state = self.refer(step.command, state).apply(state)

    def repeat(self, step: Step, state: State) -> State:
        """Run a command with its faults, one at a time, then without; return the last state."""
        name = step.command
        reference = self.refer(name, state)
        goal = reference.apply(state)
        self.machine.put(state)
        deadly = noted = False
        for number, fault in enumerate(step.faults):
            end = self.machine.run(name, fault, fault.place(dict(reference.end.counts)))
            self.runs += 1
            check_end(end, name)
            after = self.machine.get()
            if fault.kind == "second":
                self.check_pair(step, state, after)
                return self.machine.get()
            noted |= any(x in end.errors + end.output for x in NOTICES)
            deadly |= end.status is None
            if end.status == reference.end.status == 0 and not noted:
                differing = [
                    x
                    for x in same(after.files, goal.files)
                    if not (is_rest(x, fault) or is_random(x) or LACK in after.files.get(x, b""))
                ]
                if differing:
                    raise Broken("success", f"{name} ends well, but {differing[0]} differ")
            about = Circumstances(fault, deadly, noted, number == 0)
            check_left(state, goal, after, reference, about)
            if step.reader and number == 0 and end.status != reference.end.status:
                self.check_reader(step.reader, state, goal, after)
                self.machine.put(after)
        end = self.machine.run(name)
        self.runs += 1
        check_end(end, name)
        after = self.machine.get()
        if end.status != reference.end.status:
            raise Broken("repeat", f"{name} again: status {end.status}: {end.errors[-300:]}")
        ignored = {x for x in after.files if x.endswith("/")}  # a folder whose removal was hindered
        if differing := [
            x for x in same(after.files, goal.files) if not is_random(x) and x not in ignored
        ]:
            raise Broken("repeat", f"{name} again: {differing[0]} differ")
        return goal

    def check_reader(self, name: str, old: State, new: State, left: State) -> None:
        """Refuse a reader that takes what is left for something that never was whole."""
        self.machine.put(left)
        end = self.machine.run(name)
        self.runs += 1
        check_end(end, name)
        if end.status != 0:
            return
        after = self.machine.get()
        results = []
        for state in (old, new):
            reference = self.refer(name, state)
            results.append((reference.end.status, reference.apply(state).files))
        prefixes = tuple(x for x in COMMANDS[name].touches)
        for status, files in results:
            if status == 0:
                paths = same(after.files, files)
                wrote = same(after.files, left.files)
                other = [x for x in paths if x in wrote and x.startswith(prefixes)]
                if all(LACK in after.files.get(x, b"") for x in other):
                    return
        paths = same(old.files, left.files)
        raise Broken("reader", f"{name} succeeds on half-made {paths}, with other results")

    def check_pair(self, step: Step, state: State, after: State) -> None:
        """Check two processes at once, then both again, one after the other."""
        first, second = step.command, step.faults[0].command
        results, seen = [state], {}
        for one, other in ((first, second), (second, first)):
            start = self.refer(one, state)
            middle = start.apply(state)
            end = self.refer(other, middle)
            results += [middle, end.apply(middle)]
            for reference in (start, end):
                for path, contents in reference.end.seen.items():
                    seen[path] = seen.get(path, frozenset()) | contents
        for path, content in after.files.items():
            if is_hidden(path):
                raise Broken("pair", f"{first} and {second} leave {path}")
            whole = [x.files[path] for x in results if path in x.files]
            if path.endswith(".sqlite"):  # one that was cleared meanwhile has a part of the rows
                check_store(path, content, [*whole, *seen.get(path, ())])
            elif content not in (*whole, *seen.get(path, ())) and LACK not in content:
                raise Broken("pair", f"{first} and {second}: {path} is none of theirs")
        kept = set.intersection(*({*result.files} for result in results))
        if lost := sorted(kept - {*after.files}):
            raise Broken("pair", f"{first} and {second}: {lost} are gone")
        self.machine.put(after)
        for name in (first, second):
            end = self.machine.run(name)
            self.runs += 1
            check_end(end, name)
        # The first may have needed the second's files. Stores may have other rows, and the cache of
        # datasets a copy of each content.
        last = [same(self.machine.get().files, results[k].files) for k in (2, 4)]
        differing = [[x for x in paths if not x.endswith(".sqlite")] for paths in last]
        differing = [[x for x in paths if not x.startswith("hf/")] for paths in differing]
        if all(differing):
            raise Broken("pair", f"{first} and {second}, then one by one: {differing[0]} differ")


def is_random(path: str) -> bool:
    """Tell whether a library writes the path of a temporary folder, or only once in a process."""
    return path.startswith("hf/modules/") and path.endswith((".json", "__init__.py"))


def is_hidden(path: str) -> bool:
    """Tell whether a path is one of those that nobody reads: a part, a lock, a folder to be."""
    hidden = re.compile(r"\..+\.(part|new|old)|\.lock|.+-journal")
    return any(map(hidden.fullmatch, path.split("/")))


def check_end(end: End, name: str) -> None:
    """Refuse tracebacks, and an error that is not one line."""
    if end.other:
        check_end(end.other, f"the process beside {name}")
    text = f"{name} ends with status {end.status}:\n{end.errors[-3000:]}"
    if end.status in ("traceback", "stuck") or "Traceback" in end.errors:
        raise Broken(str(end.status), text)
    if end.status in (0, None):
        return
    lines = end.errors.rstrip().splitlines()
    marked = [line for line in lines if line.startswith(MARKS)]
    if len(marked) != 1 or lines[-1] != marked[0]:
        raise Broken("line", text)
    if (end.status == INTERRUPTED) != marked[0].startswith("interrupted;"):
        raise Broken("line", text)


def is_rest(path: str, fault: Fault) -> bool:
    """Tell whether a hidden path may be left because its removal itself was hindered."""
    parts = path.split("/")
    hidden = parts[-1] == ".lock" or any(re.fullmatch(r"\..+\.old|\.store", x) for x in parts)
    return hidden and fault.kind in ("denied", "interrupt")


class Circumstances(NamedTuple):
    """What else decides on what may be left."""

    fault: Fault
    deadly: bool  # whether the command was killed, now or before
    noted: bool  # whether it names a file that it could not write
    first: bool  # whether it ran for the first time


def check_left(
    old: State, new: State, left: State, reference: Reference, about: Circumstances
) -> None:
    """Check the files that a command left."""
    for path, content in left.files.items():
        if is_hidden(path):
            known = path in old.files or path in new.files or is_rest(path, about.fault)
            if not about.deadly and not known:
                raise Broken("rest", f"{path} is left")
            continue
        whole = [x.files[path] for x in (old, new) if path in x.files]
        if content in whole or (not content and path.endswith("/")):
            continue
        seen = reference.end.seen.get(path, frozenset())
        if path.endswith(".sqlite"):
            check_store(path, content, [*whole, *seen])
        elif path.startswith(HUB) or (path.startswith("hf/") and path not in old.files):
            continue  # written by the libraries, which check it when they read it
        elif about.first and content not in seen and not about.noted and LACK not in content:
            text = f"{path} is neither old nor new: {content[-60:]!r}, {len(content)} bytes"
            raise Broken("torn", text)
    for path in old.files:
        if path in left.files or path not in new.files or path.endswith("/") or is_hidden(path):
            continue
        if about.noted and path.endswith("report.html"):
            continue  # of other figures
        if not any(x in left.files for x in list_kept(path)):
            raise Broken("lost", f"{path} is gone")


def list_kept(path: str) -> Iterator[str]:
    """Yield the paths where a file of a folder is kept between two renames."""
    parts = path.split("/")
    for at in range(len(parts) - 1):
        for state in ("old", "new"):
            yield "/".join((*parts[:at], f".{parts[at]}.{state}", *parts[at + 1 :]))


def check_store(path: str, content: bytes, whole: list[bytes]) -> None:
    """Refuse a store with rows that it never had, or without those that it had."""
    rows = simplify(path, content)
    if isinstance(rows, str):
        raise Broken("store", f"{path} cannot be read: {rows}")
    known = [read_rows(x) for x in whole if x]
    if not {*rows} <= {row for part in known for row in part}:
        raise Broken("store", f"{path} has other rows")
