"""Score tasks on a Ray cluster: each worker has the model and its share of a node."""

import logging
import os
import socket
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from platform import node
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any, NamedTuple

import torch

from polyprobe.schema.run.settings import versions
from polyprobe.scoring.load import Loaded, ModelSource
from polyprobe.scoring.scorers import Scored
from polyprobe.system.messages import PolyprobeError, one_line

from . import Report, Results, Task, Worker

RESTARTS = 3  # of a worker
CPUS = 4  # of a worker: more workers hold more copies of the model, fewer gain less from threads
ROOM_SECONDS = 300.0
ANSWER_SECONDS = 5.0
LOOK_SECONDS = 1.0  # without an answer, until the node is looked at
STORE_BYTES = 100 * 2**20  # tasks and scores are small, and so may be /dev/shm
# Ray adds about 60 characters for its sockets, whose paths have at most 107.
LONGEST_FOLDER = 40


# All workers have equal shares, so that scores do not depend on the worker.
class Share(NamedTuple):
    """The device, CPUs and GPUs of a worker, and the number of workers that the cluster holds."""

    device: str
    cpus: int
    gpus: int
    room: int


def score_on_ray(source: ModelSource, tasks: list[Task], address: str, report: Report) -> Results:
    """Yield each task with its scores as soon as the cluster has them, in any order."""
    # A worker has one GPU if the cluster has GPUs, else 4 CPUs, or as many as OMP_NUM_THREADS or
    # the smallest node has. A worker that dies, with its node or alone, is replaced, and its tasks
    # are scored again. The workers end when the generator is closed (`contextlib.closing`). The
    # model's folder must exist on all nodes, to which its `device` refers too.
    if not tasks:
        return
    with connected(address) as ray:
        share = _share_nodes(ray.nodes(), source.options.device)
        kind = ray.remote(RayWorker).options(
            num_cpus=share.cpus,
            num_gpus=share.gpus,
            max_concurrency=2,
            max_restarts=RESTARTS,
            max_task_retries=-1,  # a task is retried as long as its worker is restarted
            scheduling_strategy="SPREAD",
        )
        copy = source._replace(options=replace(source.options, device=share.device))
        load = (copy, share.cpus, versions())
        actors = [kind.remote(*load) for _ in range(min(share.room, len(tasks)))]
        done, total = 0, sum(len(task.prompts) for task in tasks)
        try:
            _await_room(ray, actors, share)
            for task, scored in _collect(ray, actors, tasks, report):
                done += len(task.prompts)
                yield task, scored
        except NodeLostError as error:
            raise PolyprobeError(
                f"this machine's node of the Ray cluster has ended (killed, or out of memory); the "
                f"scores of {done:,} of {total:,} queries are kept: run the same command again"
            ) from error
        finally:
            for actor in actors if _node_answers(ray) else ():
                ray.kill(actor)


class NodeLostError(Exception):
    """The node of this machine has ended, without which this process is not in the cluster."""


def _node_answers(ray: Any) -> bool:
    """Return whether the process of this machine's node accepts connections."""
    try:
        place = ray._private.worker.global_worker.node.raylet_socket_name
    except AttributeError:  # another version of Ray
        return True
    if not place.startswith("/"):  # a port, on Windows
        return True
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(place) == 0


def _share_nodes(nodes: Sequence[Mapping[str, Any]], device: str) -> Share:
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
    threads = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    share = max(1, min(int(threads) if threads.isdecimal() else CPUS, *cpus))
    return Share("cpu", share, 0, sum(n // share for n in cpus))


def _await_room(ray: Any, actors: Sequence[Any], share: Share) -> None:
    """Wait until a worker is on a node; Ray itself would wait without end."""
    places = [actor.place.remote() for actor in actors]
    end = monotonic() + ROOM_SECONDS
    while not ray.wait(places, timeout=LOOK_SECONDS)[0]:
        if not _node_answers(ray):
            raise NodeLostError
        if monotonic() > end:
            raise PolyprobeError(
                f"no node of the Ray cluster had room for a worker ({share.cpus} CPUs, {share.gpus}"
                f" GPUs) in {ROOM_SECONDS:.0f} seconds; see `ray status`"
            )


def _collect(ray: Any, actors: Sequence[Any], tasks: Sequence[Task], report: Report) -> Results:
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
    while True:
        try:
            return pool.get_next_unordered(timeout=LOOK_SECONDS)
        except (TimeoutError, ray.exceptions.RayError) as error:
            if not _node_answers(ray):
                raise NodeLostError from error
            if isinstance(error, TimeoutError):
                continue
            cause = getattr(error, "cause", None)  # raised by the worker's own code
            if isinstance(cause, PolyprobeError):
                raise cause from None
            if cause is not None:
                raise
            raise PolyprobeError(
                f"a worker on Ray died {1 + RESTARTS} times ({one_line(error)}); it may be out of "
                "memory: use a smaller --batch-tokens, or a larger OMP_NUM_THREADS for fewer "
                "workers on a node"
            ) from error


# The constructor cannot fail, because Ray loses the message of an error there.
class RayWorker(Worker):
    """A worker on a node of the cluster."""

    def __init__(self, source: ModelSource, threads: int, expected: Mapping[str, str]) -> None:
        super().__init__(source)
        self._threads, self._expected = threads, expected

    def place(self) -> str:
        """Return the name of this worker's node."""
        return node()

    def load(self) -> Loaded:
        """Load the model, if the node has the expected versions."""
        for name, release in versions().items():
            if release != self._expected[name]:
                raise PolyprobeError(
                    f"node {node()} of the Ray cluster has {name} {release}, this machine has "
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


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Yield the module `ray` while this process is in the cluster at the address."""
    # An existing connection of this process is used and kept; a new one is closed at the end. The
    # address is HOST:PORT of a cluster's head node; `auto`: the cluster in RAY_ADDRESS, else the
    # last one started on this machine (`ray start`), else a temporary one, as `local` is.
    try:
        import ray  # an extra
    except ImportError as error:  # missing or broken
        raise PolyprobeError(
            f"--ray needs Ray, which cannot be imported ({one_line(error)}); "
            "pip install 'polyprobe[ray]'"
        ) from error
    if ray.is_initialized():
        present = ray.get_runtime_context().gcs_address
        if address not in ("auto", present):
            raise PolyprobeError(
                f"this process is already in the Ray cluster at {present}, not {address}; "
                "use auto, or call ray.shutdown() first"
            )
        yield ray
        return
    with ExitStack() as stack:
        _join(ray, _find_cluster(address), stack)
        # Ray prints the log of a node that ends; `log_to_driver` does not prevent it.
        worker = ray._private.worker
        printed = getattr(worker, "print_to_stdstream", None)
        stack.callback(setattr, worker, "print_to_stdstream", printed)
        worker.print_to_stdstream = lambda *_, **__: None
        stack.callback(ray.shutdown)
        yield ray


def _join(ray: Any, cluster: str | None, stack: ExitStack) -> None:
    """Join a cluster, or start one in a temporary folder, which `stack` removes."""
    options: dict[str, Any] = {}
    if cluster is None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        above = tempfile.gettempdir() if len(tempfile.gettempdir()) < LONGEST_FOLDER else "/tmp"
        folder = TemporaryDirectory(prefix="pp-", dir=above, ignore_cleanup_errors=True)
        options = {"include_dashboard": False, "object_store_memory": STORE_BYTES}
        options["_temp_dir"] = stack.enter_context(folder)
    address = cluster or "local"
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **options)
    except Exception as error:
        ray.shutdown()
        raise PolyprobeError(
            f"cannot join the Ray cluster at '{address}' ({one_line(error)}); this machine must be "
            "one of its nodes (`ray start --address=HOST:PORT`), with the same Ray and Python"
        ) from error


def _find_cluster(address: str) -> str | None:
    """Return the address of a cluster that answers, None to start one."""
    # `ray.init` waits for minutes for a cluster that does not exist, and its `auto` for a dead one
    if address == "local":
        return None
    if address == "auto" and not (address := os.environ.get("RAY_ADDRESS", "")):
        # `ray start` writes the address into one of its folders.
        places = (os.environ.get("RAY_TMPDIR"), os.environ.get("TMPDIR"), "/tmp")
        notes = (Path(place or "/tmp") / "ray" / "ray_current_cluster" for place in places)
        addresses = (note.read_text().strip() for note in notes if os.access(note, os.R_OK))
        return next(filter(_answers, addresses), None)
    if not _answers(address):
        raise PolyprobeError(
            f"no Ray cluster answers at '{address}'; expected HOST:PORT of its head node, as "
            "printed by `ray start --head`; start a cluster, or use --ray auto"
        )
    return address


def _answers(address: str) -> bool:
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), ANSWER_SECONDS):
            return True
    except (OSError, ValueError, OverflowError):
        return False
