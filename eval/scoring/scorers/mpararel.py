"""Masked models with all masks at once (mParaRel: Fierro and Søgaard, Findings of ACL 2022)."""

import numpy as np
import torch

from polyprobe.eval.scoring.engine import Input, Plan

from .masked import MaskedScorer
from .queries import Queries


class MparaRelScorer(MaskedScorer):
    """Score a candidate of n sub-words by their mean probability at n masks, all still masked.

    `p(c) = mean_i P(mask_i = s_i | q with n masks)`; the score is log p(c) in nats, which has the
    order of p(c). All candidates of n sub-words are read in one input. BMLAMA's equation 8 instead
    fills the masks from left to right and takes the mean of logarithms.
    """

    scoring = "mpararel"

    def plan(self, plan: Plan, queries: Queries) -> list[list[range]]:
        """Plan one input for each (prompt, n)."""
        mask = self.tokenizer.mask_token_id
        wanted = []
        for prompt, fillings in queries.fillings(self.tokenizer):
            before, after = self.around_slot(prompt)
            masked = {n: Input((*before, *[mask] * n, *after)) for n in set(map(len, fillings))}
            at = len(before)
            wanted.append([plan.read(masked[len(f)], range(at, at + len(f)), f) for f in fillings])
        return wanted

    def combine(self, values: np.ndarray, candidate: str) -> float:
        """Return log p(c) from the log-probabilities of its sub-words."""
        return float(np.logaddexp.reduce(values, dtype=np.float64) - np.log(len(values)))


class ReleasedMparaRelScorer(MparaRelScorer):
    """Score a candidate by the mean of its sub-words' raw logits, as the authors' code does.

    Logits of different masks have no common scale, so candidates of different lengths are hardly
    comparable.
    """

    scoring = "mpararel-released"

    def values(
        self, logits: torch.Tensor, which: torch.Tensor, targets: torch.Tensor
    ) -> torch.Tensor:
        """Return the logit of each read's target."""
        return logits[which, targets]

    def combine(self, values: np.ndarray, candidate: str) -> float:
        """Return the mean logit."""
        return float(np.mean(values))
