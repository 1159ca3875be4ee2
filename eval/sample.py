"""Choose the rows of a run: all, the first N, or N spread over the relations."""

import hashlib

import pyarrow as pa

from polyprobe import PolyprobeError


def choose_rows(table: pa.Table, limit: int | None = None, sample: int | None = None) -> list[int]:
    """Return row numbers in dataset order; they depend on relation and id alone.

    `limit` takes the first rows. `sample` sorts the facts by relation and, inside a relation, by
    the SHA-256 of their id, and takes every (rows / sample)-th: relations keep their shares
    to within one fact, and every language and machine gets the same facts. Asking for more
    rows than there are gives all. The id is `published_row` where the dataset has that column, so
    that a repaired dataset and the published one give the same facts; else `fact_id`.
    """
    if limit is not None and sample is not None:
        raise PolyprobeError("--limit and --sample were both given; choose one")
    for name, number in (("--limit", limit), ("--sample", sample)):
        if number is not None and number < 1:
            raise PolyprobeError(f"{name} must be at least 1, got {number}")
    if sample is None or sample >= len(table):
        return list(range(len(table)))[:limit]
    ids = table["published_row" if "published_row" in table.schema.names else "fact_id"]
    order = _spread(table["relation"].to_pylist(), ids.to_pylist())
    return sorted(order[(2 * k + 1) * len(order) // (2 * sample)] for k in range(sample))


def _spread(relations: list[str], ids: list[str]) -> list[int]:
    digests = [hashlib.sha256(name.encode()).hexdigest() for name in ids]
    return sorted(range(len(ids)), key=lambda row: (relations[row], digests[row]))
