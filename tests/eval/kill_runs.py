"""Run `evaluate_model` in children that are killed: kill_runs.py MODEL DATASET OUTPUT KILLS SEED.

The children are forked from one process that has imported everything, so that thirty of them take
seconds. Each is killed at a random moment after it has saved a random number of tasks; the last
one may finish. Prints the number of children killed while working, and the end of the last one.
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

from polyprobe.eval import evaluate_model
from polyprobe.eval.work import fill
from polyprobe.system.store import ContentStore

fill.CANDIDATES = 16  # a task of a few queries: many places to be killed at
ROWS = 4  # of a task, about


def main(model: str, dataset: str, output: str, kills: int, seed: int) -> None:
    draw = random.Random(seed)
    killed = 0
    while killed < kills:
        child = start(model, dataset, output)
        awaited = count_kept() + ROWS * draw.randint(0, 2)
        while count_kept() < awaited and not has_ended(child):
            time.sleep(0.001)
        time.sleep(draw.random() / 50)
        if has_ended(child):
            sys.exit(f"the run was over after {killed} kills: more tasks are needed")
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        killed += 1
    last = start(model, dataset, output)
    print(killed, os.waitpid(last, 0)[1])


def start(model: str, dataset: str, output: str) -> int:
    child = os.fork()
    if child:
        return child
    evaluate_model(model, dataset, output=output)
    os._exit(0)


def has_ended(child: int) -> bool:
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def count_kept() -> int:
    [*files] = Path(os.environ["POLYPROBE_CACHE"]).rglob("*.sqlite")
    return ContentStore(files[0], "scores").count() if files else 0


if __name__ == "__main__":
    main(*sys.argv[1:4], *map(int, sys.argv[4:]))
