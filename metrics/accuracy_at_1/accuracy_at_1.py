"""Accuracy@1 is the share of queries whose best-scored candidate is correct; candidates that share
the best score count in equal parts.

Args:
{scores}
    references (list of list of int): indices of the correct candidates, at least one for each
        query; or one index for each query. Older name: answers.
    ties (str): expected (default) or released, the authors' stable sort, where the earliest of the
        candidates with the best score wins.
{resampling}

Returns:
    accuracy_at_1 (float): mean over the queries.
    chance (float): expected score of a random choice.
{intervals}
    n_queries, n_tied (int): the queries, and those where candidates share the best score.

Examples:
    >>> accuracy = evaluate.load("accuracy_at_1")
    >>> scores = [[0.1, 0.9], [0.5, 0.5]]
    >>> accuracy.compute(predictions=scores, references=[[1], [0]], n_resamples=0)
    {'accuracy_at_1': 0.75, 'chance': 0.5, 'n_queries': 2, 'n_tied': 1}
"""

from polyprobe.metrics.accuracy_at_1.formulas import measure_accuracy
from polyprobe.metrics.shared.inputs import INDICES, SCORES, Module


class AccuracyAt1(Module):
    """The metric that `evaluate` loads."""

    measure = staticmethod(measure_accuracy)
    gold = True
    columns = {"predictions": SCORES, "references": INDICES}
    citation = """\
@inproceedings{petroni-etal-2019-language,
    title = "Language Models as Knowledge Bases?",
    author = {Petroni, Fabio and Rockt{\\"a}schel, Tim and Riedel, Sebastian and Lewis, Patrick and
      Bakhtin, Anton and Wu, Yuxiang and Miller, Alexander},
    booktitle = "Proceedings of EMNLP-IJCNLP", year = "2019",
    url = "https://aclanthology.org/D19-1250",
}
"""
