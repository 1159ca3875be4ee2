"""Encoder-only models: masks filled from left to right (BMLAMA eq. 8)."""

from collections.abc import Sequence
from typing import Any

from transformers import AutoModelForMaskedLM
from transformers.models.auto import modeling_auto

from polyprobe.eval.scoring.engine import Input, Network, Plan
from polyprobe.eval.scoring.engine.paths.gathered import Full, Gathered
from polyprobe.schema.columns import SLOT
from polyprobe.system.errors import PolyprobeError

from .contrastive import FirstPieceScorer
from .family import Family
from .object import ObjectScorer
from .queries import Queries
from .scorer import Scorer


class MaskedNetwork(Network):
    """An encoder: it reads in both directions, so its padding is always masked."""

    paths = (Gathered, Full)

    def forward_inputs(self, batch: Sequence[Input]) -> dict[str, Any]:
        """Return ids and mask; encoders have no cache."""
        rows = [row.ids for row in batch]
        return {"input_ids": self.ids(rows), "attention_mask": self.mask(rows)}

    trunk_inputs = forward_inputs


class MaskedScorer(Scorer):
    """Score a candidate of n sub-words by n masks in the slot, filled left to right (eq. 8).

    The i-th sub-word is read at the i-th mask; earlier masks hold the candidate's own sub-words,
    later ones are still masks. The score is the mean. Everything is done on token ids: the
    authors' code pastes sub-words back into the text and tokenizes again, which gives other ids.
    """

    network = MaskedNetwork
    scoring = "bmlama-eq8"

    def __init__(self, model: Any, tokenizer: Any, batch_tokens: int | None = None) -> None:
        if tokenizer.mask_token_id is None:
            raise PolyprobeError(
                "this masked model's tokenizer has no mask token; use the model's own tokenizer"
            )
        super().__init__(model, tokenizer, batch_tokens)

    def plan(self, plan: Plan, queries: Queries) -> list[list[range]]:
        """Plan one input for each (prompt, n, sub-words filled so far)."""
        mask = self.tokenizer.mask_token_id
        wanted = []
        for prompt, fillings in queries.fillings(self.tokenizer):
            before, after = self.around_slot(prompt)
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


class MaskedObjectScorer(ObjectScorer, MaskedScorer):
    """Sum the log-probabilities of equation 8."""


class MaskedContrastiveScorer(FirstPieceScorer, MaskedScorer):
    """Read the first sub-word at one mask in the slot.

    A full stop is appended to a prompt that ends with the slot, as the authors do.
    """

    def places(self, prompts: Sequence[str]) -> list[tuple[Input, int]]:
        """Return each prompt with a mask, and the mask's position."""
        closed = [p.rstrip() + "." if p.rstrip().endswith(SLOT) else p for p in prompts]
        parts = map(self.around_slot, closed)
        mask = self.tokenizer.mask_token_id
        return [(Input((*before, mask, *after)), len(before)) for before, after in parts]


MASKED = Family(
    name="masked",
    auto=AutoModelForMaskedLM,
    architectures=modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    scorers={
        "bmlama": MaskedScorer,
        "object": MaskedObjectScorer,
        "contrastive": MaskedContrastiveScorer,
    },
    suffixes=("ForMaskedLM",),
    old_names=("BertForPreTraining",),
)
