"""Runs to export: a small real one, and one of as many languages as one likes."""

import json
import shutil
from itertools import combinations
from pathlib import Path

from polyprobe.schema.run.folder import RUN_SEAL, SEAL, Run
from polyprobe.system.files import hash_json
from tests.making import runs
from tests.making.facts import write_facts

ID = "someone/facts"


def make_run(folder: Path) -> Path:
    """Return a scored run of three languages and eight facts, written without a model."""
    return runs.write_run(folder / "run", write_facts(folder / "facts"), runs.SCORES).folder


def copy_run(run: Path, folder: Path, **results) -> Path:
    """Return a copy of a run with some of its results replaced."""
    copy = folder / "copy"
    shutil.copytree(run, copy)
    run = Run(copy)
    values = {**run.read_results(), **results, RUN_SEAL: run.seal}
    text = json.dumps({**values, SEAL: hash_json(values)})  # NaN too
    (copy / "results.json").write_text(text)
    return copy


def read_results(run: Path) -> dict:
    return Run(run).read_results()


def make_wide(folder: Path, n: int, **changed) -> Path:
    """Return a run of n languages whose figures encode their position: l7 has accuracy 7 / 1000."""
    languages = [f"l{i}" for i in range(n)]
    known = {
        "model": "someone/model_1", "revision": "0123abcd", "dataset": ID, "config": "17",
        "fingerprint": dict.fromkeys(languages, "abcdefabcdef"), "scoring": "bmlama-eq10",
        "bos": None,
    }  # fmt: skip
    settings = runs.make_settings(languages, **known | changed)
    pairs = [f"{one}-{other}" for one, other in combinations(languages, 2)]
    of_pairs = ("rankc", "rankc_adjusted", "coverlap")
    results = {
        "signature": settings.signature, "languages": languages, "n_queries": 100,
        "accuracy": {x: i / 1000 for i, x in enumerate(languages)},
        **{figure: dict.fromkeys(pairs, 0.5) for figure in of_pairs},
        "mean": {"accuracy": 0.25, **dict.fromkeys(of_pairs, 0.5)},
        "chance": {"accuracy": 0.1, "rankc": 0.2},
        "k_correct": [100.0], "k_share": None, "by_relation": {}, "intervals": {},
        "left_out": {"rankc_adjusted": 3, "coverlap": 0},
        "resampling": {"n_resamples": 0, "seed": 0, "clusters": "none"},
    }  # fmt: skip
    run = Run(folder / "wide")
    run.folder.mkdir(parents=True)
    run.open(settings)
    run.write_results(results)
    return run.folder
