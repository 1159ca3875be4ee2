"""Scores of a part of the candidate, in every family: the object alone, its first sub-word."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polyprobe.schema.columns import SLOT
from polyprobe.scoring.engine import Input, Plan
from polyprobe.system.errors import PolyprobeError

from .queries import BOUNDARY, Queries

# The divisor of the sum, given the candidate and its number of tokens.
LENGTHS: dict[str, Callable[[str, int], int]] = {
    "object": lambda candidate, n_tokens: 1,
    "object-tokens": lambda candidate, n_tokens: n_tokens,
    "object-characters": lambda candidate, n_tokens: len(candidate),  # Unicode code points
    "object-bytes": lambda candidate, n_tokens: len(candidate.encode()),
}


# `scoring` names the divisor of the sum (`LENGTHS`). Each family has a subclass that derives from
# this class first and from its own scorer second.
class ObjectScorer:
    """Score a candidate by the sum of its tokens' log-probabilities in nats (Fluent-mLAMA)."""

    def __init__(self, *args: Any, scoring: str = "object", **options: Any) -> None:
        super().__init__(*args, **options)
        self.scoring = scoring

    def combine(self, values: np.ndarray, candidate: str) -> float:
        """Return the sum of a candidate's log-probabilities by its length."""
        length = LENGTHS[self.scoring](candidate, len(values))
        return float(np.sum(values, dtype=np.float64)) / length


# Candidates with the same first sub-word tie. Each family has a subclass, as of `ObjectScorer`.
class FirstPieceScorer:
    """Score a candidate by log P(its first sub-word) in nats, at one place of a prompt's input."""

    scoring = "contrastive"
    tokenizer: Any

    @abstractmethod
    def places(self, prompts: Sequence[str]) -> list[tuple[Input, int]]:
        """Return the input of each prompt, and the position at which sub-words are read."""

    def plan(self, plan: Plan, queries: Queries) -> list[list[range]]:
        """Plan one input for each distinct prompt."""
        firsts = first_pieces(queries, self.tokenizer)
        return [
            [plan.read(row, [at], (first,)) for first in pieces]
            for (row, at), pieces in zip(self.places(queries.prompts), firsts, strict=True)
        ]


def first_pieces(queries: Queries, tokenizer: Any) -> list[list[int]]:
    """Return the first sub-word of each candidate that is not blank."""
    # Behind a blank the candidate is tokenized with that blank, as in a sentence, unless the
    # tokenizer itself marks the start of a word (`▁Paris`); WordPiece gives the same either way.
    # Behind a letter, as in scripts without blanks, and at the start of a prompt it is tokenized
    # bare (our rule; the paper's stems all end in a blank). `▁` or a blank alone is skipped; an
    # unknown token counts as a sub-word.
    pieces = queries.pieces
    bare = {candidate: _first(candidate, ids, tokenizer) for candidate, ids in pieces.items()}
    starts = tokenizer.convert_ids_to_tokens([ids[0] for ids in pieces.values()])
    unmarked = [c for c, s in zip(pieces, starts, strict=True) if not s.startswith(BOUNDARY)]
    texts = [f" {candidate}" for candidate in unmarked]
    encoded = tokenizer(texts, add_special_tokens=False)["input_ids"] if texts else []
    rows = zip(unmarked, encoded, strict=True)
    behind_blank = bare | {c: _first(c, ids, tokenizer) for c, ids in rows}
    blanks = (prompt[: prompt.index(SLOT)][-1:].isspace() for prompt in queries.prompts)
    return [
        [(behind_blank if blank else bare)[candidate] for candidate in row]
        for blank, row in zip(blanks, queries.candidates, strict=True)
    ]


def _first(candidate: str, ids: Sequence[int], tokenizer: Any) -> int:
    for piece in ids:
        if tokenizer.decode([piece]).strip():
            return piece
    raise PolyprobeError(f"candidate {candidate!r} is nothing but blanks in this model")
