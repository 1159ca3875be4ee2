"""Ask several workers for the same rows in turn, in random order, round after round."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rows import Rows

WORKER = Path(__file__).with_name("worker.py")
# A short way is measured more often in a round, and its mean taken.
REPEATS = {"ours": 3, "floor": 3}


class Answer(NamedTuple):
    """What a worker made of some rows, in how many wall-clock and processor seconds."""

    value: Any
    wall: float
    cpu: float


class Worker:
    """A method in a process of its own, asked over a pipe."""

    def __init__(
        self,
        method: str,
        family: str,
        model: Path,
        *,
        python: str = sys.executable,
        threads: int = 2,
        dtype: str = "float32",
        log: Path,
    ) -> None:
        log.parent.mkdir(parents=True, exist_ok=True)
        self.name = method
        self.log = log
        options = ["--dtype", dtype, "--threads", str(threads)]
        with log.open("w") as errors:
            self.process = subprocess.Popen(
                [python, str(WORKER), method, family, str(model), *options],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, "OMP_NUM_THREADS": str(threads), "HF_HUB_OFFLINE": "1"},
            )

    def ask(self, rows: Rows) -> Answer:
        """Return the worker's answer; stop with the end of its log if it has died."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        line = json.dumps({"prompts": rows.prompts, "candidates": rows.candidates})
        with suppress(BrokenPipeError):  # told below, with the log
            print(line, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            self.process.wait()
            end = self.log.read_text(errors="replace")[-2000:]
            raise SystemExit(f"{self.name} stopped without an answer; its log ends:\n{end}")
        return Answer(**json.loads(answer))

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


class Lap(NamedTuple):
    """One method in one race: its scores, and its seconds a round (means over repeats)."""

    value: Any
    wall: list[float]
    cpu: list[float]


def race(workers: Sequence[Worker], rows: Rows, rounds: int, seed: int = 0) -> dict[str, Lap]:
    """Return what each worker made of the rows, after one unmeasured round of few rows."""
    order = random.Random(seed)
    few = Rows(rows.prompts[:2], rows.candidates[:2])
    for worker in workers:
        worker.ask(rows if worker.name == "floor" else few)
    laps = {worker.name: Lap(None, [], []) for worker in workers}
    for _ in range(rounds):
        turns = [worker for worker in workers for _ in range(REPEATS.get(worker.name, 1))]
        order.shuffle(turns)
        seconds: dict[str, list[Answer]] = {}
        for worker in turns:
            seconds.setdefault(worker.name, []).append(worker.ask(rows))
        for name, answers in seconds.items():
            laps[name].wall.append(float(np.mean([a.wall for a in answers])))
            laps[name].cpu.append(float(np.mean([a.cpu for a in answers])))
            laps[name] = laps[name]._replace(value=answers[-1].value)
    return laps


def find_ratio(slow: list[float], fast: list[float]) -> tuple[float, float, float]:
    """Return the median, least and greatest of the rounds' ratios."""
    ratios = np.array(slow) / np.array(fast)
    return float(np.median(ratios)), float(ratios.min()), float(ratios.max())


class Difference(NamedTuple):
    """How far scores are from others: largest error, rankings and first places that differ."""

    error: float
    rankings: int
    firsts: int
    queries: int


def compare(scores: list[list[float]], others: list[list[float]]) -> Difference:
    """Return the difference; equal scores are ranked in candidate order by both."""
    errors, rankings, firsts = [], 0, 0
    for row, other in zip(scores, others, strict=True):
        errors.append(np.abs(np.subtract(row, other)).max())
        orders = [np.argsort(-np.array(x), kind="stable").tolist() for x in (row, other)]
        rankings += orders[0] != orders[1]
        firsts += orders[0][0] != orders[1][0]
    return Difference(float(np.max(errors)), rankings, firsts, len(scores))  # nan stays nan
