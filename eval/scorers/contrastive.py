"""The candidate's first sub-word alone (Polyglot or Not: Schott et al., EMNLP 2023)."""

from collections.abc import Sequence
from typing import Any

from polyprobe import PolyprobeError

from ..slot import SLOT
from .boundary import BOUNDARY
from .causal import CausalScorer
from .masked import MaskedScorer
from .plan import Input, Plan
from .seq2seq import Seq2SeqScorer


class CausalContrastiveScorer(CausalScorer):
    """Score a candidate by log P(its first sub-word | stem) in nats.

    The stem is the prompt up to the slot without its trailing blank, which is the sub-word's; text
    behind the slot is neither seen nor scored. Candidates that share their first sub-word tie.
    """

    scoring = "contrastive"

    def plan(
        self,
        plan: Plan,
        prompts: Sequence[str],
        candidates: Sequence[Sequence[str]],
        pieces: dict[str, tuple[int, ...]],
    ) -> list[list[range]]:
        """Plan one input a stem, read at its last token."""
        stems = [prompt[: prompt.index(SLOT)].rstrip() for prompt in prompts]
        firsts = first_pieces(prompts, candidates, pieces, self.tokenizer)
        return [
            [plan.read(Input(prefix), [len(prefix) - 1], (first,)) for first in row]
            for prefix, row in zip(self.prefixes(stems), firsts, strict=True)
        ]


class MaskedContrastiveScorer(MaskedScorer):
    """Score a candidate by log P(its first sub-word) at one mask in the slot, in nats.

    A full stop is appended where nothing follows the slot, as the authors do.
    """

    scoring = "contrastive"

    def plan(
        self,
        plan: Plan,
        prompts: Sequence[str],
        candidates: Sequence[Sequence[str]],
        pieces: dict[str, tuple[int, ...]],
    ) -> list[list[range]]:
        """Plan one input a prompt."""
        firsts = first_pieces(prompts, candidates, pieces, self.tokenizer)
        wanted = []
        for prompt, row in zip(prompts, firsts, strict=True):
            closed = prompt.rstrip() + "." if prompt.rstrip().endswith(SLOT) else prompt
            before, after = self.around_slot(closed)
            masked = Input((*before, self.tokenizer.mask_token_id, *after))
            wanted.append([plan.read(masked, [len(before)], (first,)) for first in row])
        return wanted


class Seq2SeqContrastiveScorer(Seq2SeqScorer):
    """Score a candidate by log P(its first sub-word) right behind the sentinel, in nats."""

    scoring = "contrastive"

    def plan(
        self,
        plan: Plan,
        prompts: Sequence[str],
        candidates: Sequence[Sequence[str]],
        pieces: dict[str, tuple[int, ...]],
    ) -> list[list[range]]:
        """Plan one input a prompt."""
        firsts = first_pieces(prompts, candidates, pieces, self.tokenizer)
        wanted = []
        for prompt, row in zip(prompts, firsts, strict=True):
            source = self._source(prompt)
            wanted.append([self._read_filling(plan, source, (first,)) for first in row])
        return wanted


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
