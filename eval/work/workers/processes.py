"""Score tasks on several devices of this machine, with one process for each device."""

import multiprocessing
import os
import signal
import sys
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from multiprocessing.process import BaseProcess
from threading import Thread
from types import ModuleType

import torch

from polyprobe.scoring.load import ModelSource
from polyprobe.scoring.scorers import Scored
from polyprobe.system.devices import choose_device
from polyprobe.system.errors import PolyprobeError

from .here import Report, Task, Worker

RESTARTS = 3  # in a row, without a finished task in between


def score_in_processes(
    source: ModelSource, tasks: Sequence[Task], n_devices: int, report: Report
) -> Generator[tuple[Task, Scored]]:
    """Yield each task with its scores as soon as a process has them, in any order."""
    # Scores equal those of `score_here`, bit for bit, with the same number of torch threads: each
    # process has an equal share of the CPU cores unless OMP_NUM_THREADS is set. A process that dies
    # is replaced, and its tasks are scored again. The processes end when the generator is closed
    # (`contextlib.closing`) or this process ends. `n_devices` is at most the number of accelerators
    # or CPU cores; the source's `device` is a kind, such as `cuda`.
    kind = _check_devices(source.options.device, n_devices)
    if not tasks:
        return
    if kind == "cuda":
        torch.cuda.empty_cache()  # the other processes need the memory
    affinity = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    with ExitStack() as stack:
        crew = []
        for number in range(min(n_devices, len(tasks))):
            device = kind if kind == "cpu" else f"{kind}:{number}"
            copy = source._replace(options=replace(source.options, device=device))
            crew.append(Process(copy, cores // n_devices))
            stack.callback(crew[-1].end)
        yield from _collect(crew, deque(tasks), report)


def _collect(
    crew: "list[Process]", waiting: deque[Task], report: Report
) -> Iterator[tuple[Task, Scored]]:
    """Yield tasks as they are done; those done before a user's mistake come before its error."""
    restarts = 0
    for process in crew:
        process.submit(waiting, len(crew))
    while busy := {process.future: process for process in crew if process.future}:
        mistakes, lost = [], []
        for future in wait(busy, return_when=FIRST_COMPLETED).done:
            process = busy[future]
            try:
                scored = future.result()
            except BrokenProcessPool:
                lost.append(process)
            except PolyprobeError as error:
                mistakes.append(error)
            else:
                restarts = 0
                task = process.tasks.popleft()
                process.submit(waiting, len(crew))
                report(task, len(task.prompts), len(task.prompts))
                yield task, scored
        if mistakes:
            raise mistakes[0]
        if lost and restarts == RESTARTS:
            raise PolyprobeError(
                f"processes of --devices {len(crew)} die each time they are started "
                f"({lost[0].exit_reason()}); use fewer --devices or a smaller --batch-tokens"
            )
        restarts += bool(lost)
        for process in lost:
            process.restart()


class Process:
    """A pool of one process, with the model on one device."""

    def __init__(self, source: ModelSource, threads: int) -> None:
        self._source, self._threads = source, threads
        self.tasks: deque[Task] = deque()  # the one that is scored, then the one that is prepared
        self.future: Future[Scored] | None = None  # the scores of the first task
        self._make_pool()

    def submit(self, waiting: deque[Task], n_processes: int) -> None:
        """Submit the next task, with the one after it unless few are left for the others."""
        while waiting and len(self.tasks) < (2 if len(waiting) > n_processes else 1):
            self.tasks.append(waiting.popleft())
        self.future = self._start() if self.tasks else None

    def restart(self) -> None:
        """Replace a process that has died, and submit its tasks again."""
        self.end()
        self._make_pool()
        self.future = self._start()

    def end(self) -> None:
        """Kill the process: `ProcessPoolExecutor.kill_workers` needs Python 3.14."""
        if self._process:
            self._process.kill()
        self._pool.shutdown(cancel_futures=True)

    def exit_reason(self) -> str:
        """Return how the process died."""
        self._pool.shutdown()  # its thread takes the status, so that only then it is known
        code = (self._process.exitcode if self._process else 0) or 0
        return f"killed by signal {-code}" if code < 0 else f"exit status {code}"

    def _make_pool(self) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would break torch
        self._pool = ProcessPoolExecutor(1, context, _set_up, (self._source,))
        self._process: BaseProcess | None = None

    def _start(self) -> Future[Scored]:
        try:
            with _environment(self._threads):
                future = self._pool.submit(_score, list(self.tasks))
        except BrokenProcessPool as error:  # it died between two tasks
            future = Future()
            future.set_exception(error)
        if self._process is None and self._pool._processes:
            [self._process] = self._pool._processes.values()
            # Else a process that is killed while it writes a result is waited for without end.
            self._pool._result_queue._writer.close()  # type: ignore[attr-defined]  # private
        return future


@contextmanager
def _environment(threads: int) -> Iterator[None]:
    # It has an empty `__main__`, since the user's script may lack `if __name__ == "__main__"`, and
    # does not import modules from the working directory
    main, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
    variables = {"PYTHONSAFEPATH": "1", "OMP_NUM_THREADS": str(max(1, threads))}
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables | {name: value for name, value in before.items() if value})
    try:
        yield
    finally:
        sys.modules["__main__"] = main
        for name, value in before.items():
            del os.environ[name]
            os.environ.update({name: value} if value is not None else {})


_worker: Worker
_threads = ThreadPoolExecutor(2)
_started: "dict[int, Future[Scored]]" = {}


def _set_up(source: ModelSource) -> None:
    """Prepare a new process. Errors of loading come with the first task: the pool hides them."""
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the parent
    Thread(target=_end_with_parent, daemon=True).start()
    nowhere = os.open(os.devnull, os.O_WRONLY)  # the parent has printed the same warnings
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    _worker = Worker(source)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent
    parent.join()
    os._exit(1)


def _score(tasks: Sequence[Task]) -> Scored:
    """Return the scores of the first task; the second starts meanwhile."""
    for task in tasks:
        if task.number not in _started:
            _started[task.number] = _threads.submit(_worker.score, task)
    return _started.pop(tasks[0].number).result()


def _check_devices(device: str, n_devices: int) -> str:
    where = choose_device(device)
    if where.index is not None:
        raise PolyprobeError(
            f"--device {device} is a single device, but --devices chooses devices itself; "
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
    return where.type
