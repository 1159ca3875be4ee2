"""RankC (ranking-based consistency) measures how similarly a model ranks the same candidates in two
languages, right or wrong: 1 for equal rankings, `chance` for unrelated ones.

Args:
{scores}
    references (list of list of float): the same candidates' scores in the other language.
    weights (str): softmax (default), norm1, norm2, norm1-released or norm2-released.
    ties (str): expected (default), over all orders that equal scores allow, or released, the
        authors' stable sort, where the earlier of equal candidates ranks higher.
{resampling}

Returns:
    rankc (float): mean over the queries.
    chance (float): its exact expectation for independent random rankings of the same pools.
    rankc_adjusted (float or None): mean of (rankc - chance) / (1 - chance) over the queries with
        at least two candidates; None if there is none. Not comparable between pools of different
        size: it falls with the number of candidates.
{intervals}
    n_queries, n_adjusted (int): the queries that the means are taken over.

Examples:
    >>> rankc = evaluate.load("rankc")
    >>> result = rankc.compute(predictions=[[3.0, 2.0, 1.0]], references=[[0.9, 0.1, 0.4]])
    >>> round(result["rankc"], 4), round(result["chance"], 4)
    (0.8776, 0.4749)
"""

from polyprobe.metrics.rankc.formulas import measure_rankc
from polyprobe.metrics.shared.inputs import QI_2023, SCORES, Module


class Rankc(Module):
    """The metric that `evaluate` loads."""

    measure = staticmethod(measure_rankc)
    columns = {"predictions": SCORES, "references": SCORES}
    citation = QI_2023
