"""The scored facts of a run: validated scores and answers in every language."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from polyprobe.metrics.accuracy_at_1.accuracy_at_1 import right_probability
from polyprobe.metrics.rankc.rankc import rankc_pairs
from polyprobe.metrics.shared.rows import Rows, read_rows


class ScoredFacts:
    """The input of every figure: the same facts in the same order in every language.

    Attributes:
        tables: the scores on disk by language, with parallel rows.
        languages: their codes, in the run's order.
        scores: the validated scores by language; every kernel reads them without a second check.
        first_scores: those of the first language.
        answers: indices of the correct candidates of each fact.
        sizes: number of candidates of each fact.
        rankc: RankC of each fact and pair of languages.
        right: probability that each fact is right, by language (1 or 0 without ties).

    Raises:
        ValueError: scores that are not numbers, with the language.
    """

    def __init__(self, tables: Mapping[str, pa.Table]) -> None:
        self.tables, self.languages = tables, list(tables)
        self.answers: list[list[int]] = self.table["answers"].to_pylist()
        self.scores = {x: Rows(*read_rows(masked_scores(t), x)) for x, t in tables.items()}
        self.first_scores = next(iter(self.scores.values()))
        self.sizes = self.first_scores.sizes
        self.rankc = rankc_pairs(self.scores)  # before the rest: its errors name the language
        self.right = {x: right_probability(s, self.answers) for x, s in self.scores.items()}

    @property
    def table(self) -> pa.Table:
        """Return the first language's table; fact ids, relations and answers are those of all."""
        return next(iter(self.tables.values()))


def masked_scores(table: pa.Table) -> np.ma.MaskedArray:
    """Return the scores as [queries, most candidates]; absent candidates are masked."""
    lists = table["scores"].combine_chunks()
    counts = np.diff(lists.offsets.to_numpy())
    mask = np.arange(counts.max(initial=0)) >= counts[:, None]
    values = np.zeros(mask.shape, dtype=np.float32)
    values[~mask] = lists.flatten().to_numpy()
    return np.ma.MaskedArray(values, mask)
