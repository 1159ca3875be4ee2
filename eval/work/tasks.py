"""A run's work in pieces: ranges of rows of one language, each scored by one call."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pyarrow as pa

# Candidates of a task: what a crash costs at most, and what prompts may share batches.
CANDIDATES = 4096

Query = tuple[str, tuple[str, ...]]


class Task(NamedTuple):
    """Queries of one language that are scored together.

    Attributes:
        number: its place in the order of the run; results may come in any order.
        language: the split that the queries are of.
        prompts: sentences with one slot.
        candidates: for each prompt the fillers of its slot.
    """

    number: int
    language: str
    prompts: list[str]
    candidates: list[list[str]]


def queries_of(table: pa.Table) -> list[Query]:
    """Return what the rows ask: prompt and candidates."""
    lists: dict[tuple[str, ...], tuple[str, ...]] = {}  # hundreds of rows may have the same
    queries = []
    for part in table.select(["prompt", "candidates"]).to_batches(max_chunksize=256):
        for row in part.to_pylist():
            candidates = tuple(row["candidates"])
            queries.append((row["prompt"], lists.setdefault(candidates, candidates)))
    return queries


def make_tasks(asked: Mapping[str, list[Query]], known: set[Query]) -> list[Task]:
    """Return the tasks that score every query once, languages in order.

    Where a language is cut into tasks depends on its own rows alone; of each task those queries
    are left out that are known or stand in an earlier one. So a run that was killed and goes on,
    with whole tasks known, makes the same batches, and hence the same bits.
    """
    tasks: list[Task] = []
    seen = set(known)
    for language, queries in asked.items():
        for part in _parts(list(dict.fromkeys(queries))):
            new = [query for query in part if query not in seen]
            seen.update(new)
            if new:
                prompts = [prompt for prompt, _ in new]
                rows = [list(candidates) for _, candidates in new]
                tasks.append(Task(len(tasks), language, prompts, rows))
    return tasks


def _parts(queries: list[Query]) -> Iterator[list[Query]]:
    """Yield runs of queries with at most so many candidates in all, one query at least."""
    part: list[Query] = []
    size = 0
    for query in queries:
        if part and size + len(query[1]) > CANDIDATES:
            yield part
            part, size = [], 0
        part.append(query)
        size += len(query[1])
    if part:
        yield part
