"""Decoders: a trie of token ids, laid flat under a mask in which each token sees its ancestors."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import torch

from polyprobe.eval.scoring.engine.plan import Input, Plan, shared

from .path import Path


class Tree(Path):
    """Many sentences as one row, their common beginnings once.

    The inputs are sorted by their ids, so that those of one prompt, and those of candidates with
    the same first sub-words, stand side by side; each adds to the row only what is new against
    the one before. A token's position is its depth in the trie, and it sees its ancestors alone.
    So the prompt runs once for all of its candidates, and equal prompts of several rows run once.
    Where a tokenizer merges over the boundary of prompt and candidate the ids part earlier, and
    so does the trie.
    """

    name = "tree"
    looks_back = True
    crowded = True
    tokens = (512, 4096)

    def batches(self, inputs: Iterable[Input], budget: Callable[[], int]) -> Iterator[list[Input]]:
        """Yield the inputs in sorted order, in tries of at most so many tokens."""
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
        """Return how many tokens the batch's trie has."""
        return len(Trie(batch).ids)

    def states(self, plan: Plan, batch: Sequence[Input]) -> tuple[torch.Tensor, list[int]]:
        """Return the states of the trie's tokens at which something is read."""
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
    """Inputs merged where their beginnings are equal, in depth-first order.

    Attributes:
        ids: the token of each node.
        depths: how many ancestors each node has.
        ends: behind each node, the number of the first that does not descend from it.
        nodes: the nodes of each input, from its first token on.
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
    """Return the additive mask by which a node sees itself and its ancestors, [1, 1, n, n].

    In depth-first order node j descends from i if i ≤ j < ends[i]. The mask is of numbers, not of
    truth values: some classes add it to their scores as it is.
    """
    number = torch.arange(len(ends), device=ends.device)
    seen = (number[:, None] >= number) & (number[:, None] < ends)
    mask = torch.zeros(seen.shape, dtype=dtype, device=ends.device)
    return mask.masked_fill_(~seen, torch.finfo(dtype).min)[None, None]
