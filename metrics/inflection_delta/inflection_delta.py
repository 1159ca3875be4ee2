"""Measure by how many ranks a model prefers the inflected form of an answer to its label.

    inflection delta = mean over queries of  rank(label) - rank(inflected form)

from Semenov and Sennrich 2025, table 2. Positive: the inflected form ranks higher.

>>> rank_delta([5, 1, 3], [2, 2, 3])
array([ 3., -1.,  0.])
"""

from collections.abc import Sequence
from typing import Any

import datasets
import evaluate
import numpy as np

from polyprobe.metrics.shared.inputs import Module
from polyprobe.metrics.shared.intervals import share, summarize

_DESCRIPTION = """\
Inflection delta is by how many ranks, on average, a model puts the inflected form of an answer \
above its label; positive means that the inflected form is preferred.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions (list of float): rank of the answer's label, one for each query; 1 (or 0) is the
        best.
    references (list of float): rank of the inflected form in the same list of candidates.
    groups (list, optional): label of each query, usually its relation.
    average (str): macro (default), the unweighted mean over groups, or micro, over queries.
    n_resamples (int): resamples of the bootstrap over queries; default: 10000, or 1000
        above 50,000 values (queries x figures); below 40: no intervals.
    seed (int): of the bootstrap; default: 0.
    clusters (list, optional): label of each query, such as its object; the bootstrap draws whole
        clusters. Queries about one subject should be drawn together.

Returns:
    inflection_delta (float): mean over the queries of rank(label) - rank(inflected form); 0 where
        neither is preferred.
    share_inflected (float): share of the queries where the inflected form ranks higher, equal ranks
        half; 0.5 where neither is preferred.
    inflection_delta_ci, share_inflected_ci (list of float or None): 95% bootstrap intervals; None
        for a single query.
    by_group (dict): the same for each group, if `groups` is given.
    n_queries, n_tied (int): the queries, and those where both forms have the same rank.

Examples:
    >>> delta = evaluate.load("inflection_delta")
    >>> delta.compute(predictions=[5, 1, 3, 9], references=[2, 2, 3, 5], n_resamples=0)
    {'inflection_delta': 1.5, 'share_inflected': 0.625, 'n_queries': 4, 'n_tied': 1}
"""

_CITATION = """\
@article{semenov-sennrich-2025-measuring,
    title = "Measuring the Effect of Disfluency in Multilingual Knowledge Probing Benchmarks",
    author = "Semenov, Kirill and Sennrich, Rico",
    journal = "arXiv preprint arXiv:2510.15115", year = "2025",
    url = "https://arxiv.org/abs/2510.15115",
}
"""

Ranks = Sequence[float] | np.ndarray

_LAST = 2.0**53  # rank; sums of larger ones are not exact


def rank_delta(predictions: Ranks, references: Ranks) -> np.ndarray:
    """Return rank(label) - rank(inflected form) of each query.

    Ranks may start from 0 or from 1, if both do, and be fractions (expectations under ties). No
    queries, unequal numbers of them, and ranks that are no finite numbers from 0 are errors.
    """
    label = _read_ranks(predictions, "predictions")
    inflected = _read_ranks(references, "references")
    if len(label) != len(inflected):
        raise ValueError(
            f"{len(label)} queries in 'predictions', {len(inflected)} in 'references'; expected "
            "two ranks for each query, of the label and of the inflected form"
        )
    return label - inflected


def measure_preference(predictions: Ranks, references: Ranks, **options: Any) -> dict[str, Any]:
    """Return the mean delta and the share of inflected forms that rank higher, with intervals.

    `options` are those of `intervals.Resampling`.
    """
    delta = rank_delta(predictions, references)
    higher = share((np.sign(delta) + 1) / 2)
    counts = {"n_queries": len(delta), "n_tied": int((delta == 0).sum())}
    return {
        **summarize({"inflection_delta": delta, "share_inflected": higher}, **options),
        **counts,
    }


class InflectionDelta(Module):
    """Compare the ranks of an answer's label and of its inflected form."""

    measure = staticmethod(measure_preference)

    def _info(self) -> evaluate.MetricInfo:
        rank = datasets.Value("float64")
        features = datasets.Features({"predictions": rank, "references": rank})
        return evaluate.MetricInfo(_DESCRIPTION, _CITATION, features, _KWARGS_DESCRIPTION)


def _read_ranks(ranks: Ranks, name: str) -> np.ndarray:
    values = np.asarray(ranks, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"{name!r} has {values.ndim} dimensions; expected one rank for each query")
    if not len(values):
        raise ValueError(f"no queries in {name!r}")
    for query in np.flatnonzero(~((values >= 0) & (values <= _LAST)))[:1]:
        raise ValueError(
            f"rank {values[query]} of query {query} in {name!r}; expected a number from 0 or 1, "
            "where low is good (for scores see recall_at_k)"
        )
    return values
