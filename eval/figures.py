"""The figures of a run: from score tables, one a language, to sums over facts."""

from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pyarrow as pa

from polyprobe import PolyprobeError
from polyprobe.metrics.accuracy_at_1.accuracy_at_1 import right_probability
from polyprobe.metrics.analysis.all_languages import (
    find_agreement,
    find_kappa,
    find_right_counts,
)
from polyprobe.metrics.analysis.beyond_accuracy import OUTCOMES, condition_rankc, find_excess
from polyprobe.metrics.analysis.figures import (
    Figure,
    find_accuracy,
    find_coverlap,
    find_rankc,
    find_rankc_adjusted,
    name_pairs,
)
from polyprobe.metrics.analysis.rank_overlap import find_kendall, find_rbo
from polyprobe.metrics.rankc.rankc import rankc_pairs

CLUSTERS = ("none", "relation", "subject")


class Facts:
    """What the figures are made from: the same facts in the same order in every language.

    Attributes:
        tables: of each language the scores as they stand on disk, row by row the same facts.
        scores: of each language a masked array [facts, most candidates].
        first_scores: those of the first language.
        answers: right indices of each fact.
        sizes: candidates of each fact.
        kinds: how many candidates and right ones each fact has [facts, 2].
        rankc: of each fact and pair of languages.
        right: of each language the probability that each fact is right (1 or 0 without ties).
    """

    def __init__(self, tables: Mapping[str, pa.Table]) -> None:
        self.tables = tables
        self.scores = {language: masked_scores(table) for language, table in tables.items()}
        self.first_scores = next(iter(self.scores.values()))
        self.answers: list[list[int]] = self.table["answers"].to_pylist()
        self.sizes: np.ndarray = (~np.ma.getmaskarray(self.first_scores)).sum(1)
        self.rankc = rankc_pairs(self.scores)  # first, because its errors name the language
        self.kinds: np.ndarray = np.column_stack(
            [self.sizes, [len(set(right)) for right in self.answers]]
        )
        self.right = {x: right_probability(s, self.answers) for x, s in self.scores.items()}

    @property
    def pairs(self) -> list[str]:
        """Return the names of all pairs of languages."""
        return name_pairs(list(self.scores))

    @property
    def table(self) -> pa.Table:
        """Return the first language's table: what it says of the facts, all say."""
        return next(iter(self.tables.values()))


def find_figures(facts: Facts, names: Iterable[str]) -> dict[str, Figure]:
    """Return figures of languages and pairs by their names in results.json."""
    return {name: FIGURES[name](facts) for name in names}


def find_joint(facts: Facts) -> list[Figure]:
    """Return the figures that several languages have together, each named by itself."""
    if len(facts.scores) < 2:
        return []
    return [find_kappa(facts.scores), find_right_counts(facts.right)]


def read_clusters(table: pa.Table, kind: str) -> list[str] | None:
    """Return of each row its relation, or the subject in its fact's id; None for `none`.

    Rows of one fact (its templates) are drawn together also where no clusters are asked for.

    Raises:
        PolyprobeError: an unknown kind, or fact ids without a subject (RELATION:SUBJECT:OBJECT).
    """
    if kind not in CLUSTERS:
        raise PolyprobeError(f"unknown --cluster {kind!r}; known: {', '.join(CLUSTERS)}")
    if kind == "none":
        facts = table["fact_id"].to_pylist()
        return facts if len(set(facts)) < len(facts) else None
    if kind == "relation":
        return table["relation"].to_pylist()
    parts = [name.split(":") for name in table["fact_id"].to_pylist()]
    for fact in (part for part in parts if len(part) != 3):
        raise PolyprobeError(
            f"--cluster subject: the fact id {':'.join(fact)!r} names no subject; use "
            "--cluster relation, or a dataset with ids as P36:Q142:Q90 (17-repaired, 53-repaired)"
        )
    return [subject for _, subject, _ in parts]


def masked_scores(table: pa.Table) -> np.ma.MaskedArray:
    """Return the scores as [queries, most candidates], absent candidates masked."""
    lists = table["scores"].combine_chunks()
    counts = np.diff(lists.offsets.to_numpy())
    mask = np.arange(counts.max(initial=0)) >= counts[:, None]
    values = np.zeros(mask.shape, dtype=np.float32)
    values[~mask] = lists.flatten().to_numpy()
    return np.ma.MaskedArray(values, mask)


def _of_outcome(outcome: str) -> Callable[[Facts], Figure]:
    return lambda facts: condition_rankc(facts.right, facts.rankc, outcome)


FIGURES: dict[str, Callable[[Facts], Figure]] = {
    "accuracy": lambda facts: find_accuracy(facts.right),
    "rankc": lambda facts: find_rankc(facts.pairs, facts.rankc),
    "rankc_adjusted": lambda facts: find_rankc_adjusted(facts.pairs, facts.rankc, facts.sizes),
    "coverlap": lambda facts: find_coverlap(facts.right),
    "agreement": lambda facts: find_agreement(facts.scores),
    "rankc_excess": lambda facts: find_excess(facts.right, facts.rankc, facts.kinds),
    **{f"rankc_{outcome}": _of_outcome(outcome) for outcome in OUTCOMES},
    "rbo": lambda facts: find_rbo(facts.scores),
    "kendall_tau_b": lambda facts: find_kendall(facts.scores),
}
