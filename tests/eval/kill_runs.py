"""Run `evaluate_model` in children that are killed: kill_runs.py MODEL DATASET OUTPUT KILLS SEED.

The children are forked from one process that has imported everything, so that thirty of them take
seconds. Each ends at a random moment after it has saved a random number of tasks; the last one may
finish. The moment is counted in the child's own processor time, so that a busy machine changes
nothing. Prints the number of children killed while working, and the end of the last one.
"""

import os
import random
import signal
import sys
from collections.abc import Mapping
from typing import Any

from polyprobe.eval import evaluate_model
from polyprobe.eval.work import fill
from polyprobe.system.download import ContentStore

fill.CANDIDATES = 16  # a task of a few queries: many places to be killed at
ROWS = 4  # of a task, about


def main(model: str, dataset: str, output: str, kills: int, seed: int) -> None:
    draw = random.Random(seed)
    arguments = (model, dataset, output)
    for killed in range(kills):
        status = run(*arguments, ROWS * draw.randint(0, 2), draw.uniform(0.0001, 0.02))
        if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGPROF:
            sys.exit(f"child {killed} ended with status {status}: more tasks are needed")
    print(kills, run(*arguments))


def run(model: str, dataset: str, output: str, rows: int | None = None, seconds: float = 0) -> int:
    """Return the end of a child; with `rows`, it is killed some seconds after saving so many."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    if rows is not None:
        kill_after(rows, seconds)
    evaluate_model(model, dataset, output=output)
    os._exit(0)


def kill_after(rows: int, seconds: float) -> None:
    add, missing = ContentStore.add, rows

    def count(store: ContentStore, new: Mapping[bytes, Any]) -> None:
        nonlocal missing
        add(store, new)
        missing -= len(new)
        if missing <= 0 < missing + len(new):
            signal.setitimer(signal.ITIMER_PROF, seconds)

    ContentStore.add = count
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    if not rows:
        signal.setitimer(signal.ITIMER_PROF, seconds)


if __name__ == "__main__":
    main(*sys.argv[1:4], *map(int, sys.argv[4:]))
