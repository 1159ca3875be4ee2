"""Score tasks on several devices of this machine: a process each, which loads the model there.

accelerate says which environment a worker starts in and which device is its own. Each worker is a
launch of its own, not a rank of one launch: `accelerate launch --cpu` starts a single process, a
rank that dies takes all others with it, and `notebook_launcher` forks, which a process that has
run torch does not survive. Nothing is summed over the workers, so they need no common group.
"""

import os
import subprocess
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import torch
from accelerate.commands.launch import launch_command_parser
from accelerate.utils import prepare_simple_launcher_cmd_env

from polyprobe.eval.scoring.scorers import Scored
from polyprobe.eval.work.tasks import Task
from polyprobe.system.devices import choose_device
from polyprobe.system.errors import PolyprobeError

from .exchange import Exchange, Job
from .local import Progress

POLL = 0.05  # seconds
RESTARTS = 3  # in a row, with no task finished in between


def score_on_devices(
    model: str,
    options: Mapping[str, Any],
    tasks: Sequence[Task],
    n_devices: int,
    progress: Progress,
) -> Generator[tuple[Task, Scored]]:
    """Yield each task with its scores as soon as one of the workers has them, in any order.

    Scores are those of `score_here`, bit for bit, with as many torch threads: on CPUs a worker has
    its share of the cores, unless OMP_NUM_THREADS says something else. What a lost worker had
    taken is done again by another. Whoever stops early closes the generator (`contextlib.closing`);
    the workers end with it.

    Args:
        model: see `polyprobe.eval.scoring.load.load`.
        options: the same; `device` is a kind, such as `auto` or `cuda`.
        tasks: what is scored.
        n_devices: how many workers; on accelerators at most as many as there are.
        progress: called with a task, how many of its inputs are done, and how many it has.

    Raises:
        PolyprobeError: other devices than there are; what is wrong with the model or a task;
            workers that are lost again and again.
    """
    kind = _check_devices(options.get("device", "auto"), n_devices)
    pending = {task.number: task for task in tasks}
    if not pending:
        return
    if kind == "cuda":
        torch.cuda.empty_cache()  # a worker needs what this process no longer does
    with ExitStack() as stack:
        temporary = TemporaryDirectory(prefix="polyprobe-", ignore_cleanup_errors=True)
        folder = stack.enter_context(temporary)
        exchange = Exchange(Path(folder))
        exchange.fill(Job(model, dict(options), kind == "cpu"), tasks, n_devices)
        crew = stack.enter_context(Crew(exchange, kind, n_devices))
        crew.start()
        yield from _collect(exchange, crew, pending, progress)


def _collect(
    exchange: Exchange, crew: "Crew", pending: dict[int, Task], progress: Progress
) -> Iterator[tuple[Task, Scored]]:
    """Yield what comes until nothing is pending; what came before a mistake is yielded first."""
    while pending:
        # In this order: what a worker has left behind it is there before it is seen to be gone.
        lost, failure, finished = crew.lost(), exchange.failure(), False
        for number, scored, total in exchange.finished():
            finished = True
            if task := pending.pop(number, None):  # one that was given back may come twice
                progress(task, total, total)
                yield task, scored
        if failure is not None:
            raise PolyprobeError(failure)
        crew.replace(lost, finished)
        for number, done, total in exchange.reports():
            if number in pending:
                progress(pending[number], done, total)
        if not finished:
            time.sleep(POLL)


def _check_devices(device: str, n_devices: int) -> str:
    """Return the kind of device that the workers run on, once there are enough of it."""
    if n_devices < 1:
        raise PolyprobeError(f"--devices must be at least 1, got {n_devices}")
    where = choose_device(device)
    if where.index is not None:
        raise PolyprobeError(
            f"--device {device} is one device and --devices chooses by itself; "
            f"use --device {where.type}"
        )
    if where.type == "cpu" and n_devices > (cores := max(2, os.cpu_count() or 1)):
        raise PolyprobeError(
            f"--devices {n_devices} is more than this machine's {cores} cores, and each holds the "
            f"model; use --devices {cores} at most"
        )
    if where.type != "cpu" and n_devices > (there := torch.accelerator.device_count()):
        raise PolyprobeError(
            f"--devices {n_devices} is more than there are: {there} of kind '{where.type}'; "
            f"use --devices {there}, or --device cpu"
        )
    return where.type


class Crew:
    """The workers of a run: their processes, started again where one is lost."""

    def __init__(self, exchange: Exchange, kind: str, size: int) -> None:
        self.exchange, self.kind, self.size = exchange, kind, size
        self.restarts = 0
        self.processes: dict[int, subprocess.Popen] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes.values():
            process.kill()
        for process in self.processes.values():
            process.communicate()  # waits, and closes the pipe

    def start(self) -> None:
        """Start all workers."""
        for worker in range(self.size):
            self._start(worker)

    def lost(self) -> list[int]:
        """Return the workers that have ended otherwise than by finding no task.

        The status alone does not tell: where another has waited for the process it is 0.
        """
        ended = [w for w, process in self.processes.items() if process.poll() is not None]
        for worker in ended:
            if self.processes[worker].returncode == 0 and not self.exchange.has_left(worker):
                self.processes.pop(worker).communicate()
        return [worker for worker in ended if worker in self.processes]

    def replace(self, lost: Sequence[int], finished: bool) -> None:
        """Start the lost workers again and give their tasks back; `finished`: some task was."""
        self.restarts = 0 if finished else self.restarts
        if not lost:
            return
        if self.restarts == RESTARTS:
            raise PolyprobeError(
                f"workers of --devices {self.size} are lost each time they are started "
                f"({self._last_words(lost[0])}); use fewer --devices or a smaller --batch-tokens"
            )
        self.restarts += 1
        for worker in lost:
            self.processes[worker].communicate()
            self.exchange.give_back(worker)
            self._start(worker)

    def _start(self, worker: int) -> None:
        command, environment = _launch(self.exchange.folder, worker, self.size, self.kind == "cpu")
        with self.exchange.log(worker).open("wb") as log:
            self.processes[worker] = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.PIPE,  # its end tells the worker that this process is gone
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is this process's to handle
            )

    def _last_words(self, worker: int) -> str:
        code = self.processes[worker].returncode
        said = self.exchange.log(worker).read_text(errors="replace").split("\n")
        last = next((line for line in reversed(said) if line.strip()), f"status {code}")
        return f"killed by signal {-code}" if code < 0 else last.strip()[:200]


def _launch(folder: Path, worker: int, workers: int, cpu: bool) -> tuple[list[str], dict[str, str]]:
    """Return the command and the environment of a worker as `accelerate launch` makes them."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    threads = max(1, (cores or 1) // workers)
    where = ["--cpu"] if cpu else ["--gpu_ids", _device_id(worker)]
    asked = [
        *where, "--num_processes", "1", "--num_machines", "1", "--mixed_precision", "no",
        "--dynamo_backend", "no", "--num_cpu_threads_per_process", str(threads),
        "--module", "polyprobe.eval.work.workers.device_worker", str(folder), str(worker), str(workers),
    ]  # fmt: skip
    arguments = launch_command_parser().parse_args(asked)
    arguments.use_cpu = cpu
    command, environment = prepare_simple_launcher_cmd_env(arguments)
    for name in ("KMP_AFFINITY", "KMP_BLOCKTIME"):
        environment.pop(name, None)  # would put all workers on the same cores
    chosen = {k: v for k, v in os.environ.items() if k == "OMP_NUM_THREADS" or k.startswith("KMP_")}
    # A safe path: nothing that lies in the user's folder is imported in our place.
    return command, {**environment, **chosen, "PYTHONSAFEPATH": "1"}


def _device_id(worker: int) -> str:
    """Return the name of the worker's device among those that this process sees."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return visible.split(",")[worker].strip() if visible else str(worker)
