"""Measure how often the best-scored candidate is correct (accuracy@1).

Where several candidates share the best score, the order in which they are listed must not decide:
the query counts with the share of right ones among them, which is the expectation over all orders.

>>> right_probability([[0.1, 0.9], [0.5, 0.5]], references=[[1], [0]])
array([1. , 0.5])
"""

from collections.abc import Mapping, Sequence
from typing import Any

import datasets
import evaluate
import numpy as np

from polyprobe.metrics.shared.inputs import Module
from polyprobe.metrics.shared.intervals import Figure, mean_of, share, summarize
from polyprobe.metrics.shared.ranks import check_ties
from polyprobe.metrics.shared.rows import Answers, Scores, mark_right, read_rows

_DESCRIPTION = """\
Accuracy@1 is the share of queries whose best-scored candidate is correct; candidates that share \
the best score count in equal parts.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions (list of list of float): one row for each query with one score for each candidate;
        higher is better.
    references (list of list of int): indices of the correct candidates, at least one for each
        query; or one index for each query. Older name: answers.
    ties (str): expected (default) or released, the authors' stable sort, where the earliest of the
        candidates with the best score wins.
    groups (list, optional): label of each query, usually its relation.
    average (str): macro (default), the unweighted mean over groups, or micro, over queries.
    n_resamples (int): resamples of the bootstrap over queries; default: 10000, or 1000
        above 50,000 values (queries x figures); below 40: no intervals.
    seed (int): of the bootstrap; default: 0.
    clusters (list, optional): label of each query, such as its subject; the bootstrap draws whole
        clusters. Queries about one subject should be drawn together.

Returns:
    accuracy_at_1 (float): mean over the queries.
    chance (float): expected score of a random choice.
    accuracy_at_1_ci, chance_ci (list of float or None): 95% bootstrap intervals; None for a single
        query.
    by_group (dict): the same for each group, if `groups` is given.
    n_queries, n_tied (int): the queries, and those where candidates share the best score.

Examples:
    >>> accuracy = evaluate.load("accuracy_at_1")
    >>> scores = [[0.1, 0.9], [0.5, 0.5]]
    >>> accuracy.compute(predictions=scores, references=[[1], [0]], n_resamples=0)
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


def right_probability(
    scores: Scores, references: Answers | None, ties: str = "expected"
) -> np.ndarray:
    """Return for each query the probability that its best-scored candidate is correct.

    Scores are as `rows.read_rows` takes them. `expected`: the share of right ones among the t + 1
    candidates with the best score (1 / (t + 1) for a single right one). `released`: the earliest of
    them is chosen, as the authors' stable sort does; 0 or 1.
    """
    check_ties(ties)
    flat, sizes = read_rows(scores, "predictions")
    right = mark_right(references, sizes)
    starts = sizes.cumsum() - sizes
    best = _find_best(flat, sizes)
    if ties == "expected":
        return np.add.reduceat(best & right, starts, dtype=np.float64) / _count(best, starts)
    first = np.minimum.reduceat(np.where(best, np.arange(len(flat)), len(flat)), starts)
    return right[first].astype(np.float64)


def chance_accuracy(scores: Scores, references: Answers | None) -> np.ndarray:
    """Return the share of correct candidates of each query, the expected score of a guess."""
    sizes = read_rows(scores, "predictions")[1]
    return _count(mark_right(references, sizes), sizes.cumsum() - sizes) / sizes


def measure_accuracy(
    predictions: Scores, references: Answers | None = None, ties: str = "expected", **options: Any
) -> dict[str, Any]:
    """Return accuracy@1 with its chance level, intervals and the counts they come from.

    `options` are those of `intervals.Resampling`.
    """
    right = right_probability(predictions, references, ties)
    flat, sizes = read_rows(predictions, "predictions")
    best = _count(_find_best(flat, sizes), sizes.cumsum() - sizes)
    chance = chance_accuracy(predictions, references)
    counts = {"n_queries": len(right), "n_tied": int((best > 1).sum())}
    return {**summarize({"accuracy_at_1": share(right), "chance": chance}, **options), **counts}


def find_accuracy(right: Mapping[str, np.ndarray | Sequence[float]]) -> Figure:
    """Return accuracy by language, from the probability that each fact is correct."""
    values = np.column_stack(list(right.values()))
    return mean_of(list(right), values, np.ones(len(values)), share=True)


class AccuracyAt1(Module):
    """Score how often the best candidate is correct."""

    measure = staticmethod(measure_accuracy)
    gold = True

    def _info(self) -> evaluate.MetricInfo:
        scores, indices = (datasets.Sequence(datasets.Value(x)) for x in ("float64", "int64"))
        features = datasets.Features({"predictions": scores, "references": indices})
        return evaluate.MetricInfo(_DESCRIPTION, _CITATION, features, _KWARGS_DESCRIPTION)


def _count(marked: np.ndarray, starts: np.ndarray) -> np.ndarray:
    return np.add.reduceat(marked, starts, dtype=np.intp)


def _find_best(flat: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Mark every candidate that has its query's best score."""
    return flat == np.repeat(np.maximum.reduceat(flat, sizes.cumsum() - sizes), sizes)
