"""Measure what the second questions (another subject, the same candidates) cost.

Run `python -m bench second [BMLAMA [MODEL]]`: BMLAMA is the folder of a built dataset, MODEL a
causal model for it (bench/smollm2.py fetches one). A run with second questions is compared with one
without: queries, their sentences (one for each candidate), tokens that the model reads (padding
included), and seconds on this machine, in turns, the better of two. Equal sentences of first and
second questions run once. It prints the table and writes it to bench/second.md.
"""

import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from polyprobe.eval.donors import deal_donors
from polyprobe.eval.questions import NO_DONORS, annotate
from polyprobe.eval.work.fill import make_tasks, queries_of
from polyprobe.eval.work.workers import score_here
from polyprobe.schema.load import load_facts
from polyprobe.scoring.load import load_scorer
from polyprobe.scoring.scorers import Scorer

ROUNDS = 2
HEAD = "| model, data | rows x languages | queries | sentences | tokens | seconds |"


class Case(NamedTuple):
    """Rows to score; without `timed` tokens are counted only."""

    name: str
    model: str
    tables: Mapping[str, pa.Table]
    timed: bool = True


def main(argv: Sequence[str] = ()) -> None:
    """Measure all cases and write the table."""
    masked = Path(__file__).parents[1] / "tests" / "data" / "models" / "masked"
    geofacts = partial(load_facts, "geofacts", None)
    cases = [
        Case("geolm (causal), geofacts", "geolm", geofacts(["en", "ru", "zh"])),
        Case("a small XLM-R (masked), geofacts", str(masked), geofacts(["en", "ru", "zh"])),
    ]
    if argv:
        tables = load_facts(argv[0], "17-repaired", ["en", "ru", "zh"])
        model = argv[1] if len(argv) > 1 else "geolm"
        cases.append(Case(f"{Path(model).name}, 17-repaired", model, tables, timed=False))
    lines = [HEAD, "| --- | ---: | ---: | ---: | ---: | ---: |", *map(measure, cases)]
    text = "\n".join(["# The cost of second questions", "", *lines, ""])
    print(text)
    Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")


def measure(case: Case) -> str:
    """Return one line: with second questions / without, and the ratio of both."""
    scorer = load_scorer(case.model)
    donors = deal_donors(next(iter(case.tables.values())))
    asked = [annotate(case.tables, chosen) for chosen in (NO_DONORS, donors)]
    rows_of = [[q for table in tables.values() for q in queries_of(table)] for tables in asked]
    queries = [len(rows) for rows in rows_of]
    sentences = [sum(len(candidates) for _, candidates in rows) for rows in rows_of]
    tokens = [count_tokens(scorer, tables) for tables in asked]
    rows = len(next(iter(case.tables.values())))
    cells = [compare(queries), compare(sentences), compare(tokens), "–"]
    if case.timed:
        found = [[run(scorer, tables) for tables in asked] for _ in range(ROUNDS)]
        cells[3] = compare([round(min(times), 1) for times in zip(*found, strict=True)])
    return f"| {case.name} | {rows:,} x {len(case.tables)} | {' | '.join(cells)} |"


def compare(pair: Sequence[float]) -> str:
    """Return `with / without (ratio)`."""
    without, both = pair
    return f"{both:,} / {without:,} ({both / without:.2f})"


def count_tokens(scorer: Scorer, tables: Mapping[str, pa.Table]) -> int:
    """Return the number of tokens that the model reads."""
    asked = {language: queries_of(table) for language, table in tables.items()}
    plans = (scorer.prepare(t.prompts, t.candidates).plan for t in make_tasks(asked, set()))
    engine = scorer.engine
    return sum(
        engine.path.size(batch)
        for plan in plans
        for batch, _ in engine.read_all(plan, lambda batch: None)
    )


def run(scorer: Scorer, tables: Mapping[str, pa.Table]) -> float:
    """Return the seconds of scoring all queries."""
    asked = {language: queries_of(table) for language, table in tables.items()}
    start = time.perf_counter()
    for _ in score_here(scorer, make_tasks(asked, set()), lambda *_: None):
        pass
    return time.perf_counter() - start
