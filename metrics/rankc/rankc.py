"""The `evaluate` module of rankc; see formulas.py."""

import datasets
import evaluate

from polyprobe.metrics.rankc.formulas import measure_rankc
from polyprobe.metrics.shared.inputs import Module

_DESCRIPTION = """\
RankC (ranking-based consistency) measures how similarly a model ranks the same candidates in two \
languages, right or wrong: 1 for equal rankings, `chance` for unrelated ones.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions (list of list of float): one row for each query with one score for each candidate;
        higher is better.
    references (list of list of float): the same candidates' scores in the other language.
    weights (str): softmax (default), norm1, norm2, norm1-released or norm2-released.
    ties (str): expected (default), over all orders that equal scores allow, or released, the
        authors' stable sort, where the earlier of equal candidates ranks higher.
    groups (list, optional): label of each query, usually its relation.
    average (str): macro (default), the unweighted mean over groups, or micro, over queries.
    n_resamples (int): resamples of the bootstrap over queries; default: 10000, or 1000
        above 50,000 values (queries x figures); below 40: no intervals.
    seed (int): of the bootstrap; default: 0.
    clusters (list, optional): label of each query, such as its subject; the bootstrap draws whole
        clusters. Queries about one subject should be drawn together.

Returns:
    rankc (float): mean over the queries.
    chance (float): its exact expectation for independent random rankings of the same pools.
    rankc_adjusted (float or None): mean of (rankc - chance) / (1 - chance) over the queries with
        at least two candidates; None if there is none. Not comparable between pools of different
        size: it falls with the number of candidates.
    rankc_ci, chance_ci, rankc_adjusted_ci (list of float or None): 95% bootstrap intervals; None
        for a single query.
    by_group (dict): the same for each group, if `groups` is given.
    n_queries, n_adjusted (int): the queries that the means are taken over.

Examples:
    >>> rankc = evaluate.load("rankc")
    >>> result = rankc.compute(predictions=[[3.0, 2.0, 1.0]], references=[[0.9, 0.1, 0.4]])
    >>> round(result["rankc"], 4), round(result["chance"], 4)
    (0.8776, 0.4749)
"""

_CITATION = """\
@inproceedings{qi-etal-2023-cross,
    title = "Cross-Lingual Consistency of Factual Knowledge in Multilingual Language Models",
    author = "Qi, Jirui and Fern{\\'a}ndez, Raquel and Bisazza, Arianna",
    booktitle = "Proceedings of EMNLP", year = "2023",
    url = "https://aclanthology.org/2023.emnlp-main.658",
}
"""


class Rankc(Module):
    """Compare two languages' scores of the same candidates."""

    measure = staticmethod(measure_rankc)

    def _info(self) -> evaluate.MetricInfo:
        row = datasets.Sequence(datasets.Value("float64"))
        features = datasets.Features({"predictions": row, "references": row})
        return evaluate.MetricInfo(_DESCRIPTION, _CITATION, features, _KWARGS_DESCRIPTION)
