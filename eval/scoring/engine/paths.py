"""Paths: ways to run a batch of inputs; each computes the states that are read."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

import torch

from polyprobe.eval.scoring.engine.network import Input, Network, Plan, by_length, shared


class ForwardPath(ABC):
    """A way to compute the hidden state of every place that is read.

    A place is a position in an input. Hundreds of candidates may be read at one place, and many
    inputs may contain it (the prompt's last token). A path computes each place once if it can.

    Attributes:
        name: the name in the run's signature.
        looks_back: whether inputs must fit into the model's attention window, if it has one.
        crowded: whether inputs share one row, so that one could see another.
        tokens: the default budget of a batch on a CPU and on an accelerator.
    """

    name: str
    looks_back = False
    crowded = False
    tokens: tuple[int, int] = (512, 16384)

    def __init__(self, network: Network) -> None:
        self.network = network

    def batches(self, inputs: Iterable[Input], budget: Callable[[], int]) -> Iterator[list[Input]]:
        """Yield all inputs in batches within the budget, padding included.

        The budget is called for each input, because it falls when memory runs out.
        """
        return by_length(inputs, budget)

    def size(self, batch: Sequence[Input]) -> int:
        """Return the number of tokens of a batch, padding included."""
        return max(row.length for row in batch) * len(batch)

    @abstractmethod
    def states(self, plan: Plan, batch: Sequence[Input]) -> tuple[torch.Tensor, list[int]]:
        """Return states, [places, width], and the place of each read of the batch, in its order."""

    def logits(self, states: torch.Tensor) -> torch.Tensor:
        """Return the logits of some of these places, [places, V]."""
        return self.network.head(states)


class Places(dict[tuple[int, int], int]):
    """The places that are read: (row, position), numbered in the order of the first request."""

    def number(self, row: int, position: int) -> int:
        """Return the number of a place; a new place gets the next one."""
        return self.setdefault((row, position), len(self))

    def pick(self, states: torch.Tensor) -> torch.Tensor:
        """Return the states of all places, [rows, tokens, width] → [places, width]."""
        at = torch.tensor(list(self), device=states.device).T
        return states[at[0], at[1]]


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


class Tree(ForwardPath):
    """Many sentences as one row, in which each common beginning occurs once.

    Inputs are sorted by their ids, so inputs with the same prompt, or with the same first
    sub-words of a candidate, are neighbours. Each adds to the row only the ids that differ from
    the one before. A token's position is its depth in the trie, and it sees only its ancestors.
    The prompt therefore runs once for all of its candidates and all equal prompts. If a tokenizer
    merges over the boundary of prompt and candidate, the trie branches earlier.
    """

    name = "tree"
    looks_back = True
    crowded = True
    tokens = (512, 4096)

    def batches(self, inputs: Iterable[Input], budget: Callable[[], int]) -> Iterator[list[Input]]:
        """Yield the inputs in sorted order, in tries within the budget."""
        batch: list[Input] = []
        size = 0
        before: tuple[int, ...] = ()
        for row in sorted(inputs):
            new = len(row.ids) - shared(before, row.ids)
            if batch and size + new > budget():
                yield batch
                batch, size, new = [], 0, len(row.ids)
            batch.append(row)
            size, before = size + new, row.ids
        if batch:
            yield batch

    def size(self, batch: Sequence[Input]) -> int:
        """Return the number of nodes of the batch's trie."""
        return len(Trie(batch).ids)

    def states(self, plan: Plan, batch: Sequence[Input]) -> tuple[torch.Tensor, list[int]]:
        """Return the states of the trie's nodes that are read."""
        trie = Trie(batch)
        device, dtype = self.network.device, self.network.model.dtype
        output = self.network.run(
            input_ids=torch.tensor([trie.ids], device=device),
            attention_mask=ancestors(torch.tensor(trie.ends, device=device), dtype),
            position_ids=torch.tensor([trie.depths], device=device),
            use_cache=False,
        )
        nodes = [trie.nodes[row][p] for row in batch for p in plan.reads[row].positions]
        places = {node: place for place, node in enumerate(sorted(set(nodes)))}
        asked = torch.tensor(list(places), device=device)
        return output[0][0, asked], [places[node] for node in nodes]


class Trie:
    """Inputs merged at their common beginnings, in depth-first order.

    Attributes:
        ids: the token of each node.
        depths: the number of ancestors of each node.
        ends: for each node the number of the first later one that does not descend from it.
        nodes: the nodes of each input in the order of its tokens.
    """

    def __init__(self, inputs: Iterable[Input]) -> None:
        self.ids: list[int] = []
        self.depths: list[int] = []
        self.ends: list[int] = []
        self.nodes: dict[Input, list[int]] = {}
        trail: list[int] = []
        before: tuple[int, ...] = ()
        for row in sorted(inputs):
            kept = shared(before, row.ids)
            self._close(trail[kept:])
            trail = trail[:kept] + list(range(len(self.ids), len(self.ids) + len(row.ids) - kept))
            self.ids.extend(row.ids[kept:])
            self.depths.extend(range(kept, len(row.ids)))
            self.ends.extend([0] * (len(row.ids) - kept))
            self.nodes[row], before = trail, row.ids
        self._close(trail)

    def _close(self, nodes: list[int]) -> None:
        for node in nodes:
            self.ends[node] = len(self.ids)


def ancestors(ends: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return the additive mask that shows a node itself and its ancestors, [1, 1, n, n].

    In depth-first order node j descends from i if i ≤ j < ends[i]. The mask holds numbers instead
    of booleans, because some classes add it to their attention scores directly.
    """
    number = torch.arange(len(ends), device=ends.device)
    seen = (number[:, None] >= number) & (number[:, None] < ends)
    mask = torch.zeros(seen.shape, dtype=dtype, device=ends.device)
    return mask.masked_fill_(~seen, torch.finfo(dtype).min)[None, None]
