"""Answer agreement is the share of facts on which two languages choose the same candidate, as a
mean over all pairs of languages: agreement on right and on wrong answers, kappa (agreement above
chance), and the facts that are correct in all languages or in any.

Args:
    predictions (list of list of int): one row for each fact: the index of the chosen candidate in
        each language; two languages at least. Or free answers, texts, with `names`.
    languages (list of str, optional): their names, one for each column; of texts their codes.
    references (list of list of int, optional): indices of the correct candidates, at least one for
        each fact; or one index for each fact. Of texts the right entities. Older name: answers.
    n_candidates (list of int, optional): number of candidates of each fact; gives `kappa`.
    names (dict, optional): the entities that texts name, {entity: {language: names}}: answers are
        the same if they name the same entity.
{resampling}

Returns:
    agreement (float): share of facts with the same choice, mean over unordered pairs of languages.
    agree_right, agree_wrong, one_right, both_wrong_different, both_right_different (float): with
        references, the parts of the facts of a pair; they sum to 1.
    kappa (float or None): with n_candidates, agreement of all languages above that of uniform
        random choices: 0 is chance, 1 is agreement; None if no fact has several candidates.
    fleiss_kappa (float or None): without n_candidates, agreement above that of the choices'
        frequencies; the predictions must be entity numbers, which mean the same in every row. None
        where chance is 1.
    right_in_all, right_in_any (float): with references, share of facts right in all languages, in
        one at least.
{intervals}
    pairs (dict): "en-fr" to agreement, agreement_ci and the parts, for each pair of languages.
    k_correct (list of int): with references, number of facts correct in exactly 0, 1, … languages.
    n_queries, n_languages (int): the facts and the languages.
    n_kappa (int): with n_candidates, the facts with several candidates.

Examples:
    >>> agreement = evaluate.load("answer_agreement")
    >>> chosen = [[0, 0, 1], [2, 2, 2], [1, 0, 1]]
    >>> result = agreement.compute(predictions=chosen, languages=["en", "fr", "ru"], n_resamples=0)
    >>> result["agreement"] == (1 / 3 + 3 / 3 + 1 / 3) / 3
    True
    >>> result["pairs"]["en-ru"]
    {'agreement': 0.6666666666666666}
"""

from polyprobe.metrics.answer_agreement.formulas import measure_agreement
from polyprobe.metrics.shared.inputs import INDICES, JIANG_2020, TEXTS, Module


class AnswerAgreement(Module):
    """The metric that `evaluate` loads."""

    measure = staticmethod(measure_agreement)
    gold = True
    optional = ("references",)
    columns = {"predictions": INDICES, "references": INDICES}
    texts = {"predictions": TEXTS, "references": TEXTS}
    citation = (
        JIANG_2020
        + """\
@article{brennan-prediger-1981-coefficient,
    title = "Coefficient Kappa: Some Uses, Misuses, and Alternatives",
    author = "Brennan, Robert L. and Prediger, Dale J.",
    journal = "Educational and Psychological Measurement",
    volume = "41", number = "3", year = "1981",
}
@inproceedings{randolph-2005-free,
    title = "Free-Marginal Multirater Kappa (multirater kappa-free): An Alternative to {F}leiss'
      Fixed-Marginal Multirater Kappa",
    author = "Randolph, Justus J.",
    booktitle = "Joensuu Learning and Instruction Symposium", year = "2005",
    url = "https://eric.ed.gov/?id=ED490661",
}
@article{fleiss-1971-measuring,
    title = "Measuring Nominal Scale Agreement among Many Raters",
    author = "Fleiss, Joseph L.",
    journal = "Psychological Bulletin", volume = "76", number = "5", year = "1971",
}
"""
    )
