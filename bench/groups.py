"""Measure false positives of the tests of groups, and the time of `polyprobe groups`.

    python -m bench groups [SAMPLES]        writes bench/groups.md

Nothing differs between the groups, but rows are alike: those of a fact in 20 languages, those of
the facts of a subject, or those of a language.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

from polyprobe.metrics.joint.groups import compare_counts, permute_groups
from polyprobe.metrics.shared.intervals import sum_by
from polyprobe.schema.languages import read_languages
from polyprobe.schema.run.folder import SCORES, Run, fill_columns
from polyprobe.schema.run.settings import Settings

SAMPLES, PERMUTATIONS = 2000, 999
LEVEL = 0.05
N_LANGUAGES = 20
FACTS, CANDIDATES, MANY = 3000, 8, 53
Units = tuple[np.ndarray, np.ndarray]  # right and wrong of each unit, and its group


def draw_facts(random: np.random.Generator) -> Units:
    """Return 200 facts in three groups; each is right with its own probability in 20 languages."""
    right = random.binomial(N_LANGUAGES, random.beta(0.5, 0.5, 200))
    return _count(right, np.full(200, N_LANGUAGES)), random.integers(0, 3, 200)


def draw_independent(random: np.random.Generator) -> Units:
    """Return 200 facts in three groups, all rows right with the probability .4."""
    right = random.binomial(N_LANGUAGES, 0.4, 200)
    return _count(right, np.full(200, N_LANGUAGES)), random.integers(0, 3, 200)


def draw_subjects(random: np.random.Generator) -> Units:
    """Return 100 subjects in two groups: 1 to 8 facts in 20 languages, known as the subject is."""
    n = N_LANGUAGES * random.integers(1, 9, 100)
    return _count(random.binomial(n, random.beta(0.5, 0.5, 100)), n), random.integers(0, 2, 100)


def draw_languages(random: np.random.Generator) -> Units:
    """Return 20 languages, 4 of them in one script; each has its own accuracy on 1,000 facts."""
    right = random.binomial(1000, random.beta(8, 8, N_LANGUAGES))
    return _count(right, np.full(N_LANGUAGES, 1000)), (np.arange(N_LANGUAGES) < 4).astype(int)


def _count(right: np.ndarray, n: np.ndarray) -> np.ndarray:
    return np.column_stack([right, n - right]).astype(float)


DESIGNS: dict[str, Callable[[np.random.Generator], Units]] = {
    "200 facts in 3 groups, rows of a fact alike": draw_facts,
    "200 facts in 3 groups, all rows independent": draw_independent,
    "100 subjects in 2 groups, 1 to 8 facts, rows of a subject alike": draw_subjects,
    "20 languages, 4 of them in a group, rows of a language alike": draw_languages,
}


def reject(draw: Callable[[np.random.Generator], Units], samples: int) -> tuple[float, float]:
    """Return the share of samples with p ≤ .05 by the chi-squared test, and by the permutation."""
    random, found = np.random.default_rng(2026), np.zeros(2)
    for seed in range(samples):
        units, codes = draw(random)
        n = 10_000 if len(units) == N_LANGUAGES else PERMUTATIONS
        p = compare_counts(sum_by(codes, units)).p, permute_groups(units, codes, n, seed).p
        found += [value is not None and value <= LEVEL for value in p]
    plain, permuted = (found / samples).tolist()
    return plain, permuted


def write_many(folder: Path) -> None:
    """Write a run of random scores: 53 languages, 3,000 facts of 1,000 subjects."""
    random, languages = np.random.default_rng(0), [*read_languages()][:MANY]
    run = Run(folder)
    prints = dict.fromkeys(languages, "0")
    names = ("model", "revision", "dataset", "config", "fingerprint", "languages", "limit")
    values = ("random", "r1", "facts", None, prints, languages, None)
    further = {"sample": None, "scoring": "bmlama", "bos": None, "dtype": "-", "device": "cpu"}
    run.open(Settings(**dict(zip(names, values, strict=True)), **further))
    common = random.normal(size=(FACTS, CANDIDATES))
    for language in languages:
        columns = {
            "fact_id": [f"P{n % 40}:Q{n % 1000}:Q{n % 77}" for n in range(FACTS)],
            "relation": [f"P{n % 40}" for n in range(FACTS)],
            "answers": [[0]] * FACTS,
            "scores": (common + random.normal(size=common.shape)).tolist(),
            "n_tokens": [[1] * CANDIDATES] * FACTS,
        }
        run.write(language, fill_columns(pa.table(columns, schema=pa.schema([*SCORES][:5]))))


def time_command(folder: Path, by: str) -> float:
    """Return the processor seconds of `polyprobe groups`, imports included: the second call.

    On a free core they are the wall time; other programs make that larger, and these hardly.
    """
    code = "import sys; from polyprobe.cli import run; run()"
    command = [sys.executable, "-c", code, "groups", str(folder), "--by", by]
    for _ in range(2):
        used = os.times()
        subprocess.run(command, check=True, capture_output=True)
    now = os.times()
    return now.children_user + now.children_system - used.children_user - used.children_system


def main(argv: Sequence[str] = ()) -> None:
    """Print both tables and write them to bench/groups.md."""
    samples = int(argv[0]) if argv else SAMPLES
    lines = [
        "# Tests of groups that do not differ",
        "",
        f"`python -m bench groups`: {samples:,} samples per row; share with p ≤ .05. Standard "
        f"error of 5%: {np.sqrt(LEVEL * (1 - LEVEL) / samples):.1%}. {PERMUTATIONS} permutations "
        "of whole facts or subjects, all of languages.",
        "",
        "| rows | χ² | permuted |",
        "| --- | ---: | ---: |",
    ]
    for name, draw in DESIGNS.items():
        plain, permuted = reject(draw, samples)
        lines.append(f"| {name} | {plain:.1%} | {permuted:.1%} |")
        print(lines[-1], flush=True)
    lines += [
        "",
        f"Processor seconds of `polyprobe groups` on {MANY} languages and {FACTS:,} facts of "
        f"{CANDIDATES} candidates, imports included:",
        "",
        "| --by | seconds |",
        "| --- | ---: |",
    ]
    with TemporaryDirectory() as folder:
        write_many(Path(folder) / "run")
        for by in ("script", "family", "relation"):
            lines.append(f"| {by} | {time_command(Path(folder) / 'run', by):.1f} |")
            print(lines[-1], flush=True)
    Path(__file__).with_suffix(".md").write_text("\n".join([*lines, ""]), encoding="utf-8")
