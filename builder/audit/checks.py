"""Checks of the rows of a language, by code."""

from collections import Counter, defaultdict
from collections.abc import Callable

from polyprobe.builder.facts.labels import find_invisible, fold, unmix
from polyprobe.schema.columns import SLOT

from .answers import find_second_answers
from .split import Split


def find_missing_slots(split: Split, reference: Split) -> list[bool]:
    """Find prompts without the slot."""
    return [SLOT not in prompt for prompt in split.prompt]


def find_several_slots(split: Split, reference: Split) -> list[bool]:
    """Find prompts with more than one slot."""
    return [prompt.count(SLOT) > 1 for prompt in split.prompt]


def find_one_candidate(split: Split, reference: Split) -> list[bool]:
    """Find rows with one candidate or none."""
    return [len(candidates) < 2 for candidates in split.candidates]


def find_no_answer(split: Split, reference: Split) -> list[bool]:
    """Find rows without an answer among the candidates."""
    return [not answers for answers in split.answers]


def find_other_facts(split: Split, reference: Split) -> list[bool]:
    """Find rows whose fact differs from that of the reference's row of the same number."""
    return [one != other for one, other in zip(split.fact_id, reference.fact_id, strict=True)]


def find_duplicate_labels(split: Split, reference: Split) -> list[bool]:
    """Find rows with two equal labels, ignoring case and Unicode composition."""
    folded = {label: fold(label) for row in split.candidates for label in row}
    return [len({folded[label] for label in row}) < len(row) for row in split.candidates]


def find_invisible_characters(split: Split, reference: Split) -> list[bool]:
    """Find rows with an invisible character in the prompt, the subject or a candidate."""
    return find_texts(split, lambda text: find_invisible(text, split.language))


def find_mixed_alphabets(split: Split, reference: Split) -> list[bool]:
    """Find rows with a word that mixes alphabets and can be written in one."""
    return find_texts(split, lambda text: unmix(text) != text)


def find_texts(split: Split, is_bad: Callable[[str], bool]) -> list[bool]:
    """Find rows in which the prompt, the subject or a candidate is bad."""
    rows = zip(split.prompt, split.subject, split.candidates, strict=True)
    texts = [(prompt, subject, *candidates) for prompt, subject, candidates in rows]
    bad = {text for text in {text for row in texts for text in row} if is_bad(text)}
    return [not bad.isdisjoint(row) for row in texts]


def find_shared_prompts(split: Split, reference: Split) -> list[bool]:
    """Find rows whose prompt is also that of a row with another answer."""
    answers = defaultdict(set)
    rows = zip(split.prompt, split.candidates, split.answers, strict=True)
    own = [(p, frozenset(candidates[i] for i in indices)) for p, candidates, indices in rows]
    for prompt, labels in own:
        answers[prompt].add(labels)
    return [len(answers[prompt]) > 1 for prompt, _ in own]


CHECKS: dict[str, Callable[[Split, Split], list[bool]]] = {
    "rows_with_second_answer": find_second_answers,
    "rows_with_duplicate_labels": find_duplicate_labels,
    "rows_with_invisible_characters": find_invisible_characters,
    "rows_with_mixed_alphabets": find_mixed_alphabets,
    "rows_with_missing_slot": find_missing_slots,
    "rows_with_several_slots": find_several_slots,
    "rows_with_one_candidate": find_one_candidate,
    "rows_without_answer": find_no_answer,
    "rows_with_other_fact": find_other_facts,
    "rows_with_shared_prompt": find_shared_prompts,
}


def count_rows(split: Split, reference: Split) -> dict[str, int]:
    """Return {code of CHECKS: number of rows found}."""
    return {code: sum(find(split, reference)) for code, find in CHECKS.items()}


def compare_labels(split: Split, reference: Split, not_parallel: list[bool]) -> Counter[bool]:
    """Count the distinct pairs of labels by whether both labels are equal.

    A pair consists of the label in the reference and in this language, of a subject or of a
    candidate in a parallel row. The comparison is exact.
    """
    pairs = set(zip(reference.subject, split.subject, strict=True)) - {("", "")}
    for row, bad in enumerate(not_parallel):
        if not bad:
            pairs.update(zip(reference.candidates[row], split.candidates[row], strict=True))
    return Counter(theirs == ours for theirs, ours in pairs)
