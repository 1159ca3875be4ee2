"""Measure by how many ranks a model prefers the inflected form of an answer to its label.

    inflection delta = mean over queries of  rank(label) - rank(inflected form)

from Semenov and Sennrich 2025, table 2. Positive: the inflected form ranks higher.

>>> rank_delta([5, 1, 3], [2, 2, 3])
array([ 3., -1.,  0.])
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from polyprobe.metrics.shared.intervals import share, summarize

Ranks = Sequence[float] | np.ndarray

_LAST = 2.0**53  # rank; sums of larger ones are not exact


def rank_delta(predictions: Ranks, references: Ranks) -> np.ndarray:
    """Compute rank(label) - rank(inflected form) of each query.

    Ranks may start from 0 or from 1, if both do, and be fractions (expectations under ties). No
    queries, and ranks that are no finite numbers from 0 are errors.
    """
    return _read_ranks(predictions, "predictions") - _read_ranks(references, "references")


def measure_preference(predictions: Ranks, references: Ranks, **options: Any) -> dict[str, Any]:
    """Compute the mean delta and the share of inflected forms that rank higher, with intervals."""
    delta = rank_delta(predictions, references)
    higher = share((np.sign(delta) + 1) / 2)
    result = summarize({"inflection_delta": delta, "share_inflected": higher}, **options)
    return {**result, "n_queries": len(delta), "n_tied": int((delta == 0).sum())}


def _read_ranks(ranks: Ranks, name: str) -> np.ndarray:
    values = np.asarray(ranks, dtype=np.float64)
    if not len(values):
        raise ValueError(f"no queries in {name!r}")
    for query in np.flatnonzero(~((values >= 0) & (values <= _LAST)))[:1]:
        raise ValueError(
            f"rank {values[query]} of query {query} in {name!r}; expected a number from 0 or 1, "
            "where low is good (for scores see recall_at_k)"
        )
    return values
