"""The audit of one dataset: each language against the reference, and what holds for all."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from polyprobe import __version__

from .answers import count_last, count_positions, count_symmetric, position_p_value
from .ceiling import SEED, Ceiling, compute_ceiling
from .checks import compare_labels, count_rows
from .parallel import Judged, find_ids, judge_languages
from .split import Split, fingerprint, read_splits


class LanguageAudit(NamedTuple):
    """One language's counts.

    - `not_parallel`: rows whose candidates are not the reference's, any observed translation of a
      homonym counting; `not_parallel_strict`: no homonym counting.
    - `rows`: {code of CHECKS: rows}.
    - `positions`: answers at each index, over rows of at least two candidates, `expected` for
      indices drawn at random, `p_value` of the chi-square test.
    - `last`: answers at the end of such a row.
    - `labels_identical`, of `labels_compared` distinct pairs.
    """

    not_parallel: int
    not_parallel_strict: int
    not_judged: int
    rows: dict[str, int]
    positions: list[int]
    expected: list[float]
    p_value: float | None
    last: int
    labels_identical: int
    labels_compared: int


class Audit(NamedTuple):
    """What is wrong with a dataset; `symmetric` is {symmetric relation: rows}."""

    signature: str
    reference: str
    rows: int
    rows_parallel_in_all: int
    rows_with_ids: int
    symmetric: dict[str, int]
    languages: dict[str, LanguageAudit]
    ceiling: Ceiling


def audit_tables(tables: Mapping[str, pa.Table], name: str) -> Audit:
    """Return the audit of one table a language, row i the same query in all.

    The reference is English, or the first language where there is no English. `name` is
    DATASET/CONFIG, for the signature and for errors.
    """
    splits = read_splits(tables, name)
    reference = "en" if "en" in splits else next(iter(splits))
    judged = judge_languages(splits, reference)
    differ = np.any([language.not_parallel for language in judged.values()], axis=0)
    ceiling = compute_ceiling(splits, judged)
    return Audit(
        signature=sign(name, splits, reference, ceiling),
        reference=reference,
        rows=len(differ),
        rows_parallel_in_all=int((~differ).sum()),
        rows_with_ids=sum(find_ids(splits)),
        symmetric=count_symmetric(splits[reference]),
        languages={
            language: audit_language(split, splits[reference], judged[language])
            for language, split in splits.items()
        },
        ceiling=ceiling,
    )


def audit_language(split: Split, reference: Split, judged: Judged) -> LanguageAudit:
    """Return the counts of one language."""
    positions, expected = count_positions(split)
    identical = compare_labels(split, reference, judged.not_parallel.tolist())
    return LanguageAudit(
        not_parallel=int(judged.not_parallel.sum()),
        not_parallel_strict=int(judged.not_parallel_strict.sum()),
        not_judged=judged.not_judged,
        rows=count_rows(split, reference),
        positions=positions,
        expected=expected,
        p_value=position_p_value(positions, expected),
        last=count_last(split),
        labels_identical=identical[True],
        labels_compared=identical.total(),
    )


def sign(name: str, splits: Mapping[str, Split], reference: str, ceiling: Ceiling) -> str:
    """Return one line that identifies the data, what it was held against, and the draws."""
    parts = (
        f"data:{name}@{fingerprint(splits)}",
        f"languages:{len(splits)}",
        f"reference:{reference}",
        f"draws:{ceiling.draws}",
        f"seed:{SEED}",
        f"polyprobe:{__version__}",
    )
    return "|".join(parts)
