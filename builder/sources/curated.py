"""Unfair distractors that readers of the data found and that are in no other source.

Wikidata of 2020 lists few official languages of organisations, one country for works of two, and
few former capitals. Verdicts: `found` (correct, or correct in one reading), `possible` (there is no
complete list of twin cities), `unfit` (incorrect, but insulting as a distractor). The file serves
to exclude distractors. No questions are made from it.
"""

from pathlib import Path

import polars as pl

from polyprobe.builder.facts import FACTS

from . import SOURCES

LICENCE, URL = SOURCES["curated"].values()
FOUND = Path(__file__).with_name("curated.csv")


def read_truths(mirror: Path | None = None) -> pl.DataFrame:
    """Return the rows of `curated.csv` as `facts.FACTS`, without network or mirror."""
    return pl.read_csv(FOUND, columns=list(FACTS), schema_overrides=FACTS)
