"""The folder through which tasks go to the workers of one machine, and scores come back."""

import pickle
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from polyprobe.eval.scoring.scorers import Scored
from polyprobe.eval.work.tasks import Task
from polyprobe.system.files import part_of


class Job(NamedTuple):
    """What `polyprobe.eval.scoring.load.load` takes, and whether accelerators are left alone."""

    model: str
    options: Mapping[str, Any]
    on_cpu: bool


class Exchange:
    """A folder of small files, each put there whole; a task is whose folder it is moved to.

        job            the model and its options
        waiting/TASK   tasks that nobody has taken
        taken/W/TASK   tasks that worker W has taken
        done/TASK      scores, until the parent has read them
        running/W      what worker W is at: task, inputs done, inputs
        log/W          what worker W has written
        failed         the first mistake of the user that a worker met

    Who does not come first finds no file to move, so that no lock is needed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fill(self, job: Job, tasks: Sequence[Task], workers: int) -> None:
        """Put the job and its tasks there, for so many workers."""
        for name in ("waiting", "done", "running", "log", *(f"taken/{w}" for w in range(workers))):
            (self.folder / name).mkdir(parents=True)
        for task in tasks:
            self._put(self.folder / "waiting" / f"{task.number:08}", task)
        self._put(self.folder / "job", job)

    def job(self) -> Job:
        """Return the model and its options."""
        return _get(self.folder / "job")

    def log(self, worker: int) -> Path:
        """Return the file that holds what a worker has written."""
        return self.folder / "log" / str(worker)

    def take(self, worker: int, leave: int) -> Iterator[Task]:
        """Yield tasks for a worker in order, as long as more than `leave` of them wait."""
        while len(waiting := sorted((self.folder / "waiting").iterdir())) > leave:
            mine = self.folder / "taken" / str(worker) / waiting[0].name
            try:
                waiting[0].rename(mine)
            except FileNotFoundError:  # another worker came first
                continue
            yield _get(mine)

    def has_left(self, worker: int) -> bool:
        """Return whether there are tasks that a worker has taken, or could have."""
        places = (self.folder / "taken" / str(worker), self.folder / "waiting")
        return any(any(place.iterdir()) for place in places)

    def give_back(self, worker: int) -> None:
        """Let others take what a lost worker had taken and not done."""
        for task in (self.folder / "taken" / str(worker)).iterdir():
            task.rename(self.folder / "waiting" / task.name)

    def finish(self, worker: int, task: Task, scored: Scored, total: int) -> None:
        """Hand in a task's scores, and of how many inputs they were made."""
        name = f"{task.number:08}"
        self._put(self.folder / "done" / name, (task.number, scored, total))
        (self.folder / "taken" / str(worker) / name).unlink()

    def finished(self) -> Iterator[tuple[int, Scored, int]]:
        """Yield number, scores and inputs of the tasks done since the last call."""
        for file in sorted((self.folder / "done").glob("[0-9]*")):
            yield _get(file)
            file.unlink()

    def report(self, worker: int, task: Task, done: int, total: int) -> None:
        """Say how far a worker is."""
        self._put(self.folder / "running" / str(worker), (task.number, done, total))

    def reports(self) -> list[tuple[int, int, int]]:
        """Return task, inputs done and inputs, as each worker last said."""
        return [_get(file) for file in sorted((self.folder / "running").glob("[0-9]*"))]

    def fail(self, message: str) -> None:
        """Say what the user must mend, unless another worker has done so."""
        if not (self.folder / "failed").exists():
            self._put(self.folder / "failed", message)

    def failure(self) -> str | None:
        """Return what the user must mend, if a worker met it."""
        file = self.folder / "failed"
        return _get(file) if file.exists() else None

    def _put(self, file: Path, value: object) -> None:
        part_of(file).write_bytes(pickle.dumps(value))
        part_of(file).replace(file)


def _get(file: Path) -> Any:
    return pickle.loads(file.read_bytes())
