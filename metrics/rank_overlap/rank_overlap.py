"""Rank-biased overlap, Kendall's tau-b and top-k overlap measure how similarly a model ranks the
same candidates in two languages.

Args:
{scores}
    references (list of list of float): the same candidates' scores in the other language.
    p (float): persistence of RBO between 0 and 1, 0.9; the nearer to 1, the deeper it looks.
    k (int or list of int): depths of the top-k overlap, [1, 3]; beyond the last candidate, N.
    ties (str): expected (default), over all orders that equal scores allow (RBO^a), or released,
        where all tied candidates have their highest rank (RBO^w). Tau-b is the same in both.
{resampling}

Returns:
    rbo (float): mean of the extrapolated rank-biased overlap over the queries.
    kendall_tau_b (float or None): mean over the queries where it is defined: with at least two
        candidates, and not all tied in a language. Comparable between pools of different size.
    top_k_overlap@K (float): for each k, mean share of the top k that both languages have.
    rbo_chance, top_k_overlap@K_chance (float): their exact expectations for independent random
        rankings of the same pools; that of tau-b is 0.
{intervals}
    n_queries, n_tau (int): the queries, and those where tau-b is defined.

Examples:
    >>> overlap = evaluate.load("rank_overlap")
    >>> english, spanish = [[3.0, 2.0, 1.0]], [[0.9, 0.1, 0.4]]
    >>> result = overlap.compute(predictions=english, references=spanish, k=2, n_resamples=0)
    >>> {name: round(value, 4) for name, value in result.items() if "chance" not in name}
    {'rbo': 0.955, 'kendall_tau_b': 0.3333, 'top_k_overlap@2': 0.5, 'n_queries': 1, 'n_tau': 1}
"""

from polyprobe.metrics.rank_overlap.formulas import measure_rank_overlap
from polyprobe.metrics.shared.inputs import SCORES, Module


class RankOverlap(Module):
    """The metric that `evaluate` loads."""

    measure = staticmethod(measure_rank_overlap)
    columns = {"predictions": SCORES, "references": SCORES}
    citation = """\
@article{webber-etal-2010-similarity,
    title = "A Similarity Measure for Indefinite Rankings",
    author = "Webber, William and Moffat, Alistair and Zobel, Justin",
    journal = "ACM Transactions on Information Systems", volume = "28", number = "4", year = "2010",
    url = "https://doi.org/10.1145/1852102.1852106",
}
@inproceedings{corsi-urbano-2024-treatment,
    title = "The Treatment of Ties in Rank-Biased Overlap",
    author = "Corsi, Matteo and Urbano, Juli{\\'a}n",
    booktitle = "Proceedings of SIGIR", year = "2024",
    url = "https://arxiv.org/abs/2406.07121",
}
@article{kendall-1945-treatment,
    title = "The Treatment of Ties in Ranking Problems",
    author = "Kendall, Maurice G.",
    journal = "Biometrika", volume = "33", number = "3", year = "1945",
}
"""
