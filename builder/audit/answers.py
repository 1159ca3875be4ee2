"""Right answers: where they stand, and whether a row has one that is marked as wrong."""

from collections import defaultdict

import numpy as np
from scipy.stats import chisquare

from polyprobe.builder.facts.truths import SYMMETRIC

from .split import Split


def count_positions(split: Split) -> tuple[list[int], list[float]]:
    """Return how many answers stand at each index, and how many would if indices were drawn.

    Expected is the sum over rows of (answers / candidates) for the indices that the row has. Rows
    with one candidate leave no choice and are left out, as are further rows of a fact (templates),
    whose answer stands where the first one's does.
    """
    columns = zip(split.fact_id, split.answers, split.candidates, strict=True)
    first: dict[tuple[str | int, tuple[int, ...]], int] = {}
    for row, (fact, answers, candidates) in enumerate(columns):
        if len(candidates) > 1:
            first.setdefault((fact or row, tuple(answers)), len(candidates))
    rows = [(list(answers), size) for (_, answers), size in first.items()]
    longest = max((size for _, size in rows), default=0)
    found: np.ndarray = np.zeros(longest, dtype=int)
    expected: np.ndarray = np.zeros(longest)
    for answers, size in rows:
        found[answers] += 1
        expected[:size] += len(answers) / size
    return found.tolist(), expected.tolist()


def position_p_value(found: list[int], expected: list[float]) -> float | None:
    """Return the p-value of Pearson's chi-square test of the positions, None without answers.

    One degree of freedom less than there are positions; with few rows (under five expected at a
    position) the value is rough.
    """
    return float(chisquare(found, expected).pvalue) if sum(found) else None


def count_last(split: Split) -> int:
    """Return how many answers are the last of several candidates."""
    rows = zip(split.answers, split.candidates, strict=True)
    return sum(len(candidates) > 1 and len(candidates) - 1 in row for row, candidates in rows)


def find_second_answers(split: Split, reference: Split) -> list[bool]:
    """Return for each row whether a distractor of it is right as well.

    Right is, by label in this language, the answer of a row with the same prompt in the reference;
    by id the answer of such a row, and any object that another row gives for the subject and the
    relation, read both ways for the symmetric relations.
    """
    labels, ids = defaultdict(set), defaultdict(set)
    known = known_objects(split)
    for row, prompt in enumerate(reference.prompt):
        for index in split.answers[row]:
            labels[prompt].add(split.label(row, index))
            ids[prompt].add(read_id(split, row, index))
    found = []
    for row, prompt in enumerate(reference.prompt):
        right = {split.label(row, index) for index in split.answers[row]}
        right_ids = {read_id(split, row, index) for index in split.answers[row]}
        subject = (split.relation[row], split.subject_id[row])
        also = (ids[prompt] | known.get(subject, set())) - right_ids - {""}
        found.append(
            any(
                label in labels[prompt] - right or read_id(split, row, index) in also
                for index, label in enumerate(split.candidates[row])
                if index not in split.answers[row]
            )
        )
    return found


def known_objects(split: Split) -> dict[tuple[str, str], set[str]]:
    """Return {(relation, subject id): ids of its objects} as the data itself gives them."""
    known: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row, (relation, subject) in enumerate(zip(split.relation, split.subject_id, strict=True)):
        answers = (read_id(split, row, index) for index in split.answers[row])
        for name in {*answers, split.object_id[row]} - {""}:
            if subject:
                known[relation, subject].add(name)
            if subject and relation in SYMMETRIC:
                known[relation, name].add(subject)
    return dict(known)


def read_id(split: Split, row: int, index: int) -> str:
    """Return a candidate's id, empty where it has none."""
    ids = split.candidate_ids[row]
    return ids[index] if len(ids) == len(split.candidates[row]) else ""


def count_symmetric(split: Split) -> dict[str, int]:
    """Return {symmetric relation: rows}."""
    return {relation: split.relation.count(relation) for relation in SYMMETRIC}
