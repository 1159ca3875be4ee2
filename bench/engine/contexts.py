"""Contexts in front of the rows: tokens that are run against the minimum, and processor time.

The minimum is the number of distinct beginnings of all inputs of the run.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import accumulate
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from transformers import AutoTokenizer

from polyprobe.eval.donors import deal_donors
from polyprobe.eval.questions import annotate
from polyprobe.eval.work.fill import queries_of
from polyprobe.schema.run.rows import choose_examples, choose_rows
from polyprobe.scoring.scorers.part import Shots, write_example

from .floor import count_prefixes, fill_rows
from .models import CONFIG, Rows, Setting
from .race import LANGUAGES, Entry, Worker, compare, race, start, stop_if_wrong
from .reference import SENTENCE_START, Ids

MODEL = "decoder"
# {language: tokens of the system message}; {tokens: rows}: the smart program takes long
SIZES = {"en": (0, 300, 1000, 3000), "ru": (0, 1000)}
SAMPLE = {3000: 6}
# Of a row, and the most of all rows for which it runs.
REFERENCE_CANDIDATES, REFERENCE_TOKENS = 2, 5000
DEFAULT_SAMPLE, LETTERS_SAMPLE, RELATIONS, SHOTS = 24, 12, 6, 5


class Case(NamedTuple):
    """Rows behind contexts; the family is causal or letters."""

    name: str
    family: str
    rows: Rows


def measure(setting: Setting, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Return the figures of every case; stop if scores are not equal."""
    found = []
    for family in ("causal", "letters"):
        entry = Entry(MODEL, family, 0, ())
        with ExitStack() as stack:
            methods = ("ours", "smart", "tokens", "reference")
            workers = [start(stack, setting, entry, method) for method in methods]
            for language in LANGUAGES:
                for case in list_cases(setting, language):
                    if case.family == family:
                        found.append(time_case(case, language, setting, workers))
                        say(str(found[-1]))
    return found


def list_cases(setting: Setting, language: str) -> Iterator[Case]:
    """Yield rows behind a system message, with second questions, behind examples, as letters."""
    table = read_rows(setting, language)
    for size in SIZES[language]:
        asked = choose_rows(table, sample=setting.rows or SAMPLE.get(size, DEFAULT_SAMPLE))
        context = write_context(table, {*asked}, size, setting.models / MODEL) if size else ""
        rows = to_rows(table.take(asked), context)
        yield Case(f"system message, {size}" if size else "none", "causal", rows)
        if not size:
            [both] = annotate({language: table}, deal_donors(table), asked).values()
            prompts, candidates = map(list, zip(*queries_of(both), strict=True))
            yield Case("second questions", "causal", Rows(prompts, candidates))
    several = pc.value_counts(table["relation"]).sort(by="counts", order="descending")
    table = table.filter(pc.is_in(table["relation"], several.field("values")[:RELATIONS]))
    shots = Shots(*choose_examples(table, SimpleNamespace(relations=None, exclude=None), SHOTS))
    for family, name in (("causal", ""), ("letters", "letters, ")):
        sample = setting.rows or (LETTERS_SAMPLE if name else DEFAULT_SAMPLE)
        rest = shots.select(table)
        chosen = choose_rows(rest, sample=sample)
        if name:
            yield Case("letters", family, to_rows(rest.take(chosen)))
        examples = shots.put_in_front(table, letters=bool(name)).take(chosen)
        yield Case(f"{name}{SHOTS} examples", family, to_rows(examples))


def read_rows(setting: Setting, language: str) -> pa.Table:
    """Return all rows of a language."""
    return pq.read_table(setting.dataset / "data" / CONFIG / f"{language}.parquet")


def write_context(table: pa.Table, asked: set[int], size: int, model: Path) -> str:
    """Return a conversation with a system message, up to the answer."""
    system = write_examples(table, asked, size, model)
    messages = [{"role": "system", "content": system}, {"role": "user", "content": ""}]
    tokenizer = AutoTokenizer.from_pretrained(model)
    head = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    return head + SENTENCE_START


def write_examples(table: pa.Table, asked: set[int], size: int, model: Path) -> str:
    """Return other rows with their answers, about `size` tokens."""
    tokenizer = AutoTokenizer.from_pretrained(model)
    rows = table.take([row for row in choose_rows(table, sample=size) if row not in asked])
    lines = [write_example(row, letters=False) for row in rows.to_pylist()]
    ends = accumulate(map(len, tokenizer(lines)["input_ids"]))
    return "".join(line for line, end in zip(lines, ends, strict=True) if end <= size)


def to_rows(table: pa.Table, context: str = "") -> Rows:
    """Return prompts behind a context, with their candidates."""
    prompts = [context + prompt for prompt in table["prompt"].to_pylist()]
    return Rows(prompts, table["candidates"].to_pylist())


def time_case(case: Case, language: str, setting: Setting, workers: list[Worker]) -> dict[str, Any]:
    """Race polyprobe and the smart program, and run the reference on a part.

    Returns tokens that are run, by polyprobe, at least, and by the reference; processor seconds of
    each round; the errors of polyprobe from the reference, and of smart from polyprobe.
    """
    ours, smart, counter, reference = workers
    tokenizer = AutoTokenizer.from_pretrained(setting.models / MODEL)
    runs, part = list_runs(case, tokenizer), cut_rows(case, tokenizer)
    laps = race([ours, smart], case.rows, setting.rounds, {})
    answer = reference.ask(part.rows)
    scores = laps["ours"].value
    pairs = zip(scores, part.rows.candidates, strict=False)
    error = {
        "ours": compare([row[: len(names)] for row, names in pairs], answer.value).error,
        "smart": compare(laps["smart"].value, scores).error,
    }
    for name, value in error.items():
        stop_if_wrong(f"{name}, {case.name}, {language}", value)
    naive = count_tokens(runs)
    seconds = answer.cpu / count_tokens(list_runs(part, tokenizer)) * naive
    fronts = [prompt.rpartition(SENTENCE_START)[0] for prompt in case.rows.prompts]
    return {
        "case": case.name,
        "language": language,
        "n_rows": len(fronts),
        "front": round(sum(map(len, tokenizer(fronts)["input_ids"])) / len(fronts)),
        "tokens": counter.ask(case.rows).value,
        "minimum": count_prefixes(runs),
        "naive": naive,
        "cpu": {n: x.cpu for n, x in laps.items()} | {"reference": [seconds] * setting.rounds},
        "error": error,
    }


def cut_rows(case: Case, tokenizer: Any) -> Case:
    """Return the first rows and candidates, with few tokens; letters need all candidates."""
    prompts, candidates = case.rows
    if case.family == "causal":
        candidates = [row[:REFERENCE_CANDIDATES] for row in candidates]
    sizes = range(len(prompts), 1, -1)
    parts = (case._replace(rows=Rows(prompts[:n], candidates[:n])) for n in sizes)
    within = (x for x in parts if count_tokens(list_runs(x, tokenizer)) <= REFERENCE_TOKENS)
    return next(within, case._replace(rows=Rows(prompts[:1], candidates[:1])))


def list_runs(case: Case, tokenizer: Any) -> list[Ids]:
    """Return what must be run: sentences without their last token, or the questions of letters."""
    fillings = [x for row in fill_rows(case.family, tokenizer, case.rows) for x in row]
    if case.family == "letters":
        return [filling.before for filling in fillings]
    return [(*filling.before, *filling.pieces)[:-1] for filling in fillings]


def count_tokens(runs: list[Ids]) -> int:
    """Return the tokens of the reference, which runs the last one too."""
    return sum(len(run) + 1 for run in runs)
