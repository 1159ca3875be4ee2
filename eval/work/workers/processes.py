"""Score tasks on several devices of this machine, with one process for each device."""

import multiprocessing
import os
import signal
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from traceback import format_exception
from types import ModuleType
from typing import Any

import torch

from polyprobe.scoring.load import ModelSource
from polyprobe.system.devices import choose_device
from polyprobe.system.messages import PolyprobeError, hide_secrets_in_logs

from . import Report, Results, Task, Worker

CONTEXT = multiprocessing.get_context("spawn")  # a fork would break torch
RESTARTS = 3  # in a row, without a finished task in between


def start_first(source: ModelSource, n_devices: int) -> "Process":
    """Start the process of the first device, which loads the model and describes it."""
    kind = _check_devices(source.options.device, n_devices)
    return Process(_place(source, kind, 0), n_devices, describes=True)


def score_in_processes(
    source: ModelSource,
    tasks: Sequence[Task],
    n_devices: int,
    report: Report,
    first: "Process | None" = None,
) -> Results:
    """Yield each task with its scores as soon as a process has them, in any order."""
    # Scores equal those of `score_here`, bit for bit, with the same number of torch threads: each
    # process has an equal share of the CPU cores unless OMP_NUM_THREADS is set. A process that dies
    # is replaced, and its tasks are scored again. The processes end when the generator is closed
    # (`contextlib.closing`) or this process ends. `n_devices` is at most the number of accelerators
    # or CPU cores; the source's `device` is a kind, such as `cuda`.
    # `first` is the process of `start_first`, else this one has loaded the model.
    kind = _check_devices(source.options.device, n_devices)
    if not tasks:
        return
    if kind == "cuda" and not first:
        torch.cuda.empty_cache()  # the other processes need the memory
    with ExitStack() as stack:
        copies = [_place(source, kind, number) for number in range(min(n_devices, len(tasks)))]
        crew = [first] if first else []
        for process in crew:
            process.source = copies[0]  # if it is started again
        crew += [Process(copy, n_devices) for copy in copies[len(crew) :]]
        for process in crew:
            stack.callback(process.end)
        yield from _collect(crew, deque(tasks), report)


def _place(source: ModelSource, kind: str, number: int) -> ModelSource:
    device = kind if kind == "cpu" else f"{kind}:{number}"
    return source._replace(options=replace(source.options, device=device))


def _collect(crew: "list[Process]", waiting: deque[Task], report: Report) -> Results:
    """Yield tasks as they are done; those done before a user's mistake come before its error."""
    restarts = 0
    for process in crew:
        process.submit(waiting, len(crew))
    while busy := [process for process in crew if process.tasks]:
        mistakes, lost = [], []
        ready = wait([process.pipe for process in busy])
        for process in (process for process in busy if process.pipe in ready):
            try:
                scored = process.pipe.recv()
            except (EOFError, OSError):
                lost.append(process)
                continue
            if isinstance(scored, Exception):
                mistakes.append(scored)
                continue
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
            process.end()
            process.start()


class Process:
    """A process with the model on one device; a pipe takes tasks and gives scores or an error."""

    def __init__(self, source: ModelSource, n_devices: int, describes: bool = False) -> None:
        affinity = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
        cores = len(affinity(0)) if affinity else os.cpu_count() or 1
        self.source, self._threads, self._describes = source, cores // n_devices, describes
        self.tasks: deque[Task] = deque()  # the one that is scored, then the one that is prepared
        self.start()

    def start(self) -> None:
        """Start the process, and send it the tasks of one that has died."""
        self.pipe, end = CONTEXT.Pipe()
        arguments = self.source, end, self._describes
        self._process = CONTEXT.Process(target=_work, args=arguments, daemon=True)
        with _environment(self._threads):
            self._process.start()
        end.close()  # the pipe ends when the process does
        self._send(*self.tasks)

    def describe(self) -> dict[str, Any]:
        """Return what `Loaded.describe` says there, of a process that describes its model."""
        if self._describes:
            self._describes = False  # nor if it is started again
            try:
                self._description = self.pipe.recv()
            except (EOFError, OSError):
                text = f"the process that loads the model has ended ({self.exit_reason()})"
                raise PolyprobeError(f"{text}; use a smaller model or --batch-tokens") from None
        if isinstance(self._description, Exception):
            raise self._description
        return self._description

    def submit(self, waiting: deque[Task], n_processes: int) -> None:
        """Send the next task, with the one after it unless few are left for the others."""
        while waiting and len(self.tasks) < (2 if len(waiting) > n_processes else 1):
            self.tasks.append(waiting.popleft())
            self._send(self.tasks[-1])

    def end(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.join()
        self.pipe.close()

    def exit_reason(self) -> str:
        """Return how the process died."""
        self._process.join()
        code = self._process.exitcode or 0
        return f"killed by signal {-code}" if code < 0 else f"exit status {code}"

    def _send(self, *tasks: Task) -> None:
        with suppress(OSError):  # it has died: so says the pipe when it is read
            for task in tasks:
                self.pipe.send(task)


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


def _work(source: ModelSource, pipe: Connection, describes: bool) -> None:
    """Score tasks until the parent kills the process or ends; the second starts with the first."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the parent
    hide_secrets_in_logs()
    worker, threads, sender = Worker(source), ThreadPoolExecutor(2), ThreadPoolExecutor(1)
    if describes:
        _answer(pipe, threads.submit(worker.describe))
    nowhere = os.open(os.devnull, os.O_WRONLY)  # one process has printed the same warnings
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    with suppress(EOFError, OSError):
        while True:
            sender.submit(_answer, pipe, threads.submit(worker.score, pipe.recv()))
    os._exit(1)


def _answer(pipe: Connection, scored: Future[Any]) -> None:
    """Send the scores of a task, or the error; answers are in the order of the tasks."""
    error = scored.exception()
    if error and not isinstance(error, PolyprobeError):  # another may not be picklable
        error = RuntimeError("".join(format_exception(error)))
    pipe.send(error or scored.result())


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
