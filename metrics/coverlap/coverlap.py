"""COverlap (correct overlap) is the number of facts that a model gets right in both of two
languages divided by the number that it gets right in at least one of them.

Args:
    predictions (list of int): index of the chosen candidate in one language, one for each query;
        or the free answer, a text, with `names`.
    references (list of int): the same in the other language.
    answers (list of list of int): indices of the correct candidates, at least one for each query;
        or one index for each query. Of texts the right entities. Other metrics have them as
        `references`.
    languages (list of str, optional): of texts the codes of both languages.
    names (dict, optional): the entities that texts name, {entity: {language: names}}.
{resampling}

Returns:
    coverlap (float or None): both / either; None where no query is correct in either language.
{intervals}
    both, either, n_queries (int): the counts it comes from.

Examples:
    >>> coverlap = evaluate.load("coverlap")
    >>> english, spanish, right = [1, 0, 2], [1, 3, 2], [[1], [0], [1]]
    >>> coverlap.compute(predictions=english, references=spanish, answers=right, n_resamples=0)
    {'coverlap': 0.5, 'both': 1, 'either': 2, 'n_queries': 3}
"""

from polyprobe.metrics.coverlap.formulas import compare_right
from polyprobe.metrics.shared.inputs import INDEX, JIANG_2020, TEXT, Module


class Coverlap(Module):
    """The metric that `evaluate` loads."""

    measure = staticmethod(compare_right)
    columns = {"predictions": INDEX, "references": INDEX}
    texts = {"predictions": TEXT, "references": TEXT}
    citation = JIANG_2020
