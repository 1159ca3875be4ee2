"""Measure how often a fact is more probable than its counterfacts (Schott et al. 2023).

For a fact and its counterfacts, with probabilities p of the object (or of its first sub-word) after
the stem, contrastive knowledge assessment (Dong et al. 2022) is the ratio

    CKA = p(fact) / mean of p(counterfact)

and the fact counts as recalled where it is above 1. (It is not centred kernel alignment.)

>>> compare_contrasts([[0.6, 0.1, 0.3], [0.2, 0.1, 0.3], [0.1, 0.4]])
array([ 1,  0, -1], dtype=int8)
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import datasets
import evaluate
import numpy as np

from polyprobe.metrics.shared.inputs import Module
from polyprobe.metrics.shared.intervals import check_name, share, summarize
from polyprobe.metrics.shared.rows import Scores, read_rows

_DESCRIPTION = """\
Contrastive knowledge is the share of facts that a model finds more probable than their \
counterfacts are on average.
"""

_KWARGS_DESCRIPTION = """
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
    accuracy_ci, tie_share_ci (list of float or None): 95% bootstrap intervals; None for a single
        fact.
    half_width (float or None): half the width of accuracy_ci, the paper's ± for one language.
    by_group (dict): the same for each group, if `groups` is given.
    n_queries (int): the facts.

Examples:
    >>> knowledge = evaluate.load("contrastive_knowledge")
    >>> knowledge.compute(predictions=[[0.6, 0.1, 0.3], [0.2, 0.2]], n_resamples=0)
    {'accuracy': 0.5, 'tie_share': 0.5, 'n_queries': 2}
"""

_CITATION = """\
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

TIE_VALUES = ("wrong", "half")

_LARGEST = 1e300  # sums of larger values may overflow


def compare_contrasts(predictions: Scores, log: bool = False) -> np.ndarray:
    """Return for each row the sign (1, 0, -1) of p(fact) - mean of p(counterfact), without error.

    0 is a tie of the numbers as they are stored or as they are written: 0.2 ties with 0.1 and 0.3,
    though no double is any of these. Only the order matters, so the scale does not: percentages do
    as well. Negative and infinite values are errors, as are rows of one value and rows that
    `rows.read_rows` rejects. With `log` the values are exp(predictions): a tie of more than two
    values then depends on their rounding, unless all are equal.
    """
    if not isinstance(log, bool | np.bool_):
        raise ValueError(f"log is {log!r:.60}; expected True or False")
    flat, sizes = read_rows(predictions, "predictions")
    starts = sizes.cumsum() - sizes
    flat = _exponentiate(flat, starts, sizes) if log else flat.astype(np.float64)
    _check(flat, sizes)
    # With n counterfacts the sign is that of n p(fact) - p(counterfact) - …, which rounding puts
    # wrong by less than (n + 1) 2^-52 times the sum of the terms' sizes. Margins nearer to 0 than
    # that is done in fractions, but for the difference of two numbers, whose sign is never wrong.
    terms = -flat
    terms[starts] *= 1 - sizes
    margins = np.add.reduceat(terms, starts)
    bounds = sizes * 2.0**-52 * np.add.reduceat(np.abs(terms), starts)
    signs = np.sign(margins).astype(np.int8)
    for row in np.flatnonzero((np.abs(margins) <= bounds) & (sizes > 2)).tolist():
        fact, *others = flat[starts[row] : starts[row] + sizes[row]].tolist()
        signs[row] = _compare_exactly(fact, others)
    return signs


def measure_knowledge(
    predictions: Scores,
    ties: str = "wrong",
    n_resamples: int = 10_000,
    log: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """Return the share of recalled facts and of ties, with intervals and the number of facts.

    `options` are those of `intervals.Resampling`.
    """
    check_name(ties, TIE_VALUES, "ties")
    signs = compare_contrasts(predictions, log)
    recalled = np.where(signs == 0, 0.5 if ties == "half" else 0, signs > 0)
    measures = {"accuracy": share(recalled), "tie_share": share(signs == 0)}
    result = summarize(measures, n_resamples=n_resamples, **options)
    if "accuracy_ci" in result:
        for figures in (result, *result.get("by_group", {}).values()):
            bounds = figures["accuracy_ci"]
            figures["half_width"] = None if bounds is None else (bounds[1] - bounds[0]) / 2
    return {**result, "n_queries": len(signs)}


class ContrastiveKnowledge(Module):
    """Compare the probability of facts with that of their counterfacts."""

    measure = staticmethod(measure_knowledge)

    def _info(self) -> evaluate.MetricInfo:
        features = datasets.Features({"predictions": datasets.Sequence(datasets.Value("float64"))})
        return evaluate.MetricInfo(_DESCRIPTION, _CITATION, features, _KWARGS_DESCRIPTION)


def _exponentiate(flat: np.ndarray, starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return exp(flat), each row divided by its largest value; only the order matters."""
    largest = np.maximum.reduceat(flat.astype(np.float64), starts)
    for query in np.flatnonzero(largest == np.inf)[:1]:
        raise ValueError(f"inf in query {query} of 'predictions'; expected log-probabilities")
    return np.exp(flat - np.where(np.isinf(largest), 0, largest).repeat(sizes))


def _check(flat: np.ndarray, sizes: np.ndarray) -> None:
    for query in np.flatnonzero(sizes == 1)[:1]:
        raise ValueError(
            f"query {query} of 'predictions' has no counterfact; expected [p(fact), "
            "p(counterfact), …]"
        )
    wrong = (flat < 0) | (flat > _LARGEST)
    for query in np.repeat(np.arange(len(sizes)), sizes)[wrong][:1]:
        raise ValueError(
            f"{flat[wrong][0]} among the values of query {query} in 'predictions'; expected "
            "probabilities (of log-probabilities pass log=True)"
        )


def _compare_exactly(fact: float, others: Sequence[float]) -> int:
    """Return the sign of fact - mean of others, 0 if it is 0 for the numbers stored or written."""
    stored = len(others) * Fraction(fact) - sum(map(Fraction, others))
    written = len(others) * Fraction(repr(fact)) - sum(Fraction(repr(other)) for other in others)
    return 0 if not written else (stored > 0) - (stored < 0)
