"""A model's answers: its best candidate for each fact and language, compared by pair."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from polyprobe.eval.results.facts import masked_scores
from polyprobe.eval.run.folder import Run

KINDS = ("tied", "both_right", "both_wrong", "different")
TIED, BOTH_RIGHT, BOTH_WRONG, DIFFERENT = range(4)


@dataclass(frozen=True)
class Answers:
    """The best candidates of a run; all arrays are [facts, languages].

    `best` is an index into the candidates, undefined where `shared`, the number of candidates with
    the best score, is above one: equal scores are a tie.
    """

    fact_ids: list[str]
    relations: list[str]
    right: list[list[int]]
    languages: list[str]
    best: np.ndarray
    shared: np.ndarray
    correct: np.ndarray


def read_answers(run: Run, languages: Sequence[str]) -> Answers:
    """Return the best candidates by the run's score files."""
    tables = [run.scores(language) for language in languages]
    right = tables[0]["answers"].to_pylist()
    found = [_best(masked_scores(table)) for table in tables]
    best = np.stack([best for best, _ in found], axis=1)
    shared = np.stack([shared for _, shared in found], axis=1)
    hits = np.array([np.isin(row, gold) for row, gold in zip(best, right, strict=True)])
    return Answers(
        fact_ids=tables[0]["fact_id"].to_pylist(),
        relations=tables[0]["relation"].to_pylist(),
        right=right,
        languages=list(languages),
        best=best,
        shared=shared,
        correct=hits.reshape(best.shape) & (shared == 1),
    )


def classify_answers(answers: Answers) -> np.ndarray:
    """Return an index into `KINDS` for each fact and pair of languages, [facts, pairs].

    Pairs are in the order of `itertools.combinations`. A fact is tied for a pair if the best score
    is shared in either language.
    """
    places = list(combinations(range(len(answers.languages)), 2))
    one, two = np.array(places, dtype=int).reshape(-1, 2).T
    same = answers.best[:, one] == answers.best[:, two]
    kinds = np.full(same.shape, DIFFERENT, dtype=np.int8)
    kinds[same] = BOTH_WRONG
    kinds[same & answers.correct[:, one]] = BOTH_RIGHT
    kinds[(answers.shared[:, one] > 1) | (answers.shared[:, two] > 1)] = TIED
    return kinds


def count_kinds(kinds: np.ndarray) -> np.ndarray:
    """Return the number of facts of each kind for each pair, [pairs, kinds]."""
    return np.stack([(kinds == kind).sum(axis=0) for kind in range(len(KINDS))], axis=1)


def _best(scores: np.ma.MaskedArray) -> tuple[np.ndarray, np.ndarray]:
    top = scores.max(axis=1, keepdims=True)
    return scores.argmax(axis=1), np.asarray((scores == top).sum(axis=1))
