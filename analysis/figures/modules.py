"""The figures that metric modules give for one language of a run."""

from collections.abc import Callable, Set
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from polyprobe.metrics.contrastive_knowledge.formulas import compare_contrasts, measure_knowledge
from polyprobe.metrics.recall_at_k.formulas import measure_recall
from polyprobe.metrics.shared.intervals import Resampling
from polyprobe.metrics.shared.rows import take

from .declaration import LANGUAGE, SEVERAL
from .facts import ScoredFacts
from .figures import BY_NAME, OF_MODULES
from .further.paraphrases import has_paraphrases, measure_paraphrases
from .further.positions import has_positions, measure_positions

Kernel = Callable[[ScoredFacts, str, Resampling], dict[str, Any]]


class MetricModule(NamedTuple):
    """A metric module: whether it applies to a run, its kernel for one language, what it needs."""

    applies: Callable[[ScoredFacts], bool]
    measure: Kernel
    needs: str = ""


def measure_modules(
    facts: ScoredFacts, options: Resampling, names: Set[str]
) -> dict[str, dict[str, dict[str, Any]]]:
    """Compute MODULE → language → figures, averaged as the options say.

    A module is computed whole if one of its figures is among the names.
    """
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
    if module in MODULES:
        return "" if MODULES[module].applies(facts) else MODULES[module].needs
    return "" if (module, key) == ("calibration", "ece") else "--scoring xfactr"


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


def _contrast(table: pa.Table) -> tuple[list[list[float]], list[int]]:
    """List [p(fact), p(counterfact), …] from log-probabilities, and the places of these rows.

    Of several correct answers the most probable counts; rows without a wrong one are left out.
    """
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


MODULES = {
    "recall_at_k": MetricModule(lambda facts: True, _measure_recall),
    "contrastive_knowledge": MetricModule(
        lambda facts: facts.protocol.contrasts, _measure_contrasts, "--scoring contrastive"
    ),
    "paraphrase_consistency": MetricModule(has_paraphrases, measure_paraphrases, SEVERAL),
    "position_bias": MetricModule(
        lambda facts: facts.protocol.options and has_positions(facts),
        measure_positions,
        "--scoring letters in several orders",
    ),
}
