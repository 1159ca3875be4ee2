"""Schedules: drawn from a seed, written as text, shortened to what fails."""

import random
from collections.abc import Callable, Iterator
from typing import NamedTuple

from .faults import KINDS, NETWORK, Fault
from .world import COMMANDS, READERS, SLOW

START = ("empty", "full")  # a world without and with the products of all commands
ONLINE = ("sentences", "serve-en", "serve", "push", "push-board")
CHANGING = [name for name, command in COMMANDS.items() if command.changes]
# Commands that may run beside a command: the same one, or others on the same files.
BESIDE = {
    "own": ("own-2", "sentences", "tasks", "eval"),
    "own-2": ("own", "push", "report"),
    "sentences": ("own", "eval-b"),
    "eval-en": ("eval-b", "metrics", "clear"),
    "eval": ("eval-en", "eval-b", "report"),
    "eval-b": ("eval", "compare", "clear"),
    "metrics": ("report", "board", "csv"),
    "board": ("metrics", "push-board"),
    "install": ("own-2",),
    "clear": ("eval", "eval-b"),
}


class Step(NamedTuple):
    """A command that is repeated until nothing fails, and commands that read what it left."""

    command: str
    faults: tuple[Fault, ...] = ()  # one for each time
    reader: str = ""  # runs behind the first fault

    def __str__(self) -> str:
        faults = ", ".join(map(str, self.faults))
        return (
            self.command + f" [{faults}]" * bool(faults) + f" <{self.reader}>" * bool(self.reader)
        )


class Schedule(NamedTuple):
    """What a seed runs."""

    start: str
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        return "; ".join((self.start, *map(str, self.steps)))


def draw_schedule(seed: int, real: bool = False) -> Schedule:
    """Draw a schedule; `real`: without faults that only a simulated machine has."""
    draw = random.Random(seed)
    start = draw.choice(START)
    if start == "full":
        names = [draw_command(draw) for _ in range(draw.randint(1, 3))]
    else:  # as a user begins
        names = CHANGING[: draw.randint(1, len(CHANGING))]
        if draw.random() < 0.2:
            names = [name for name in names if name != draw.choice(names)] or ["own"]
    faulty = draw.sample(range(len(names)), min(len(names), draw.choice((1, 1, 1, 2))))
    steps = [
        draw_step(draw, name, real) if place in faulty else Step(name)
        for place, name in enumerate(names)
    ]
    return Schedule(start, tuple(steps))


def draw_command(draw: random.Random) -> str:
    """Draw a command, the slow ones less often."""
    name = draw.choice(CHANGING)
    return draw.choice(CHANGING) if name in SLOW and draw.random() < 0.7 else name


def draw_step(draw: random.Random, name: str, real: bool = False) -> Step:
    """Draw the faults of a command."""
    faults = tuple(draw_fault(draw, name, real) for _ in range(draw.choice((1, 1, 1, 2))))
    faults = tuple(x for x in faults if x.kind == "second")[:1] or faults  # it is never repeated
    return Step(name, faults, draw.choice(READERS) if draw.random() < 0.3 else "")


def draw_fault(draw: random.Random, name: str, real: bool = False) -> Fault:
    """Draw a fault that the command may meet."""
    kinds = [kind for kind in KINDS if kind not in NETWORK]
    if name in ONLINE and not real and draw.random() < 0.6:
        kinds = [*NETWORK]
    if real:
        kinds = ["kill", "kill", "kill", "interrupt", "torn", "full", "second"]
    if name.startswith("install"):  # libraries write these files, and do not sync them
        kinds = [kind for kind in kinds if kind != "power"]
    if name not in BESIDE:
        kinds = [kind for kind in kinds if kind != "second"]
    kind = draw.choice(kinds)
    beside = draw.choice((name, *BESIDE.get(name, ())))
    return Fault(
        kind,
        draw.random(),
        draw.random(),
        draw.choice((1, 1, 3, 1000)) if kind in NETWORK else 1,
        beside if kind == "second" else "",
    )


def shorten(schedule: Schedule, fails: Callable[[Schedule], bool]) -> Schedule:
    """Remove parts of a failing schedule as long as it fails (delta debugging)."""
    again = True
    while again:
        again = False
        for smaller in list_smaller(schedule):
            if fails(smaller):
                schedule, again = smaller, True
                break
    return schedule


def list_smaller(schedule: Schedule) -> Iterator[Schedule]:
    """Yield the schedule without half of its steps, a step, a fault or a reader."""
    steps = schedule.steps
    size = len(steps) // 2
    while size:
        for at in range(0, len(steps), size):
            rest = steps[:at] + steps[at + size :]
            if rest:
                yield schedule._replace(steps=rest)
        size //= 2
    for at, step in enumerate(steps):

        def put(new: Step, at: int = at) -> Schedule:
            return schedule._replace(steps=(*steps[:at], new, *steps[at + 1 :]))

        if step.reader:
            yield put(step._replace(reader=""))
        for k in range(len(step.faults)):
            yield put(step._replace(faults=step.faults[:k] + step.faults[k + 1 :]))
        for k, fault in enumerate(step.faults):
            if fault.times > 1:
                less = fault._replace(times=fault.times // 2)
                yield put(step._replace(faults=(*step.faults[:k], less, *step.faults[k + 1 :])))
    if schedule.start == "full":
        yield schedule._replace(start="empty")


def list_kills(seed: int, kills: int = 100, interrupts: int = 40) -> dict[str, Schedule]:
    """List schedules of one kill or interrupt, over all commands that write."""
    draw = random.Random(seed)
    kinds = ["kill"] * kills + ["interrupt"] * interrupts
    return {
        f"{kind} {number}": Schedule(
            "full", (Step(CHANGING[number % len(CHANGING)], (Fault(kind, draw.random()),)),)
        )
        for number, kind in enumerate(kinds)
    }
