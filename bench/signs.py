"""Measure the sign-flip test of centred RankC on real rows with real donors, for bench/coverage.py.

A model scores a candidate in a sentence once in each of two languages: by an order of the entities
that both languages share, with as much noise, and `ADVANTAGE` more if the candidate answers the
sentence and the model knows it. Without knowledge in one of the languages the null hypothesis is
true.
"""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from polyprobe.analysis.figures.facts import ScoredFacts
from polyprobe.analysis.figures.units import link_donors, read_clusters
from polyprobe.metrics.rankc_subject.formulas import flip_signs
from polyprobe.schema.load import load_facts
from polyprobe.schema.run.rows import apply_choice, choose_to_score, make_choice

from .dealt import Dealt

ADVANTAGE = 3.0  # standard deviations of the order
SAMPLE = 600  # rows of 17-repaired
SHARE = 0.2  # of the facts that are known in both languages, for the power
RELATIONS = ("P140", "P39", "P103")
LANGUAGES = ("a", "b")
# Share of the facts that each language knows: the same ones in both.
NOTHING, ONE, BOTH = (0.0, 0.0), (1.0, 0.0), (SHARE, SHARE)


class Rows(NamedTuple):
    """Rows of a dataset; of each sample, or a `sample` of them."""

    name: str
    dealt: Dealt
    rows: np.ndarray
    sample: int | None = None

    def score(self, random: np.random.Generator, shares: tuple[float, float]) -> ScoredFacts:
        """Score the rows with a model that knows shares of the facts."""
        dealt, rows = self.dealt, self.rows
        if self.sample:
            rows = np.sort(random.choice(rows, self.sample, replace=False))
        order = random.normal(size=dealt.entities.max() + 1)[dealt.entities]
        places = random.random(dealt.sentences.max() + 1)[dealt.sentences]
        scores = {
            x: order + random.normal(size=len(order)) + ADVANTAGE * (dealt.right & (places < share))
            for x, share in zip(LANGUAGES, shares, strict=True)
        }
        return dealt.score(scores, rows)


def read_rows(bmlama: str | None) -> Iterator[Rows]:
    """Read whole relations, and a sample of the rows that `polyprobe eval` scores."""
    if bmlama:
        dealt, table = _read("17-repaired", bmlama)
        for relation in RELATIONS:
            rows = apply_choice(table, make_choice([relation])).rows
            yield Rows(f"{relation} of 17-repaired", dealt, np.array(rows))
        rows = apply_choice(table, choose_to_score(table, None, None)).rows
        yield Rows(f"17-repaired, {SAMPLE} rows", dealt, np.array(rows), SAMPLE)
    dealt, table = _read(None, "geofacts")
    yield Rows("geofacts", dealt, np.arange(len(table)))


def _read(config: str | None, dataset: str) -> tuple[Dealt, pa.Table]:
    [table] = load_facts(dataset, config, ["en"]).values()
    return Dealt(dict.fromkeys(LANGUAGES, table)), table


def find_signs(facts: ScoredFacts, seed: int, n_resamples: int) -> dict[str, float]:
    """Test R - 2P + Q, and what is beyond independence, by unit; the first also by subject."""
    assert facts.second
    terms = facts.second.terms
    flip = partial(flip_signs, n_resamples=n_resamples, seed=seed)
    values = np.column_stack([terms.interaction, terms.beyond])
    centred, beyond = flip(values, link_donors(facts.table, "subject"))
    [by_subject] = flip(terms.interaction, read_clusters(facts.table, "subject"))
    return {"centred": centred, "beyond": beyond, "by subject": by_subject}


COLUMNS: dict[str, tuple[tuple[float, float], str]] = {
    "neither knows, by unit": (NOTHING, "centred"),
    "one knows, by unit": (ONE, "centred"),
    "beyond, neither knows, by unit": (NOTHING, "beyond"),
    "beyond, one knows, by unit": (ONE, "beyond"),
    "neither knows, by subject: too liberal": (NOTHING, "by subject"),
    "power": (BOTH, "centred"),
}


def reject_signs(runs: int, n_resamples: int, bmlama: str | None) -> list[str]:
    """Make the table of the shares of samples with p < .05."""
    lines = [
        f"| rows | number | units | {' | '.join(COLUMNS)} |",
        "| --- " * (3 + len(COLUMNS)) + "|",
    ]
    for rows in read_rows(bmlama):
        significant = dict.fromkeys(COLUMNS, 0)
        for seed in range(runs):
            for shares in (NOTHING, ONE, BOTH):
                facts = rows.score(np.random.default_rng(seed), shares)
                p = find_signs(facts, seed, n_resamples)
                for name, (kind, test) in COLUMNS.items():
                    significant[name] += kind == shares and p[test] < 0.05
        units = len({*(link_donors(facts.table, "subject") or [])})
        cells = [f"{count / runs:.1%}" for count in significant.values()]
        lines.append(f"| {rows.name} | {len(facts.table)} | {units} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return lines
