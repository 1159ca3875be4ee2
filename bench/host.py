"""Measure the work around the model: processor time and peak memory of runs without scoring.

    python -m bench host [ROUNDS]       writes bench/host.md

An evaluation of 17 languages x 60 facts whose scores are all known, and the figures and the report
of a run of BMLAMA's size (random scores). Each is a process of its own with one thread.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

from bench.machine import find_cpu
from polyprobe.schema.languages import read_languages
from polyprobe.schema.load import IN_MEMORY
from polyprobe.schema.run.folder import SCORES, Run, fill_columns
from polyprobe.schema.run.settings import Settings

ROUNDS = 3
LANGUAGES, FACTS, CANDIDATES, RELATIONS = 53, 3042, 10, 41  # of BMLAMA
FEW = "ar,ca,el,en,es,fa,fr,he,hu,ja,ko,nl,ru,tr,uk,vi,zh"
EVALUATE = f"eval geolm --dataset geofacts --languages {FEW} --sample 60 --output"
CASES = {
    "eval of 17 languages x 60 facts, scores known": f"{EVALUATE} again",
    f"metrics of {LANGUAGES} languages x {FACTS:,} facts": "metrics full",
    "report of the same": "report full --output report.html",
}
HEAD = """\
# Work around the model

Written by `python -m bench host`. Rounds: {rounds} (medians), one thread of {cpu}; imports are
counted.

| command | processor time, s | peak memory, MB |
| --- | ---: | ---: |
"""


def main(argv: Sequence[str] = ()) -> None:
    """Measure all cases and write the table."""
    rounds = int(argv[0]) if argv else ROUNDS
    page = HEAD.format(rounds=rounds, cpu=find_cpu())
    with TemporaryDirectory() as place:
        write_run(Path(place, "full"))
        measure(f"{EVALUATE} first", place)
        for name, command in CASES.items():
            seconds, memory = zip(*(measure(command, place) for _ in range(rounds)), strict=True)
            page += f"| {name} | {median(seconds):.1f} | {median(memory):.0f} |\n"
    print(page)
    Path(__file__).with_suffix(".md").write_text(page, encoding="utf-8")


def write_run(folder: Path) -> None:
    """Write a run with random scores; facts are donors of each other in pairs."""
    random = np.random.default_rng(0)
    relations = [f"P{n * RELATIONS // FACTS}" for n in range(FACTS)]
    ids = [f"{x}:Q{n}:Q{n + FACTS}" for n, x in enumerate(relations)]
    donors = [n ^ 1 for n in range(FACTS)]
    has = np.array([relations[n] == relations[donors[n]] for n in range(FACTS)])
    answers = random.integers(CANDIDATES, size=(FACTS, 1))
    columns = {
        "fact_id": ids,
        "relation": relations,
        "answers": answers.tolist(),
        "flags": [[]] * FACTS,
        "donor": pa.array([ids[n] for n in donors], mask=~has),
        "donor_answers": _make_lists((answers + 1) % CANDIDATES, has),
    }
    languages = [x for x in read_languages() if x != "no"][:LANGUAGES]
    common, whole = random.normal(size=(FACTS, CANDIDATES)), np.ones(FACTS, dtype=bool)
    run = Run(folder)
    about = {"model": "random", "dataset": IN_MEMORY, "config": None, "scoring": "bmlama"}
    prints = dict.fromkeys(languages, "random")
    rows = {"languages": languages, "fingerprint": prints, "limit": None, "sample": None}
    run.open(Settings(**about, **rows, donor=True))
    for language in languages:
        for start, part in (("", whole), ("donor_", has)):
            scores = common + random.normal(size=common.shape)
            names = {"scores": scores, "bigrams": random.random(common.shape)}
            names["initials"] = random.random(common.shape) < 0.1
            columns |= {f"{start}{x}": _make_lists(values, part) for x, values in names.items()}
        for name in ("n_tokens", "n_characters"):
            columns[name] = _make_lists(random.integers(1, 20, size=common.shape), whole)
        columns |= {name: random.random(FACTS) for name in ("baseline", "majority")}
        made = {x: pa.array(y).cast(SCORES.field(x).type) for x, y in columns.items()}
        run.write(language, fill_columns(pa.table(made)))


def _make_lists(values: np.ndarray, rows: np.ndarray) -> pa.Array:
    return pa.array([x if y else None for x, y in zip(values.tolist(), rows, strict=True)])


def measure(command: str, place: str) -> tuple[float, float]:
    """Return the processor seconds and the peak memory in MB of a command."""
    environment = {
        **os.environ,
        **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
        "POLYPROBE_CACHE": f"{place}/cache",
    }
    words = [sys.executable, "-m", "polyprobe", *command.split()]
    process = subprocess.Popen(words, cwd=place, env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{command} failed")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
