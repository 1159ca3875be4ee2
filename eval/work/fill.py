"""Score a run's languages: take known scores from the store and compute the rest."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from typing import NamedTuple, Self

import pyarrow as pa
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from polyprobe.eval.run.folder import SCORES, Run
from polyprobe.eval.scoring.scorers import Scored
from polyprobe.system.errors import PolyprobeError

from .known_scores import Known, ScoreStore
from .tasks import Query, Task, make_tasks, queries_of
from .workers import Report

# Scores tasks in any order and reports their progress.
Workers = Callable[[list[Task], Report], Generator[tuple[Task, Scored]]]


class Work(NamedTuple):
    """The queries that a run needs.

    Attributes:
        asked: the queries of each missing language, in row order.
        known: number of distinct queries in the store.
        tasks: the other queries.
    """

    asked: dict[str, list[Query]]
    known: int
    tasks: list[Task]

    def tasks_up_to(self, language: str) -> int:
        """Return the number of tasks after which all queries of this language are known.

        A query that an earlier language has too is scored there.
        """
        order = list(self.asked)
        earlier = set(order[: order.index(language) + 1])
        return sum(task.language in earlier for task in self.tasks)


def fill_scores(
    run: Run, tables: Mapping[str, pa.Table], store: ScoreStore, workers: Workers
) -> None:
    """Write the scores of each language as soon as all of its queries are known.

    Each task is stored when it is done, so that an interruption loses unfinished tasks only.

    Args:
        run: an open run.
        tables: the rows of the languages without scores.
        store: the scores of this model.
        workers: the function that scores tasks.
    """
    console = Console(stderr=True)
    work = plan_work(tables, store)
    if work.known:
        console.print(f"{work.known:,} queries are known from earlier runs", highlight=False)
    waiting = list(tables)
    done: set[int] = set()
    with Bars(console, len(tables), work) as bars:

        def write_ready() -> None:
            while waiting and done.issuperset(range(work.tasks_up_to(waiting[0]))):
                language = waiting.pop(0)
                queries = work.asked[language]
                run.write_scores(
                    language, take(tables[language], language, queries, store, console)
                )
                bars.count_language()

        write_ready()
        with closing(workers(work.tasks, bars.report)) as finished:
            for task, scored in finished:
                store.add(task.prompts, task.candidates, as_known(scored))
                done.add(task.number)
                write_ready()


def plan_work(tables: Mapping[str, pa.Table], store: ScoreStore) -> Work:
    """Return the work for the rows of these languages."""
    asked = {language: queries_of(table) for language, table in tables.items()}
    distinct = list(dict.fromkeys(query for queries in asked.values() for query in queries))
    found = store.find([prompt for prompt, _ in distinct], [row for _, row in distinct])
    known = {query for query, one in zip(distinct, found, strict=True) if one}
    return Work(asked, len(known), make_tasks(asked, known))


def as_known(scored: Scored) -> list[Known]:
    """Return scores by query, as in the store."""
    unknown: list[list[int]] = [[] for _ in scored.scores]
    for query, candidate in scored.unknown:
        unknown[query].append(candidate)
    return [Known(*row) for row in zip(scored.scores, scored.n_tokens, unknown, strict=True)]


def take(
    table: pa.Table, language: str, queries: Sequence[Query], store: ScoreStore, console: Console
) -> pa.Table:
    """Return a language's scores from the store; warn about unknown candidates."""
    found = store.find([prompt for prompt, _ in queries], [row for _, row in queries])
    known = [one for one in found if one]
    if len(known) < len(queries):
        raise PolyprobeError(
            f"language '{language}': {len(queries) - len(known)} queries are missing from the "
            f"score store {store.file}, which was changed; run the same command again"
        )
    rows = zip(queries, known, strict=True)
    unknown = [candidates[k] for (_, candidates), one in rows for k in one.unknown]
    if unknown:
        total = sum(len(candidates) for _, candidates in queries)
        console.print(
            f"warning: language '{language}': {len(unknown)} of {total} candidates consist of "
            f"unknown tokens only (the first is {unknown[0]!r})",
            markup=False,
        )
    return as_scores(table, known)


def as_scores(table: pa.Table, known: Sequence[Known]) -> pa.Table:
    """Return the scores of a table's rows with the columns of `SCORES`."""
    columns = table.select(SCORES.names[:3]).to_pydict()
    columns |= {"scores": [k.scores for k in known], "n_tokens": [k.n_tokens for k in known]}
    return pa.table(columns, schema=SCORES)


class Bars:
    """Two progress bars: written languages and scored queries."""

    def __init__(self, console: Console, n_languages: int, work: Work) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        self._bars = Progress(*columns, TimeRemainingColumn(), console=console)
        self._languages = self._bars.add_task("languages", total=n_languages)
        n_queries = sum(len(task.prompts) for task in work.tasks)
        self._queries = self._bars.add_task("queries", total=n_queries, visible=n_queries > 0)
        self._shares: dict[int, float] = {}

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def count_language(self) -> None:
        """Count a written language."""
        self._bars.advance(self._languages)

    def report(self, task: Task, done: int, total: int) -> None:
        """Update the number of a task's inputs that are done."""
        self._shares[task.number] = len(task.prompts) * done / max(total, 1)
        self._bars.update(self._queries, completed=round(sum(self._shares.values())))
