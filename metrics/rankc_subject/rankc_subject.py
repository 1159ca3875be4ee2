"""Centred RankC is how alike two languages react to the subject of the question: 0 if either ranks
the same candidates alike whatever the subject, 1 for equal rankings that another subject does not
give.

Args:
{scores}
    references (list of list of float): the same candidates' scores in the other language.
    donor_predictions (list of list of float): scores of the same candidates in the first language
        in the sentence about another subject of the relation, the donor, with another answer.
    donor_references (list of list of float): the same in the other language, the same donor.
    answers (list of list of int, optional): indices of the correct candidates, at least one for
        each query; gives rankc_right, rankc_rest, rankc_independent and rankc_beyond.
    donor_answers (list of list of int, optional): indices of the donor's answers among the
        candidates, [] for none; they are left out of all four rankings.
    weights (str): softmax (default), norm1, norm2, norm1-released or norm2-released, as in `rankc`.
    ties (str): expected (default) or released, as in `rankc`.
    groups (list, optional): label of each query, its relation: rankc_independent compares queries
        of the same one.
    average (str): macro (default), the unweighted mean over groups, or micro, over queries.
    n_resamples (int): resamples of the bootstrap over queries, and of the test; default: by size,
        10,000 or 1,000; below 40: the test only; 0: neither.
    seed (int): of both; default: 0.
    clusters (list, optional): label of each query; the bootstrap draws and the test flips whole
        clusters. Queries that share a subject or a donor depend on each other: see `link_units`.

Returns:
    rankc_subject (float or None): centred RankC, (R - 2 P + Q) / (1 - 2 P + Q), of means over
        queries: R is RankC with the right subject in both languages, P with the donor in one of
        them, the mean of both ways, Q with the donor in both. 0 if either language ranks alike
        whatever the subject, 1 for equal rankings; can be negative. None where the denominator is
        not above .005 in 97.5% of the resamples.
    rankc_right, rankc_rest (float or None): the parts of the right answers and of the others.
    rankc_independent (float or None): the value of languages that know as much of other facts, for
        queries with one right answer in relations of ten such queries.
    rankc_beyond (float or None): rankc_subject - rankc_independent, over the same queries.
    rankc, rankc_donor (float): R and P.
    rankc_difference, rankc_interaction, rankc_room (float): R - P, R - 2 P + Q, 1 - 2 P + Q.
    NAME_ci (list of float or None): 95% bootstrap interval of each; None for a single query.
    p_value, p_beyond (float or None): two-sided sign-flip tests of R - 2 P + Q, and of that beyond
        independence; None without resamples.
    by_group (dict): the same for each group, without p-values, if `groups` is given.
    n_queries, n_counted (int): number of queries, and of those with several candidates left.

Examples:
    >>> rankc_subject = evaluate.load("rankc_subject")
    >>> scores, donor = [[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]], [[2.0, 1.0, 3.0], [2.0, 3.0, 1.0]]
    >>> result = rankc_subject.compute(predictions=scores, references=scores,
    ...     donor_predictions=donor, donor_references=donor, n_resamples=0)
    >>> [round(result[name], 4) for name in ("rankc", "rankc_donor", "rankc_subject")]
    [1.0, 0.2124, 1.0]
"""

from polyprobe.metrics.rankc_subject.formulas import INPUTS, measure_rankc_subject
from polyprobe.metrics.shared.inputs import INDICES, QI_2023, SCORES, Module


class RankcSubject(Module):
    """The metric that `evaluate` loads."""

    measure = staticmethod(measure_rankc_subject)
    columns = {**dict.fromkeys(INPUTS, SCORES), "answers": INDICES, "donor_answers": INDICES}
    optional = ("answers", "donor_answers")
    citation = QI_2023
