"""Choose the rows of a run: all, the first N, or N spread over the relations."""

import hashlib
from itertools import groupby

import pyarrow as pa

from polyprobe.system.errors import PolyprobeError


def choose_rows(table: pa.Table, limit: int | None = None, sample: int | None = None) -> list[int]:
    """Return row numbers in dataset order; they depend on relation and id alone.

    `limit` takes the first rows. `sample` takes facts, with all rows (templates) of each: it
    numbers each relation's n facts by the SHA-256 of their id, k = 0, 1, ..., and takes those with
    the smallest (k + 1/2) / n. So relations keep their shares to within one fact, every language
    and machine gets the same facts, a larger sample includes the smaller one, and the sample is
    stable under small changes of the dataset. If N is larger than the dataset, return all rows. The
    id is `published_row` if the dataset has that column, so that a repaired dataset and the
    published one give the same facts; else `fact_id`.
    """
    if limit is not None and sample is not None:
        raise PolyprobeError("--limit and --sample were both given; choose one")
    for name, number in (("--limit", limit), ("--sample", sample)):
        if number is not None and number < 1:
            raise PolyprobeError(f"{name} must be at least 1, got {number}")
    if sample is None:
        return list(range(len(table)))[:limit]
    names = table["published_row" if "published_row" in table.schema.names else "fact_id"]
    ids = names.to_pylist()
    relation_of = dict(zip(ids, table["relation"].to_pylist(), strict=True))
    facts = list(relation_of)
    order = _spread(list(relation_of.values()), facts)
    chosen = {facts[i] for i in order[:sample]}
    return [row for row, name in enumerate(ids) if name in chosen]


def _spread(relations: list[str], ids: list[str]) -> list[int]:
    """Return all row numbers in the order in which samples take them."""
    digests = [hashlib.sha256(name.encode()).hexdigest() for name in ids]
    order = sorted(range(len(ids)), key=lambda row: (relations[row], digests[row]))
    places = {}
    for _, part in groupby(order, key=lambda row: relations[row]):
        rows = list(part)
        places.update({row: (k + 0.5) / len(rows) for k, row in enumerate(rows)})
    return sorted(order, key=lambda row: (places[row], digests[row]))
