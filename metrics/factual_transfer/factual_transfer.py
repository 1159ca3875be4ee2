"""Factual transfer compares what is known about a country in its own language and in all others:
factual recall (FRS), knowledge transfer (KTS) and their harmonic mean, the scores of X-FaKT.

Args:
    predictions (list of list of int): one row for each query: 1 if the answer in a language is
        right, else 0; two languages at least.
    languages (list of str): of the columns.
    references (list of str): of each query the language of its country, one of `languages`. Each of
        them has a country.
    digits (int, optional): to which the cells are rounded; 2 in the authors' program.
{resampling}

Returns:
    recall, transfer, x_fakt (float): FRS, KTS and X-FaKT; 1 is best, 0 the least. x_fakt is None
        where both are 0.
    associative, others (float): accuracy of the cells in which the language is the country's, and
        of all others.
{intervals}
    t, p_value (float or None): of Student's test of the error rates of these cells with those of
        the others; None where it is undefined.
    n_queries (int): the rows.

Examples:
    >>> transfer = evaluate.load("factual_transfer")
    >>> right, own = [[1, 0], [1, 1], [0, 1]], ["en", "en", "fr"]
    >>> result = transfer.compute(
    ...     predictions=right, languages=["en", "fr"], references=own, n_resamples=0
    ... )
    >>> result["associative"], result["others"], round(result["recall"], 4)
    (1.0, 0.25, 0.3571)
"""

from polyprobe.metrics.factual_transfer.formulas import measure_transfer
from polyprobe.metrics.shared.inputs import INDICES, TEXT, Module


class FactualTransfer(Module):
    """The metric that `evaluate` loads."""

    measure = staticmethod(measure_transfer)
    columns = {"predictions": INDICES, "references": TEXT}
    citation = """\
@article{aggarwal-etal-2025-language,
    title = "Language Models' Factuality Depends on the Language of Inquiry",
    author = "Aggarwal, Tushar and Tanmay, Kumar and Agrawal, Ayush and Ayush, Kumar and
      Palangi, Hamid and Liang, Paul Pu",
    journal = "arXiv preprint arXiv:2502.17955", year = "2025",
    url = "https://arxiv.org/abs/2502.17955",
}
"""
