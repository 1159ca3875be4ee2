"""The candidate's first sub-word alone (Polyglot or Not: Schott et al., EMNLP 2023)."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from polyprobe.eval.scoring.engine import Input, Plan
from polyprobe.schema.columns import SLOT
from polyprobe.system.errors import PolyprobeError

from .boundary import BOUNDARY
from .causal import CausalScorer
from .masked import MaskedScorer
from .seq2seq import Seq2SeqScorer


class FirstPieces:
    """Score a candidate by log P(its first sub-word) in nats, at one place of one input a prompt.

    Candidates that share their first sub-word tie.
    """

    scoring = "contrastive"
    tokenizer: Any

    @abstractmethod
    def places(self, prompts: Sequence[str]) -> list[tuple[Input, int]]:
        """Return for each prompt what is run, and the position at which sub-words are read."""

    def plan(
        self,
        plan: Plan,
        prompts: Sequence[str],
        candidates: Sequence[Sequence[str]],
        pieces: dict[str, tuple[int, ...]],
    ) -> list[list[range]]:
        """Plan one input a distinct prompt."""
        firsts = first_pieces(prompts, candidates, pieces, self.tokenizer)
        return [
            [plan.read(asked, [at], (first,)) for first in row]
            for (asked, at), row in zip(self.places(prompts), firsts, strict=True)
        ]


class CausalContrastiveScorer(FirstPieces, CausalScorer):
    """Read the first sub-word behind the stem.

    The stem is the prompt up to the slot without its trailing blank, which is the sub-word's; text
    behind the slot is neither seen nor scored.
    """

    def places(self, prompts: Sequence[str]) -> list[tuple[Input, int]]:
        """Return each stem and its last token."""
        stems = [prompt[: prompt.index(SLOT)].rstrip() for prompt in prompts]
        return [(Input(prefix), len(prefix) - 1) for prefix in self.prefixes(stems)]


class MaskedContrastiveScorer(FirstPieces, MaskedScorer):
    """Read the first sub-word at one mask in the slot.

    A full stop is appended where nothing follows the slot, as the authors do.
    """

    def places(self, prompts: Sequence[str]) -> list[tuple[Input, int]]:
        """Return each prompt with a mask, and where that is."""
        closed = [p.rstrip() + "." if p.rstrip().endswith(SLOT) else p for p in prompts]
        parts = map(self.around_slot, closed)
        mask = self.tokenizer.mask_token_id
        return [(Input((*before, mask, *after)), len(before)) for before, after in parts]


class Seq2SeqContrastiveScorer(FirstPieces, Seq2SeqScorer):
    """Read the first sub-word right behind the sentinel."""

    def places(self, prompts: Sequence[str]) -> list[tuple[Input, int]]:
        """Return each prompt for the encoder, and the sentinel in the decoder."""
        decoder = (self._start, self._sentinel)
        return [(Input(decoder, self._source(prompt)), 1) for prompt in prompts]


def first_pieces(
    prompts: Sequence[str],
    candidates: Sequence[Sequence[str]],
    pieces: dict[str, tuple[int, ...]],
    tokenizer: Any,
) -> list[list[int]]:
    """Return the first sub-word of each candidate that is no blank.

    Behind a blank the candidate is tokenized with that blank, as it stands in a sentence, unless
    the tokenizer marks a word's start by itself (`▁Paris`); WordPiece is the same either way.
    Behind a letter, as in scripts without blanks, and at the start of a prompt it is tokenized
    bare (our rule; the paper's stems all end in a blank). `▁` or a blank alone is passed over; an
    unknown token is a sub-word as any other.

    Args:
        prompts: sentences with one slot.
        candidates: for each prompt the fillers of its slot.
        pieces: the sub-words of each candidate alone.
        tokenizer: the model's.

    Raises:
        PolyprobeError: a candidate is nothing but blanks.
    """
    bare = {candidate: _first(candidate, ids, tokenizer) for candidate, ids in pieces.items()}
    behind_blank = bare | _behind_blank(pieces, tokenizer)
    blanks = (prompt[: prompt.index(SLOT)][-1:].isspace() for prompt in prompts)
    return [
        [(behind_blank if blank else bare)[candidate] for candidate in row]
        for blank, row in zip(blanks, candidates, strict=True)
    ]


def _behind_blank(pieces: dict[str, tuple[int, ...]], tokenizer: Any) -> dict[str, int]:
    """Return the first sub-word behind a blank of the candidates whose start is not marked."""
    starts = tokenizer.convert_ids_to_tokens([ids[0] for ids in pieces.values()])
    unmarked = [c for c, s in zip(pieces, starts, strict=True) if not s.startswith(BOUNDARY)]
    if not unmarked:
        return {}
    encoded = tokenizer([f" {c}" for c in unmarked], add_special_tokens=False)["input_ids"]
    return {c: _first(c, ids, tokenizer) for c, ids in zip(unmarked, encoded, strict=True)}


def _first(candidate: str, ids: Sequence[int], tokenizer: Any) -> int:
    for piece in ids:
        if tokenizer.decode([piece]).strip():
            return piece
    raise PolyprobeError(f"candidate {candidate!r} is nothing but blanks in this model")
