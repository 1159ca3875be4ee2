"""Quality of the texts: chrF between the two wordings, and COMET's estimate of each."""

import json
import math
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console

from polyprobe.metrics.joint.significance import Averages, compare_averages
from polyprobe.metrics.shared.intervals import Ratio, summarize
from polyprobe.metrics.shared.rows import take
from polyprobe.system.errors import PolyprobeError
from polyprobe.system.extras import missing
from polyprobe.system.progress import track

from .texts import ENGLISH, Texts


class LanguageOverlap(NamedTuple):
    """ChrF of one language, 0 to 100: over the corpus, and the mean of its sentences."""

    corpus: float
    sentences: float
    sentences_ci: list[float] | None


class Overlap(NamedTuple):
    """ChrF of the other wording with the reference wording as reference.

    Attributes:
        by_language: its summary.
        signature: sacreBLEU's.
        each: of each row and language [rows, L].
        compared: `sentence`, with the answers in the slots, or `prompt`, the text up to the slot.
    """

    by_language: dict[str, LanguageOverlap]
    signature: str
    each: np.ndarray
    compared: str


def measure_overlap(texts: Texts, paired: Mapping[str, Any], compared: str = "sentence") -> Overlap:
    """Return chrF (Popović 2015) of the texts against those of the reference wording.

    Fluent-mLAMA compares prompts, and a prompt without text has chrF 0.
    """
    try:
        from sacrebleu.metrics import CHRF
    except ImportError:
        raise missing("chrF", "sacrebleu") from None
    chrf = CHRF()
    found, columns = {}, []
    for language in track(texts.other, "chrF"):
        written, references = texts.other[language], texts.reference[language]
        if compared == "prompt":
            written, references = texts.starts[language]
        each = [
            chrf.sentence_score(text, [reference]).score
            for text, reference in zip(written, references, strict=True)
        ]
        n_resamples = min(paired.get("n_resamples", 1000), 1000)
        options = {"seed": paired.get("seed", 0), "clusters": paired["clusters"]}
        mean = summarize({"chrf": each}, n_resamples=n_resamples, **options)
        corpus = chrf.corpus_score(written, [references]).score
        found[language] = LanguageOverlap(corpus, mean["chrf"], mean["chrf_ci"])
        columns.append(each)
    return Overlap(found, str(chrf.get_signature()), np.array(columns).T, compared)


REFERENCE_FREE = "Unbabel/wmt22-cometkiwi-da"
# torchmetrics 0.10, which comet 2.2.7 needs, imports pkg_resources
INSTALL = "unbabel-comet 'setuptools<81'"
WORKER = Path(__file__).with_name("comet_worker.py")
Pair = tuple[str, str]


class Comet(NamedTuple):
    """A Python with unbabel-comet, and a reference-free model: on the Hub, or a checkpoint."""

    python: str
    model: str = REFERENCE_FREE


class Quality(NamedTuple):
    """Estimated quality of both wordings as translations of the English sentence.

    Attributes:
        score: {macro, micro: one row for each language, `mean` last}; None without such rows.
        n_queries: number of rows with an English sentence.
        source: configuration of the English sentences; "" without any.
        model, version: of COMET; "" if nothing was scored.
        change: other - reference of each row and language [rows, L]; NaN where not scored.
    """

    score: Averages | None
    n_queries: int
    source: str
    model: str
    version: str
    change: np.ndarray


def measure_quality(texts: Texts, comet: Comet, paired: Mapping[str, Any]) -> Quality:
    """Return the mean scores of both wordings and other - reference, by language but English.

    Rows without an English sentence are excluded; `paired` is as in `compare_ranks`.
    """
    change = np.full((len(texts.english), len(texts.other)), np.nan)
    rows = [row for row, text in enumerate(texts.english) if text is not None]
    languages = [language for language in texts.other if language != ENGLISH]
    if not rows or not languages:
        return Quality(None, len(rows), texts.english_from, "", "", change)
    sides = [
        [[(texts.english[row] or "", wording[x][row]) for row in rows] for x in languages]
        for wording in (texts.other, texts.reference)
    ]
    asked = list(dict.fromkeys(pair for side in sides for pairs in side for pair in pairs))
    with Console(stderr=True).status(f"COMET scores {len(asked):,} texts"):
        scores, version = score(asked, comet)
    known = dict(zip(asked, scores, strict=True))
    tables = [np.array([[known[pair] for pair in pairs] for pairs in side]).T for side in sides]
    change[np.ix_(rows, [[*texts.other].index(x) for x in languages])] = tables[0] - tables[1]
    ratios = [Ratio(table, np.ones((len(rows), 1))) for table in tables]
    own = {name: take(paired[name], rows) for name in ("relations", "clusters")}
    found = compare_averages(languages, {"qe": (ratios[0], ratios[1])}, **{**paired, **own})
    return Quality(found["qe"], len(rows), texts.english_from, comet.model, version, change)


def score(pairs: Sequence[Pair], comet: Comet) -> tuple[list[float], str]:
    """Return COMET's scores of (source, translation) pairs, and its version; explain failures."""
    lines = "".join(json.dumps({"src": src, "mt": mt}) + "\n" for src, mt in pairs)
    try:
        done = subprocess.run(
            [comet.python, str(WORKER), comet.model],
            input=lines.encode(),
            capture_output=True,
            env={**os.environ, "PYTHONIOENCODING": "utf-8"},
            check=False,
        )
    except OSError as error:
        raise PolyprobeError(
            f"--comet-python {comet.python}: {error.strerror}; make a Python for it with `python3 "
            f"-m venv DIR && DIR/bin/pip install {INSTALL}` and give DIR/bin/python"
        ) from error
    answer = _read_answer(done, comet)
    if "error" in answer:
        raise PolyprobeError(_explain(answer, comet))
    scores: Any = answer.get("scores")
    listed = isinstance(scores, list)
    finite = listed and all(isinstance(x, float) and math.isfinite(x) for x in scores)
    if not finite or len(scores) != len(pairs):
        number = len(scores) if listed else "no"
        raise PolyprobeError(
            f"COMET ({comet.python}, {comet.model}) gave {number} scores for {len(pairs)} texts, "
            "or some that are not numbers; try another --comet-model"
        )
    return scores, str(answer.get("comet", "unknown"))


def _read_answer(done: subprocess.CompletedProcess[bytes], comet: Comet) -> dict[str, Any]:
    if done.returncode < 0:
        raise PolyprobeError(
            f"COMET ({comet.python}) was killed by signal {-done.returncode}; if memory ran out, "
            "give a smaller --comet-model or compare runs of fewer --languages"
        )
    try:
        answer = json.loads(done.stdout.decode("utf-8"))
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        lines = (done.stdout or done.stderr).decode("utf-8", "replace").strip().splitlines()
        last = f": {lines[-1].strip()[:200]}" if lines else ""
        raise PolyprobeError(
            f"--comet-python {comet.python} ended with status {done.returncode} and no scores"
            f"{last}; expected a Python with unbabel-comet"
        )
    return answer


def _explain(answer: Mapping[str, Any], comet: Comet) -> str:
    """Return the worker's error, with the remedy."""
    detail = answer.get("detail", "")
    return {
        "import": f"{comet.python} cannot import comet ({detail}); "
        f"{comet.python} -m pip install {INSTALL}",
        "model": f"COMET cannot load --comet-model {comet.model!r} ({detail}); give a reference-"
        f"free model such as {REFERENCE_FREE} (its licence is to be accepted on the Hub, with a "
        "login there) or the path of a checkpoint (.ckpt)",
        "references": f"--comet-model {comet.model!r} needs references, which are not available; "
        f"give a reference-free model such as {REFERENCE_FREE}",
    }.get(
        str(answer["error"]),
        f"COMET ({comet.python}, {comet.model}) failed ({detail}); try another --comet-model",
    )
