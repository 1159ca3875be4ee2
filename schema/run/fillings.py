"""Fillings of several numbers of masks: choose one, when decoding or again without the model."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from polyprobe.system.messages import PolyprobeError

FILLING = pa.struct(
    [
        ("ids", pa.list_(pa.int32())),
        ("text", pa.string()),
        ("log_c", pa.list_(pa.float32())),  # nats, one value for each token
    ]
)
CHOSEN = ("prediction", "n_masks", "log_probability")  # columns of the filling that wins


def value_of(log_c: Sequence[float], length_norm: bool) -> float:
    """Compute v of a filling in nats: the sum of log c, or with length normalisation the mean."""
    return sum(log_c) / len(log_c) if length_norm else sum(log_c)


def find_winner(log_c: Sequence[Sequence[float]], length_norm: bool) -> int:
    """Find the index of the filling with the highest v(m), of equals the first (fewest masks)."""
    # X-FACTR (Jiang et al. 2020), section 4.2, v(m) = sum of log c over the m tokens
    values = [value_of(row, length_norm) for row in log_c]
    return values.index(max(values))


def choose_again(
    tables: Mapping[str, pa.Table],
    length_norm: bool | None,
    max_masks: int | None,
    normalised: bool,
    folder: object,
) -> dict[str, pa.Table]:
    """Choose again among the fillings of predictions by language.

    `length_norm` compares by the mean of log c, not by the sum; None: as the run did, which
    `normalised` tells. `max_masks` takes only fillings of at most so many masks; None: all.
    """
    if length_norm is None and max_masks is None:
        return dict(tables)
    norm = normalised if length_norm is None else length_norm
    for language, table in tables.items():
        longest = count_masks(table)
        if longest and max_masks is not None and max_masks > longest:
            raise PolyprobeError(
                f"--max-masks {max_masks}: {folder}/predictions/{language}.parquet has fillings of "
                f"{longest} masks at most; choose at most {longest}, or evaluate into another "
                "--output"
            )
    return {x: _replace_winners(table, norm, max_masks) for x, table in tables.items()}


def count_masks(table: pa.Table) -> int:
    """Count M, the largest number of masks of the fillings; 0 if no fact was asked."""
    return pc.max(pc.list_value_length(table["fillings"])).as_py() or 0


def _replace_winners(table: pa.Table, length_norm: bool, max_masks: int | None) -> pa.Table:
    rows = table.to_pylist()
    for row in rows:
        offered = (row["fillings"] or [])[:max_masks]
        values: tuple[Any, ...] = (None,) * len(CHOSEN)
        if offered:
            best = offered[find_winner([filling["log_c"] for filling in offered], length_norm)]
            values = (best["text"], len(best["ids"]), value_of(best["log_c"], length_norm))
        row.update(zip(CHOSEN, values, strict=True), fillings=offered or None)
    return pa.Table.from_pylist(rows, schema=table.schema)
