"""Factual accuracy is the share of facts whose predicted text reads like an accepted one, averaged
over relations, for all objects and apart for those of one token and of several.

Args:
    predictions (list of str or None): the predicted text; None for no prediction.
    references (list of list of str): the accepted texts, at least one for each query.
    single_token (list of bool, optional): whether the object, as the prompt inflects it, is one
        token of the evaluated model.
    language (str, optional): of the texts; in el stress marks do not count, and in en the full stop
        that follows the object in the prompt may replace that of the accepted text.
    prompts (list of str, optional): of each query, with [Y] for the object; without them no full
        stop is forgiven.
{resampling}
    empty (str): value of a group without such objects in the macro average of single or multi: skip
        (default) or zero, as in the released code.

Returns:
    all (float): share of correct predictions, by group and then over groups.
    single, multi (float or None): the same for objects of one token and of several, where
        single_token is given; None where there are none.
    all_ci, single_ci, multi_ci (list of float or None): 95% bootstrap intervals, each drawn from
        its own queries; None where there is a single one.
    by_group (dict): the same for each group, if `groups` is given.
    n_queries, n_single, n_multi (int): the queries that the figures are taken over.
    n_unpredicted (int): predictions that are None; they count as wrong.

Examples:
    >>> accuracy = evaluate.load("factual_accuracy")
    >>> texts, accepted = ["greek", None, "usa"], [["Greek"], ["Kenya"], ["United States", "USA"]]
    >>> result = accuracy.compute(
    ...     predictions=texts, references=accepted, single_token=[True, True, False]
    ... )
    >>> round(result["all"], 4), result["single"], result["multi"], result["n_unpredicted"]
    (0.6667, 0.5, 1.0, 1)
"""

from polyprobe.metrics.factual_accuracy.formulas import measure_factual_accuracy
from polyprobe.metrics.shared.inputs import JIANG_2020, TEXT, TEXTS, Module


class FactualAccuracy(Module):
    """The metric that `evaluate` loads."""

    measure = staticmethod(measure_factual_accuracy)
    nullable = ("predictions",)
    columns = {"predictions": TEXT, "references": TEXTS}
    citation = JIANG_2020
