"""Score tasks on a Ray cluster: each worker has the model and its share of a node."""

import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from importlib.metadata import version
from platform import node
from typing import Any, NamedTuple

import torch

from polyprobe.eval.scoring.scorers import Scored, Scorer
from polyprobe.eval.work.tasks import Task
from polyprobe.system.errors import PolyprobeError, one_line

from .here import Report, Worker
from .ray_connection import connected

RESTARTS = 3  # of a worker
CPUS = 4  # of a worker: more workers hold more copies of the model, fewer gain less from threads
ROOM_SECONDS = 300.0


class Share(NamedTuple):
    """The device, CPUs and GPUs of a worker, and the number of workers that the cluster holds.

    All workers have equal shares, so that scores do not depend on the worker.
    """

    device: str
    cpus: int
    gpus: int
    room: int


def score_on_ray(
    model: str, options: Mapping[str, Any], tasks: Sequence[Task], address: str, report: Report
) -> Generator[tuple[Task, Scored]]:
    """Yield each task with its scores as soon as the cluster has them, in any order.

    A worker has one GPU if the cluster has GPUs, else 4 CPUs, or as many as OMP_NUM_THREADS or the
    smallest node has. A worker that dies, with its node or alone, is replaced, and its tasks are
    scored again. The workers end when the generator is closed (`contextlib.closing`).

    Args:
        model: see `polyprobe.eval.scoring.load.load`; a folder must exist on all nodes.
        options: the same; `device` is `auto`, `cuda` or `cpu`, and refers to the nodes.
        tasks: the tasks to score.
        address: see `connected`.
        report: see `Report`.

    Raises:
        PolyprobeError: no Ray, no cluster, no room in it; another version on a node; a model or a
            task that cannot be used; a worker that dies again and again.
    """
    if not tasks:
        return
    with connected(address) as ray:
        share = _share_nodes(ray.nodes(), options.get("device", "auto"))
        kind = ray.remote(RayWorker).options(
            num_cpus=share.cpus,
            num_gpus=share.gpus,
            max_concurrency=2,
            max_restarts=RESTARTS,
            max_task_retries=-1,  # a task is retried as long as its worker is restarted
            scheduling_strategy="SPREAD",
        )
        load = (model, {**options, "device": share.device}, share.cpus, versions())
        actors = [kind.remote(*load) for _ in range(min(share.room, len(tasks)))]
        try:
            _await_room(ray, actors, share)
            yield from _collect(ray, actors, tasks, report)
        finally:
            for actor in actors:
                ray.kill(actor)


def _share_nodes(nodes: Sequence[Mapping[str, Any]], device: str) -> Share:
    """Return the share of a worker in the nodes that are alive."""
    if device not in ("auto", "cpu", "cuda"):
        raise PolyprobeError(f"--ray accepts --device auto, cpu and cuda, got '{device}'")
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


def _await_room(ray: Any, actors: Sequence[Any], share: Share) -> None:
    """Wait until a worker is on a node; Ray itself would wait without end."""
    if not ray.wait([actor.place.remote() for actor in actors], timeout=ROOM_SECONDS)[0]:
        raise PolyprobeError(
            f"no node of the Ray cluster had room for a worker ({share.cpus} CPUs, {share.gpus} "
            f"GPUs) in {ROOM_SECONDS:.0f} seconds; see `ray status`"
        )


def _collect(
    ray: Any, actors: Sequence[Any], tasks: Sequence[Task], report: Report
) -> Iterator[tuple[Task, Scored]]:
    from ray.util import ActorPool

    pool = ActorPool([*actors, *actors])  # a worker prepares one task while it scores another
    pending = {task.number: task for task in tasks}
    for task in tasks:
        pool.submit(_score, task)
    while pending:
        number, scored = _next_result(ray, pool)
        if done := pending.pop(number, None):
            report(done, len(done.prompts), len(done.prompts))
            yield done, scored
        # A worker whose node has died is restarted only when another node has room. Until then it
        # keeps its tasks, so idle workers score them too; the first result counts.
        for task in pending.values():
            if pool.has_free():
                pool.submit(_score, task)


def _score(actor: Any, task: Task) -> Any:
    return actor.score_numbered.remote(task)


def _next_result(ray: Any, pool: Any) -> tuple[int, Scored]:
    try:
        return pool.get_next_unordered()
    except ray.exceptions.RayError as error:
        cause = getattr(error, "cause", None)  # raised by the worker's own code
        if isinstance(cause, PolyprobeError):
            raise cause from None
        if cause is not None:
            raise
        raise PolyprobeError(
            f"a worker on Ray died {1 + RESTARTS} times ({one_line(error)}); it may lack memory: "
            "use a smaller --batch-tokens, or a larger OMP_NUM_THREADS for fewer workers on a node"
        ) from error


class RayWorker(Worker):
    """A worker on a node of the cluster.

    Its constructor cannot fail, because Ray loses the message of an error there.
    """

    def __init__(
        self, model: str, options: Mapping[str, Any], threads: int, expected: Mapping[str, str]
    ) -> None:
        super().__init__(model, options)
        self._threads, self._expected = threads, expected

    def place(self) -> str:
        """Return the name of this worker's node."""
        return node()

    def load(self) -> Scorer:
        """Return the scorer, if the node has the expected versions."""
        for name, found in versions().items():
            if found != self._expected[name]:
                raise PolyprobeError(
                    f"node {node()} of the Ray cluster has {name} {found}, this machine has "
                    f"{self._expected[name]}; install the same version on all nodes"
                )
        torch.set_num_threads(self._threads)
        try:
            return super().load()
        except PolyprobeError as error:
            raise PolyprobeError(f"on node {node()} of the Ray cluster: {error}") from error

    def score_numbered(self, task: Task) -> tuple[int, Scored]:
        """Return the number of a task, since `ActorPool` forgets it, and the scores."""
        return task.number, self.score(task)


def versions() -> dict[str, str]:
    """Return the versions that must be equal on all nodes for equal scores."""
    return {name: version(name) for name in ("polyprobe", "torch", "transformers")}
