"""The figures that metric modules give for one language of a run."""

from collections import Counter
from collections.abc import Callable, Set
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from polyprobe.metrics.contrastive_knowledge.formulas import compare_contrasts, measure_knowledge
from polyprobe.metrics.recall_at_k.formulas import measure_recall
from polyprobe.metrics.shared.intervals import Resampling, estimate, mean_of
from polyprobe.metrics.shared.rows import take
from polyprobe.schema.run.folder import EFFECTS
from polyprobe.scoring.options import LETTERS

from .declaration import LANGUAGE, SEVERAL
from .facts import ScoredFacts
from .figures import BY_NAME, OF_MODULES
from .further.calibration import find_confidence, measure_calibration
from .further.paraphrases import has_paraphrases, measure_paraphrases

Kernel = Callable[[ScoredFacts, str, Resampling], dict[str, Any]]


class MetricModule(NamedTuple):
    """A metric module: whether it applies to a run, its kernel for one language, what it needs."""

    applies: Callable[[ScoredFacts], bool]
    measure: Kernel
    needs: str = ""


def measure_modules(
    facts: ScoredFacts, options: Resampling, names: Set[str]
) -> dict[str, dict[str, dict[str, Any]]]:
    """Compute MODULE → language → figures, whole if one of its figures is among the names."""
    return {
        name: {language: module.measure(facts, language, options) for language in facts.languages}
        for name, module in MODULES.items()
        if module.applies(facts) and not names.isdisjoint(x.name for x in OF_MODULES[name].values())
    }


def find_lack(name: str, facts: ScoredFacts) -> str:
    """Find what a figure needs and the facts do not have, in words; empty if they have it."""
    figure, (module, _, key) = BY_NAME[name], name.rpartition(".")
    if not module:
        if figure.per != LANGUAGE and len(facts.languages) < 2:
            return "at least two languages"
        return figure.input.find_lack(facts)
    if module in MODULES and not key.startswith("ece_"):
        return "" if MODULES[module].applies(facts) else MODULES[module].needs
    return "--scoring xfactr"


def mark_facts(facts: ScoredFacts) -> dict[str, np.ndarray]:
    """Compute the probability that each fact is right by language, as the run's protocol has it.

    Accuracy@1, ties in expectation. Of contrastive runs whether the fact is recalled
    (`contrastive_knowledge`), NaN without a wrong candidate.
    """
    if not facts.protocol.contrasts:
        return facts.right
    marks = {}
    for language, table in facts.tables.items():
        rows, places = _contrast(table)
        marks[language] = np.full(len(table), np.nan)
        if places:
            marks[language][places] = compare_contrasts(rows) > 0
    return marks


def share_read(facts: ScoredFacts) -> dict[str, float]:
    """Compute the share of letters read; a server may show the most probable ones only."""
    # `n_tokens` has how many were read of each candidate, in `letters-k3` of 3 orders
    orders = int(facts.scoring.partition("-k")[2] or len(LETTERS))
    shares = {}
    for language, table in facts.tables.items():
        counts = table["n_tokens"].to_pylist()
        total = sum(len(row) * min(len(row), orders) for row in counts)
        shares[language] = sum(map(sum, counts)) / total
    return shares


def _contrast(table: pa.Table) -> tuple[list[list[float]], list[int]]:
    """List [p(most probable answer), p(counterfact), …] and places, of rows with a wrong one."""
    rows, places = [], []
    for place, row in enumerate(table.select(["answers", "scores"]).to_pylist()):
        p = np.exp(np.array(row["scores"], dtype=np.float64))
        wrong: list[float] = np.delete(p, row["answers"]).tolist()
        if wrong:
            rows.append([float(p[row["answers"]].max()), *wrong])
            places.append(place)
    return rows, places


def _measure_recall(facts: ScoredFacts, language: str, options: Resampling) -> dict[str, Any]:
    options = options._replace(groups=facts.table["relation"].to_pylist())
    figures = measure_recall(facts.scores[language], facts.answers, **options._asdict())
    figures.pop("by_group")  # it would fill the file
    return figures


def _measure_calibration(facts: ScoredFacts, language: str, _: Resampling) -> dict[str, Any]:
    confidence = find_confidence(facts.raw_scores[language])
    return measure_calibration(confidence, facts.right[language])


def _measure_contrasts(facts: ScoredFacts, language: str, options: Resampling) -> dict[str, Any]:
    """Compute contrastive knowledge; rows without a wrong candidate are excluded and counted."""
    table = facts.tables[language]
    rows, places = _contrast(table)
    count = {"n_without_contrast": len(table) - len(rows)}
    if not rows:
        return {"accuracy": None, "n_queries": 0, **count}
    groups, clusters = table["relation"].to_pylist(), options.clusters
    options = options._replace(groups=take(groups, places), clusters=take(clusters, places))
    figures = measure_knowledge(rows, **options._asdict())
    figures.pop("by_group")
    return {**figures, **count}


def _measure_positions(facts: ScoredFacts, language: str, options: Resampling) -> dict[str, Any]:
    """Compute the mean effects of the positions of options (see `letters.separate`).

    `effects` are in nats with mean 0. `prior` has the probabilities of the letters that they are
    proportional to, 1 / n each without a bias. Chance alone makes `range` larger than 0.
    """
    lists = facts.tables[language][EFFECTS].to_pylist()
    sizes = Counter(len(row) for row in lists if row)
    size = max(sizes, key=lambda n: (sizes[n], n))
    rows = [i for i, row in enumerate(lists) if row and len(row) == size]
    values = np.array([lists[i] for i in rows], dtype=np.float64)
    options = options._replace(clusters=take(options.clusters, rows))
    estimates = estimate(mean_of(LETTERS[:size], values, np.ones(len(rows))), options)
    effects = {letter: estimates[letter] for letter in LETTERS[:size]}
    weights = np.exp([*effects.values()])
    return {
        "range": max(effects.values()) - min(effects.values()),
        "effects": effects,
        "intervals": {x: estimates[f"{x}_ci"] for x in effects if f"{x}_ci" in estimates},
        "prior": dict(zip(effects, (weights / weights.sum()).tolist(), strict=True)),
        "n_candidates": size,
        "n_queries": len(rows),
        "n_left_out": len(lists) - len(rows),
    }


def _has_positions(facts: ScoredFacts) -> bool:
    return facts.protocol.options and all(
        table[EFFECTS].null_count < len(table) for table in facts.tables.values()
    )


# Whose scores are log-probabilities of a text, so that their softmax is a confidence.
PROBABILITIES = ("object", "contrastive", "contrastive-released")
MODULES = {
    "recall_at_k": MetricModule(lambda facts: True, _measure_recall),
    "calibration": MetricModule(
        lambda facts: facts.scoring in PROBABILITIES,
        _measure_calibration,
        "--scoring object or contrastive",
    ),
    "contrastive_knowledge": MetricModule(
        lambda facts: facts.protocol.contrasts, _measure_contrasts, "--scoring contrastive"
    ),
    "paraphrase_consistency": MetricModule(has_paraphrases, measure_paraphrases, SEVERAL),
    "position_bias": MetricModule(
        _has_positions, _measure_positions, "--scoring letters in several orders"
    ),
}
