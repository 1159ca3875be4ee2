"""Batches of raw and switched sentences for transformers' Trainer (X-FACTR, section 6)."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from polyprobe.system.messages import PolyprobeError, check_option, one_line
from polyprobe.system.options import Declaration

NOT_PREDICTED = -100  # a label that transformers' losses ignore
BLOCK = 256  # tokens of a sentence that are read, as in the released training


class SwitchCollator:
    """Draw the raw or the switched sentence of each pair, and mask tokens as X-FACTR does.

    Of the tokens that are drawn, 80% become the mask, 10% a random token, 10% stay. Special tokens
    are never drawn. All draws come from torch's global generator, which `set_seed` seeds.

    Args:
        tokenizer: a fast one; its offsets say which tokens overlap a mention.
        objective: `mlm`, or `causal`: all tokens are labels and none is masked.
        raw_share: probability of the raw sentence.
        mask: probability that a token outside of mentions is drawn.
        mask_mentions: probability that a token of a mention is drawn.
    """

    def __init__(
        self,
        tokenizer: Any,
        objective: str = "mlm",
        raw_share: float = 0.7,
        mask: float = 0.15,
        mask_mentions: float = 0.5,
    ) -> None:
        check_option("objective", objective, ("mlm", "causal"))
        for share in (raw_share, mask, mask_mentions):
            Declaration("", flag="a share of SwitchCollator", minimum=0, maximum=1).refuse(share)
        names = {"pad_token", "mask_token"} if objective == "mlm" else {"pad_token"}
        if not tokenizer.is_fast or any(getattr(tokenizer, x) is None for x in names):
            text = f"SwitchCollator with objective {objective} needs a fast tokenizer with"
            raise PolyprobeError(f"{text} {' and '.join(sorted(names))}; give another")
        self.tokenizer, self.is_masked = tokenizer, objective == "mlm"
        self.raw_share, self.mask, self.mask_mentions = raw_share, mask, mask_mentions

    def __call__(self, pairs: Sequence[Mapping[str, Any]]) -> dict[str, torch.Tensor]:
        """Make `input_ids`, `attention_mask` and `labels` [pairs, tokens] of `switch_sentences`."""
        try:
            batch, mentions = self._encode(pairs)
        except (IndexError, KeyError, TypeError, ValueError) as error:
            text = f"SwitchCollator cannot read the batch ({one_line(error)}); it needs pairs of"
            text = f"{text} switch_sentences, and the Trainer remove_unused_columns=False"
            raise PolyprobeError(text) from error
        starts, ends = batch.pop("offset_mapping").unbind(-1)
        special, ids = batch.pop("special_tokens_mask").bool(), batch["input_ids"]
        if not self.is_masked:
            labels = ids.masked_fill(batch["attention_mask"] == 0, NOT_PREDICTED)
            return {**batch, "labels": labels}
        chance = torch.full(ids.shape, float(self.mask))
        for row, start, end in mentions:
            chance[row, (starts[row] < end) & (ends[row] > start)] = self.mask_mentions
        targets = torch.bernoulli(chance.masked_fill(special, 0)).bool()
        labels, kind = ids.masked_fill(~targets, NOT_PREDICTED), torch.rand(ids.shape)
        words = torch.randint(len(self.tokenizer), ids.shape)
        ids = ids.masked_fill(targets & (kind < 0.8), self.tokenizer.mask_token_id)
        ids = torch.where(targets & (kind >= 0.9), words, ids)
        return {**batch, "input_ids": ids, "labels": labels}

    def _encode(self, pairs: Sequence[Mapping[str, Any]]) -> tuple[Any, list[tuple[int, int, int]]]:
        """Tokenize a sentence of each pair; return also the rows and characters of mentions."""
        raw = torch.rand(len(pairs)) <= self.raw_share
        rows = [x["raw" if is_raw else "switched"] for x, is_raw in zip(pairs, raw, strict=True)]
        mentions = [(k, start, end) for k, row in enumerate(rows) for start, end in row["mentions"]]
        for k, start, end in mentions:
            if not 0 <= start <= end <= len(rows[k]["text"]):
                raise ValueError(f"no characters {start} to {end} in {rows[k]['text']!r:.60}")
        size = min(BLOCK, self.tokenizer.model_max_length)
        options: dict[str, Any] = {
            "return_offsets_mapping": True,
            "return_special_tokens_mask": True,
        }
        options |= {"padding": True, "truncation": True, "max_length": size, "return_tensors": "pt"}
        return self.tokenizer([row["text"] for row in rows], **options), mentions
