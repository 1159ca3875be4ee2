"""Score a run's languages: take known scores from the store and compute the rest."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import fields
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from polyprobe.eval.options import EvaluationOptions, read_price
from polyprobe.eval.questions import DONOR, DONOR_PROMPT, PROMPT_START
from polyprobe.schema.columns import SLOT, has_prompts
from polyprobe.schema.run.folder import AGREE, EFFECTS, N_PROMPT, PROMPT, SCORES, Run
from polyprobe.schema.run.protocol import NO_CANDIDATES
from polyprobe.schema.run.settings import Settings
from polyprobe.scoring import QueryScores
from polyprobe.scoring.load import Loaded, ModelSource, load
from polyprobe.scoring.options import ANSWER, SUMS, ScorerOptions
from polyprobe.scoring.scorers import Scorer
from polyprobe.system.devices import choose_device
from polyprobe.system.files import is_hash
from polyprobe.system.messages import DESCRIPTION, Console, PolyprobeError

from .score_store import ScoreStore, open_store
from .workers import Report, Results, Task, ray_cluster, score_here
from .workers.ray_cluster import LOCAL, Crew

CANDIDATES = 4096  # of a task, at most: the loss of a crash, and the limit of shared batches
FORECAST = 32  # tasks that are planned for a forecast
REPEATED = 5  # rows that are scored again by a server
TEXT = 16  # candidates that take as long as a free answer
ASKED = ("prompt", "prompts", "candidates")
Query = tuple[str, tuple[str, ...]]
# Scores tasks in any order and reports their progress.
Workers = Callable[[list[Task], Report], Results]


class Work(NamedTuple):
    """The queries that a run needs."""

    queries: dict[str, list[Query]]  # those of the rows of each language, see `queries_of`
    n_stored: int  # number of distinct queries in the store
    tasks: list[Task]  # the other queries


def fill_scores(
    workers: Workers,
    cache: bool,
    run: Run,
    settings: Settings,
    tables: Mapping[str, pa.Table],
    announce: Callable[[Work], str] | None = None,
    make: Callable[[str, pa.Table, list[QueryScores]], pa.Table] | None = None,
) -> None:
    """Write the scores of each language as soon as all of its queries are known."""
    # Each task is stored when it is done, so that an interruption loses unfinished tasks only.
    console = Console(stderr=True)
    store = open_store(run, settings, cache)
    work = plan_work(tables, store)
    if announce and work.tasks:
        console.print(announce(work))
    elif work.n_stored:
        console.print(f"{work.n_stored:,} queries are known from earlier runs")
    waiting = list(tables)
    n_left = Counter(task.language for task in work.tasks)
    n_queries = sum(len(task.prompts) for task in work.tasks)
    with ProgressBars(console, len(tables), n_queries) as bars:

        def write_ready() -> None:
            # A query that an earlier language has too is scored there.
            while waiting and not n_left[waiting[0]]:
                language = waiting.pop(0)
                scores = _read_scores(language, work.queries[language], store, console)
                table = tables[language]
                made = make(language, table, scores) if make else as_scores(table, scores)
                run.write(language, made)
                bars.advance(bars.languages)

        write_ready()
        with closing(workers(work.tasks, bars.report)) as finished:
            for task, scored in finished:
                store.add(task.prompts, task.candidates, scored)
                n_left[task.language] -= 1
                write_ready()


def plan_work(tables: Mapping[str, pa.Table], store: ScoreStore | None) -> Work:
    """Return the work for the rows of these languages; without a store nothing is known."""
    queries = {language: queries_of(table) for language, table in tables.items()}
    distinct = list(dict.fromkeys(query for rows in queries.values() for query in rows))
    results = store.find(*zip(*distinct, strict=True)) if store and distinct else []
    seen = {query for query, scores in zip(distinct, results, strict=False) if scores}
    return Work(queries, len(seen), make_tasks(queries, seen))


def forecast(work: Work, scorer: Scorer, price: str | None) -> str:
    """Return the work that is left in one line, with its cost at a price."""
    # Of more than FORECAST tasks some are planned, spread evenly, and stand for the others
    step = -(-len(work.tasks) // FORECAST) or 1
    some = work.tasks[::step]
    parts = [scorer.engine.forecast(scorer.prepare(t.prompts, t.candidates).plan) for t in some]
    queries = sum(len(task.prompts) for task in work.tasks)
    planned = sum(len(task.prompts) for task in some) or 1
    calls, inputs, tokens = (round(sum(p) * queries / planned) for p in zip(*parts, strict=True))
    about = "about " if step > 1 else ""
    n_out = inputs * scorer.n_written
    more = f", {n_out:,} or fewer in answers" if scorer.n_written > 1 else ""
    if price:
        price_in, price_out = read_price(price)
        more += f"; {(tokens * price_in + n_out * price_out) / 1e6:,.4f} at --price {price}"
    what = "requests with" if scorer.model is None else "batches of"
    return (
        f"{queries:,} queries to score, {work.n_stored:,} known: {about}{calls:,} {what} "
        f"{inputs:,} prompts, {tokens:,} tokens{more}"
    )


def queries_of(table: pa.Table) -> list[Query]:
    """Return the prompt and candidates of each row, then what else is asked of some rows."""
    # A row with a prompt for each candidate is a query for each candidate, in that order. Second
    # questions follow, and then the texts before the slot (see `questions.py`).
    lists: dict[tuple[str, ...], tuple[str, ...]] = {}  # rows share lists: one copy in memory
    queries: list[Query] = []
    second: list[Query] = []
    starts: list[Query] = []
    names = [x for x in (*ASKED, DONOR_PROMPT, PROMPT_START) if x in table.column_names]
    for part in table.select(names).to_batches(max_chunksize=256):
        for row in part.to_pylist():
            candidates = tuple(row["candidates"])
            candidates = lists.setdefault(candidates, candidates)
            if row.get("prompts"):
                queries += [(p, (c,)) for p, c in zip(row["prompts"], candidates, strict=True)]
            else:
                queries.append((row["prompt"], candidates))
            if row.get(DONOR_PROMPT):
                second.append((row[DONOR_PROMPT], candidates))
            if row.get(PROMPT_START):
                starts.append((SLOT, (row[PROMPT_START],)))
    return [*queries, *second, *starts]


def make_tasks(queries: Mapping[str, list[Query]], known_queries: set[Query]) -> list[Task]:
    """List the tasks that score every query once, in the order of languages."""
    # The boundaries between the tasks of a language depend on its own rows only. Queries that are
    # known or belong to an earlier task are then left out. A resumed run, which knows the queries
    # of complete tasks, therefore forms the same batches and computes the same bits. Queries with
    # the same prompt are neighbours: they share the prompt, and equal sentences are run once.
    tasks: list[Task] = []
    seen = set(known_queries)
    for language, rows in queries.items():
        first = {prompt: place for place, (prompt, _) in reversed([*enumerate(rows)])}
        # Prompts of free answers are run together if they are equally long.
        keys = {x: (len(x[0]) * (x[1] == NO_CANDIDATES), first[x[0]]) for x in rows}
        for part in _parts(sorted(keys, key=keys.__getitem__)):
            new = [query for query in part if query not in seen]
            seen.update(new)
            if new:
                prompts = [prompt for prompt, _ in new]
                lists = [list(candidates) for _, candidates in new]
                tasks.append(Task(len(tasks), language, prompts, lists))
    return tasks


def _parts(queries: list[Query]) -> Iterator[list[Query]]:
    """Yield lists of at least one query, with at most CANDIDATES candidates otherwise."""
    part: list[Query] = []
    size = 0
    for query in queries:
        # Candidates with the same first sub-word tie only in one task.
        same = part and query[0] == part[-1][0] != SLOT and len(query[1]) == 1
        if part and size + len(query[1]) > CANDIDATES and not same:
            yield part
            part, size = [], 0
        part.append(query)
        size += TEXT if query[1] == NO_CANDIDATES else len(query[1])
    if part:
        yield part


def _read_scores(
    language: str, queries: Sequence[Query], store: ScoreStore, console: Console
) -> list[QueryScores]:
    results = store.find([prompt for prompt, _ in queries], [row for _, row in queries])
    scores = [result for result in results if result]
    if len(scores) < len(queries):
        raise PolyprobeError(
            f"language '{language}': {len(queries) - len(scores)} queries are missing from the "
            f"score store {store.file}, which was changed; run the same command again"
        )
    rows = zip(queries, scores, strict=True)
    unknown = [candidates[k] for (_, candidates), result in rows for k in result.unknown]
    if unknown:
        total = sum(len(candidates) for _, candidates in queries)
        console.print(
            f"warning: language '{language}': {len(unknown)} of {total} candidates consist of "
            f"unknown tokens only (the first is {unknown[0]!r})"
        )
    return scores


def as_scores(table: pa.Table, scores: Sequence[QueryScores]) -> pa.Table:
    """Return the scores of a table's rows with the columns of `SCORES`."""
    # The scores are those of `queries_of`. Columns of `questions.annotate` may be absent, and null.
    queue = iter(scores)
    sizes = [0] * len(table)  # the number of a row's own prompts, one for each candidate
    if has_prompts(table):
        sizes = pc.fill_null(pc.list_value_length(table["prompts"]), 0).to_pylist()
    names = {*SCORES.names, PROMPT_START} & {*table.column_names}
    rows = table.select(names).to_pylist()
    for row, n in zip(rows, sizes, strict=True):
        scored = _join([*islice(queue, n)]) if n else next(queue)
        row.update(scores=scored.scores, n_tokens=scored.n_tokens, donor_scores=None)
        row[EFFECTS] = [*scored.effects] or None
    for row in (row for row in rows if row.get(DONOR)):
        row["donor_scores"] = next(queue).scores
    for row in (row for row in rows if row.get(PROMPT_START)):
        start = next(queue)
        row[PROMPT], row[N_PROMPT] = start.scores[0], start.n_tokens[0]
    return pa.Table.from_pylist(rows, schema=SCORES)


def _join(queries: Sequence[QueryScores]) -> QueryScores:
    """Return the scores of a row from those of its candidates, each in its own prompt."""
    scores = [score for query in queries for score in query.scores]
    n_tokens = [n for query in queries for n in query.n_tokens]
    return QueryScores(scores, n_tokens, [k for k, query in enumerate(queries) if query.unknown])


def check_same_model(
    run: Run, scorer: Scorer, texts: Mapping[str, pa.Table], rows: Sequence[int]
) -> None:
    """Refuse a served model that does not repeat some scores of the run's first language."""
    # A score that is a sum may differ by `AGREE` for each token. Without the values of all tokens
    # (`ServedEngine.exact`) rounding decides which are given, so scores are not compared.
    first = run.settings().languages[0]
    if run.missing([first]) or first not in texts or not scorer.engine.exact:
        return
    places = [*range(0, len(rows), max(1, len(rows) // REPEATED))][:REPEATED]
    table = texts[first].take([rows[k] for k in places])
    prompts, candidates = zip(*queries_of(table), strict=True)
    scored = scorer.score_counted(prompts, candidates)
    now = as_scores(table, scored)["scores"].to_pylist()
    table_of_run = run.read(first).take(places)
    before, tokens = table_of_run["scores"].to_pylist(), table_of_run["n_tokens"].to_pylist()
    summed = scorer.scoring in SUMS
    worst = max(
        abs(a - b) / (n if summed else 1)
        for row in zip(now, before, tokens, strict=True)
        for a, b, n in zip(*row, strict=True)
    )
    if worst > AGREE:
        raise PolyprobeError(
            f"the server gives other scores than those of {first!r} in {run.folder} (they differ "
            f"by {worst:.3g}): it has another model; serve the same one, or choose another --output"
        )


class ProgressBars(Progress):
    """Progress bars: written languages, scored queries if there are any; the time left."""

    def __init__(self, console: Console, n_languages: int, n_queries: int = 0) -> None:
        columns = (TextColumn(DESCRIPTION, markup=False), BarColumn(), MofNCompleteColumn())
        super().__init__(*columns, TimeRemainingColumn(), console=console)
        self.languages = self.add_task("languages", total=n_languages)
        self._queries = self.add_task("queries", total=n_queries, visible=n_queries > 0)
        self._shares: dict[int, float] = {}

    def report(self, task: Task, done: int, total: int) -> None:
        """Update the number of a task's inputs that are done."""
        self._shares[task.number] = len(task.prompts) * done / max(total, 1)
        self.update(self._queries, completed=round(sum(self._shares.values())))


@contextmanager
def open_model(
    model: Any, name: str, options: EvaluationOptions, earlier: Settings | None
) -> Iterator[Loaded | Crew]:
    """Yield the model, loaded here, or workers on Ray, the first of which loads it."""
    # Answers are shown, and what is before a slot is checked, by a scorer here.
    here = options.scoring == ANSWER or options.prompt_probability
    if options.distributor is None or here:
        yield load(model, options, earlier)
        return
    plain = _make_plain(options, device=str(choose_device(options.device)))
    source = ModelSource(name, plain, earlier=earlier)
    with ray_cluster.open_crew(source, options.ray or LOCAL, options.devices) as crew:
        yield crew


def _make_plain(options: EvaluationOptions, **changes: Any) -> ScorerOptions:
    # The options of a command are of a class that other processes cannot import.
    values = {part.name: getattr(options, part.name) for part in fields(ScorerOptions)}
    return ScorerOptions(**values | changes)


def choose_workers(name: str, options: EvaluationOptions, model: Loaded | Crew) -> Workers:
    """Return the function that scores tasks; workers elsewhere load the same revision and path."""
    if isinstance(model, Loaded) and options.distributor is None:
        return partial(score_here, model.scorer)
    about = model.describe()
    revision = about["revision"]
    same = _make_plain(
        options,
        batch_tokens=about["batch_tokens"],
        product=about["product"],
        device=about["device"],
        revision=options.revision if is_hash(revision) else revision,
    )
    expected = {"revision": revision, "path": about["path"], **about["further"]}
    source = ModelSource(name, same, expected)
    if isinstance(model, Loaded):
        return partial(ray_cluster.score_on_ray, source, options.ray or LOCAL, options.devices)
    return partial(model.score, source)
