"""The positions of answers, and distractors that are correct."""

from collections import defaultdict

import numpy as np
from scipy.stats import chisquare

from polyprobe.builder.facts.truths import SYMMETRIC

from .split import Split


def count_positions(split: Split) -> tuple[list[int], list[float]]:
    """Return the observed and the expected number of answers at each index.

    The expected number is that of random positions: for each index, the sum of (answers /
    candidates) over the rows with this index. Rows with fewer than two candidates are excluded. So
    are further rows of a fact (other templates) with the same positions.
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

    The degrees of freedom are the number of positions minus 1. The value is rough if fewer than
    five answers are expected at a position.
    """
    return float(chisquare(found, expected).pvalue) if sum(found) else None


def count_last(split: Split) -> int:
    """Count the rows of several candidates whose last one is an answer."""
    rows = zip(split.answers, split.candidates, strict=True)
    return sum(len(candidates) > 1 and len(candidates) - 1 in row for row, candidates in rows)


def find_second_answers(split: Split, reference: Split) -> list[bool]:
    """Return for each row whether one of its distractors is correct.

    A distractor is correct if its label in this language, or its id, is that of an answer to the
    same prompt in the reference. It is also correct if another row has its id as an object of the
    subject and relation; symmetric relations are read in both directions.
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
    """Return {(relation, subject id): ids of its objects} from the rows of the dataset."""
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
    """Return a candidate's id, '' if it has none."""
    ids = split.candidate_ids[row]
    return ids[index] if len(ids) == len(split.candidates[row]) else ""


def count_symmetric(split: Split) -> dict[str, int]:
    """Return {symmetric relation: number of rows}."""
    return {relation: split.relation.count(relation) for relation in SYMMETRIC}
