"""The rows of a language as a harness asks them, refused where one cannot be asked."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa

from polyprobe import PolyprobeError

from ..card import read_parquet
from ..table import SCHEMA, SLOT

COLUMNS = ("prompt", "candidates", "answers")
CHECKS: dict[str, Callable[[str, list[str], list[int]], bool]] = {
    "a value is missing": lambda prompt, candidates, answers: (
        None in (prompt, candidates, answers) or None in (*candidates, *answers)
    ),
    f"the prompt must hold the slot {SLOT} exactly once": lambda prompt, candidates, answers: (
        prompt.count(SLOT) != 1
    ),
    "there are no candidates": lambda prompt, candidates, answers: not candidates,
    "a candidate is empty": lambda prompt, candidates, answers: (
        not all(candidate.strip() for candidate in candidates)
    ),
    "there is no right answer": lambda prompt, candidates, answers: not answers,
    "an answer is no index into the candidates": lambda prompt, candidates, answers: (
        not all(0 <= answer < len(candidates) for answer in answers)
    ),
}
"""By what is wrong; in each row the first that holds is told, so that later ones may rely on it."""


def read_prompts(files: Sequence[str], place: str) -> list[str]:
    """Return a language's prompts, checked together with candidates and answers.

    Raises:
        PolyprobeError: no rows, a column that lacks or is of another type, a row of `CHECKS`;
            `place` says which language of which dataset.
    """
    tables = [read_parquet(Path(file)) for file in files]
    columns = [
        [value for table in tables for value in read_column(table, column, place)]
        for column in COLUMNS
    ]
    rows = list(zip(*columns, strict=True))
    if not rows:
        raise PolyprobeError(f"{place} has no rows; build the dataset again")
    for number, row in enumerate(rows):
        for problem, is_bad in CHECKS.items():
            if is_bad(*row):
                raise PolyprobeError(
                    f"{place}, row {number}: {problem}; mend the dataset or rebuild it"
                )
    return [prompt for prompt, _, _ in rows]


def read_column(table: pa.Table, column: str, place: str) -> list:
    """Return a column's values, nulls as None."""
    if column not in table.column_names:
        raise PolyprobeError(f"{place} has no column {column!r}; expected {', '.join(COLUMNS)}")
    kind = SCHEMA.field(column).type
    try:
        return table[column].cast(kind).to_pylist()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        found = table.schema.field(column).type
        raise PolyprobeError(f"{place}: column {column!r} is {found}; expected {kind}") from error
