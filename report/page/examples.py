"""The answers of each pair of languages, and the facts that a report shows as examples."""

import heapq
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

from polyprobe.analysis.figures.facts import masked_scores, read_chosen
from polyprobe.report.findings.run import VERDICTS, name_verdict
from polyprobe.schema.columns import place_rows
from polyprobe.schema.locate import read_relation_names
from polyprobe.schema.run.folder import FinishedRun, Run, load_again
from polyprobe.schema.run.protocol import as_asked
from polyprobe.schema.run.rows import ALL_ROWS, Choice, make_choice
from polyprobe.schema.run.settings import Settings
from polyprobe.scoring.options import FINAL_STOP
from polyprobe.system.messages import PolyprobeError

FREE = ("asked", "answer", "verdict", "entity")
KINDS = ("tied", "both_right", "both_wrong", "different")
TIED, BOTH_RIGHT, BOTH_WRONG, DIFFERENT = range(4)
BUDGET = 1_300_000  # bytes of examples in a page, shared by its runs
EXAMPLES = 4  # at most, for each kind and pair
LONGEST = 500  # characters of a free answer, or of its prompt
RANKED = 12  # candidates that are listed at most, besides the right ones


def list_examples(runs: Sequence[FinishedRun], names: Sequence[str]) -> list[dict[str, Any]]:
    """List name, languages and examples of each run, for the page's script."""
    # all runs share the budget, so that a page of many runs is no larger than one of a single run
    budget, examples = BUDGET // len(runs), []
    for (run, results, texts), name in zip(runs, names, strict=True):
        choice = make_choice(**results.get("subset") or {})
        answers = read_answers(run, results["languages"], choice)
        facts = collect_examples(run.settings(), answers, budget, texts)
        examples.append({"name": name, "languages": results["languages"], **facts})
    return examples


@dataclass(frozen=True)
class Answers:
    """The best candidates of a run; all arrays are [facts, languages]."""

    fact_ids: list[str]
    relations: list[str]
    right: list[list[int]]
    languages: list[str]
    best: np.ndarray  # index into the candidates, undefined in a tie
    shared: np.ndarray  # number of candidates with the best score; above one: a tie
    correct: np.ndarray
    scores: list[np.ma.MaskedArray]  # [facts, most candidates], absent ones masked, by language
    free: list[list[list[str]]]  # question, answer, verdict and entity of free answers, by language


def read_answers(run: Run, languages: Sequence[str], choice: Choice = ALL_ROWS) -> Answers:
    """Read the best candidates by the run's score files, of a choice of their rows."""
    by_language, _ = read_chosen(run, choice)
    tables = [by_language[language] for language in languages]
    right = tables[0]["answers"].to_pylist()
    scores = [masked_scores(table) for table in tables]
    ties = [np.asarray((x == x.max(axis=1, keepdims=True)).sum(axis=1)) for x in scores]
    best = np.stack([x.argmax(axis=1) for x in scores], axis=1)
    shared = np.stack(ties, axis=1)
    hits = np.array([np.isin(row, gold) for row, gold in zip(best, right, strict=True)])
    return Answers(
        fact_ids=tables[0]["fact_id"].to_pylist(),
        relations=tables[0]["relation"].to_pylist(),
        right=right,
        languages=list(languages),
        best=best,
        shared=shared,
        correct=hits.reshape(best.shape) & (shared == 1),
        scores=scores,
        free=[
            [*map(cut_answer, table.select(FREE).to_pylist())]
            for table in tables
            if {*FREE} <= {*table.column_names}
        ],
    )


def classify_answers(answers: Answers) -> np.ndarray:
    """Find the index into `KINDS` for each fact and pair (of `combinations`), [facts, pairs]."""
    places = list(combinations(range(len(answers.languages)), 2))
    first, second = np.array(places, dtype=int).reshape(-1, 2).T
    same = answers.best[:, first] == answers.best[:, second]
    kinds = np.full(same.shape, DIFFERENT, dtype=np.int8)
    kinds[same] = BOTH_WRONG
    kinds[same & answers.correct[:, first]] = BOTH_RIGHT
    kinds[(answers.shared[:, first] > 1) | (answers.shared[:, second] > 1)] = TIED
    return kinds


def count_kinds(kinds: np.ndarray, n_kinds: int = len(KINDS)) -> np.ndarray:
    """Count the facts of each kind for each pair, [pairs, kinds]."""
    return np.stack([(kinds == kind).sum(axis=0) for kind in range(n_kinds)], axis=1)


def collect_examples(
    settings: Settings, answers: Answers, budget: int, texts: Mapping[str, pa.Table] | None = None
) -> dict[str, Any]:
    """Collect the page's examples for every pair of languages, about `budget` bytes of JSON."""
    # The dataset is loaded unless `texts` has all languages; `note` says why there are no texts.
    kinds = classify_answers(answers)
    kind_names = [*map(name_verdict, VERDICTS if answers.free else ())]
    verdicts = [[kind_names.index(row[2]) for row in rows] for rows in answers.free]
    order = choose_facts(np.column_stack([kinds, *verdicts]))
    tables, note = _load_texts(settings, answers, texts or {})
    names = read_relation_names(settings.dataset)
    # The dataset may have other rows, in another order.
    row_of = place_rows(next(iter(tables.values())), answers.fact_ids) if tables else []
    facts, size = [], 0
    for fact in order:
        rows: list[list[Any]] = []
        for place, language in enumerate(answers.languages):
            prompt = labels = None
            if tables:
                columns = (tables[language][name] for name in ("prompt", "candidates"))
                prompt, labels = (column[row_of[fact]].as_py() for column in columns)
                if len(labels) != answers.scores[place][fact].count():
                    raise PolyprobeError(
                        f"scores of '{language}', row {fact + 1:,}: not as many as candidates"
                    )
            free = answers.free[place][fact] if answers.free else []
            rows.append([prompt, *_rank(answers, fact, place, labels), *free])
        entry = {
            "id": answers.fact_ids[fact],
            "relation": names.get(answers.relations[fact], answers.relations[fact]),
            "right": answers.right[fact],
            "rows": rows,
        }
        size += len(json.dumps(entry, ensure_ascii=False).encode())
        if size > budget:
            break
        facts.append(entry)
    counts = count_kinds(kinds).tolist()
    return {"counts": counts, "facts": facts, "total": len(answers.fact_ids), "note": note}


def choose_facts(kinds: np.ndarray, examples: int = EXAMPLES) -> Iterator[int]:
    """Yield facts until every pair has its examples of every kind, the most useful first.

    Behind the pairs may be languages, with the verdicts on their free answers as kinds.
    """
    # Greedy cover: first one example of each kind for each pair, then a second, and so on; a fact
    # that serves more pairs comes earlier, so that any start of the sequence covers the most.
    pairs = np.arange(kinds.shape[1])
    totals = count_kinds(kinds, max(len(KINDS), len(VERDICTS)))
    counts = np.zeros_like(totals)
    rest = set(range(len(kinds)))
    for number in range(1, examples + 1):
        target = np.minimum(totals, number)
        lacking = counts < target
        # Gains only fall, so a stale one at the head of the heap is computed again (lazy greedy);
        # negative, because heapq returns the smallest.
        heap = [(-int(lacking[pairs, kinds[fact]].sum()), fact) for fact in sorted(rest)]
        heapq.heapify(heap)
        while lacking.any():
            fact = heap[0][1]
            gain = -int(lacking[pairs, kinds[fact]].sum())
            if gain > heap[0][0]:
                heapq.heapreplace(heap, (gain, fact))
                continue
            heapq.heappop(heap)
            rest.remove(fact)
            counts[pairs, kinds[fact]] += 1
            lacking = counts < target
            yield fact


def _load_texts(
    settings: Settings, answers: Answers, texts: Mapping[str, pa.Table]
) -> tuple[Mapping[str, pa.Table], str | None]:
    """Load the rows as the run asked them, or none and the reason."""
    if set(answers.languages) <= set(texts):
        return texts, None
    try:
        tables = load_again(settings, answers.languages)
    except PolyprobeError as error:
        return {}, f"The texts of the examples are not at hand: {error}."
    stop = settings.further.get(FINAL_STOP, "none")
    return as_asked(tables, settings.scoring, final_stop=stop), None


def cut_answer(row: Mapping[str, str]) -> list[str]:
    """List the values of FREE, of a long answer its beginning, of a long prompt its end."""
    question, text, verdict, entity = (row[name] for name in FREE)
    if len(question) > LONGEST:  # examples stand before the question
        question = f"[{len(question) - LONGEST:,} more characters] … {question[-LONGEST:]}"
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]} … [{len(text) - LONGEST:,} more characters]"
    return [question, text, name_verdict(verdict), entity]


def _rank(answers: Answers, fact: int, place: int, labels: Sequence[str] | None) -> list[Any]:
    """List [ranking, sharers of the best score, number of candidates not listed]."""
    scores = answers.scores[place][fact].compressed()
    order = np.argsort(-scores, kind="stable").tolist()
    ranking = [
        [rank, index, labels[index] if labels else None, round(float(scores[index]), 3)]
        for rank, index in enumerate(order, start=1)
        if rank <= RANKED or index in answers.right[fact]
    ]
    return [ranking, int(answers.shared[fact, place]), len(order) - len(ranking)]
