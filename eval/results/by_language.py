"""Figures of each language by itself: recall@k, contrastive knowledge, consistency."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from polyprobe.eval.run.protocol import protocol_of
from polyprobe.metrics.contrastive_knowledge.contrastive_knowledge import measure_knowledge
from polyprobe.metrics.paraphrase_consistency.paraphrase_consistency import measure_consistency
from polyprobe.metrics.recall_at_k.recall_at_k import measure_recall
from polyprobe.metrics.shared.subsets import take
from polyprobe.system.errors import PolyprobeError

from .facts import Facts


def measure_languages(
    facts: Facts, scoring: str, options: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return NAME of a module to language to its figures, averaged over relations (macro).

    `recall_at_k` always; `contrastive_knowledge` where first sub-words were scored;
    `paraphrase_consistency` where facts have several rows, their templates.
    """
    kept = {**options, "groups": facts.table["relation"].to_pylist()}
    found: dict[str, dict[str, Any]] = {
        "recall_at_k": {
            x: without_groups(measure_recall(scores, facts.answers, **kept))
            for x, scores in facts.scores.items()
        }
    }
    if protocol_of(scoring).contrasts:
        found["contrastive_knowledge"] = {
            x: _measure_contrasts(table, kept) for x, table in facts.tables.items()
        }
    ids = facts.table["fact_id"].to_pylist()
    if len(set(ids)) < len(ids):
        found["paraphrase_consistency"] = {
            x: _measure_paraphrases(table, options) for x, table in facts.tables.items()
        }
    return found


def without_groups(figures: dict[str, Any]) -> dict[str, Any]:
    """Return a module's figures without those of each relation, which would fill the file."""
    return {name: value for name, value in figures.items() if name != "by_group"}


def _contrast(table: pa.Table) -> list[list[float]]:
    """Return [p(fact), p(counterfact), …] of each row, from log-probabilities.

    Several right answers count as the best of them; a row without a wrong one is left out.
    """
    rows = []
    for row in table.select(["answers", "scores"]).to_pylist():
        p = np.exp(np.array(row["scores"], dtype=np.float64))
        others: list[float] = np.delete(p, row["answers"]).tolist()
        rows.append([float(p[row["answers"]].max()), *others])
    return rows


def _measure_contrasts(table: pa.Table, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return contrastive knowledge of the rows that have a wrong candidate, the others counted."""
    rows = _contrast(table)
    kept = [i for i, row in enumerate(rows) if len(row) > 1]
    count = {"n_without_contrast": len(rows) - len(kept)}
    if not kept:
        return {"accuracy": None, "n_queries": 0, **count}
    picked = {name: take(options[name], kept) for name in ("groups", "clusters")}
    figures = measure_knowledge([rows[i] for i in kept], **{**options, **picked})
    return {**without_groups(figures), **count}


def _measure_paraphrases(table: pa.Table, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return mParaRel's three figures: what is predicted for a fact in each of its templates.

    Of candidates with equal scores that of fewest tokens is predicted, then the first. Tuples whose
    subject has several objects in the relation are left out, as in mParaRel.
    """
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
    """Return subject and object in a fact's id (RELATION:SUBJECT:OBJECT), else the id for both."""
    parts = fact.split(":")
    return (parts[1], parts[2]) if len(parts) == 3 else (fact, fact)
