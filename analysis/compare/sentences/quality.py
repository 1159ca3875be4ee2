"""Compute the quality of the texts: chrF between two wordings, and COMET's estimate of each."""

import json
import math
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from polyprobe.analysis.compare.options import REFERENCE_FREE
from polyprobe.metrics.joint.significance import Averages
from polyprobe.metrics.shared.intervals import Ratio, summarize
from polyprobe.system.messages import Console, PolyprobeError, missing, one_line, track

from .deltas import WordingTest
from .texts import ENGLISH, WordingTexts

# torchmetrics 0.10, which comet 2.2.7 needs, imports pkg_resources
INSTALL = "unbabel-comet 'setuptools<81'"
_FREE = f"give a reference-free model such as {REFERENCE_FREE}"
# Errors of the worker by stage.
REMEDIES = {
    "import": f"{{python}} cannot import comet ({{detail}}); {{python}} -m pip install {INSTALL}",
    "model": f"COMET cannot load --comet-model {{model!r}} ({{detail}}); {_FREE} (its licence is "
    "to be accepted on the Hub, with a login there) or the path of a checkpoint (.ckpt)",
    "references": "--comet-model {model!r} needs references, which are not available; " + _FREE,
    "predict": "COMET ({python}, {model}) failed ({detail}); try another --comet-model",
}
WORKER = Path(__file__).with_name("comet_worker.py")
Translation = tuple[str, str]  # source and translation


class LanguageOverlap(NamedTuple):
    """ChrF of one language, 0 to 100: over the corpus, and the mean of its sentences."""

    corpus: float
    sentences: float
    sentences_ci: list[float] | None


class Overlap(NamedTuple):
    """ChrF of the variant with the reference wording as reference."""

    by_language: dict[str, LanguageOverlap]
    signature: str  # sacreBLEU's
    scores: np.ndarray  # [rows, L]
    compared: str  # a key of `options.CHRF_UNITS`


class Quality(NamedTuple):
    """Estimated quality of both wordings as translations of the English sentence."""

    score: Averages | None  # None without such rows
    n_queries: int  # rows with an English sentence
    source: str  # configuration of the English sentences
    model: str  # of COMET, as the version
    version: str
    change: np.ndarray  # variant - reference [rows, L]; NaN where not scored


def measure_overlap(texts: WordingTexts, test: WordingTest, unit: str = "sentence") -> Overlap:
    """Compute chrF (Popović 2015) of the variant's texts against those of the reference.

    Fluent-mLAMA compares prompts, and a prompt without text has chrF 0.
    """
    try:
        from sacrebleu.metrics import CHRF
    except ImportError:
        raise missing("chrF", "sacrebleu") from None
    chrf = CHRF()
    n_resamples = min(test.options.get("n_resamples", 1000), 1000)
    resampling = {"n_resamples": n_resamples, "seed": test.options.get("seed", 0)}
    by_language, columns = {}, []
    for language in track(texts.variant, "chrF"):
        pair = (texts.variant[language], texts.reference[language])
        variants, references = texts.starts[language] if unit == "prompt" else pair
        scores = [
            chrf.sentence_score(text, [reference]).score
            for text, reference in zip(variants, references, strict=True)
        ]
        mean = summarize({"chrf": scores}, clusters=test.clusters, **resampling)
        corpus = chrf.corpus_score(variants, [references]).score
        by_language[language] = LanguageOverlap(corpus, mean["chrf"], mean["chrf_ci"])
        columns.append(scores)
    return Overlap(by_language, str(chrf.get_signature()), np.array(columns).T, unit)


def measure_quality(texts: WordingTexts, python: str, model: str, test: WordingTest) -> Quality:
    """Compare the mean scores of both wordings, of rows with an English sentence, by language."""
    change = np.full((len(texts.english), len(texts.variant)), np.nan)
    rows = [row for row, text in enumerate(texts.english) if text is not None]
    languages = [language for language in texts.variant if language != ENGLISH]
    if not rows or not languages:
        return Quality(None, len(rows), texts.english_from, "", "", change)
    sides = [
        [[(texts.english[row] or "", wording[x][row]) for row in rows] for x in languages]
        for wording in (texts.variant, texts.reference)
    ]
    # an equal text is scored once
    pairs = list(dict.fromkeys(pair for side in sides for column in side for pair in column))
    with Console(stderr=True).status(f"COMET scores {len(pairs):,} texts"):
        scores, version = score_translations(pairs, python, model)
    by_pair = dict(zip(pairs, scores, strict=True))
    variant, reference = (
        np.array([[by_pair[pair] for pair in column] for column in side]).T for side in sides
    )
    places = [[*texts.variant].index(x) for x in languages]
    change[np.ix_(rows, places)] = variant - reference
    ones = np.ones((len(rows), 1))
    measures = {"qe": (Ratio(variant, ones), Ratio(reference, ones))}
    averages = test.compare(languages, measures, rows)["qe"]
    return Quality(averages, len(rows), texts.english_from, model, version, change)


def score_translations(
    pairs: Sequence[Translation], python: str, model: str = REFERENCE_FREE
) -> tuple[list[float], str]:
    """Score (source, translation) pairs with COMET; return scores and COMET's version."""
    lines = "".join(json.dumps({"src": src, "mt": mt}) + "\n" for src, mt in pairs)
    try:
        process = subprocess.run(
            [python, str(WORKER), model],
            input=lines.encode(),
            capture_output=True,
            env={**os.environ, "PYTHONIOENCODING": "utf-8"},
            check=False,
        )
    except OSError as error:
        raise PolyprobeError(
            f"--comet-python {python}: {error.strerror}; make a Python for it with `python3 "
            f"-m venv DIR && DIR/bin/pip install {INSTALL}` and give DIR/bin/python"
        ) from error
    answer = _read_answer(process, python)
    if "error" in answer:
        detail, message = one_line(answer["detail"]), REMEDIES[answer["error"]]
        raise PolyprobeError(message.format(detail=detail, python=python, model=model))
    scores = answer["scores"]
    if len(scores) != len(pairs) or not all(map(math.isfinite, scores)):
        raise PolyprobeError(
            f"COMET ({python}, {model}) gave {len(scores)} scores for {len(pairs)} "
            "texts, or some that are not numbers; try another --comet-model"
        )
    return scores, answer["comet"]


def _read_answer(process: subprocess.CompletedProcess[bytes], python: str) -> dict[str, Any]:
    """Read the worker's output; refuse that of a program without the worker."""
    if process.returncode < 0:
        raise PolyprobeError(
            f"COMET ({python}) was killed by signal {-process.returncode}; if memory ran "
            "out, give a smaller --comet-model, or compare runs of fewer languages"
        )
    try:
        answer = json.loads(process.stdout.decode("utf-8"))
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        lines = (process.stdout or process.stderr).decode("utf-8", "replace").strip().splitlines()
        last = f": {one_line(lines[-1])}" if lines else ""
        raise PolyprobeError(
            f"--comet-python {python} ended with status {process.returncode} and no scores"
            f"{last}; expected a Python with unbabel-comet"
        )
    return answer
