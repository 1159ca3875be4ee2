"""What only one of two runs of free predictions knows (X-FACTR, task `compare` and table 7)."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from scipy.special import bdtr

from polyprobe.analysis.figures.parts import list_rows
from polyprobe.metrics.joint.significance import correct_values
from polyprobe.schema.columns import key_rows

from .match import Pair

Marks = Mapping[str, np.ndarray]


class Counts(NamedTuple):
    """The facts of one language and length that both, one or neither of two runs know."""

    language: str
    part: str  # `all`, `single` (the answer is one token of the first run's model) or `multi`
    agreed: int  # right in both
    only_first: int
    only_second: int
    neither: int
    p: float | None  # of McNemar's exact test; None without a fact that only one knows
    p_adjusted: float | None  # corrected over the languages of this part


class OneSided(NamedTuple):
    """A fact that only one run knows."""

    language: str
    fact_id: str
    relation: str
    knows: str  # `first` or `second`, the run that is right
    single_token: bool  # of the first run's model
    prompt: str  # of the first run
    answer_forms: list[str]  # accepted by the first run
    first: str  # the predictions
    second: str


class Decodings(NamedTuple):
    """The facts that two runs know."""

    counts: list[Counts]  # of each language and length, in this order
    # by language; the first run's first, one of each relation before a second
    one_sided: list[OneSided]
    not_asked: dict[str, int]  # facts by language that one of the runs was not asked, left out here
    by_relation: dict[str, dict[str, dict[str, int]]]  # by language, with `n_queries`

    def as_json(self) -> dict[str, Any]:
        """List all fields, the counts by language and length."""
        counts: dict[str, dict[str, Any]] = {}
        for language, part, agreed, *values in self.counts:
            names = dict(zip(Counts._fields[3:], values, strict=True))
            counts.setdefault(language, {})[part] = {"both": agreed, **names}
        facts = [fact._asdict() for fact in self.one_sided]
        return {**self._asdict(), "counts": counts, "one_sided": facts}


def find_mcnemar_p(only_first: int, only_second: int) -> float | None:
    """Compute the two-sided p of McNemar's exact test (binomial, p = 1/2); None for 0 and 0.

    >>> find_mcnemar_p(1, 5)  # 2 (1 + 6) / 2^6
    0.21875
    """
    n = only_first + only_second
    return min(1.0, 2 * float(bdtr(min(only_first, only_second), n, 0.5))) if n else None


def compare_decodings(
    tables: Pair, right: tuple[Marks, Marks], correction: str = "holm"
) -> Decodings:
    """Compare the facts that both runs were asked by their marks (`mark_predictions`)."""
    counts: list[Counts] = []
    one_sided: list[OneSided] = []
    not_asked, by_relation = {}, {}
    for language, first in tables[0].items():
        marks = [right[0][language], right[1][language]]
        common = ~np.isnan(marks[0] + marks[1])  # asked in both runs
        single = np.array([bool(flag) for flag in first["single_token"].to_pylist()])
        not_asked[language] = int((~common).sum())
        parts = {"all": common, "single": common & single, "multi": common & ~single}
        counts += [_count(language, part, marks, rows) for part, rows in parts.items()]
        for knows, sign in (("first", 1), ("second", -1)):
            places = np.flatnonzero(common & (marks[0] - marks[1] == sign))
            rows = _spread(first["relation"], places)
            one_sided += _list_facts(language, knows, first, tables[1][language], rows)
        by_relation[language] = {
            relation: {
                "n_queries": int(common[rows].sum()),
                "only_first": int((marks[0][rows] - marks[1][rows] == 1).sum()),
                "only_second": int((marks[1][rows] - marks[0][rows] == 1).sum()),
            }
            for relation, rows in list_rows(first["relation"].to_pylist()).items()
        }
    return Decodings(_correct(counts, correction), one_sided, not_asked, by_relation)


def _count(language: str, part: str, marks: Sequence[np.ndarray], rows: np.ndarray) -> Counts:
    pairs = Counter(zip(marks[0][rows].tolist(), marks[1][rows].tolist(), strict=True))
    agreed, first, second, neither = (pairs[pair] for pair in ((1, 1), (1, 0), (0, 1), (0, 0)))
    p = find_mcnemar_p(first, second)
    return Counts(language, part, agreed, first, second, neither, p, None)


def _correct(counts: Sequence[Counts], correction: str) -> list[Counts]:
    """Correct the p-values over the languages of each length."""
    adjusted: dict[tuple[str, str], float | None] = {}
    for part in dict.fromkeys(row.part for row in counts):
        rows = [row for row in counts if row.part == part]
        p = correct_values([row.p for row in rows], correction)
        adjusted |= zip(((row.language, part) for row in rows), p, strict=True)
    return [row._replace(p_adjusted=adjusted[row[:2]]) for row in counts]


def _spread(relations: pa.ChunkedArray, rows: np.ndarray) -> list[int]:
    """Order rows with one of each relation before a second one: reports show the first few."""
    turns = [turn for _, turn in key_rows(relations.take(rows).to_pylist())]
    return [row for _, row in sorted(zip(turns, rows.tolist(), strict=True))]


def _list_facts(
    language: str, knows: str, first: pa.Table, second: pa.Table, rows: Sequence[int]
) -> Iterator[OneSided]:
    places = pa.array(rows, pa.int64())
    predictions = second["prediction"].take(places).to_pylist()
    for row, prediction in zip(first.take(places).to_pylist(), predictions, strict=True):
        columns = [row[name] for name in ("single_token", "prompt", "answer_forms", "prediction")]
        columns.append(prediction)
        yield OneSided(language, row["fact_id"], row["relation"], knows, *columns)
