"""Score tasks on Ray: each worker has the model and its share of this machine or of a cluster."""

import logging
import os
import socket
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from platform import node
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any, NamedTuple

import torch

from polyprobe.eval.options import EvaluationOptions
from polyprobe.schema.run.settings import versions
from polyprobe.scoring import QueryScores
from polyprobe.scoring.load import Loaded, ModelSource
from polyprobe.system.devices import choose_device
from polyprobe.system.messages import PolyprobeError, naming_language, one_line, require

from . import Report, Results, Task

LOCAL = "local"  # the address of a temporary cluster on this machine
RESTARTS = 3  # of a worker
CPUS = 4  # of a worker: more workers hold more copies of the model, fewer gain less from threads
KINDS = ("cpu", "cuda", "xpu")  # devices that Ray divides; it calls the last two GPU
ROOM_SECONDS = 300.0
ANSWER_SECONDS = 5.0
STORE_BYTES = 100 * 2**20  # tasks and scores are small, and so may be /dev/shm
# Ray adds about 60 characters for its sockets, whose paths have at most 107.
LONGEST_FOLDER = 40


# All workers have equal shares, so that scores do not depend on the worker.
class Share(NamedTuple):
    """The share of a worker, and the number of workers."""

    threads: int  # of torch
    cpus: int  # as Ray counts them
    gpus: int
    room: int


def check_workers(options: EvaluationOptions) -> None:
    """Refuse workers without Ray, and `--devices` that this machine does not have."""
    require(f"--{options.distributor}", "ray")
    if (n_devices := options.devices) == 1:
        return
    where = choose_device(options.device)
    if where.index is not None:
        raise PolyprobeError(
            f"--device {where} is a single device, but --devices chooses devices itself; "
            f"use --device {where.type}"
        )
    if where.type == "cpu" and n_devices > (cores := max(2, os.cpu_count() or 1)):
        raise PolyprobeError(
            f"--devices {n_devices} is more than this machine's {cores} cores, and each process "
            f"holds the model; use --devices {cores} at most"
        )
    if where.type != "cpu" and n_devices > (there := torch.accelerator.device_count()):
        raise PolyprobeError(
            f"--devices {n_devices} is more than the available devices: {there} of kind "
            f"'{where.type}'; use --devices {there}, or --device cpu"
        )


def score_on_ray(
    source: ModelSource, address: str, n_devices: int, tasks: Sequence[Task], report: Report
) -> Results:
    """Yield each task with its scores as soon as a worker has them, in any order."""
    if tasks:
        torch.cuda.empty_cache()  # a model that was here may have the memory of a worker
        with open_crew(source, address, n_devices) as crew:
            yield from crew.score(source, tasks, report)


@contextmanager
def open_crew(source: ModelSource, address: str, n_devices: int) -> Iterator["Crew"]:
    """Yield workers on the devices of this machine, if there are several, or on a cluster."""
    # They end with the context or this process. The nodes of a cluster must have the model's
    # folder, and the kind of device of the source.
    device = source.options.device
    if device not in KINDS:
        raise PolyprobeError(f"workers on Ray accept --device cpu, cuda and xpu, got '{device}'")
    share = _share_machine(device, n_devices) if n_devices > 1 else None
    with connected(address, share) as ray:
        yield Crew(ray, source, share or _share_nodes(ray.nodes(), device))


class Crew:
    """Workers on Ray with equal shares."""

    def __init__(self, ray: Any, source: ModelSource, share: Share) -> None:
        self._ray, self._source, self._share = ray, source, share
        self._workers: list[Any] = []
        self._description: dict[str, Any] = {}

    def describe(self) -> dict[str, Any]:
        """Return what `Loaded.describe` says in the first worker, which loads the model."""
        if not self._description:
            self._hire(1)
            with _explaining(self._ray):
                self._description = self._ray.get(self._workers[0].describe.remote(self._source))
        return self._description

    def score(self, source: ModelSource, tasks: Sequence[Task], report: Report) -> Results:
        """Yield each task with its scores as soon as a worker has them, in any order."""
        # Scores equal those of `score_here`, bit for bit, with the same number of torch threads. A
        # worker that dies, with its node or alone, is replaced, and its tasks are scored again.
        if not tasks:
            return
        self._hire(min(self._share.room, len(tasks)))
        # A worker prepares one task while it scores another. Only the pool has the workers, so that
        # one without tasks ends when it is popped.
        pool = self._ray.util.ActorPool([*self._workers, *self._workers])
        self._workers.clear()

        def submit(worker: Any, task: Task) -> Any:
            return worker.score.remote(source, task)

        with _explaining(self._ray):
            for task, scored in pool.map_unordered(submit, tasks):
                # The room of a worker without tasks is for one whose node has died.
                while pool.pop_idle():
                    pass
                report(task, len(task.prompts), len(task.prompts))
                yield task, scored

    def _hire(self, n_workers: int) -> None:
        """Start workers until there are so many; wait until a node has one of them."""
        kind = self._ray.remote(RayWorker).options(
            num_cpus=self._share.cpus,
            num_gpus=self._share.gpus,
            max_concurrency=2,
            max_restarts=RESTARTS,
            max_task_retries=-1,  # a task is retried as long as its worker is restarted
            scheduling_strategy="SPREAD",
        )
        missing = n_workers - len(self._workers)
        self._workers += [kind.remote(self._share.threads, versions()) for _ in range(missing)]
        # Ray itself would wait without end.
        references = [worker.__ray_ready__.remote() for worker in self._workers]
        if not self._ray.wait(references, timeout=ROOM_SECONDS)[0]:
            raise PolyprobeError(
                f"no node of the Ray cluster had room for a worker in {ROOM_SECONDS:.0f} seconds; "
                "see `ray status`"
            )


@contextmanager
def _explaining(ray: Any) -> Iterator[None]:
    """Raise a user's mistake in a worker as it is, and the death of a worker as one line."""
    try:
        yield
    except ray.exceptions.RayTaskError as error:  # raised by the worker's own code
        if isinstance(error.cause, PolyprobeError):
            raise error.cause from None
        raise
    except ray.exceptions.RayError as error:
        *_, reason = str(error).strip().splitlines()  # behind the numbers of the worker
        raise PolyprobeError(
            f"a worker on Ray died and was not replaced ({one_line(reason)}); finished scores are "
            "kept: run the same command again, with a smaller --batch-tokens or fewer workers if "
            "memory was short"
        ) from error


def _share_machine(device: str, n_devices: int) -> Share:
    """Return an equal share of the cores for the worker of each device."""
    threads = _choose_threads(torch.get_num_threads() // n_devices)
    return Share(threads, 1, int(device != "cpu"), n_devices)


def _share_nodes(nodes: Sequence[Mapping[str, Any]], device: str) -> Share:
    """Return one GPU, or as many CPUs as a worker has threads, on each node."""
    resources = [node["Resources"] for node in nodes if node["Alive"]]
    if device != "cpu":
        if gpus := sum(int(has.get("GPU", 0)) for has in resources):
            return Share(1, 1, 1, gpus)
        raise PolyprobeError("no node of the Ray cluster has a GPU; use --device cpu")
    cpus = [int(has["CPU"]) for has in resources if has.get("CPU", 0) >= 1]
    if not cpus:
        raise PolyprobeError("no node of the Ray cluster has a CPU (`ray start --num-cpus=N`)")
    threads = min(_choose_threads(CPUS), *cpus)
    return Share(threads, threads, 0, sum(n // threads for n in cpus))


def _choose_threads(default: int) -> int:
    text = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    return max(1, int(text) if text.isdecimal() else default)


# The constructor cannot fail, because Ray loses the message of an error there. Two threads may
# score at once: one task is prepared while the model runs the other.
class RayWorker:
    """A copy of the model in another process, loaded by the first call."""

    def __init__(self, threads: int, expected: Mapping[str, str]) -> None:
        self._threads, self._expected = threads, expected
        self._loaded: Loaded | None = None
        self._loading, self._preparing, self._running = Lock(), Lock(), Lock()

    def describe(self, source: ModelSource) -> dict[str, Any]:
        """Return what `Loaded.describe` says of the model."""
        return self._load(source).describe()

    def score(self, source: ModelSource, task: Task) -> tuple[Task, list[QueryScores]]:
        """Return a task, since Ray's pool forgets it, and its scores."""
        scorer = self._load(source).scorer
        scorer.engine.shares = True  # nothing else has the model
        with naming_language(task.language):
            with self._preparing:
                prepared = scorer.prepare(task.prompts, task.candidates)
            with self._running:
                return task, scorer.score_prepared(prepared)

    def _load(self, source: ModelSource) -> Loaded:
        """Load the model, if it is not and the node has the expected versions."""
        with self._loading:
            if self._loaded is None:
                for name, release in versions().items():
                    if release != self._expected[name]:
                        raise PolyprobeError(
                            f"node {node()} of the Ray cluster has {name} {release}, this machine "
                            f"has {self._expected[name]}; install the same version on all nodes"
                        )
                torch.set_num_threads(self._threads)
                try:
                    self._loaded = source.load()
                except PolyprobeError as error:
                    if source.expected is None:  # it is the first, which all errors may concern
                        raise
                    raise PolyprobeError(f"in a worker on {node()}: {error}") from error
            return self._loaded


@contextmanager
def connected(address: str, share: Share | None) -> Iterator[Any]:
    """Yield the module `ray` while this process is in the cluster at the address."""
    # An existing connection of this process is used and kept; a new one is closed at the end. The
    # address is HOST:PORT of a cluster's head node; `auto`: the cluster in RAY_ADDRESS, else the
    # last one started on this machine (`ray start`), else a temporary one, as `local` is. A share
    # is that of the workers of a temporary one.
    import ray  # an extra

    if ray.is_initialized():
        present = ray.get_runtime_context().gcs_address
        if address not in ("auto", present):
            raise PolyprobeError(
                f"this process is already in the Ray cluster at {present}, not {address}; "
                "use --ray auto, or call ray.shutdown() first"
            )
        yield ray
        return
    cluster = _find_cluster(address)
    with ExitStack() as stack:
        options = {"address": cluster} if cluster else stack.enter_context(_starting(share))
        # Ray prints the end of a worker where results go; `log_to_driver` does not prevent it.
        worker = ray._private.worker
        stack.callback(setattr, worker, "print_to_stdstream", worker.print_to_stdstream)
        worker.print_to_stdstream = lambda *_, **__: None
        stack.callback(ray.shutdown)
        try:
            ray.init(**options, log_to_driver=False, logging_level=logging.ERROR)
        except Exception as error:
            raise PolyprobeError(
                f"cannot join the Ray cluster at '{options['address']}' ({one_line(error)}); this "
                "machine must be one of its nodes (`ray start --address=HOST:PORT`), with the same "
                "Ray and Python"
            ) from error
        yield ray


@contextmanager
def _starting(share: Share | None) -> Iterator[dict[str, Any]]:
    """Yield the options that start a cluster here, with a temporary folder."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_worker_niceness", "0")  # at 15 workers stand still beside other jobs
    options = {"address": LOCAL, "include_dashboard": False, "object_store_memory": STORE_BYTES}
    if share:
        options |= {"num_cpus": share.cpus * share.room, "num_gpus": share.gpus * share.room}
    above = tempfile.gettempdir() if len(tempfile.gettempdir()) < LONGEST_FOLDER else "/tmp"
    with TemporaryDirectory(prefix="pp-", dir=above, ignore_cleanup_errors=True) as folder:
        yield options | {"_temp_dir": folder}


def _find_cluster(address: str) -> str | None:
    """Return the address of a cluster that answers, None to start one."""
    # `ray.init` waits for minutes for a cluster that does not exist, and its `auto` for a dead one
    if address == LOCAL:
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
