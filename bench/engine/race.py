"""Measure relative speed: run all methods of a model on the same rows, in several rounds.

In each round the methods take turns in random order. All scores are compared with the reference's.
"""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from transformers import AutoTokenizer

from .floor import count_merged, count_naive, fill_rows
from .models import Rows, Setting, take_rows
from .worker import group, show

ROOT = Path(__file__).parents[2]
WORKER = "bench.engine.worker"
# Fast methods run several times in a round; their mean counts.
REPEATS = {"ours": 3, "floor": 3}


class Answer(NamedTuple):
    """A worker's result for rows, with wall-clock and processor seconds."""

    value: Any
    wall: float
    cpu: float


class Worker:
    """A method in its own process, called through a pipe."""

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
                [python, "-m", WORKER, method, family, str(model.resolve()), *options],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, "OMP_NUM_THREADS": str(threads), "HF_HUB_OFFLINE": "1"},
            )

    def ask(self, rows: Rows) -> Answer:
        """Return the worker's answer; exit with the end of its log if it has stopped."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        line = json.dumps({"prompts": rows.prompts, "candidates": rows.candidates})
        with suppress(BrokenPipeError):  # reported below, with the log
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
    """One method in one race: its scores and seconds per round (means over repeats)."""

    value: Any
    wall: list[float]
    cpu: list[float]


def race(
    workers: Sequence[Worker],
    rows: Rows,
    rounds: int,
    repeats: Mapping[str, int] = REPEATS,
    seed: int = 0,
) -> dict[str, Lap]:
    """Return the results of each worker, after one untimed round with few rows."""
    order = random.Random(seed)
    few = Rows(rows.prompts[:2], rows.candidates[:2])
    for worker in workers:
        worker.ask(rows if worker.name == "floor" else few)
    laps = {worker.name: Lap(None, [], []) for worker in workers}
    for _ in range(rounds):
        turns = [worker for worker in workers for _ in range(repeats.get(worker.name, 1))]
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
    """Return the median, minimum and maximum of the rounds' ratios."""
    ratios = np.array(slow) / np.array(fast)
    return float(np.median(ratios)), float(ratios.min()), float(ratios.max())


class Difference(NamedTuple):
    """The difference of two sets of scores: largest error, differing rankings and first places."""

    error: float
    rankings: int
    firsts: int
    queries: int


def compare(scores: list[list[float]], others: list[list[float]]) -> Difference:
    """Return the difference; ties are ranked in candidate order in both."""
    errors, rankings, firsts = [], 0, 0
    for row, other in zip(scores, others, strict=True):
        errors.append(np.abs(np.subtract(row, other)).max())
        orders = [np.argsort(-np.array(x), kind="stable").tolist() for x in (row, other)]
        rankings += orders[0] != orders[1]
        firsts += orders[0][0] != orders[1][0]
    return Difference(float(np.max(errors)), rankings, firsts, len(scores))  # nan stays nan


LANGUAGES = ("en", "ru")
TOLERANCE = 1e-4
# llama.cpp's server sums the vocabulary's probabilities in float32: they add up to 1.0001 to 1.0002
# here, so each log-probability is that much too high. Renormalised, they are within 1e-4.
TOLERANCES = {"llama.cpp": 5e-4}
CHECKED = 4  # rows on which a peer's own quantity is checked


class Entry(NamedTuple):
    """A model in the race, its rows per language, and the peers that support its family."""

    model: str
    family: str
    sample: int
    peers: tuple[str, ...]


# {peer: the interpreter of `Setting` that has it}.
INTERPRETERS = {
    "lm-eval": "peers",
    "lm-pub-quiz": "peers",
    "vLLM": "servers",
    "llama.cpp": "servers",
}
# Peers whose scores are a different quantity from the reference's.
OWN_QUANTITY = ("lm-pub-quiz",)
ENTRIES = {
    "decoder": [Entry("decoder", "causal", 24, ("smart", *INTERPRETERS))],
    "encoder": [
        Entry("encoder-30k", "masked", 24, ("lm-pub-quiz",)),
        Entry("encoder-250k", "masked", 12, ("lm-pub-quiz",)),
    ],
    "encoder-decoder": [
        Entry("encoder-decoder-30k", "seq2seq", 24, ("lm-eval",)),
        Entry("encoder-decoder-250k", "seq2seq", 12, ("lm-eval",)),
    ],
}


class Timed(NamedTuple):
    """One model on the rows of one language.

    Attributes:
        model: name of the folder.
        family: causal, masked or seq2seq.
        language: language of the rows.
        n_rows: number of rows.
        wall: seconds of each round, by method.
        cpu: processor seconds of each round, by method.
        error: difference from the reference, of ours and of each peer with the same quantity.
        own: largest error of a peer from the reference implementation of the peer's quantity.
        operations: floating-point operations of the floor.
        naive: `Work` of the reference.
        merged: `Work` left after identical prompts and prefixes are merged.
        kinds: share of our time by kind of operator.
    """

    model: str
    family: str
    language: str
    n_rows: int
    wall: dict[str, list[float]]
    cpu: dict[str, list[float]]
    error: dict[str, Difference]
    own: dict[str, float]
    operations: float
    naive: list[int]
    merged: list[int]
    kinds: dict[str, float]


def list_models(part: str) -> list[str]:
    """Return the models of a part, and the files for llama.cpp."""
    return [
        model
        for entry in ENTRIES[part]
        for model in (entry.model, *([f"{entry.model}.gguf"] * ("llama.cpp" in entry.peers)))
    ]


def time_part(part: str, setting: Setting, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Return the races of a part's models, as JSON."""
    return [_as_json(timed) for e in ENTRIES[part] for timed in time_entry(e, setting, say)]


def time_entry(entry: Entry, setting: Setting, say: Callable[[str], None]) -> list[Timed]:
    """Race all methods of a model, and profile ours."""
    found = []
    has = {peer: getattr(setting, name) for peer, name in INTERPRETERS.items()}
    peers = [peer for peer in entry.peers if has.get(peer, True)]
    with ExitStack() as stack:
        workers = [
            start(stack, setting, entry, m) for m in ("reference", "ours", "floor", "operators")
        ]
        workers += [start(stack, setting, entry, m) for m in peers]
        own = check_own(stack, setting, entry, [w for w in workers if w.name in OWN_QUANTITY])
        for language in LANGUAGES:
            rows = take_rows(setting.dataset, language, setting.rows or entry.sample)
            laps = race([w for w in workers if w.name != "operators"], rows, setting.rounds)
            seconds = workers[3].ask(rows).value
            say(f"{entry.model}, {language}: ours by operator\n{show(seconds)}")
            found.append(_collect(entry, setting, language, rows, laps, own, seconds))
    return found


def start(stack: ExitStack, setting: Setting, entry: Entry, method: str, **more: str) -> Worker:
    """Return a running worker that is closed with the stack."""
    python = getattr(setting, INTERPRETERS.get(method, ""), None)
    worker = Worker(
        method,
        entry.family,
        setting.models / entry.model,
        threads=setting.threads,
        log=setting.logs / f"{entry.model}-{method}.log",
        python=str(python or sys.executable),
        **more,
    )
    stack.callback(worker.close)
    return worker


def check_own(
    stack: ExitStack, setting: Setting, entry: Entry, workers: list[Worker]
) -> dict[str, float]:
    """Return each peer's error from a plain implementation of its quantity; stop if it is large."""
    if not workers:
        return {}
    plain = start(stack, setting, entry, "peer-quantity")
    rows = take_rows(setting.dataset, "ru", CHECKED)
    expected = plain.ask(rows).value
    errors = {w.name: compare(w.ask(rows).value, expected).error for w in workers}
    plain.close()
    for name, error in errors.items():
        stop_if_wrong(f"{name}, {entry.model}, its own quantity", error)
    return errors


def stop_if_wrong(what: str, error: float, tolerance: float = TOLERANCE) -> None:
    """Stop the benchmark if scores are wrong, since their time is meaningless."""
    if not error <= tolerance:
        raise SystemExit(f"{what}: scores differ from the reference's by {error:.2g}")


def _collect(
    entry: Entry,
    setting: Setting,
    language: str,
    rows: Rows,
    laps: dict[str, Lap],
    own: dict[str, float],
    seconds: dict[str, float],
) -> Timed:
    same = [name for name in laps if name not in ("reference", "floor", *OWN_QUANTITY)]
    errors = {name: compare(laps[name].value, laps["reference"].value) for name in same}
    for name, difference in errors.items():
        tolerance = TOLERANCES.get(name, TOLERANCE)
        stop_if_wrong(f"{name}, {entry.model}, {language}", difference.error, tolerance)
    tokenizer = AutoTokenizer.from_pretrained(setting.models / entry.model)
    filled = fill_rows(entry.family, tokenizer, rows)
    return Timed(
        entry.model,
        entry.family,
        language,
        len(rows.prompts),
        {name: lap.wall for name, lap in laps.items()},
        {name: lap.cpu for name, lap in laps.items()},
        errors,
        own,
        laps["floor"].value,
        list(count_naive(entry.family, filled)),
        list(count_merged(entry.family, rows.prompts, filled, "prompt")),
        group(seconds),
    )


def _as_json(timed: Timed) -> dict[str, Any]:
    return {**timed._asdict(), "error": {n: d._asdict() for n, d in timed.error.items()}}
