"""Measure how often the best-scored candidate is a right one (accuracy@1).

Where several candidates share the best score, the order in which they are listed must not decide:
the query counts with the share of right ones among them, which is the expectation over all orders.

>>> right_probability([[0.1, 0.9], [0.5, 0.5]], answers=[[1], [0]])
array([1. , 0.5])
"""

from collections.abc import Sequence
from itertools import chain

import datasets
import evaluate
import numpy as np

_DESCRIPTION = """\
Accuracy@1 is the share of queries whose best-scored candidate is a right answer; candidates that \
share the best score count in equal parts.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions (list of list of float): a row a query, a score a candidate, higher is better.
    answers (list of list of int): indices of the right candidates, at least one a query.
    ties (str): expected (default) or released, the authors' stable sort, where the earliest of the
        candidates with the best score wins.

Returns:
    accuracy_at_1 (float): mean over the queries.
    chance (float): what a random choice scores on average.
    n_queries, n_tied (int): the queries, and those where candidates share the best score.

Examples:
    >>> accuracy = evaluate.load("accuracy_at_1")
    >>> accuracy.compute(predictions=[[0.1, 0.9], [0.5, 0.5]], answers=[[1], [0]])
    {'accuracy_at_1': 0.75, 'chance': 0.5, 'n_queries': 2, 'n_tied': 1}
"""

_CITATION = """\
@inproceedings{petroni-etal-2019-language,
    title = "Language Models as Knowledge Bases?",
    author = {Petroni, Fabio and Rockt{\\"a}schel, Tim and Riedel, Sebastian and Lewis, Patrick and
      Bakhtin, Anton and Wu, Yuxiang and Miller, Alexander},
    booktitle = "Proceedings of EMNLP-IJCNLP", year = "2019",
    url = "https://aclanthology.org/D19-1250",
}
"""

TIES = ("expected", "released")

Answers = Sequence[Sequence[int]]
Scores = np.ndarray | Sequence[Sequence[float]]


def right_probability(scores: Scores, answers: Answers, ties: str = "expected") -> np.ndarray:
    """Return for each query the probability that its best-scored candidate is right.

    Takes a 2-D array (queries x candidates), a masked array padded at the end of a row, or a list
    of rows of any length. `expected`: the share of right ones among the t + 1 candidates with the
    best score (1 / (t + 1) for a single right one). `released`: the earliest of them is chosen, as
    the authors' stable sort does; 0 or 1. Infinite scores are compared; NaN is an error.
    """
    if ties not in TIES:
        raise ValueError(f"unknown ties {ties!r}; known: {', '.join(TIES)}")
    flat, sizes = _read_rows(scores)
    right = _mark_right(answers, sizes)
    starts = sizes.cumsum() - sizes
    best = _find_best(flat, sizes)
    if ties == "expected":
        return np.add.reduceat(best & right, starts, dtype=np.float64) / _count(best, starts)
    first = np.minimum.reduceat(np.where(best, np.arange(len(flat)), len(flat)), starts)
    return right[first].astype(np.float64)


def chance_accuracy(scores: Scores, answers: Answers) -> np.ndarray:
    """Return for each query the share of right ones among its candidates, what guessing scores."""
    sizes = _read_rows(scores)[1]
    return _count(_mark_right(answers, sizes), sizes.cumsum() - sizes) / sizes


def measure_accuracy(
    predictions: Scores, answers: Answers, ties: str = "expected"
) -> dict[str, float | int]:
    """Return accuracy@1 with its chance level and the counts they come from."""
    right = right_probability(predictions, answers, ties)
    flat, sizes = _read_rows(predictions)
    best = _count(_find_best(flat, sizes), sizes.cumsum() - sizes)
    return {
        "accuracy_at_1": float(right.mean()),
        "chance": float(chance_accuracy(predictions, answers).mean()),
        "n_queries": len(right),
        "n_tied": int((best > 1).sum()),
    }


class AccuracyAt1(evaluate.Metric):
    """Score how often the best candidate is right."""

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(
                {"predictions": datasets.Sequence(datasets.Value("float64"))}
            ),
        )

    def _compute(
        self, predictions: Scores, answers: Answers | None = None, ties: str = "expected"
    ) -> dict[str, float | int]:
        return measure_accuracy(predictions, answers, ties)


def _count(marked: np.ndarray, starts: np.ndarray) -> np.ndarray:
    return np.add.reduceat(marked, starts, dtype=np.intp)


def _find_best(flat: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Mark every candidate that has its query's best score."""
    return flat == np.repeat(np.maximum.reduceat(flat, sizes.cumsum() - sizes), sizes)


def _mark_right(answers: Answers | None, sizes: np.ndarray) -> np.ndarray:
    """Mark the right candidates, over all queries on end."""
    if answers is None:
        raise ValueError("no answers; pass answers=[[right indices of query 0], …]")
    if len(answers) != len(sizes):
        raise ValueError(f"{len(sizes)} queries in 'predictions', {len(answers)} in 'answers'")
    for query, right in enumerate(answers):
        if not hasattr(right, "__len__"):
            raise ValueError(f"answers of query {query} are {right!r}; expected a list: [{right}]")
        if not len(right):
            raise ValueError(f"query {query} has no right answer; expected at least one index")
    queries = np.repeat(np.arange(len(sizes)), [len(right) for right in answers])
    indices = np.array(list(chain.from_iterable(answers)))
    if indices.dtype.kind not in "iu":
        raise ValueError("answers are no indices; expected whole numbers")
    for wrong in np.flatnonzero((indices < 0) | (indices >= sizes[queries]))[:1]:
        query = queries[wrong]
        raise ValueError(
            f"answer {indices[wrong]} of query {query} is out of range; expected 0 to "
            f"{sizes[query] - 1}, as it has {sizes[query]} candidates"
        )
    marked = np.zeros(sizes.sum(), dtype=bool)
    marked[(sizes.cumsum() - sizes)[queries] + indices] = True
    return marked


def _read_rows(rows: Scores) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores on end (float) and the number of candidates per query."""
    flat, sizes = _read_array(rows) if isinstance(rows, np.ndarray) else _read_lists(rows)
    if not len(sizes):
        raise ValueError("no queries in 'predictions'")
    for query in np.flatnonzero(sizes == 0)[:1]:
        raise ValueError(f"query {query} has no scores; expected one a candidate")
    for query in np.repeat(np.arange(len(sizes)), sizes)[np.isnan(flat)][:1]:
        raise ValueError(f"NaN among the scores of query {query}; expected numbers")
    return flat, sizes


def _read_array(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if rows.ndim != 2:
        raise ValueError(f"scores of shape {rows.shape}; expected queries x candidates")
    present = ~np.ma.getmaskarray(rows)
    sizes = present.sum(axis=1)
    padded = present != (np.arange(rows.shape[1]) < sizes[:, None])
    for query in np.flatnonzero(padded.any(axis=1))[:1]:
        raise ValueError(f"query {query} is masked before its end; pad at the end")
    values = np.ma.getdata(rows)[present]
    return values if values.dtype.kind == "f" else values.astype(np.float64), sizes


def _read_lists(rows: Sequence[Sequence[float]]) -> tuple[np.ndarray, np.ndarray]:
    for query, row in enumerate(rows):
        if not hasattr(row, "__len__"):
            raise ValueError(f"query {query} is {row!r}; expected a list of scores")
    sizes = np.array([len(row) for row in rows], dtype=np.intp)
    return np.array(list(chain.from_iterable(rows)), dtype=np.float64), sizes
