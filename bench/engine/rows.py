"""The rows that are timed: BMLAMA-17 as published, spread over its relations."""

from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq

from polyprobe.eval.run.sample import choose_rows

CONFIG = "17"


class Rows(NamedTuple):
    """Queries of one language; `candidates[i]` are the fillers of the slot in `prompts[i]`."""

    prompts: list[str]
    candidates: list[list[str]]


def build_bmlama(folder: Path, mirror: Path | None) -> Path:
    """Return the folder of BMLAMA, built from the mirror or the network where it is not there."""
    if not (folder / "data" / CONFIG).is_dir():
        from polyprobe.builder.build import build_dataset  # here: workers do without the builder

        build_dataset("bmlama", [CONFIG], mirror, folder)
    return folder


def take_rows(dataset: Path, language: str, sample: int | None = None) -> Rows:
    """Return all rows of a language, or N of them spread over the relations (`choose_rows`)."""
    table = pq.read_table(dataset / "data" / CONFIG / f"{language}.parquet")
    chosen = table.take(choose_rows(table, sample=sample))
    return Rows(chosen["prompt"].to_pylist(), chosen["candidates"].to_pylist())


def take_sentences(dataset: Path) -> list[str]:
    """Return every candidate in its prompt, in all 17 languages."""
    files = sorted((dataset / "data" / CONFIG).glob("*.parquet"))
    return [
        prompt.replace("[Y]", candidate)
        for file in files
        for prompt, row in zip(*take_rows(dataset, file.stem), strict=True)
        for candidate in row
    ]
