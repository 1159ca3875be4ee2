"""One worker of `--devices`: takes tasks from the exchange until none is left.

Started by `devices.py` as `python -m polyprobe.eval.work.workers.device_worker FOLDER NUMBER WORKERS`
in an environment made by accelerate.
"""

import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Lock, Thread

from accelerate import PartialState

from polyprobe.eval.scoring.load import load_again
from polyprobe.eval.scoring.scorers import Scored, Scorer
from polyprobe.eval.work.tasks import Task
from polyprobe.system.errors import PolyprobeError

from .exchange import Exchange
from .local import score_here

REPORT_EVERY = 0.2  # seconds


class Report:
    """Tells the parent how far this worker is, a few times a second."""

    def __init__(self, exchange: Exchange, worker: int) -> None:
        self.exchange, self.worker = exchange, worker
        self.due = 0.0
        self.total = 0

    def __call__(self, task: Task, done: int, total: int) -> None:
        """Note the task's inputs, and pass them on where that is due."""
        self.total = total
        if time.monotonic() >= self.due:
            self.exchange.report(self.worker, task, done, total)
            self.due = time.monotonic() + REPORT_EVERY


def work(exchange: Exchange, worker: int, workers: int) -> None:
    """Load the model on this worker's device and score what it can take."""
    job = exchange.job()
    device = PartialState(cpu=job.on_cpu).device
    scorer = load_again(job.model, **{**job.options, "device": str(device)})
    report = Report(exchange, worker)
    for task, scored in _score(exchange, scorer, worker, workers, report):
        exchange.finish(worker, task, scored, report.total)


def _score(
    exchange: Exchange, scorer: Scorer, worker: int, workers: int, report: Report
) -> Iterator[tuple[Task, Scored]]:
    yield from score_here(scorer, exchange.take(worker, leave=workers), report)
    # The last ones are not taken ahead: nobody should wait for one that a slow worker holds back.
    for task in exchange.take(worker, leave=0):
        yield from score_here(scorer, [task], report)


def _end_with_parent(folder: Path, ending: Lock) -> None:
    """Wait until the parent is gone, however it ended, and leave nothing behind."""
    os.read(sys.stdin.fileno(), 1)
    ending.acquire()
    gone = folder.with_name(f"{folder.name}-gone")
    with suppress(OSError):  # another worker came first
        folder.rename(gone)  # nobody writes into what is being removed
        shutil.rmtree(gone)
    os._exit(1)


def main() -> None:
    """Run a worker; what the user must mend goes to the parent in one line."""
    folder, worker, workers = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    ending = Lock()
    Thread(target=_end_with_parent, args=(folder, ending), daemon=True).start()
    exchange = Exchange(folder)
    try:
        work(exchange, worker, workers)
    except PolyprobeError as error:
        exchange.fail(str(error))
    finally:
        ending.acquire()  # not before the folder is removed, if that has begun


if __name__ == "__main__":
    main()
