"""The object alone: only the candidate's own tokens count, summed or divided by its length."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polyprobe.eval.scoring.engine import Input, Plan
from polyprobe.schema.columns import SLOT

from .causal import CausalScorer
from .masked import MaskedScorer
from .seq2seq import Seq2SeqScorer

# What the sum is divided by, given the candidate and its number of tokens.
LENGTHS: dict[str, Callable[[str, int], int]] = {
    "object": lambda candidate, n_tokens: 1,
    "object-tokens": lambda candidate, n_tokens: n_tokens,
    "object-characters": lambda candidate, n_tokens: len(candidate),
    "object-bytes": lambda candidate, n_tokens: len(candidate.encode()),
}


class ObjectScorer:
    """Score a candidate by the sum of its tokens' log-probabilities in nats (Fluent-mLAMA).

    `scoring` names what the sum is divided by: nothing (`object`), the candidate's tokens, its
    Unicode code points (`object-characters`) or its UTF-8 bytes. Families mix this in before
    themselves; encoders and encoder-decoders keep their equations' reads (BMLAMA eq. 8 and 9).
    """

    def __init__(self, *args: Any, scoring: str = "object", **options: Any) -> None:
        super().__init__(*args, **options)
        self.scoring = scoring

    def combine(self, values: np.ndarray, candidate: str) -> float:
        """Return the sum of a candidate's log-probabilities by its length."""
        return float(np.sum(values, dtype=np.float64)) / LENGTHS[self.scoring](
            candidate, len(values)
        )


class MaskedObjectScorer(ObjectScorer, MaskedScorer):
    """Sum what equation 8 reads: masks filled from left to right."""


class Seq2SeqObjectScorer(ObjectScorer, Seq2SeqScorer):
    """Sum what equation 9 reads: the sentinel's filling."""


class CausalObjectScorer(ObjectScorer, CausalScorer):
    """Sum over the candidate's tokens behind the prompt's (Fluent-mLAMA).

    The ids are those of the prompt up to the slot, its special tokens and its trailing blank kept,
    followed by those of the candidate alone; never the joined text again, which may cut it
    elsewhere. An EOS that the tokenizer appends to the prompt is dropped, since nothing may stand
    between; `bos` is as in equation 10. Text behind the slot is neither seen nor scored.
    """

    def plan(
        self,
        plan: Plan,
        prompts: Sequence[str],
        candidates: Sequence[Sequence[str]],
        pieces: dict[str, tuple[int, ...]],
    ) -> list[list[range]]:
        """Plan one input for each (prompt, all sub-words of a candidate but the last)."""
        texts = [prompt[: prompt.index(SLOT)] for prompt in prompts]
        return [
            [_read_object(plan, prefix, pieces[candidate]) for candidate in row]
            for prefix, row in zip(self.prefixes(texts), candidates, strict=True)
        ]


def _read_object(plan: Plan, prefix: tuple[int, ...], filling: tuple[int, ...]) -> range:
    first = len(prefix) - 1
    return plan.read(Input((*prefix, *filling[:-1])), range(first, first + len(filling)), filling)
