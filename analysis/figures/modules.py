"""The figures that metric modules give for one language of a run."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Set
from statistics import pstdev
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from polyprobe.metrics.contrastive_knowledge.formulas import compare_contrasts, measure_knowledge
from polyprobe.metrics.paraphrase_consistency.formulas import measure_consistency
from polyprobe.metrics.recall_at_k.formulas import measure_recall
from polyprobe.metrics.shared.intervals import Resampling, estimate, mean_of
from polyprobe.metrics.shared.rows import Rows, take
from polyprobe.metrics.shared.verdicts import KINDS
from polyprobe.schema.columns import split_fact
from polyprobe.schema.run.folder import EFFECTS
from polyprobe.scoring.options import LETTERS
from polyprobe.system.messages import PolyprobeError

from .facts import ScoredFacts
from .figures import ALL_SCORES, BY_NAME, LANGUAGE, OF_MODULES, SEVERAL

N_BINS = 10  # of confidence
OF_PARAPHRASES = ("consistency", "accuracy", "consistency_accuracy")
_UNDEFINED: dict[str, Any] = {
    **dict.fromkeys((*OF_PARAPHRASES, *(f"{name}_sd" for name in OF_PARAPHRASES))),
    **dict.fromkeys(("n_queries", "n_single_template", "n_ambiguous"), 0),
}
_BATCH = 1000  # rows whose scores are lists at a time
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


def share_verdicts(tables: Mapping[str, pa.Table]) -> dict[str, dict[str, float]]:
    """Compute the share of each kind of verdict on free answers, by language."""
    shares = {}
    for language, table in tables.items():
        counts = Counter(table["verdict"].to_pylist())
        shares[language] = {kind: counts[kind] / len(table) for kind in KINDS}
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
    # figures of relations would fill the file
    scores, answers = facts.scores[language], facts.answers
    return measure_recall(scores, answers, by_group=False, **options._asdict())


def measure_calibration(confidence: np.ndarray, right: np.ndarray) -> dict[str, Any]:
    """Compute the expected calibration error (ECE) of some answers, and its bins.

    Guo et al. 2017, equations 1 to 3, and X-FACTR's `reliability`:
    ECE = sum_b n_b / N |acc_b - conf_b| over ten bins of equal width, [0, .1), …, [.9, 1]; 0 is
    best. With few facts it is too high: also a perfect model has about N_b^(-1/2) in each bin.
    `right` is 1 or 0, or the probability of being right under ties [facts].
    """
    places = np.minimum((confidence * N_BINS).astype(int), N_BINS - 1)
    n, sums, correct = (np.bincount(places, x, N_BINS) for x in (None, confidence, right))
    means = [
        [float(total / size) if size else None for total, size in zip(totals, n, strict=True)]
        for totals in (sums, correct)
    ]
    return {
        "ece": float(np.abs(correct - sums).sum() / len(right)) if len(right) else None,
        "n_queries": len(right),
        "bins": {"n": n.tolist(), "confidence": means[0], "accuracy": means[1]},
    }


def find_confidence(rows: Rows) -> np.ndarray:
    """Compute the softmax of each row's scores, in nats, at their maximum."""
    starts = rows.sizes.cumsum() - rows.sizes
    scores: np.ndarray = rows.flat.astype(np.float64)
    best: np.ndarray = np.repeat(np.maximum.reduceat(scores, starts), rows.sizes)
    # equal scores differ by 0, also those of -inf: the softmax is uniform there
    below = np.subtract(scores, best, out=np.zeros_like(scores), where=scores != best)
    return 1 / np.add.reduceat(np.exp(below), starts)


def _measure_contrasts(facts: ScoredFacts, language: str, options: Resampling) -> dict[str, Any]:
    """Compute contrastive knowledge; rows without a wrong candidate are excluded and counted."""
    table = facts.tables[language]
    rows, places = _contrast(table)
    count = {"n_without_contrast": len(table) - len(rows)}
    if not rows:
        return {"accuracy": None, "n_queries": 0, **count}
    groups, clusters = table["relation"].to_pylist(), options.clusters
    options = options._replace(groups=take(groups, places), clusters=take(clusters, places))
    return {**measure_knowledge(rows, by_group=False, **options._asdict()), **count}


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
    for row, best, unit in zip(rows, _choose(table, facts.protocol.choices), units, strict=True):
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
        return {**_UNDEFINED, **counts}
    subjects, objects = zip(*map(_ends, predicted), strict=True)
    groups, clusters = list(relations.values()), list(units_by_fact.values())
    distinct = subjects if choices.repeated_subjects == "id" else None
    draws = options._replace(groups=groups, clusters=clusters)._asdict()
    figures = measure_consistency(list(predicted.values()), objects, distinct, **draws)
    return figures | _spread(figures.pop("by_group")) | counts


def _spread(groups: Mapping[str, Mapping[str, Any]]) -> dict[str, float | None]:
    """Compute the standard deviation over relations, which the released code reports."""
    spread = {}
    for name in OF_PARAPHRASES:
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


def _choose(table: pa.Table, choices: bool) -> Iterator[int]:
    number = 0
    for part in table.select(["scores", "n_tokens"]).to_batches(max_chunksize=_BATCH):
        pairs = zip(part["scores"].to_pylist(), part["n_tokens"].to_pylist(), strict=True)
        for scores, tokens in pairs:
            number -= 1  # of no candidate, which is no other row's answer
            # of equal scores the fewest tokens, if known, then the first candidate
            sizes = tokens or scores
            best = min(range(len(scores)), key=lambda i: (-scores[i], sizes[i], i))
            yield number if choices and not any(scores) else best


def _ends(fact: str) -> tuple[str, str]:
    """Split subject and object of a fact id (RELATION:SUBJECT:OBJECT), else the id twice."""
    parts = split_fact(fact)
    return parts[1:] if parts else (fact, fact)


# Whose scores are log-probabilities of a text, so that their softmax is a confidence.
PROBABILITIES = ("object", "object-released", "contrastive", "contrastive-released")
MODULES = {
    "recall_at_k": MetricModule(
        lambda facts: not facts.protocol.choices, _measure_recall, ALL_SCORES
    ),
    "calibration": MetricModule(
        lambda facts: facts.scoring in PROBABILITIES,
        lambda facts, x, _: measure_calibration(
            find_confidence(facts.raw_scores[x]), facts.right[x]
        ),
        "--scoring object or contrastive",
    ),
    "contrastive_knowledge": MetricModule(
        lambda facts: facts.protocol.contrasts, _measure_contrasts, "--scoring contrastive"
    ),
    "paraphrase_consistency": MetricModule(has_paraphrases, measure_paraphrases, SEVERAL),
    "position_bias": MetricModule(
        lambda facts: (
            facts.protocol.options
            and all(table[EFFECTS].null_count < len(table) for table in facts.tables.values())
        ),
        _measure_positions,
        "--scoring letters in several orders",
    ),
}
