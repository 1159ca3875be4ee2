"""Figures of single languages from metric modules: recall@k, contrasts, consistency."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from polyprobe.eval.run.protocol import protocol_of
from polyprobe.metrics.contrastive_knowledge.contrastive_knowledge import measure_knowledge
from polyprobe.metrics.paraphrase_consistency.paraphrase_consistency import measure_consistency
from polyprobe.metrics.recall_at_k.recall_at_k import measure_recall
from polyprobe.metrics.shared.intervals import take
from polyprobe.system.errors import PolyprobeError

from .facts import ScoredFacts


def measure_languages(
    facts: ScoredFacts, scoring: str, options: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return MODULE → language → figures, averaged over relations (macro)."""
    return {
        name: {language: measure(facts, language, options) for language in facts.tables}
        for name, (applies, measure) in MODULES.items()
        if applies(facts, scoring)
    }


def without_groups(figures: dict[str, Any]) -> dict[str, Any]:
    """Return a module's figures without the values of each relation, which would fill the file."""
    return {name: value for name, value in figures.items() if name != "by_group"}


def _contrast(table: pa.Table) -> list[list[float]]:
    """Return [p(fact), p(counterfact), …] of each row, from log-probabilities.

    Of several correct answers the most probable counts; a row without a wrong one has one value.
    """
    rows = []
    for row in table.select(["answers", "scores"]).to_pylist():
        p = np.exp(np.array(row["scores"], dtype=np.float64))
        others: list[float] = np.delete(p, row["answers"]).tolist()
        rows.append([float(p[row["answers"]].max()), *others])
    return rows


def _measure_recall(
    facts: ScoredFacts, language: str, options: Mapping[str, Any]
) -> dict[str, Any]:
    groups = facts.table["relation"].to_pylist()
    scores = facts.scores[language]
    return without_groups(measure_recall(scores, facts.answers, groups=groups, **options))


def _measure_contrasts(
    facts: ScoredFacts, language: str, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return contrastive knowledge; rows without a wrong candidate are excluded and counted."""
    table = facts.tables[language]
    options = {**options, "groups": table["relation"].to_pylist()}
    rows = _contrast(table)
    kept = [i for i, row in enumerate(rows) if len(row) > 1]
    count = {"n_without_contrast": len(rows) - len(kept)}
    if not kept:
        return {"accuracy": None, "n_queries": 0, **count}
    picked = {name: take(options[name], kept) for name in ("groups", "clusters")}
    figures = measure_knowledge([rows[i] for i in kept], **{**options, **picked})
    return {**without_groups(figures), **count}


def _measure_paraphrases(
    facts: ScoredFacts, language: str, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return mParaRel's three figures from the predictions for each fact's templates.

    Of candidates with equal scores the one with the fewest tokens is predicted, then the first.
    Facts whose subject has several objects in the relation are excluded, as in mParaRel.
    """
    table = facts.tables[language]
    predicted: dict[str, list[str]] = {}
    right: dict[str, list[int]] = {}
    relations: dict[str, str] = {}
    clusters: dict[str, Any] = {}
    units = options["clusters"] or table["fact_id"].to_pylist()
    for row, best, unit in zip(table.to_pylist(), _choose(table), units, strict=True):
        fact = row["fact_id"]
        _, gold = _ends(fact)
        predicted.setdefault(fact, []).append(gold if best in row["answers"] else f"#{best}")
        if right.setdefault(fact, row["answers"]) != row["answers"]:
            raise PolyprobeError(
                f"fact {fact}: its templates have other candidates; consistency needs the same "
                "ones, in the same order"
            )
        relations[fact], clusters[fact] = row["relation"], unit
    subjects, objects = zip(*map(_ends, predicted), strict=True)
    figures = measure_consistency(
        list(predicted.values()),
        objects,
        groups=list(relations.values()),
        subjects=subjects,
        clusters=list(clusters.values()),
        n_resamples=options["n_resamples"],
        seed=options["seed"],
    )
    return without_groups(figures)


def _choose(table: pa.Table) -> Iterator[int]:
    pairs = zip(table["scores"].to_pylist(), table["n_tokens"].to_pylist(), strict=True)
    for scores, tokens in pairs:
        yield min(range(len(scores)), key=lambda i: (-scores[i], tokens[i], i))


def _ends(fact: str) -> tuple[str, str]:
    """Return subject and object of a fact id (RELATION:SUBJECT:OBJECT), else the id twice."""
    parts = fact.split(":")
    return (parts[1], parts[2]) if len(parts) == 3 else (fact, fact)


def _has_paraphrases(facts: ScoredFacts, scoring: str) -> bool:
    ids = facts.table["fact_id"].to_pylist()
    return len(set(ids)) < len(ids)


Measure = Callable[[ScoredFacts, str, Mapping[str, Any]], dict[str, Any]]
# By module: whether it applies to the run, and its kernel for one language.
MODULES: dict[str, tuple[Callable[[ScoredFacts, str], bool], Measure]] = {
    "recall_at_k": (lambda facts, scoring: True, _measure_recall),
    "contrastive_knowledge": (
        lambda facts, scoring: protocol_of(scoring).contrasts,
        _measure_contrasts,
    ),
    "paraphrase_consistency": (_has_paraphrases, _measure_paraphrases),
}
