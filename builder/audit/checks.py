"""Checks of rows by code, positions of answers, and reading of rows, invalid ones among them."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from operator import ne
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from polyprobe.builder.facts.labels import fold, normalise, unmix
from polyprobe.builder.facts.truths import SYMMETRIC
from polyprobe.schema.columns import PADDING, SCHEMA, SLOT
from polyprobe.system.messages import PolyprobeError

NEEDED = ("prompt", "candidates", "answers")


class Split(NamedTuple):
    """One language, with a list for each column; row i is the same query in all languages."""

    # Null values and missing columns are empty; `answers` are valid indices in ascending order.
    language: str
    fact_id: list[str]
    relation: list[str]
    subject_id: list[str]
    object_id: list[str]
    subject: list[str]
    prompt: list[str]
    candidates: list[list[str]]
    candidate_ids: list[list[str]]
    answers: list[list[int]]


class Check(NamedTuple):
    """A check of the rows of a language; `find` marks the rows that have the defect."""

    heading: str  # of its column
    find: Callable[[Split, Split], list[bool]]  # the second is the reference


def find_second_answers(split: Split, reference: Split) -> list[bool]:
    """Mark the rows of which a distractor is correct."""
    columns = zip(split.candidates, split.candidate_ids, strict=True)
    ids = [row if len(row) == len(labels) else [""] * len(labels) for labels, row in columns]
    objects = collect_objects(split, ids)
    right = [  # the labels and the ids of a row's answers
        ({labels[i] for i in answers}, {names[i] for i in answers})
        for labels, names, answers in zip(split.candidates, ids, split.answers, strict=True)
    ]
    # A distractor is correct if its label in this language, or its id, is that of an answer to the
    # same prompt in the reference, or if another row has its id as an object of the same question.
    prompt_labels: dict[str, set[str]] = defaultdict(set)
    prompt_ids: dict[str, set[str]] = defaultdict(set)
    for prompt, (labels, names) in zip(reference.prompt, right, strict=True):
        prompt_labels[prompt] |= labels
        prompt_ids[prompt] |= names
    marks = []
    for row, prompt in enumerate(reference.prompt):
        more_labels = prompt_labels[prompt] - right[row][0]
        by_facts = objects[split.relation[row], split.subject_id[row]]
        more_ids = (prompt_ids[prompt] | by_facts) - right[row][1] - {""}
        distractors = {*range(len(ids[row]))} - {*split.answers[row]}
        pairs = ((split.candidates[row][i], ids[row][i]) for i in distractors)
        marks.append(any(label in more_labels or name in more_ids for label, name in pairs))
    return marks


def collect_objects(split: Split, ids: list[list[str]]) -> dict[tuple[str, str], set[str]]:
    """Collect the objects of each relation and subject from the rows; all are ids."""
    objects: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row, (relation, subject) in enumerate(zip(split.relation, split.subject_id, strict=True)):
        answers = (ids[row][index] for index in split.answers[row])
        for name in {*answers, split.object_id[row]} - {""}:
            if subject:
                objects[relation, subject].add(name)
            if subject and relation in SYMMETRIC:
                objects[relation, name].add(subject)
    return objects


def find_duplicate_labels(split: Split, reference: Split) -> list[bool]:
    """Mark the rows with two equal labels, ignoring case and Unicode composition."""
    folded = {label: fold(label) for row in split.candidates for label in row}
    return [len({folded[label] for label in row}) < len(row) for row in split.candidates]


def find_texts(split: Split, is_bad: Callable[[str], bool]) -> list[bool]:
    """Mark the rows in which the prompt, the subject or a candidate is bad."""
    rows = zip(split.prompt, split.subject, split.candidates, strict=True)
    texts = [(prompt, subject, *candidates) for prompt, subject, candidates in rows]
    bad = {text for text in {text for row in texts for text in row} if is_bad(text)}
    return [not bad.isdisjoint(row) for row in texts]


def find_padded(split: Split, reference: Split) -> list[bool]:
    """Mark the rows in which the subject or a candidate begins or ends with a blank."""
    rows = zip(split.subject, split.candidates, strict=True)
    return [any(text != text.strip(PADDING) for text in (name, *labels)) for name, labels in rows]


def find_shared_prompts(split: Split, reference: Split) -> list[bool]:
    """Mark the rows whose prompt is also that of a row with another answer."""
    rows = zip(split.prompt, split.candidates, split.answers, strict=True)
    questions = [(p, frozenset(candidates[i] for i in indices)) for p, candidates, indices in rows]
    distinct = Counter(prompt for prompt, _ in set(questions))
    return [distinct[prompt] > 1 for prompt, _ in questions]


CHECKS = {
    "rows_with_second_answer": Check("second answer", find_second_answers),
    "rows_with_duplicate_labels": Check("label twice", find_duplicate_labels),
    "rows_with_invisible_characters": Check(
        "invisible",
        lambda split, _: find_texts(split, lambda text: normalise(text, split.language) != text),
    ),
    "rows_with_mixed_alphabets": Check(
        "mixed alphabets", lambda split, _: find_texts(split, lambda text: unmix(text) != text)
    ),
    "rows_with_blank_ends": Check("blank at end", find_padded),
    "rows_with_missing_slot": Check("no slot", lambda of, _: [SLOT not in x for x in of.prompt]),
    "rows_with_several_slots": Check(
        "several slots", lambda of, _: [x.count(SLOT) > 1 for x in of.prompt]
    ),
    "rows_with_one_candidate": Check(
        "one candidate", lambda of, _: [len(x) < 2 for x in of.candidates]
    ),
    "rows_without_answer": Check("no answer", lambda of, _: [not x for x in of.answers]),
    "rows_with_other_fact": Check(
        "other fact", lambda split, reference: [*map(ne, split.fact_id, reference.fact_id)]
    ),
    "rows_with_shared_prompt": Check("prompt shared", find_shared_prompts),
}


def compare_labels(split: Split, reference: Split, not_parallel: Iterable[bool]) -> Counter[bool]:
    """Count the distinct pairs of labels by whether both are spelled alike."""
    # A pair is a label in the reference and in this language, of a subject or a parallel candidate.
    pairs = set(zip(reference.subject, split.subject, strict=True)) - {("", "")}
    for row, bad in enumerate(not_parallel):
        if not bad:
            pairs.update(zip(reference.candidates[row], split.candidates[row], strict=True))
    return Counter(first == second for first, second in pairs)


def count_positions(split: Split) -> tuple[list[int], list[float], int]:
    """Count the answers at each index, those of random positions, and the last ones."""
    # The random number is, for each index, the sum of (answers / candidates) over the rows that
    # have it. Rows with fewer than two candidates are excluded.
    columns = zip(split.fact_id, split.answers, split.candidates, strict=True)
    first: dict[tuple[str | int, tuple[int, ...]], int] = {}
    for row, (fact, answers, candidates) in enumerate(columns):
        if len(candidates) > 1:
            # The templates of a fact repeat its candidates: they count once.
            first.setdefault((fact or row, tuple(answers)), len(candidates))
    longest = max(first.values(), default=0)
    counts: np.ndarray = np.zeros(longest, dtype=int)
    expected: np.ndarray = np.zeros(longest)
    for (_, places), size in first.items():
        counts[list(places)] += 1
        expected[:size] += len(places) / size
    last = sum(size - 1 in places for (_, places), size in first.items())
    return counts.tolist(), expected.tolist(), last


def make_splits(tables: Mapping[str, pa.Table], name: str) -> dict[str, Split]:
    """Return {language: split} of a dataset; `name` identifies it in errors."""
    if not tables:
        raise PolyprobeError(f"{name} has no languages; name some that it has")
    splits = {language: read_split(language, table, name) for language, table in tables.items()}
    first = next(iter(splits.values()))
    for split in splits.values():
        if len(split.prompt) != len(first.prompt):
            raise PolyprobeError(
                f"{name}: '{first.language}' has {len(first.prompt)} rows, '{split.language}' has "
                f"{len(split.prompt)}; rows are compared by number: give files of equal length"
            )
    if not first.prompt:
        raise PolyprobeError(f"{name} has no rows; build the dataset again")
    return splits


def read_split(language: str, table: pa.Table, name: str) -> Split:
    """Return one language's columns in the types of `SCHEMA`."""
    place, names = f"{name}: '{language}'", Split._fields[1:]
    columns = {column: read_column(table, column, place) for column in names}
    columns["answers"] = [
        sorted({index for index in row if index is not None and 0 <= index < len(labels)})
        for row, labels in zip(columns["answers"], columns["candidates"], strict=True)
    ]
    return Split(language, **columns)


def read_column(table: pa.Table, column: str, place: str) -> list:
    """Return a column as a list; a missing optional column gives empty values."""
    kind = SCHEMA.field(column).type
    nested = pa.types.is_list(kind)
    if column not in table.column_names:
        if column in NEEDED:
            raise PolyprobeError(f"{place} has no column {column!r}; expected {', '.join(NEEDED)}")
        return [[] if nested else "" for _ in range(table.num_rows)]
    try:
        values = table[column].cast(kind).to_pylist()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        actual = table.schema.field(column).type
        raise PolyprobeError(f"{place}: column {column!r} is {actual}; expected {kind}") from error
    if not nested:
        return [value or "" for value in values]
    if pa.types.is_integer(kind.value_type):
        return [row or [] for row in values]
    return [[item or "" for item in row or []] for row in values]


def find_ids(splits: Mapping[str, Split]) -> list[bool]:
    """Return for each row whether all candidates have ids in all languages."""
    columns = (zip(x.candidates, x.candidate_ids, strict=True) for x in splits.values())
    rows = zip(*columns, strict=True)
    return [all(len(x) == len(ids) > 0 and all(ids) for x, ids in row) for row in rows]
