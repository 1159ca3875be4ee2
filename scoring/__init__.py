"""Prompts and candidates in, scores out."""

from typing import NamedTuple


class QueryScores(NamedTuple):
    """The scores of the candidates of one query, or a free answer to it."""

    scores: list[float]  # float32 or float64 values, in candidate order; see `Scorer.scoring`
    n_tokens: list[int]  # the number of tokens of each score that were read
    unknown: list[int]  # indices of the candidates that consist of unknown tokens only
    # Effects of the positions, one for each candidate, or none; see `separate`
    effects: tuple[float, ...] = ()
    text: str | None = None  # a free answer
