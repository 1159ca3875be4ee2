"""Ask for the same facts in four ways: cloze, chat, letters and free answer, paired.

Run `python -m bench asking`. The model is SmolLM2-135M-Instruct (see `bench smollm2`), the facts
are a sample of geofacts. It prints the tables and writes them to bench/asking.md. Run folders are
runs/asking-*; an interrupted run is resumed.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.smollm2 import RUNS, fetch_model
from polyprobe.eval import evaluate_model
from polyprobe.schema.run.folder import Run

LANGUAGES = ["en", "fr", "es", "de"]
SAMPLE, SEED, RESAMPLES = 160, 0, 10_000
WAYS: dict[str, dict[str, Any]] = {
    "cloze": {"scoring": "object"},
    "chat": {"scoring": "object", "chat": True},
    "letters": {"scoring": "letters", "chat": True},
    "answer": {"scoring": "answer", "chat": True, "answer_tokens": 24},
}


def main(argv: Sequence[str] = ()) -> None:
    """Make the four runs, write the tables."""
    RUNS.mkdir(exist_ok=True)
    model, right = str(fetch_model(RUNS)), {}
    for way, options in WAYS.items():
        run = Run(RUNS / f"asking-{way}")
        asked = {"sample": SAMPLE, "languages": LANGUAGES, "donor": False, **options}
        evaluate_model(model, "geofacts", output=run.folder, **asked)
        right[way] = np.array([read_right(run, language) for language in LANGUAGES])
    text = "\n".join(list_lines(right)) + "\n"
    print(text)
    Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")


def read_right(run: Run, language: str) -> list[float]:
    """Return for each fact the probability that the first candidate is right; ties are split."""
    rows = run.read(language).select(["scores", "answers"]).to_pylist()
    return [_rate(row["scores"], row["answers"]) for row in rows]


def _rate(scores: Sequence[float], answers: Sequence[int]) -> float:
    first = [place for place, score in enumerate(scores) if score == max(scores)]
    if len(first) == len(scores):  # an answer that names no object
        return 0.0
    return len({*first} & {*answers}) / len(first)


def list_lines(right: Mapping[str, np.ndarray]) -> Iterator[str]:
    """Yield accuracy by way and language, and the gaps to English with their differences."""
    n = next(iter(right.values())).shape[1]
    yield "# The same facts in four ways"
    yield ""
    yield (
        f"SmolLM2-135M-Instruct (4-bit GGUF) on {n} facts of geofacts. Accuracy, and its 95% "
        f"interval from {RESAMPLES:,} resamples of the facts, which are the same in every way and "
        "language. Cloze, chat and letters choose among the candidates of a fact (6 to 10), an "
        "answer names any object of its relation, or none."
    )
    samples = np.random.default_rng(SEED).integers(n, size=(RESAMPLES, n))
    means = {way: values[:, samples].mean(axis=-1) for way, values in right.items()}
    yield from _head(LANGUAGES)
    for way, values in right.items():
        rows = zip(values.mean(axis=-1), means[way], strict=True)
        yield _row(way, [_show(*row) for row in rows])
    yield ""
    yield "Gap: accuracy in English less that in the language. Below it, the gap less cloze's."
    yield from _head(LANGUAGES[1:])
    gaps = {x: (y.mean(axis=-1)[0] - y.mean(axis=-1)[1:]) for x, y in right.items()}
    drawn = {way: of[0] - of[1:] for way, of in means.items()}
    for way in right:
        yield _row(f"gap, {way}", map(_show, gaps[way], drawn[way]))
    for way in [*right][1:]:
        rows = map(_show, gaps[way] - gaps["cloze"], drawn[way] - drawn["cloze"])
        yield _row(f"{way} less cloze", rows)


def _head(names: Sequence[str]) -> Iterator[str]:
    yield from ("", _row("", names), _row("---", ["---:"] * len(names)))


def _row(name: str, cells: Iterator[str] | Sequence[str]) -> str:
    return f"| {' | '.join([name, *cells])} |"


def _show(value: float, resampled: np.ndarray) -> str:
    low, high = np.quantile(resampled, [0.025, 0.975])
    return f"{value:.3f} [{low:.3f}, {high:.3f}]"
