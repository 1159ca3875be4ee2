"""Padded batches, with the head at every position or only where something is read."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

import torch

from polyprobe.eval.scoring.engine.plan import Input, Plan, by_length

from .path import ForwardPath, Places


class Full(ForwardPath):
    """The model's own `forward` with all logits, with which every other path must agree."""

    name = "full"
    tokens = (512, 4096)

    def states(self, plan: Plan, batch: Sequence[Input]) -> tuple[torch.Tensor, list[int]]:
        """Return logits instead of states."""
        return _pick(self.network.logits(batch), plan, batch)

    def logits(self, states: torch.Tensor) -> torch.Tensor:
        """Return the argument, which holds logits already."""
        return states


class Unpadded(Full):
    """The same in batches of equal length, for models whose answers depend on padding."""

    name = "unpadded"

    def batches(self, inputs: Iterable[Input], budget: Callable[[], int]) -> Iterator[list[Input]]:
        """Yield the inputs in batches of one length each."""
        rows = sorted(inputs, key=_lengths)
        for _, same in groupby(rows, key=_lengths):
            yield from by_length(same, budget)


class Gathered(ForwardPath):
    """Inputs of about one length in a batch; hidden states are gathered before the head."""

    name = "gathered"

    def states(self, plan: Plan, batch: Sequence[Input]) -> tuple[torch.Tensor, list[int]]:
        """Return the states at the batch's reads."""
        return _pick(self.network.run(**self.network.trunk_inputs(batch))[0], plan, batch)


def _lengths(row: Input) -> tuple[int, int]:
    return len(row.ids), len(row.source)


def _pick(
    states: torch.Tensor, plan: Plan, batch: Sequence[Input]
) -> tuple[torch.Tensor, list[int]]:
    places = Places()
    which = [places.number(k, p) for k, row in enumerate(batch) for p in plan.reads[row].positions]
    return places.pick(states), which
