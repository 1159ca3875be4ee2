"""The object alone: the candidate's own tokens, summed or divided by its length."""

from collections.abc import Callable
from typing import Any

import numpy as np

# The divisor of the sum, given the candidate and its number of tokens.
LENGTHS: dict[str, Callable[[str, int], int]] = {
    "object": lambda candidate, n_tokens: 1,
    "object-tokens": lambda candidate, n_tokens: n_tokens,
    "object-characters": lambda candidate, n_tokens: len(candidate),
    "object-bytes": lambda candidate, n_tokens: len(candidate.encode()),
}


class ObjectScorer:
    """Score a candidate by the sum of its tokens' log-probabilities in nats (Fluent-mLAMA).

    `scoring` names the divisor of the sum: none (`object`), the candidate's tokens, its Unicode
    code points (`object-characters`) or its UTF-8 bytes. Each family has a subclass that derives
    from this class first and from its own scorer second.
    """

    def __init__(self, *args: Any, scoring: str = "object", **options: Any) -> None:
        super().__init__(*args, **options)
        self.scoring = scoring

    def combine(self, values: np.ndarray, candidate: str) -> float:
        """Return the sum of a candidate's log-probabilities by its length."""
        length = LENGTHS[self.scoring](candidate, len(values))
        return float(np.sum(values, dtype=np.float64)) / length
