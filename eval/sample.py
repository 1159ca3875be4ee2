"""Choose the rows of a run: all, the first N, or N spread over the relations."""

import hashlib

import pyarrow as pa

from polyprobe import PolyprobeError


def choose_rows(table: pa.Table, limit: int | None = None, sample: int | None = None) -> list[int]:
    """Return row numbers in dataset order; they depend on fact_id and relation alone.

    `limit` takes the first rows. `sample` sorts the facts by relation and, inside a relation, by
    the SHA-256 of fact_id, and takes every (rows / sample)-th: relations keep their shares
    to within one fact, and every language and machine gets the same facts. Asking for more
    rows than there are gives all.
    """
    if limit is not None and sample is not None:
        raise PolyprobeError("--limit and --sample were both given; choose one")
    for name, number in (("--limit", limit), ("--sample", sample)):
        if number is not None and number < 1:
            raise PolyprobeError(f"{name} must be at least 1, got {number}")
    if sample is None or sample >= len(table):
        return list(range(len(table)))[:limit]
    order = _spread(table["relation"].to_pylist(), table["fact_id"].to_pylist())
    return sorted(order[(2 * k + 1) * len(order) // (2 * sample)] for k in range(sample))


def _spread(relations: list[str], fact_ids: list[str]) -> list[int]:
    digests = [hashlib.sha256(fact_id.encode()).hexdigest() for fact_id in fact_ids]
    return sorted(range(len(fact_ids)), key=lambda row: (relations[row], digests[row]))
