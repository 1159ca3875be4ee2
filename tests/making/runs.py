"""A run folder without a model: any scores over the small dataset of facts.py."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from polyprobe.analysis.figures.compute import compute_results
from polyprobe.analysis.options import Bootstrap
from polyprobe.eval.donors import deal_donors
from polyprobe.eval.questions import annotate
from polyprobe.schema.columns import fingerprint
from polyprobe.schema.load import load_facts
from polyprobe.schema.run.folder import SCORES as SCHEMA
from polyprobe.schema.run.folder import Run
from polyprobe.schema.run.settings import Settings

TIE = None
POOLS = (4, 4, 4, 4, 2, 2, 2, 2)
# The index of the first candidate in each language; those of en are correct in facts.py.
PICKS = {
    "en": (0, 1, 2, 3, 0, 1, 0, 1),
    "ru": (0, 1, 2, 0, 1, TIE, 0, 1),
    "zh_hans": (1, 1, TIE, 0, 1, 0, 0, 0),
}
COUNTS = {  # tied, both right, both wrong, different: counted by hand from PICKS
    ("en", "ru"): (1, 5, 0, 2),
    ("en", "zh_hans"): (1, 2, 0, 5),
    ("ru", "zh_hans"): (2, 2, 2, 2),
}


def scores(picks, pools=POOLS):
    """Return scores that put the picked candidates first; of a tie the first two are equal."""
    return [
        [2.0 if k == pick or (pick is TIE and k < 2) else -float(k) for k in range(size)]
        for pick, size in zip(picks, pools, strict=True)
    ]


SCORES = {language: scores(picks) for language, picks in PICKS.items()}


def make_settings(languages: list[str], **changes: Any) -> Settings:
    """Return settings of a run; those of a dataset are the same for all runs of its languages."""
    values = {
        "model": "synthetic", "revision": "r1", "dataset": "someone/facts", "config": None,
        "fingerprint": {x: f"{x}-facts" for x in languages}, "languages": languages,
        "limit": None, "sample": None, "scoring": "bmlama", "bos": "auto", "dtype": "float32",
        "device": "cpu",
    }  # fmt: skip
    return Settings(**values | changes)


def write_scores(
    run: Run,
    language: str,
    facts: pa.Table,
    values: list[list[float]],
    others: list[list[float]] | None = None,
) -> None:
    """Write the scores of the facts' candidates, each of one token; `others`: about donors."""
    names = SCHEMA.names[:5]
    columns = facts.select(names[:3]).to_pydict()
    columns |= {"scores": values, "n_tokens": [[1] * len(row) for row in values]}
    if others:
        names = [*names, "donor", "donor_scores", "donor_answers"]
        columns |= facts.select(["donor", "donor_answers"]).to_pydict()
        pairs = zip(others, columns["donor"], strict=True)
        columns["donor_scores"] = [row if donor else None for row, donor in pairs]
    schema = pa.schema([SCHEMA.field(name) for name in names])
    run.write(language, pa.table({x: columns[x] for x in names}, schema=schema))


def write_run(
    folder: Path,
    dataset: Path,
    scores: Mapping[str, list[list[float]]],
    model: str = "synthetic",
    rows: int | None = None,
    bootstrap: Bootstrap | None = None,
    scoring: str = "bmlama",
    donor_scores: Mapping[str, list[list[float]]] | None = None,
) -> Run:
    """Write run.json, scores/ and results.json; scores may cover only the dataset's first rows."""
    tables = load_facts(str(dataset), None, list(scores))
    prints = {x: fingerprint(table) for x, table in tables.items()}
    if donor_scores:
        tables = annotate(tables, deal_donors(tables[next(iter(scores))]))
    settings = make_settings(
        list(scores), model=model, dataset=str(dataset), fingerprint=prints, limit=rows,
        scoring=scoring,
        attention="sdpa", path="tree", batch_tokens=512,
    )  # fmt: skip
    run = Run(folder)
    run.open(settings)
    for language, values in scores.items():
        others = donor_scores and donor_scores[language]
        write_scores(run, language, tables[language].slice(0, rows), values, others)
    compute_results(run, bootstrap or Bootstrap())
    return run


def reseal(folder: Path, without: tuple[str, ...] = (), **changes) -> None:
    """Change run.json and its checksums as if polyprobe had written the run as it is now."""
    values = {**json.loads((folder / "run.json").read_text(encoding="utf-8")), **changes}
    values["files"] = {
        file.stem: hashlib.sha256(file.read_bytes()).hexdigest()
        for kind in ("scores", "predictions")
        for file in folder.glob(f"{kind}/*.parquet")
    }
    kept = {name: value for name, value in values.items() if name not in ("sha256", *without)}
    Run(folder).write_json("run.json", kept)


def make_random_run(folder, languages, seed=0, rows=240):
    random = np.random.default_rng(seed)
    table = next(iter(load_facts("geofacts", languages=languages).values()))
    sizes = [len(found) for found in table["candidates"].to_pylist()[:rows]]
    common = [random.normal(size=size) for size in sizes]
    scores = {
        x: [(level * part + random.normal(size=len(part))).tolist() for part in common]
        for x, level in zip(languages, np.linspace(0.2, 2, len(languages)), strict=True)
    }
    return write_run(folder, "geofacts", scores, "/gone/synthetic", rows, Bootstrap(50))


def read_files(folder):
    return {f.relative_to(folder): f.read_bytes() for f in folder.rglob("*") if f.is_file()}
