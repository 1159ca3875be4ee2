"""Inflection delta is by how many ranks, on average, a model puts the inflected form of an answer
above its label; positive means that the inflected form is preferred.

Args:
    predictions (list of float): rank of the answer's label, one for each query; 1 (or 0) is the
        best.
    references (list of float): rank of the inflected form in the same list of candidates.
{resampling}

Returns:
    inflection_delta (float): mean over the queries of rank(label) - rank(inflected form); 0 where
        neither is preferred.
    share_inflected (float): share of the queries where the inflected form ranks higher, equal ranks
        half; 0.5 where neither is preferred.
{intervals}
    n_queries, n_tied (int): the queries, and those where both forms have the same rank.

Examples:
    >>> delta = evaluate.load("inflection_delta")
    >>> delta.compute(predictions=[5, 1, 3, 9], references=[2, 2, 3, 5], n_resamples=0)
    {'inflection_delta': 1.5, 'share_inflected': 0.625, 'n_queries': 4, 'n_tied': 1}
"""

from polyprobe.metrics.inflection_delta.formulas import measure_preference
from polyprobe.metrics.shared.inputs import SCORE, SEMENOV_2025, Module


class InflectionDelta(Module):
    """The metric that `evaluate` loads."""

    measure = staticmethod(measure_preference)
    columns = {"predictions": SCORE, "references": SCORE}
    citation = SEMENOV_2025
