"""Time against the number of candidates, of queries and of languages, on small models."""

import io
import random
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, redirect_stderr
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import torch
from networks import NETWORKS
from race import Worker
from rows import Rows, take_rows
from timing import Entry, Setting, start

from polyprobe.eval import evaluate_model

MODELS = ["growth-decoder", "growth-encoder", "growth-encoder-decoder"]
CANDIDATES = (2, 10, 50, 200)
QUERIES = (50, 100, 200, 400)
LANGUAGES = (1, 2, 4, 8)
ORDER = ["en", "ru", "zh", "ar", "ja", "fr", "el", "ko"]
FIXED_QUERIES = 50
RUN_QUERIES = 100


class Curve(NamedTuple):
    """Median seconds at each size, and the exponent fitted to them (1 is linear)."""

    model: str
    what: str
    sizes: list[int]
    seconds: list[float]
    exponent: float


def measure(setting: Setting, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Return three curves a model."""
    torch.set_num_threads(setting.threads)
    found = []
    for model in MODELS:
        entry = Entry(model, NETWORKS[model].family, 0, ())
        with ExitStack() as stack:
            ours = start(stack, setting, entry, "ours")
            found += [
                _curve(model, "candidates", CANDIDATES, setting, _ask_candidates(setting, ours)),
                _curve(model, "queries", QUERIES, setting, _ask_queries(setting, ours)),
            ]
        found.append(_curve(model, "languages", LANGUAGES, setting, _ask_run(setting, model)))
    return [curve._asdict() for curve in found]


def fit_exponent(sizes: list[int], seconds: list[float]) -> float:
    """Return the slope of the least-squares line through the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def _curve(
    model: str,
    what: str,
    sizes: tuple[int, ...],
    setting: Setting,
    run: Callable[[int], float],
) -> Curve:
    run(sizes[0])
    rounds = [[run(size) for size in sizes] for _ in range(setting.rounds)]
    seconds = np.median(rounds, axis=0).tolist()
    return Curve(model, what, list(sizes), seconds, fit_exponent(list(sizes), seconds))


def _ask_candidates(setting: Setting, ours: Worker) -> Callable[[int], float]:
    """Return the seconds of 50 queries with so many candidates, drawn from the language's own."""
    rows = take_rows(setting.dataset, "en", FIXED_QUERIES)
    pool = sorted({c for row in take_rows(setting.dataset, "en").candidates for c in row})
    drawn = [random.Random(k).sample(pool, max(CANDIDATES)) for k in range(len(rows.prompts))]
    return lambda n: ours.ask(Rows(rows.prompts, [row[:n] for row in drawn])).wall


def _ask_queries(setting: Setting, ours: Worker) -> Callable[[int], float]:
    return lambda n: ours.ask(take_rows(setting.dataset, "en", n)).wall


def _ask_run(setting: Setting, model: str) -> Callable[[int], float]:
    """Return the seconds of a whole run, figures included, in so many languages."""

    def run(n: int) -> float:
        with (
            tempfile.TemporaryDirectory() as folder,
            patch.dict("os.environ", {"POLYPROBE_CACHE": folder}),
            redirect_stderr(io.StringIO()),  # progress bars
        ):
            begin = time.perf_counter()
            evaluate_model(
                str(setting.models / model),
                str(setting.dataset),
                "17",
                output=Path(folder) / "run",
                languages=ORDER[:n],
                sample=RUN_QUERIES,
                device="cpu",
            )
            return time.perf_counter() - begin

    return run
