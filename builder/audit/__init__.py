"""Counts of a dataset's defects; `audit_tables` accepts any tables of our schema."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from polyprobe import __version__
from polyprobe.builder.facts.truths import SYMMETRIC
from polyprobe.system.options import check_arguments

from .checks import CHECKS, compare_labels, count_positions
from .limits import SEED, Baseline, Ceiling, Judged, compute_ceiling, find_baselines, judge_language
from .split import Split, find_ids, hash_splits, make_splits


class Audit(NamedTuple):
    """The defects of a dataset."""

    signature: str  # of the data, the reference, the draws, and the version
    reference: str
    rows: int
    rows_parallel_in_all: int
    rows_with_ids: int
    symmetric: dict[str, int]  # rows by symmetric relation
    languages: dict[str, dict[str, Any]]  # of `audit_language`
    ceiling: Ceiling
    baselines: dict[str, Baseline]  # of the reference's rows, by relation, of all rows under ""
    parts: Mapping[str, dict[str, Any]] = {}  # of LANG-train, LANG-valid, … (`count_parts`)


@check_arguments
def audit_tables(tables: Mapping[str, pa.Table], name: str) -> Audit:
    """Return the audit of {language: table}; row i is the same query in all languages."""
    splits = make_splits(tables, name)
    # English, or the first language if there is no English.
    reference = "en" if "en" in splits else next(iter(splits))
    with_ids = find_ids(splits)
    first = splits[reference]
    judged = {x: judge_language(first, split, with_ids) for x, split in splits.items()}
    differ = np.any([language.not_parallel for language in judged.values()], axis=0)
    ceiling = compute_ceiling(splits, judged)
    return Audit(
        signature=(
            f"data:{name}@{hash_splits(splits)}|languages:{len(splits)}|reference:{reference}|"
            f"draws:{ceiling.draws}|seed:{SEED}|polyprobe:{__version__}"
        ),
        reference=reference,
        rows=len(differ),
        rows_parallel_in_all=int((~differ).sum()),
        rows_with_ids=sum(with_ids),
        symmetric={name: first.relation.count(name) for name in SYMMETRIC},
        languages={x: audit_language(split, first, judged[x]) for x, split in splits.items()},
        ceiling=ceiling,
        baselines=find_baselines(first, all(with_ids)),
    )


def audit_language(split: Split, reference: Split, judged: Judged) -> dict[str, Any]:
    """Return the counts of one language, by their keys in JSON: `to_en` means the reference."""
    from scipy.stats import chisquare  # here: a build imports this room, and SciPy takes 0.4 s

    positions, expected, last = count_positions(split)
    p_value = float(chisquare(positions, expected).pvalue) if sum(positions) else None
    identical = compare_labels(split, reference, judged.not_parallel.tolist())
    return {
        # Rows whose candidates differ from the reference's. For a homonym, any observed translation
        # is the same entity; if strict, none is.
        "rows_not_parallel_to_en": int(judged.not_parallel.sum()),
        "rows_not_parallel_to_en_strict": int(judged.not_parallel_strict.sum()),
        "candidates_not_judged": judged.not_judged,  # they cannot be compared
        **{code: sum(check.find(split, reference)) for code, check in CHECKS.items()},
        # Answers at each index, in rows of at least two candidates, those of a fact's templates
        # once; and as many as random positions would give.
        "answer_positions": positions,
        "answer_positions_expected": expected,
        "answers_last": last,  # such rows whose last candidate is an answer
        # Of Pearson's chi-square test of the positions, None without answers. It is rough if fewer
        # than five answers are expected at a position.
        "answer_position_p_value": p_value,
        "labels_identical_to_en": identical[True],  # distinct pairs of equal labels
        "labels_compared": identical.total(),
    }
