"""Score tasks on a Ray cluster: actors hold the model, each on its share of a node."""

import os
import time
from collections import Counter, deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from polyprobe.eval.scoring.scorers import Scored
from polyprobe.eval.work.tasks import Task
from polyprobe.system.errors import PolyprobeError, one_line

from .local import Progress
from .ray_connection import connected
from .ray_worker import RayWorker, versions

KILLS = 3
CPUS = 4  # of a worker: more workers hold more copies of the model, fewer gain less from threads
PLACING_SECONDS = 300.0
REMEDY = (
    "memory is what mostly lacks: a smaller --batch-tokens needs less, and OMP_NUM_THREADS says "
    "how many CPUs a worker has, hence how many hold the model"
)


class Share(NamedTuple):
    """What a worker has of a node: its device, CPUs and GPUs; and for how many there is room.

    All shares are alike, so that scores do not depend on who makes them.
    """

    device: str
    cpus: int
    gpus: int
    room: int


@dataclass(eq=False)
class Member:
    """A worker: its handle, whether it is on a node, has the model, and what it is to score."""

    handle: Any
    placed: bool = False
    loaded: bool = False
    tasks: list[Task] = field(default_factory=list)


def score_on_ray(
    model: str,
    options: Mapping[str, Any],
    tasks: Sequence[Task],
    address: str,
    progress: Progress,
) -> Generator[tuple[Task, Scored]]:
    """Yield each task with its scores as soon as the cluster has them, in any order.

    A worker has a GPU where the cluster has any, else 4 CPUs, or as many as OMP_NUM_THREADS says or
    the smallest node has. One that is lost, with its node or alone, is replaced, and what it was to
    score is given to others. Whoever stops early closes the generator (`contextlib.closing`); the
    workers end with it.

    Args:
        model: see `polyprobe.eval.scoring.load.load`; a folder must be there on all nodes.
        options: the same; `device` is `auto`, `cuda` or `cpu`, and meant for the nodes.
        tasks: what is scored.
        address: see `connected`.
        progress: called when a task is done, with its inputs as both numbers.

    Raises:
        PolyprobeError: no Ray, no cluster, no room in it; another version on a node; what is wrong
            with the model or a task; a task that kills its worker three times.
    """
    if not tasks:
        return
    with connected(address) as ray:
        share = _share_nodes(ray.nodes(), options.get("device", "auto"))
        team = Team(ray, share, model, {**options, "device": share.device})
        try:
            team.grow(min(share.room, len(tasks)))
            for task, scored, total in team.score(tasks):
                progress(task, total, total)
                yield task, scored
        finally:
            team.end()


def _share_nodes(nodes: Sequence[Mapping[str, Any]], device: str) -> Share:
    """Return the share of a worker, and how many the nodes that are alive have room for."""
    if device not in ("auto", "cpu", "cuda"):
        raise PolyprobeError(f"--ray knows --device auto, cpu and cuda, got '{device}'")
    resources = [node["Resources"] for node in nodes if node["Alive"]]
    gpus = sum(int(has.get("GPU", 0)) for has in resources)
    if gpus and device != "cpu":
        return Share("cuda", 1, 1, gpus)
    if device == "cuda":
        raise PolyprobeError("no node of the Ray cluster has a GPU; use --device cpu")
    cpus = [int(has["CPU"]) for has in resources if has.get("CPU", 0) >= 1]
    if not cpus:
        raise PolyprobeError("no node of the Ray cluster has a CPU (`ray start --num-cpus=N`)")
    asked = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    share = max(1, min(int(asked) if asked.isdecimal() else CPUS, *cpus))
    return Share("cpu", share, 0, sum(n // share for n in cpus))


class Team:
    """The workers of a run, what they are at, and how often they were lost."""

    def __init__(self, ray: Any, share: Share, model: str, options: Mapping[str, Any]) -> None:
        self.ray, self.share = ray, share
        self.worker = ray.remote(RayWorker).options(
            num_cpus=share.cpus,
            num_gpus=share.gpus,
            max_concurrency=2,
            max_restarts=0,
            scheduling_strategy="SPREAD",
        )
        self.load = (model, dict(options), share.cpus, versions())
        self.members: list[Member] = []
        self.running: dict[Any, tuple[Member, Task | None]] = {}
        self.kills: Counter[int] = Counter()
        self.fruitless = 0  # workers lost in a row before they had the model
        self.seen = time.monotonic()

    def grow(self, n: int) -> None:
        """Ask for n more workers; each comes as soon as a node has room."""
        for _ in range(n):
            member = Member(self.worker.remote())
            self.members.append(member)
            self.running[member.handle.place.remote()] = (member, None)

    def score(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Scored, int]]:
        """Yield each task with its scores and the number of its inputs.

        What arrives together with a user's mistake is yielded before that is raised.
        """
        waiting, left = deque(tasks), len(tasks)
        while left:
            self._hand_out(waiting)
            mistake = None
            for reference in self._arrived():
                member, task = self.running.pop(reference, (None, None))
                if member is None:
                    continue  # its worker was lost a moment ago
                try:
                    value = self.ray.get(reference)
                except self.ray.exceptions.RayError as error:
                    cause = getattr(error, "cause", None)
                    if isinstance(cause, PolyprobeError):
                        mistake = mistake or cause
                    else:
                        waiting.extendleft(reversed(self._lose(member, error)))
                    continue
                if task is None:
                    self._settle(member)
                else:
                    member.tasks.remove(task)
                    left -= 1
                    yield task, *value
            if mistake:
                raise mistake

    def end(self) -> None:
        """Stop all workers."""
        for member in self.members:
            self.ray.kill(member.handle)

    def _arrived(self) -> list[Any]:
        """Wait a moment for what is under way, and return all that has come."""
        if any(member.placed for member in self.members):
            self.seen = time.monotonic()
        elif time.monotonic() > self.seen + PLACING_SECONDS:
            raise PolyprobeError(
                f"no node of the Ray cluster had room for a worker ({self.share.cpus} CPUs, "
                f"{self.share.gpus} GPUs) in {PLACING_SECONDS:.0f} seconds; see `ray status`"
            )
        under_way = list(self.running)
        self.ray.wait(under_way, timeout=1.0)
        return self.ray.wait(under_way, num_returns=len(under_way), timeout=0)[0]

    def _settle(self, member: Member) -> None:
        """Note how far a new worker is, and let one that has found its place load the model."""
        if member.placed:
            member.loaded = True
            self.fruitless = 0
        else:
            member.placed = True
            self.running[member.handle.load.remote(*self.load)] = (member, None)

    def _hand_out(self, waiting: deque[Task]) -> None:
        """Give each worker a task, and a second one to prepare while there are many."""
        loaded = [member for member in self.members if member.loaded]
        for depth, reserve in ((1, 0), (2, len(self.members))):
            for member in loaded:
                if len(member.tasks) < depth and len(waiting) > reserve:
                    task = waiting.popleft()
                    member.tasks.append(task)
                    reference = member.handle.score.remote(self.ray.put(task))
                    self.running[reference] = (member, task)

    def _lose(self, member: Member, error: Exception) -> list[Task]:
        """Replace a worker and return what it had to score.

        Raises:
            PolyprobeError: its first task has killed too many, or none gets so far as to score.
        """
        self.members.remove(member)
        self.running = {r: at for r, at in self.running.items() if at[0] is not member}
        self.ray.kill(member.handle)
        if not member.loaded:
            self.fruitless += 1
            if self.fruitless > max(KILLS, self.share.room):
                raise PolyprobeError(
                    f"workers on Ray are lost while they load the model ({one_line(error)}); "
                    + REMEDY
                )
        elif member.tasks:
            self._count_kill(member.tasks[0], error)
        self.grow(1)
        return member.tasks

    def _count_kill(self, task: Task, error: Exception) -> None:
        self.kills[task.number] += 1
        if self.kills[task.number] == KILLS:
            raise PolyprobeError(
                f"language '{task.language}': the {len(task.prompts)} rows from "
                f"{task.prompts[0][:60]!r} on have killed their worker {KILLS} times "
                f"({one_line(error)}); {REMEDY}"
            )
