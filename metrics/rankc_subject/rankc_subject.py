"""The `evaluate` module of rankc_subject; see formulas.py."""

from polyprobe.metrics.rankc_subject.formulas import INPUTS, measure_rankc_subject
from polyprobe.metrics.shared.citations import QI_2023
from polyprobe.metrics.shared.inputs import SCORES, Module

_USAGE = """
Args:
    predictions (list of list of float): one row for each query with one score for each candidate;
        higher is better.
    references (list of list of float): the same candidates' scores in the other language.
    donor_predictions (list of list of float): scores of the same candidates in the first language
        in the sentence about another subject of the relation, none of whose answers is among the
        candidates.
    donor_references (list of list of float): the same in the other language, the same subject.
    weights (str): softmax (default), norm1, norm2, norm1-released or norm2-released, as in `rankc`.
    ties (str): expected (default) or released, as in `rankc`.
    groups (list, optional): label of each query, usually its relation.
    average (str): macro (default), the unweighted mean over groups, or micro, over queries.
    n_resamples (int): resamples of the bootstrap over queries, and of the test; default: by size,
        10,000 or 1,000; below 40: the test only; 0: neither.
    seed (int): of both; default: 0.
    clusters (list, optional): label of each query, such as its subject; the bootstrap draws and the
        test flips whole clusters. Give it if queries share their subjects.

Returns:
    rankc_subject (float): (rankc - rankc_donor) / (1 - rankc_donor), of the means over queries; 0
        where rankc_donor is 1. With `groups` and macro, the mean of the groups' values. It can be
        negative, where only one language depends on the subject.
    rankc (float): RankC with the right subject in both languages, mean over the queries.
    rankc_donor (float): RankC with the right subject in one language and the other one in the
        second, mean of both ways.
    difference (float): rankc - rankc_donor.
    NAME_ci (list of float or None): 95% bootstrap interval of each; None for a single query.
    p_value (float or None): two-sided sign-flip test of the difference; None without resamples.
    by_group (dict): the same for each group, without p_value, if `groups` is given.
    n_queries (int): number of queries.

Examples:
    >>> rankc_subject = evaluate.load("rankc_subject")
    >>> scores, donor = [[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]], [[2.0, 1.0, 3.0], [2.0, 3.0, 1.0]]
    >>> result = rankc_subject.compute(predictions=scores, references=scores,
    ...     donor_predictions=donor, donor_references=donor, n_resamples=0)
    >>> round(result["rankc"], 4), round(result["rankc_donor"], 4)
    (1.0, 0.2124)
"""


class RankcSubject(Module):
    """RankC corrected for the subject is the part of the consistency of two languages that depends
    on the subject of the question: 0 for a model that ranks the same candidates alike whatever the
    subject, 1 for equal rankings that another subject does not give.
    """

    measure = staticmethod(measure_rankc_subject)
    columns = dict.fromkeys(INPUTS, SCORES)
    texts = (_USAGE, QI_2023)
