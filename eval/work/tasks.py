"""Tasks: ranges of the rows of one language that are scored in one call."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pyarrow as pa

# Of a task, at most: the loss of a crash, and the limit of shared batches.
CANDIDATES = 4096

Query = tuple[str, tuple[str, ...]]


class Task(NamedTuple):
    """Queries of one language that are scored together.

    Attributes:
        number: its position in the run; results may arrive in any order.
        language: the split of the queries.
        prompts: sentences with one slot.
        candidates: for each prompt the fillers of its slot.
    """

    number: int
    language: str
    prompts: list[str]
    candidates: list[list[str]]


def queries_of(table: pa.Table) -> list[Query]:
    """Return the prompt and candidates of each row."""
    lists: dict[tuple[str, ...], tuple[str, ...]] = {}  # rows share lists: one copy in memory
    queries = []
    for part in table.select(["prompt", "candidates"]).to_batches(max_chunksize=256):
        for row in part.to_pylist():
            candidates = tuple(row["candidates"])
            queries.append((row["prompt"], lists.setdefault(candidates, candidates)))
    return queries


def make_tasks(asked: Mapping[str, list[Query]], known: set[Query]) -> list[Task]:
    """Return the tasks that score every query once, in the order of languages.

    The boundaries between the tasks of a language depend on its own rows only. Queries that are
    known or belong to an earlier task are then left out. A resumed run, which knows the queries of
    complete tasks, therefore forms the same batches and computes the same bits.
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
    """Yield lists of at least one query, with at most CANDIDATES candidates otherwise."""
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
