"""Paraphrase consistency of a run: whose tuples and which templates count."""

from collections.abc import Iterator, Mapping
from statistics import pstdev
from typing import Any

import pyarrow as pa

from polyprobe.analysis.figures.facts import ScoredFacts
from polyprobe.metrics.paraphrase_consistency.formulas import measure_consistency
from polyprobe.metrics.shared.intervals import Resampling
from polyprobe.schema.identity import split_fact
from polyprobe.system.errors import PolyprobeError

FIGURES = ("consistency", "accuracy", "consistency_accuracy")
NOTHING: dict[str, Any] = {
    **dict.fromkeys((*FIGURES, *(f"{name}_sd" for name in FIGURES))),
    **dict.fromkeys(("n_queries", "n_single_template", "n_ambiguous"), 0),
}
BATCH = 1000  # rows whose scores are lists at a time


def has_paraphrases(facts: ScoredFacts) -> bool:
    """Tell whether facts have several rows, all rows of a fact with as many candidates."""
    ids = facts.table["fact_id"].to_pylist()
    sizes = set(zip(ids, facts.sizes.tolist(), strict=True))
    return len(sizes) == len(set(ids)) < len(ids)


def measure_paraphrases(facts: ScoredFacts, language: str, options: Resampling) -> dict[str, Any]:
    """Compute consistency, accuracy and consistency-accuracy of a language."""
    table, choices = facts.tables[language], facts.options
    predicted: dict[str, list[str]] = {}
    right: dict[str, list[int]] = {}
    relations: dict[str, str] = {}
    units_by_fact: dict[str, Any] = {}
    units = options.clusters or table["fact_id"].to_pylist()
    if choices.templates == "reviewed":
        _check_reviewed(table, language)
    marks = _read_marks(table, language) if choices.repeated_subjects == "label" else {}
    rows = table.select(["fact_id", "relation", "answers", "reviewed"]).to_pylist()
    for row, best, unit in zip(rows, _choose(table), units, strict=True):
        fact = row["fact_id"]
        if marks.get(fact) or (choices.templates == "reviewed" and not row["reviewed"]):
            continue
        _, gold = _ends(fact)  # of several right candidates, each is the object
        predicted.setdefault(fact, []).append(gold if best in row["answers"] else f"#{best}")
        if right.setdefault(fact, row["answers"]) != row["answers"]:
            raise PolyprobeError(
                f"fact {fact}: its templates have other candidates; consistency needs the same "
                "ones, in the same order"
            )
        relations[fact], units_by_fact[fact] = row["relation"], unit
    counts: dict[str, int] = {}
    if choices.repeated_subjects == "label":
        twins = sum("twin" in names for names in marks.values())
        repeated = sum("subject" in names and "twin" not in names for names in marks.values())
        counts = {"n_ambiguous": repeated, "n_same_labels": twins}
    if not predicted:
        return {**NOTHING, **counts}
    subjects, objects = zip(*map(_ends, predicted), strict=True)
    groups, clusters = list(relations.values()), list(units_by_fact.values())
    distinct = subjects if choices.repeated_subjects == "id" else None
    draws = options._replace(groups=groups, clusters=clusters)._asdict()
    figures = measure_consistency(list(predicted.values()), objects, distinct, **draws)
    return figures | _spread(figures.pop("by_group")) | counts


def _spread(groups: Mapping[str, Mapping[str, Any]]) -> dict[str, float | None]:
    """Compute the standard deviation over relations, which the released code reports."""
    spread = {}
    for name in FIGURES:
        values = [of_group[name] for of_group in groups.values() if of_group[name] is not None]
        spread[f"{name}_sd"] = pstdev(values) if values else None
    return spread


def _check_reviewed(table: pa.Table, language: str) -> None:
    if not any(table["reviewed"].to_pylist()):
        unknown = table["reviewed"].null_count == len(table)
        reason = "it is not known which ones are" if unknown else "none is"
        raise PolyprobeError(
            f"--templates reviewed: language '{language}' has no reviewed template ({reason}); "
            "use all"
        )


def _read_marks(table: pa.Table, language: str) -> dict[str, list[str]]:
    if table["repeated"].null_count:
        raise PolyprobeError(
            f"--repeated-subjects label: the scores of '{language}' have no labels of subjects; "
            "use id, or score it again with --scoring mpararel"
        )
    return dict(zip(table["fact_id"].to_pylist(), table["repeated"].to_pylist(), strict=True))


def _choose(table: pa.Table) -> Iterator[int]:
    for part in table.select(["scores", "n_tokens"]).to_batches(max_chunksize=BATCH):
        pairs = zip(part["scores"].to_pylist(), part["n_tokens"].to_pylist(), strict=True)
        for scores, tokens in pairs:
            # of equal scores the fewest tokens, then the first candidate
            yield min(range(len(scores)), key=lambda i: (-scores[i], tokens[i], i))


def _ends(fact: str) -> tuple[str, str]:
    """Split subject and object of a fact id (RELATION:SUBJECT:OBJECT), else the id twice."""
    parts = split_fact(fact)
    return parts[1:] if parts else (fact, fact)
