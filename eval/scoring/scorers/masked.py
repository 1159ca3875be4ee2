"""Encoder-only models: masks filled from left to right (BMLAMA eq. 8)."""

from collections.abc import Sequence
from typing import Any

from transformers import AutoModelForMaskedLM
from transformers.models.auto import modeling_auto

from polyprobe.eval.scoring.engine import Input, Plan
from polyprobe.schema.columns import SLOT
from polyprobe.system.errors import PolyprobeError

from .boundary import fit
from .scorer import Scorer


class MaskedScorer(Scorer):
    """Score a candidate of n sub-words by n masks in the slot, filled left to right (eq. 8).

    The i-th sub-word is read at the i-th mask, those before it filled with the candidate's own,
    those behind it still masked; the score is the mean. All is done on token ids: the authors'
    code pastes sub-words back into the text and tokenizes again, which yields other ids.
    """

    family = "masked"
    scoring = "bmlama-eq8"
    auto = AutoModelForMaskedLM
    architectures = modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES

    def __init__(self, model: Any, tokenizer: Any, batch_tokens: int | None = None) -> None:
        if tokenizer.mask_token_id is None:
            raise PolyprobeError("this masked model's tokenizer has no mask token; give it its own")
        super().__init__(model, tokenizer, batch_tokens)

    def plan(
        self,
        plan: Plan,
        prompts: Sequence[str],
        candidates: Sequence[Sequence[str]],
        pieces: dict[str, tuple[int, ...]],
    ) -> list[list[range]]:
        """Plan one input for each (prompt, n, sub-words filled so far)."""
        mask = self.tokenizer.mask_token_id
        wanted = []
        for prompt, row in zip(prompts, candidates, strict=True):
            before, after = self.around_slot(prompt)
            fillings = fit(prompt, [pieces[c] for c in row], self.tokenizer)
            wanted.append([_read_filling(plan, before, f, after, mask) for f in fillings])
        return wanted

    def around_slot(self, prompt: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the ids before and behind the mask, special tokens included."""
        mask = self.tokenizer.mask_token_id
        ids = self.tokenizer(prompt.replace(SLOT, self.tokenizer.mask_token))["input_ids"]
        if ids.count(mask) != 1:
            raise PolyprobeError(
                f"the prompt becomes {ids.count(mask)} mask tokens, expected one: {prompt!r}"
            )
        at = ids.index(mask)
        return tuple(ids[:at]), tuple(ids[at + 1 :])


def _read_filling(
    plan: Plan, before: tuple[int, ...], pieces: tuple[int, ...], after: tuple[int, ...], mask: int
) -> range:
    reads = [
        plan.read(
            Input((*before, *pieces[:i], *[mask] * (len(pieces) - i), *after)),
            [len(before) + i],
            pieces[i : i + 1],
        )
        for i in range(len(pieces))
    ]
    return range(reads[0].start, reads[-1].stop)
