"""Compare free predictions fact by fact: what only one of two runs knows, by length, and examples.

Source: the task `compare` of X-FACTR's released code, and table 7 of the paper; the test is
McNemar's (1947), exact.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from rich.table import Table
from rich.text import Text
from scipy.special import bdtr

from polyprobe.analysis.figures.further.relations import list_rows
from polyprobe.metrics.joint.significance import correct
from polyprobe.report.format import format_p_value

SHOWN = 3  # examples of each direction in the terminal
_ACCEPTED = 3  # accepted forms of an example


class Counts(NamedTuple):
    """The facts of one language and length that both, one or neither of two runs know.

    Attributes:
        language: of the facts.
        part: `all`, `single` (the answer is one token of the first run's model) or `multi`.
        both, only_first, only_second, neither: number of facts.
        p: of McNemar's exact test, see `find_mcnemar_p`; None without a fact that only one knows.
        p_adjusted: corrected over the languages of this part.
    """

    language: str
    part: str
    both: int
    only_first: int
    only_second: int
    neither: int
    p: float | None
    p_adjusted: float | None


class OneSided(NamedTuple):
    """A fact that only one run knows.

    Attributes:
        language, fact_id, relation: of the fact.
        knows: `first` or `second`, the run that is right.
        single_token: whether the answer is one token of the first run's model.
        prompt: of the first run.
        answer_forms: accepted by the first run.
        first, second: both predictions.
    """

    language: str
    fact_id: str
    relation: str
    knows: str
    single_token: bool
    prompt: str
    answer_forms: list[str]
    first: str
    second: str


class Decodings(NamedTuple):
    """The facts that two runs know.

    Attributes:
        counts: of each language and length, in this order.
        one_sided: all facts that only one run knows, by language; those of the first run first, and
            one of each relation before a second one.
        not_asked: facts by language that one of the runs was not asked, left out here.
        by_relation: language, relation, then `n_queries` and the numbers of facts that only one run
            knows.
    """

    counts: list[Counts]
    one_sided: list[OneSided]
    not_asked: dict[str, int]
    by_relation: dict[str, dict[str, dict[str, int]]]

    def as_json(self) -> dict[str, Any]:
        """Return all fields, the counts by language and length."""
        counts: dict[str, dict[str, Any]] = {}
        for row in self.counts:
            named = dict(list(row._asdict().items())[2:])
            counts.setdefault(row.language, {})[row.part] = named
        facts = [fact._asdict() for fact in self.one_sided]
        return {**self._asdict(), "counts": counts, "one_sided": facts}


def find_mcnemar_p(only_first: int, only_second: int) -> float | None:
    """Return the two-sided p of McNemar's exact test (binomial with p = 1/2); None for 0 and 0.

    Each fact that only one run knows is as probably one of the first as of the second run; facts
    are taken as independent.

    >>> find_mcnemar_p(1, 5)  # 2 (1 + 6) / 2^6
    0.21875
    """
    n = only_first + only_second
    return min(1.0, 2 * float(bdtr(min(only_first, only_second), n, 0.5))) if n else None


def compare_decodings(
    tables: tuple[Mapping[str, pa.Table], Mapping[str, pa.Table]],
    right: tuple[Mapping[str, np.ndarray], Mapping[str, np.ndarray]],
    correction: str = "holm",
) -> Decodings:
    """Return the facts that only one of two runs knows, over those that both were asked.

    Args:
        tables: the predictions of each run by language, row by row the same facts.
        right: 1 for correct facts, 0 for others, NaN for those not asked (`mark_predictions`).
        correction: of the p-values over languages.
    """
    counts: list[Counts] = []
    one_sided: list[OneSided] = []
    not_asked, by_relation = {}, {}
    for language, first in tables[0].items():
        marks = [marked[language] for marked in right]
        asked = ~np.isnan(marks[0] + marks[1])
        single = np.array([bool(flag) for flag in first["single_token"].to_pylist()])
        not_asked[language] = int((~asked).sum())
        for part, rows in {
            "all": asked,
            "single": asked & single,
            "multi": asked & ~single,
        }.items():
            pairs = Counter(zip(marks[0][rows].tolist(), marks[1][rows].tolist(), strict=True))
            both, one, other, neither = (pairs[pair] for pair in ((1, 1), (1, 0), (0, 1), (0, 0)))
            p = find_mcnemar_p(one, other)
            counts.append(Counts(language, part, both, one, other, neither, p, None))
        for knows, sign in (("first", 1), ("second", -1)):
            rows = _spread(first["relation"], np.flatnonzero(asked & (marks[0] - marks[1] == sign)))
            one_sided += _describe(language, knows, first, tables[1][language], rows)
        by_relation[language] = _count_relations(first["relation"], *marks)
    return Decodings(_correct(counts, correction), one_sided, not_asked, by_relation)


def _count_relations(
    relations: pa.ChunkedArray, first: np.ndarray, second: np.ndarray
) -> dict[str, dict[str, int]]:
    """Return the facts asked in both runs, and those that only one knows, of each relation."""
    return {
        relation: {
            "n_queries": int((~np.isnan(first[rows] + second[rows])).sum()),
            "only_first": int((first[rows] - second[rows] == 1).sum()),
            "only_second": int((second[rows] - first[rows] == 1).sum()),
        }
        for relation, rows in list_rows(relations.to_pylist()).items()
    }


def _correct(counts: list[Counts], correction: str) -> list[Counts]:
    """Return the counts with p-values corrected over the languages of each length."""
    corrected = list(counts)
    for part in dict.fromkeys(row.part for row in counts):
        places = [place for place, row in enumerate(counts) if row.part == part]
        p = np.array([np.nan if counts[k].p is None else counts[k].p for k in places], dtype=float)
        for place, new in zip(places, correct(p, correction).tolist(), strict=True):
            known = None if np.isnan(new) else new
            corrected[place] = counts[place]._replace(p_adjusted=known)
    return corrected


def _spread(relations: pa.ChunkedArray, rows: np.ndarray) -> list[int]:
    """Return the rows with one of each relation before a second one."""
    seen: Counter[str] = Counter()
    order = []
    for row in rows.tolist():
        relation = relations[row].as_py()
        order.append((seen[relation], row))
        seen[relation] += 1
    return [row for _, row in sorted(order)]


def _describe(
    language: str, knows: str, first: pa.Table, second: pa.Table, rows: Sequence[int]
) -> Iterator[OneSided]:
    places = pa.array(rows, pa.int64())
    others = second["prediction"].take(places).to_pylist()
    for row, other in zip(first.take(places).to_pylist(), others, strict=True):
        yield OneSided(
            language,
            row["fact_id"],
            row["relation"],
            knows,
            row["single_token"],
            row["prompt"],
            row["answer_forms"],
            row["prediction"],
            other,
        )


def counts_table(found: Decodings, names: Sequence[str], correction: str) -> Table:
    """Return a table of the facts that both, one or neither run knows, by language and length."""
    table = Table(header_style="bold", highlight=False)
    table.add_column("facts")
    for head in ("both", f"only\n{names[0]}", f"only\n{names[1]}", "neither", f"p ({correction})"):
        table.add_column(Text(head), justify="right", overflow="fold")
    for row in found.counts:
        numbers = (row.both, row.only_first, row.only_second, row.neither)
        values = (*(f"{n:,}" for n in numbers), format_p_value(row.p_adjusted))
        table.add_row(f"{row.language} {row.part}", *values)
    return table


def list_notes(found: Decodings, names: Sequence[str], shown: int = SHOWN) -> Iterator[str]:
    """Yield the notes and examples below the table, one line each."""
    yield "p: McNemar's exact test of the facts that only one run knows, taken as independent"
    yield f"single, multi: the answer is one token, several tokens of {names[0]}'s model"
    for language, count in found.not_asked.items():
        if count:
            yield f"{count:,} facts in {language} are left out: not asked in one or both runs"
    for place, (name, knows) in enumerate(zip(names, ("first", "second"), strict=True)):
        for language in found.not_asked:
            facts = [f for f in found.one_sided if (f.language, f.knows) == (language, knows)]
            for fact in facts[:shown]:
                said = (fact.first, fact.second)
                accepted = " | ".join(fact.answer_forms[:_ACCEPTED])
                yield (
                    f"only {name}, {language}: {fact.prompt} {said[place]!r}, not "
                    f"{said[1 - place]!r} ({accepted})"
                )
