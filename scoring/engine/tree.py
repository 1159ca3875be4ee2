"""Tries: many sentences as one row, in parts behind the cached tokens that the next ones share."""

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import DynamicCache

from polyprobe.scoring.engine.forward import (
    SLIDING,
    ForwardPath,
    Ids,
    Input,
    Network,
    Plan,
    count_common,
    find_window,
)
from polyprobe.scoring.engine.prefix import Beginning, find_beginning, keep_tokens

MAX_NODES = 4096  # of a part: the work of attention grows with the square
FULL = "full_attention"  # the layers without a window


# Sentences are sorted by their ids, so those with the same prompt, or with the same first sub-words
# of a candidate, are neighbours. Each adds only the tokens that differ from the one before. A
# token's position is its depth, and it sees only its ancestors. In depth-first order a node j
# descends from i if i ≤ j < ends[i]; what a run of neighbouring nodes sees in front of it are the
# ancestors of its first node alone, whose keys and values are therefore all that is kept.
class Trie:
    """Different inputs in sorted order, merged at their common beginnings; nodes depth-first.

    Attributes:
        ids: the token of each node.
        depths: the number of its ancestors.
        ends: the number of the first later node that does not descend from it.
    """

    def __init__(self, rows: Sequence[Input]) -> None:
        # All rows begin with the first nodes, which no array repeats
        self._front = front = count_common(rows[0].ids, rows[-1].ids)
        lengths, ids, shared = align([row.ids[front:] for row in rows])
        columns, shared = np.arange(ids.shape[1]), shared[:, None]
        new = (columns >= shared) & (columns < lengths[:, None])
        n_new = new.sum(1)
        first = (front + np.cumsum(n_new) - n_new)[:, None]
        n = front + int(n_new.sum())
        # A token that a row shares is the node of the last row before that added one in its column
        numbers = np.where(new, first + columns - shared, -1)
        self._nodes = np.maximum.accumulate(numbers, 0)
        # The first later row that shares less ends the descendants of a node
        ends = np.where(columns >= shared, first, n)[::-1]
        ends = np.vstack([np.minimum.accumulate(ends, 0)[::-1][1:], np.full_like(ends[:1], n)])
        self.ids = np.concatenate([np.array(rows[0].ids[:front], int), ids[new]])
        self.depths = np.concatenate([np.arange(front), front + np.nonzero(new)[1]])
        self.ends = np.concatenate([np.full(front, n), ends[new]])

    def __len__(self) -> int:
        return len(self.ids)

    def find(self, rows: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Return the node of a position in a row, for arrays of both."""
        behind: np.ndarray = positions - self._front
        return np.where(behind < 0, positions, self._nodes[rows, np.maximum(behind, 0)])


def align(rows: Sequence[Ids]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return lengths, ids padded with -1, and the tokens that each row shares with the one before.

    Rows that are neighbours differ; shapes [rows], [rows, longest] and [rows].
    """
    lengths = np.array([*map(len, rows)])
    # A column more, in which nothing differs: all rows may be empty
    ids = np.full((len(rows), int(lengths.max()) + 1), -1)
    inside = np.arange(ids.shape[1]) < lengths[:, None]
    ids[inside] = np.fromiter(chain.from_iterable(rows), int, int(lengths.sum()))
    return lengths, ids, np.concatenate([[0], (ids[1:] != ids[:-1]).argmax(1)])


class Stack:
    """The last sentence that was run: tokens, states [tokens, width], keys and values.

    `step` gives the number of nodes that are run at once, at most; all sentences have `shared`.
    """

    def __init__(self, step: Callable[[], int], beginning: Beginning, shared: Ids = ()) -> None:
        self.step, self._beginning, self._shared = step, beginning, shared
        self._cache: Any = None

    def _start(self, network: Network) -> None:
        beginning = self._beginning
        beginning.run(network, self._shared)
        self._ids, self._states = beginning.ids, [x[0] for x in beginning.states]
        self._cache = copy.deepcopy(beginning.cache)

    def run(self, network: Network, trie: Trie, first: Ids, last: Ids) -> Tensor:
        """Return the states of all nodes, [nodes, width]; `first` and `last` are the outer rows."""
        if self._cache is None:
            self._start(network)
        depth = count_common(self._ids, first)
        keep_tokens(self._cache, slice(depth))
        states = [torch.cat(self._states)[:depth]] if depth else []
        keys = np.arange(depth)  # the nodes whose keys and values are cached
        try:
            start = depth
            while start < len(trie):
                nodes = np.arange(start, min(start + self.step(), len(trie)))
                start = int(nodes[-1]) + 1
                keys = np.concatenate([keys, nodes])
                states.append(run_nodes(network, trie, keys, len(nodes), self._cache))
                # The ancestors of the next node, or those of the last one and itself
                places = np.flatnonzero(trie.ends[keys] > min(start, len(trie) - 1))
                keep_tokens(self._cache, torch.tensor(places))
                keys = keys[places]
        except BaseException:
            self._cache = None  # some layers may be ahead of others
            raise
        together = torch.cat(states)
        self._ids, self._states = last, [together[torch.tensor(keys, device=together.device)]]
        return together


def run_nodes(
    network: Network, trie: Trie, keys: np.ndarray, n: int, cache: DynamicCache | None
) -> Tensor:
    """Return the states of the last n of the nodes `keys`; the cache holds the others."""
    device, nodes, ends = network.device, keys[-n:], trie.ends[keys]
    mask = make_mask(keys, ends, n, device, network.model.dtype)
    with network.kernels.for_trie(keys, ends, n, device):
        output = network.run(
            input_ids=torch.tensor(trie.ids[None, nodes], device=device),
            attention_mask=add_window(network, mask, trie.depths[keys]),
            position_ids=torch.tensor(trie.depths[None, nodes], device=device),
            past_key_values=cache,
            use_cache=cache is not None,
        )
    states: Tensor = output[0][0]
    return states


def make_mask(
    keys: np.ndarray, ends: np.ndarray, n: int, device: torch.device, dtype: torch.dtype
) -> Tensor:
    """Return the additive mask that shows the last n keys themselves and their ancestors.

    Its shape is [1, 1, n, keys]. It holds numbers instead of booleans, because some classes add it
    to their attention scores directly.
    """
    numbers, after = (torch.tensor(x, dtype=torch.int32, device=device) for x in (keys, ends))
    nodes = numbers[-n:, None]
    mask = torch.zeros(n, len(keys), dtype=dtype, device=device)
    # The lowest number and not -inf: a class that adds two masks would get NaN.
    hidden = (nodes < numbers) | (nodes >= after)
    return mask.masked_fill_(hidden, torch.finfo(dtype).min)[None, None]


def add_window(network: Network, mask: Tensor, depths: np.ndarray) -> Any:
    """Return the mask, or those of the kinds of layers if a node is beyond the sliding window."""
    config = network.model.config.get_text_config()
    window = getattr(config, SLIDING, None)
    if not window or depths.max() < window or find_window(config) is None:
        return mask
    places = torch.tensor(depths, device=mask.device)
    far = places[-mask.shape[2] :, None] - places >= window
    windowed = mask.masked_fill(far, torch.finfo(mask.dtype).min)
    kinds = getattr(config, "layer_types", None)
    if kinds is None:
        return windowed
    return {kind: mask if kind == FULL else windowed for kind in {*kinds, FULL}}


class Tree(ForwardPath):
    """Each common beginning is run once, whatever its length, and its keys and values are kept."""

    name = "tree"
    looks_back = True
    crowded = True
    tokens = (1024, MAX_NODES)

    def __init__(self, network: Network) -> None:
        super().__init__(network)
        self._stack: Stack | None = None  # of the batch that `batches` yields
        self._beginning = Beginning(DynamicCache)

    def forget(self) -> None:
        """Forget the tokens that a later call could share."""
        self._beginning.clear()

    def batches(self, inputs: Iterable[Input], budget: Callable[[], int]) -> Iterator[list[Input]]:
        """Yield the inputs in sorted order; the tokens that a batch adds are within the budget."""
        rows = [*inputs]
        shared = find_beginning(min(rows), max(rows)) if rows else ()
        rows.sort(key=lambda row: row.ids[len(shared) :])  # what all have takes time to compare
        stack = Stack(lambda: min(budget(), MAX_NODES), self._beginning, shared)
        batch: list[Input] = []
        size = -len(shared)
        try:
            for row, new in count_new(rows):
                if batch and size + new > stack.step():
                    self._stack = stack  # a callback may have run other inputs since the last one
                    yield batch
                    batch, size = [], 0
                batch.append(row)
                size += new
            if batch:
                self._stack = stack
                yield batch
        finally:
            self._stack = None

    def size(self, batch: Sequence[Input]) -> int:
        """Return the number of nodes of the batch's trie."""
        return sum(new for _, new in count_new(sorted(batch)))

    def count(self, batches: Iterable[Sequence[Input]]) -> tuple[int, int]:
        """Count batches and the nodes of the trie of all their inputs."""
        rows = [*batches]
        return len(rows), self.size([*chain.from_iterable(rows)])

    def states(self, plan: Plan, batch: Sequence[Input]) -> tuple[Tensor, np.ndarray]:
        """Compute the states of the trie's nodes that are read."""
        order = sorted(range(len(batch)), key=batch.__getitem__)
        rows = [batch[k] for k in order]
        trie = Trie(rows)
        if torch.is_grad_enabled():  # weights may change between batches
            states = run_nodes(self.network, trie, np.arange(len(trie)), len(trie), None)
        else:
            stack = self._stack or Stack(lambda: MAX_NODES, Beginning(DynamicCache))
            states = stack.run(self.network, trie, rows[0].ids, rows[-1].ids)
        positions = [plan.reads[row].positions for row in batch]
        counts = [*map(len, positions)]
        numbers = np.fromiter(chain.from_iterable(positions), int, sum(counts))
        nodes = trie.find(np.repeat(np.argsort(order), counts), numbers)
        distinct, places = np.unique(nodes, return_inverse=True)
        return states[torch.tensor(distinct, device=states.device)], places


def count_new(rows: Sequence[Input]) -> Iterator[tuple[Input, int]]:
    """Yield sorted inputs, each with the number of tokens that the one before does not have."""
    before: Ids = ()
    for row in rows:
        yield row, len(row.ids) - count_common(before, row.ids)
        before = row.ids
