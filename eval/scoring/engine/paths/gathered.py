"""Padded batches: the plain way, and the same with the head asked only where something is read."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

import torch

from polyprobe.eval.scoring.engine.plan import Input, Plan, by_length

from .path import Path, Places


class Full(Path):
    """The model's own `forward`, all logits made: what every other path must agree with."""

    name = "full"
    tokens = (512, 4096)

    def states(self, plan: Plan, batch: Sequence[Input]) -> tuple[torch.Tensor, list[int]]:
        """Return the logits themselves in the place of states."""
        return _pick(self.network.logits(batch), plan, batch)

    def logits(self, states: torch.Tensor) -> torch.Tensor:
        """Return what `states` returned."""
        return states


class Unpadded(Full):
    """The same in batches of equal length, for models in whose answers padding shows."""

    name = "unpadded"

    def batches(self, inputs: Iterable[Input], budget: Callable[[], int]) -> Iterator[list[Input]]:
        """Yield the inputs in batches in which all are equally long."""
        rows = sorted(inputs, key=_lengths)
        for _, same in groupby(rows, key=_lengths):
            yield from by_length(same, budget)


class Gathered(Path):
    """Inputs of about one length in a batch; hidden states are gathered before the head."""

    name = "gathered"

    def states(self, plan: Plan, batch: Sequence[Input]) -> tuple[torch.Tensor, list[int]]:
        """Return the states at the batch's reads.

        Decoders are padded behind, where nothing looks, so they need no mask.
        """
        rows = [row.ids for row in batch]
        inputs = {"input_ids": self.network.ids(rows)}
        if self.network.family == "masked":
            inputs["attention_mask"] = self.network.mask(rows)
        else:
            inputs["use_cache"] = False
        if self.network.family == "seq2seq":
            inputs |= self.network.encode([row.source for row in batch])
        return _pick(self.network.run(**inputs)[0], plan, batch)


def _lengths(row: Input) -> tuple[int, int]:
    return len(row.ids), len(row.source)


def _pick(
    states: torch.Tensor, plan: Plan, batch: Sequence[Input]
) -> tuple[torch.Tensor, list[int]]:
    places = Places()
    which = [places.number(k, p) for k, row in enumerate(batch) for p in plan.reads[row].positions]
    return places.pick(states), which
