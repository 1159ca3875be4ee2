"""Time by the number of candidates, queries and languages, on small models."""

import io
import random
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, redirect_stderr
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch
from xml.sax.saxutils import escape

import numpy as np
import torch

from polyprobe.eval import evaluate_model

from .models import NETWORKS, Rows, Setting, take_rows
from .race import Entry, Worker, start

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
    """Return three curves for each model."""
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
    """Return a function: the seconds of 50 queries with n candidates, sampled from the language."""
    rows = take_rows(setting.dataset, "en", FIXED_QUERIES)
    pool = sorted({c for row in take_rows(setting.dataset, "en").candidates for c in row})
    drawn = [random.Random(k).sample(pool, max(CANDIDATES)) for k in range(len(rows.prompts))]
    return lambda n: ours.ask(Rows(rows.prompts, [row[:n] for row in drawn])).wall


def _ask_queries(setting: Setting, ours: Worker) -> Callable[[int], float]:
    return lambda n: ours.ask(take_rows(setting.dataset, "en", n)).wall


def _ask_run(setting: Setting, model: str) -> Callable[[int], float]:
    """Return a function: the seconds of a complete run, with figures, in n languages."""

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


WIDTH, HEIGHT, MARGIN, GAP = 300, 260, 56, 24
WHAT = ("candidates", "queries", "languages")
# Okabe and Ito's blue, vermilion and bluish green: distinguishable with colour blindness.
COLOURS = {"decoder": "#0072b2", "encoder": "#d55e00", "encoder-decoder": "#009e73"}
STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#333}.axis{stroke:#999}.grid{stroke:#ddd}"
    ".linear{stroke:#999;stroke-dasharray:4 4}.sheet{fill:#fff}"
)


def draw_growth(curves: list[dict[str, Any]]) -> str:
    """Return the plot; the dashed line is linear growth from the first point of the first line."""
    width = len(WHAT) * (WIDTH + GAP) + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT + 96}" '
        f'role="img" aria-label="seconds against candidates, queries and languages">',
        f"<style>{STYLE}</style>",
        f'<rect class="sheet" width="{width}" height="{HEIGHT + 96}"/>',
    ]
    for k, what in enumerate(WHAT):
        shown = [curve for curve in curves if curve["what"] == what]
        if shown:
            place = f'<g transform="translate({MARGIN + k * (WIDTH + GAP)},24)">'
            parts += [place, *_panel(what, shown), "</g>"]
    return "\n".join([*parts, *_legend(), "</svg>"]) + "\n"


def _panel(what: str, curves: list[dict[str, Any]]) -> list[str]:
    sizes = np.array(curves[0]["sizes"], dtype=float)
    seconds = np.array([curve["seconds"] for curve in curves])
    low, high = np.floor(np.log10(seconds.min())), np.ceil(np.log10(seconds.max()))
    right = WIDTH - MARGIN / 2

    def x(size: float) -> float:
        return float(right * np.log(size / sizes[0]) / np.log(sizes[-1] / sizes[0]))

    def y(value: float) -> float:
        return float(HEIGHT * (high - np.log10(value)) / (high - low))

    parts = [f'<text x="{right / 2:.0f}" y="{HEIGHT + 36}" text-anchor="middle">{what}</text>']
    for power in range(int(low), int(high) + 1):
        at = y(10.0**power)
        parts.append(f'<path class="grid" d="M0 {at:.1f}H{right:.1f}"/>')
        parts.append(f'<text x="-6" y="{at + 4:.1f}" text-anchor="end">{10.0**power:g} s</text>')
    for size in sizes:
        parts.append(
            f'<text x="{x(size):.1f}" y="{HEIGHT + 18}" text-anchor="middle">{size:g}</text>'
        )
    parts.append(f'<path class="axis" fill="none" d="M0 0V{HEIGHT}H{right:.1f}"/>')
    parts.append(_linear(sizes, seconds[0], x, y, 10.0**high))
    for curve in curves:
        points = [(x(s), y(t), s, t) for s, t in zip(curve["sizes"], curve["seconds"], strict=True)]
        parts += _line(curve, points)
    return parts


def _linear(sizes: np.ndarray, seconds: np.ndarray, x: Any, y: Any, top: float) -> str:
    """Return the dashed line of linear growth, clipped at the panel's upper edge."""
    last = min(float(sizes[-1]), float(sizes[0] * top / seconds[0]))
    end = float(seconds[0] * last / sizes[0])
    return (
        f'<path class="linear" d="M{x(sizes[0]):.1f} {y(seconds[0]):.1f}L{x(last):.1f} '
        f'{y(end):.1f}"/>'
    )


def _line(curve: dict[str, Any], points: list[tuple[float, float, float, float]]) -> list[str]:
    name = curve["model"].removeprefix("growth-")
    colour = COLOURS[name]
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b, _, _ in points)
    dots = [
        f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3.5" fill="{colour}">'
        f"<title>{escape(name)}, {size:g}: {seconds:.2f} s</title></circle>"
        for a, b, size, seconds in points
    ]
    return [f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{path}"/>', *dots]


def _legend() -> list[str]:
    parts = []
    for k, (name, colour) in enumerate(COLOURS.items()):
        at = MARGIN + 150 * k
        parts.append(f'<circle cx="{at}" cy="{HEIGHT + 80}" r="4" fill="{colour}"/>')
        parts.append(f'<text x="{at + 10}" y="{HEIGHT + 84}">{name}</text>')
    at = MARGIN + 150 * len(COLOURS)
    parts.append(f'<path class="linear" d="M{at} {HEIGHT + 80}h24"/>')
    parts.append(f'<text x="{at + 30}" y="{HEIGHT + 84}">linear</text>')
    return parts
