"""Tasks, and how they are scored in this process; `ray_cluster` scores them elsewhere."""

from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

from polyprobe.scoring import QueryScores
from polyprobe.scoring.scorers import Scorer
from polyprobe.system.messages import naming_language


class Task(NamedTuple):
    """Queries of one language that are scored together."""

    number: int  # its position in the run; results may arrive in any order
    language: str  # the split of the queries
    prompts: list[str]  # sentences with one slot
    candidates: list[list[str]]  # for each prompt the fillers of its slot


# Called with a task, the number of its inputs that are done, and the number of its inputs. Workers
# elsewhere report a task once, when it is done, and count its prompts.
Report = Callable[[Task, int, int], None]
Results = Generator[tuple[Task, list[QueryScores]]]  # each task with the scores of its queries


def score_here(scorer: Scorer, tasks: Iterable[Task], report: Report) -> Results:
    """Yield each task with its scores, in the given order."""
    # While the model runs one task, a thread tokenizes and plans the next one only. An error in the
    # next task is raised after the current one was yielded.
    with sharing_beginnings(scorer), ThreadPoolExecutor(1, "prepare") as ahead:
        submitted = ((t, ahead.submit(scorer.prepare, t.prompts, t.candidates)) for t in tasks)
        current = next(submitted, None)
        while current is not None:
            task, preparation = current
            with naming_language(task.language):
                prepared = preparation.result()
            current = next(submitted, None)
            with naming_language(task.language):
                scored = scorer.score_prepared(prepared, partial(report, task))
            yield task, scored


@contextmanager
def sharing_beginnings(scorer: Scorer) -> Iterator[None]:
    """Let tasks share what all sentences begin with; the model must not change until the end."""
    scorer.engine.shares = True
    try:
        yield
    finally:
        scorer.engine.shares = False
        if scorer.model is not None:
            scorer.engine.path.forget()
