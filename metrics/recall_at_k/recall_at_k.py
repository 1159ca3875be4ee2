"""Recall@k is the share of queries that have a correct answer among their k best-scored candidates;
the mean rank is that of the best-scored correct answer, from 1.

Args:
{scores}
    references (list of list of int): indices of the correct candidates, at least one for each
        query; or one index for each query.
    k (int or list of int): how many of the best candidates count, [1, 5, 10].
    ties (str): expected (default), over all orders that equal scores allow, or released, a stable
        sort, where the earlier of equal candidates ranks higher.
{resampling}

Returns:
    recall@K (float): for each k, mean over the queries; 1 for a pool of k candidates or fewer.
    mean_rank (float): mean over the queries of the best rank of a correct candidate; lower is
        better.
    recall@K_chance, mean_rank_chance (float): expectation for random rankings.
{intervals}
    n_queries, n_tied (int): the queries, and those where the best correct candidate shares its
        score with a wrong one.

Examples:
    >>> recall = evaluate.load("recall_at_k")
    >>> scores, right = [[0.1, 0.9, 0.3], [0.5, 0.5, 0.7]], [[1], [0]]
    >>> result = recall.compute(predictions=scores, references=right, k=[1, 2], n_resamples=0)
    >>> {name: value for name, value in result.items() if "chance" not in name}
    {'recall@1': 0.5, 'recall@2': 0.75, 'mean_rank': 1.75, 'n_queries': 2, 'n_tied': 1}
"""

from polyprobe.metrics.recall_at_k.formulas import measure_recall
from polyprobe.metrics.shared.inputs import INDICES, SCORES, SEMENOV_2025, Module


class RecallAtK(Module):
    """The metric that `evaluate` loads."""

    measure = staticmethod(measure_recall)
    gold = True
    columns = {"predictions": SCORES, "references": INDICES}
    citation = SEMENOV_2025
