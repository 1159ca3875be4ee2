"""The `evaluate` module of accuracy_at_1; see formulas.py."""

import datasets
import evaluate

from polyprobe.metrics.accuracy_at_1.formulas import measure_accuracy
from polyprobe.metrics.shared.inputs import Module

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


class AccuracyAt1(Module):
    """Score how often the best candidate is correct."""

    measure = staticmethod(measure_accuracy)
    gold = True

    def _info(self) -> evaluate.MetricInfo:
        scores, indices = (datasets.Sequence(datasets.Value(x)) for x in ("float64", "int64"))
        features = datasets.Features({"predictions": scores, "references": indices})
        return evaluate.MetricInfo(_DESCRIPTION, _CITATION, features, _KWARGS_DESCRIPTION)
