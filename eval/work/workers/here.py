"""Tasks, and how they are scored in this process."""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from threading import Lock
from typing import Any, NamedTuple

import pyarrow as pa

from polyprobe.eval.scoring.load import load_again
from polyprobe.eval.scoring.scorers import Scored, Scorer
from polyprobe.system.errors import PolyprobeError

# Of a task, at most: the loss of a crash, and the limit of shared batches.
CANDIDATES = 4096

Query = tuple[str, tuple[str, ...]]


class Task(NamedTuple):
    """Queries of one language that are scored together.

    Attributes:
        number: its position in the run; results may arrive in any order.
        language: the split of the queries.
        prompts: sentences with one slot.
        candidates: for each prompt the fillers of its slot.
    """

    number: int
    language: str
    prompts: list[str]
    candidates: list[list[str]]


def queries_of(table: pa.Table) -> list[Query]:
    """Return the prompt and candidates of each row."""
    lists: dict[tuple[str, ...], tuple[str, ...]] = {}  # rows share lists: one copy in memory
    queries = []
    for part in table.select(["prompt", "candidates"]).to_batches(max_chunksize=256):
        for row in part.to_pylist():
            candidates = tuple(row["candidates"])
            queries.append((row["prompt"], lists.setdefault(candidates, candidates)))
    return queries


def make_tasks(asked: Mapping[str, list[Query]], known: set[Query]) -> list[Task]:
    """Return the tasks that score every query once, in the order of languages.

    The boundaries between the tasks of a language depend on its own rows only. Queries that are
    known or belong to an earlier task are then left out. A resumed run, which knows the queries of
    complete tasks, therefore forms the same batches and computes the same bits.
    """
    tasks: list[Task] = []
    seen = set(known)
    for language, queries in asked.items():
        for part in _parts(list(dict.fromkeys(queries))):
            new = [query for query in part if query not in seen]
            seen.update(new)
            if new:
                prompts = [prompt for prompt, _ in new]
                rows = [list(candidates) for _, candidates in new]
                tasks.append(Task(len(tasks), language, prompts, rows))
    return tasks


def _parts(queries: list[Query]) -> Iterator[list[Query]]:
    """Yield lists of at least one query, with at most CANDIDATES candidates otherwise."""
    part: list[Query] = []
    size = 0
    for query in queries:
        if part and size + len(query[1]) > CANDIDATES:
            yield part
            part, size = [], 0
        part.append(query)
        size += len(query[1])
    if part:
        yield part


# Called with a task, the number of its inputs that are done, and the number of its inputs. Workers
# elsewhere report a task once, when it is done, and count its prompts.
Report = Callable[[Task, int, int], None]


def score_here(
    scorer: Scorer, tasks: Iterable[Task], report: Report
) -> Generator[tuple[Task, Scored]]:
    """Yield each task with its scores, in the given order.

    While the model runs one task, a thread tokenizes and plans the next one only. An error in the
    next task is raised after the current one was yielded.

    Raises:
        PolyprobeError: a task that cannot be scored; the message begins with its language.
    """
    with ThreadPoolExecutor(1, "prepare") as ahead:
        submitted = ((t, ahead.submit(scorer.prepare, t.prompts, t.candidates)) for t in tasks)
        current = next(submitted, None)
        while current is not None:
            task, preparation = current
            with naming_language(task):
                prepared = preparation.result()
            current = next(submitted, None)
            with naming_language(task):
                scored = scorer.score_prepared(prepared, partial(report, task))
            yield task, scored


class Worker:
    """A copy of the model in another process, loaded before its first task.

    Two threads may score at once: one task is prepared while the model runs the other.
    """

    def __init__(self, model: str, options: Mapping[str, Any]) -> None:
        self._model, self._options = model, options
        self._scorer: Scorer | None = None
        self._loading, self._preparing, self._running = Lock(), Lock(), Lock()

    def load(self) -> Scorer:
        """Return the scorer; see `load_again`."""
        return load_again(self._model, **self._options)

    def score(self, task: Task) -> Scored:
        """Return a task's scores.

        Raises:
            PolyprobeError: the model cannot be loaded or is another one; a task that cannot be
                scored, with its language at the beginning of the message.
        """
        with self._loading:
            scorer = self._scorer = self._scorer or self.load()
        with naming_language(task):
            with self._preparing:
                prepared = scorer.prepare(task.prompts, task.candidates)
            with self._running:
                return scorer.score_prepared(prepared)


@contextmanager
def naming_language(task: Task) -> Iterator[None]:
    """Add the task's language to error messages."""
    try:
        yield
    except PolyprobeError as error:
        raise PolyprobeError(f"language '{task.language}': {error}") from error
