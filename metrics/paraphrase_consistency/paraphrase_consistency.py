"""Paraphrase consistency is the share of pairs of templates for the same fact to which a model
gives the same answer; reported with its accuracy and the share of pairs that agree and are correct.

Args:
    predictions (list of list of str): of each tuple (subject, object) of a relation the label that
        the model predicts with each template, any number of them.
    references (list of str): the label of its correct object.
    subjects (list, optional): of each tuple; those whose subject occurs with several objects in its
        group are left out, as in the paper.
{resampling}
    empty (str): value of a group without a counted tuple in the macro average: skip (default,
        as in the paper) or zero.

Returns:
    consistency, accuracy, consistency_accuracy (float or None): mean over the tuples with at least
        two templates, by group and then over groups; None without such a tuple.
{intervals}
    n_queries (int): the tuples that are counted.
    n_single_template (int): those left out because they have fewer than two templates.
    n_ambiguous (int): those left out because their subject has several objects.

Examples:
    >>> consistency = evaluate.load("paraphrase_consistency")
    >>> answers = [["Ulm", "Ulm", "Bern"], ["Paris", "Paris", "Paris"]]
    >>> result = consistency.compute(predictions=answers, references=["Ulm", "Rome"])
    >>> [round(result[name], 4) for name in ("consistency", "accuracy", "consistency_accuracy")]
    [0.6667, 0.3333, 0.1667]
"""

from polyprobe.metrics.paraphrase_consistency.formulas import measure_consistency
from polyprobe.metrics.shared.inputs import TEXT, TEXTS, Module


class ParaphraseConsistency(Module):
    """The metric that `evaluate` loads."""

    measure = staticmethod(measure_consistency)
    columns = {"predictions": TEXTS, "references": TEXT}
    citation = """\
@inproceedings{fierro-sogaard-2022-factual,
    title = "Factual Consistency of Multilingual Pretrained Language Models",
    author = "Fierro, Constanza and S{\\o}gaard, Anders",
    booktitle = "Findings of the Association for Computational Linguistics: ACL 2022",
    year = "2022",
    url = "https://aclanthology.org/2022.findings-acl.240",
}
@article{elazar-etal-2021-measuring,
    title = "Measuring and Improving Consistency in Pretrained Language Models",
    author = {Elazar, Yanai and Kassner, Nora and Ravfogel, Shauli and Ravichander, Abhilasha and
      Hovy, Eduard and Sch{\\"u}tze, Hinrich and Goldberg, Yoav},
    journal = "Transactions of the Association for Computational Linguistics", year = "2021",
    url = "https://aclanthology.org/2021.tacl-1.60",
}
"""
