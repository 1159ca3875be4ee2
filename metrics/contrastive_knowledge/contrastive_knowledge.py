"""Contrastive knowledge is the share of facts that a model finds more probable than their
counterfacts are on average.

Args:
    predictions (list of list of float): one row for each fact: its probability, then those of its
        counterfacts, at least one; of log-probabilities pass log=True.
    log (bool): whether predictions are natural logarithms of probabilities, as the scores of other
        metrics are: they are then compared as exp(predictions); default: False.
    ties (str): value of a fact that is exactly as probable as its counterfacts: wrong (default,
        0, as published) or half (1/2).
    groups (list, optional): of each fact, as its language (the paper's leaderboard) or relation.
    average (str): macro (default), the unweighted mean over groups, or micro, over facts.
    n_resamples (int): resamples of the bootstrap over facts; default: 10000, as in the paper;
        below 40: no intervals.
    seed (int): of the bootstrap; default: 0.
    clusters (list, optional): label of each fact, such as its subject; the bootstrap draws whole
        clusters. Facts about one subject should be drawn together.

Returns:
    accuracy (float): share of facts with p(fact) > mean of p(counterfact), by group and then over
        groups.
    tie_share (float): share of facts where the two are exactly equal.
{intervals}
    n_queries (int): the facts.

Examples:
    >>> knowledge = evaluate.load("contrastive_knowledge")
    >>> knowledge.compute(predictions=[[0.6, 0.1, 0.3], [0.2, 0.2]], n_resamples=0)
    {'accuracy': 0.5, 'tie_share': 0.5, 'n_queries': 2}
"""

from polyprobe.metrics.contrastive_knowledge.formulas import measure_knowledge
from polyprobe.metrics.shared.inputs import SCORES, Module


class ContrastiveKnowledge(Module):
    """The metric that `evaluate` loads."""

    measure = staticmethod(measure_knowledge)
    columns = {"predictions": SCORES}
    citation = """\
@inproceedings{schott-etal-2023-polyglot,
    title = "Polyglot or Not? Measuring Multilingual Encyclopedic Knowledge in Foundation Models",
    author = "Schott, Tim and Furman, Daniel and Bhat, Shreshta",
    booktitle = "Proceedings of EMNLP", year = "2023",
    url = "https://aclanthology.org/2023.emnlp-main.691",
}
@inproceedings{dong-etal-2022-calibrating,
    title = "Calibrating Factual Knowledge in Pretrained Language Models",
    author = "Dong, Qingxiu and Dai, Damai and Song, Yifan and Xu, Jingjing and Sui, Zhifang and
      Li, Lei",
    booktitle = "Findings of the Association for Computational Linguistics: EMNLP 2022",
    year = "2022",
    url = "https://aclanthology.org/2022.findings-emnlp.438",
}
"""
