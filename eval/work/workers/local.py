"""Score tasks in this process: the next one is prepared while the model runs."""

from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

from polyprobe.eval.scoring.scorers import Scored, Scorer
from polyprobe.eval.work.tasks import Task
from polyprobe.system.errors import PolyprobeError

Progress = Callable[[Task, int, int], None]  # a task, how many of its inputs are done, how many


def score_here(
    scorer: Scorer, tasks: Iterable[Task], progress: Progress
) -> Generator[tuple[Task, Scored]]:
    """Yield each task with its scores, in the order given.

    While the model runs one task, a thread tokenizes and plans the next, never more than one; what
    is wrong with the next comes up only after the one before it was yielded.

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
                scored = scorer.score_prepared(prepared, partial(progress, task))
            yield task, scored


@contextmanager
def naming_language(task: Task) -> Iterator[None]:
    """Put the task's language in front of what is wrong with it."""
    try:
        yield
    except PolyprobeError as error:
        raise PolyprobeError(f"language '{task.language}': {error}") from error
