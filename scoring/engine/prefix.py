"""Key-value caches: the common beginning of inputs runs once, and the rest of each behind it."""

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, zip_longest
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from transformers.cache_utils import Cache, DynamicLayer

from polyprobe.scoring.engine.forward import ForwardPath, Ids, Input, Network, Plan, count_common

CACHED = 32  # cached tokens of a row count as one that is run: they take memory


# It is run alone and in pieces from its start, so that its bits depend on nothing behind it: a
# later task of a run gets the same scores whether it finds the beginning here or runs it again.
class Beginning:
    """The tokens of a beginning, their states, [1, tokens, width], and their cache.

    `new_cache` makes an empty cache; without one the model makes its own.
    """

    piece = 256  # tokens that are run at once

    def __init__(self, new_cache: Callable[[], Any] | None = None) -> None:
        self._new_cache = new_cache
        self.clear()

    def clear(self) -> None:
        """Forget the tokens."""
        self.ids: Ids = ()
        self.states: list[Tensor] = []
        self.cache: Any = None if self._new_cache is None else self._new_cache()

    def run(self, network: Network, ids: Ids) -> None:
        """Run the whole pieces of these tokens that are not known."""
        ids = ids[: len(ids) // self.piece * self.piece]
        n_known = count_common(self.ids, ids) // self.piece * self.piece
        if n_known < len(self.ids):
            if n_known and all(type(layer) is DynamicLayer for layer in self.cache.layers):
                keep_tokens(self.cache, slice(n_known))
                self.ids, self.states = self.ids[:n_known], self.states[: n_known // self.piece]
            else:  # a recurrent state cannot be cut, and an empty cache keeps its one row
                self.clear()
        try:
            for start in range(len(self.ids), len(ids), self.piece):
                self._add(network, ids[start : start + self.piece])
        except BaseException:
            self.clear()  # some layers may be ahead of others
            raise

    def extend(self, network: Network, ids: Ids) -> "Beginning":
        """Return a copy that has all these tokens, whose whole pieces it has."""
        longer = copy.deepcopy(self)
        if len(ids) > len(self.ids):
            longer._add(network, ids[len(self.ids) :])
        return longer

    def _add(self, network: Network, ids: Ids) -> None:
        inputs = {"input_ids": network.ids([ids]), "past_key_values": self.cache}
        output = network.run(**inputs, use_cache=True)
        self.ids, self.cache = self.ids + ids, output.past_key_values
        self.states.append(output[0])


def keep_tokens(cache: Any, tokens: Tensor | slice) -> None:
    """Keep the keys and values of some tokens."""
    for layer in cache.layers:
        if isinstance(tokens, Tensor):  # layers may be on several devices
            tokens = tokens.to(layer.keys.device)
        layer.keys, layer.values = layer.keys[:, :, tokens], layer.values[:, :, tokens]


def find_beginning(first: Input, last: Input) -> Ids:
    """Return what inputs begin with, given the outer two in sorted order, which share no more.

    It is a piece or more, and none of the inputs.
    """
    shared = min(count_common(first.ids, last.ids), len(first.ids) - 1)
    return () if first.source or shared < Beginning.piece else first.ids[:shared]


def select_rows(cache: Any, rows: Tensor) -> None:
    """Replace the rows of a cache by some of them, in this order."""
    # Layers with recurrent states know the order of beams only; MiniMax's cache knows the other
    if type(cache).batch_select_indices is Cache.batch_select_indices:
        cache.reorder_cache(rows)
    else:
        cache.batch_select_indices(rows)


class PrefixGroup(NamedTuple):
    """Inputs with the same source and the same first `length` ids, in sorted order."""

    length: int
    rows: list[Input]
    shared: int = 0  # the number of ids that other groups share, and that are cached

    @property
    def leaves(self) -> list[Input]:
        """Return the inputs longer than the prefix that are not the beginning of another."""
        longer = [row for row in self.rows if len(row.ids) > self.length]
        return [
            row
            for row, following in zip_longest(longer, longer[1:])
            if following is None or count_common(row.ids, following.ids) < len(row.ids)
        ]

    @property
    def longest(self) -> int:
        """Return the largest number of ids behind the shared ones."""
        return max(len(row.ids) for row in self.rows) - self.length

    @property
    def front(self) -> int:
        """Return the number of ids that run once for all rows; the encoder's count too."""
        return self.length - self.shared + len(self.rows[0].source)


# For decoders that take no mask over a trie, also those with recurrent states, and for
# encoder-decoders, whose decoders derive distances from positions in the row.
class Prefix(ForwardPath):
    """A prompt's beginning or an encoder's source runs once; all candidates use its cache."""

    name = "prefix"
    looks_back = True

    def __init__(self, network: Network) -> None:
        super().__init__(network)
        self._lengths: dict[Input, int] = {}  # of the groups that `batches` last made
        self._shared = 0  # tokens of the beginning of all inputs of a batch, while it is run
        self._beginning, self._extended = Beginning(), Beginning()

    def forget(self) -> None:
        """Forget the inputs, and the beginning that a later call could share."""
        self._lengths = {}
        self._beginning.clear()
        self._extended.clear()

    def batches(self, inputs: Iterable[Input], budget: Callable[[], int]) -> Iterator[list[Input]]:
        """Yield groups of inputs; groups of similar shape share a batch."""
        families: dict[Ids, list[Input]] = {}  # inputs that begin with the same piece
        for row in inputs:
            is_short = row.source or len(row.ids) <= Beginning.piece
            families.setdefault(() if is_short else row.ids[: Beginning.piece], []).append(row)
        self._lengths = {}
        try:
            for rows in families.values():
                self._shared = len(find_beginning(min(rows), max(rows)))
                groups = group_inputs(rows, self._shared)
                self._lengths |= {row: group.length for group in groups for row in group.rows}
                yield from self._join(groups, budget)
        finally:
            self._shared = 0
            self._extended.clear()

    def _join(self, groups: list[PrefixGroup], budget: Callable[[], int]) -> Iterator[list[Input]]:
        batch: list[Input] = []
        front = n_rows = width = 0  # tokens of prefixes, rows behind them, and the longest of these
        groups = sorted(groups, key=lambda g: (g.length, g.longest), reverse=True)
        cached = self._shared // CACHED  # of each row, in tokens that are run
        for part in (part for group in groups for part in _parts(group, budget)):
            n_leaves = len(part.leaves)
            widest = max(width, part.longest + cached)
            part_front = part.front + cached
            if batch and front + part_front + (n_rows + n_leaves) * widest > budget():
                yield batch
                batch, front, n_rows, width = [], 0, 0, 0
            batch.extend(part.rows)
            front, n_rows, width = front + part_front, n_rows + n_leaves, max(width, widest)
        if batch:
            yield batch

    def size(self, batch: Sequence[Input]) -> int:
        """Return the number of tokens that are run, the encoder's and padding included."""
        groups = self._groups(batch, self._shared)
        n_rows = sum(len(group.leaves) for group in groups)
        return sum(group.front for group in groups) + n_rows * max(x.longest for x in groups)

    def states(self, plan: Plan, batch: Sequence[Input]) -> tuple[Tensor, np.ndarray]:
        """Compute the states at the batch's reads, one for all inputs with the same beginning."""
        usable = 0 if torch.is_grad_enabled() else self._shared  # weights change between batches
        groups = sorted(self._groups(batch, usable), key=lambda g: g.length)
        shared = groups[0].shared
        if self._extended.ids != (beginning := batch[0].ids[:shared]):
            self._beginning.run(self.network, beginning)
            self._extended = self._beginning.extend(self.network, beginning)
        outputs = [states[0] for states in self._extended.states]
        numbers: dict[tuple[Ids, Ids], int] = {}
        by_length = groupby(groups, key=lambda g: g.length)
        for states, rows in (run for _, same in by_length for run in self._run(list(same))):
            before, width = sum(map(len, outputs)), states.shape[1]
            for k, (row, start) in enumerate(rows):
                for p in range(start, min(len(row.ids), start + width)):
                    number = before + k * width + p - start
                    # The first of equal beginnings, so that equal reads are equal to the last bit.
                    numbers.setdefault((row.source, row.ids[shared : p + 1]), number)
            outputs.append(states.flatten(0, 1))
        read_numbers = [
            p if p < shared else numbers[row.source, row.ids[shared : p + 1]]
            for row in batch
            for p in plan.reads[row].positions
        ]
        distinct, places = np.unique(read_numbers, return_inverse=True)
        return torch.cat(outputs)[distinct.tolist()], places

    def _groups(self, batch: Sequence[Input], shared: int) -> list[PrefixGroup]:
        """Return the groups of `batches`; grouping a batch alone could give others."""
        if not all(row in self._lengths for row in batch):
            return group_inputs(batch)
        groups: dict[tuple[Ids, Ids], PrefixGroup] = {}
        for row in sorted(batch):
            length = self._lengths[row]
            beginning = row.source, row.ids[:length]
            groups.setdefault(beginning, PrefixGroup(length, [], shared)).rows.append(row)
        return list(groups.values())

    def _run(self, groups: list[PrefixGroup]) -> Iterator[tuple[Tensor, list[tuple[Input, int]]]]:
        """Yield states of groups of one prefix length, [rows, tokens, width]."""
        # With each row comes the position at which it begins in its input
        fronts = [group.rows[0] for group in groups]
        length, shared = groups[0].length, groups[0].shared
        ends = [(k, row) for k, group in enumerate(groups) for row in group.leaves]
        encoded = self.network.encode(fronts)
        cache = copy.deepcopy(self._extended.cache)
        if cache is not None:  # of one row, which each group begins with
            select_rows(cache, torch.zeros(len(fronts), dtype=torch.long))
        if length > shared:
            ids = self.network.ids([row.ids[shared:length] for row in fronts])
            output = self.network.run(
                input_ids=ids, past_key_values=cache, use_cache=True, **encoded
            )
            cache = output.past_key_values
            yield output[0], [(row, shared) for row in fronts]
        if not ends:
            return
        parents = torch.tensor([k for k, _ in ends])
        select_rows(cache, parents)
        output = self.network.run(
            input_ids=self.network.ids([row.ids[length:] for _, row in ends]),
            past_key_values=cache,
            use_cache=True,
            **{name: tensor[parents] for name, tensor in encoded.items()},
        )
        yield output[0], [(row, length) for _, row in ends]


def group_inputs(inputs: Iterable[Input], shared: int = 0) -> list[PrefixGroup]:
    """Group inputs that share much of what is behind the ids that all of them share."""
    # Each input joins the group before it in sorted order, unless that group and a new one of this
    # input and the next would save more tokens. Groups of an encoder-decoder have one source each.
    rows = sorted(inputs, key=lambda row: (row.source, row.ids))
    groups: list[PrefixGroup] = []
    for row, following in zip_longest(rows, rows[1:]):
        after = _common(row, following) if following else shared
        if groups and _joins(groups[-1], row, after):
            last = groups.pop()
            length = _common(last.rows[0], row, last.length)
            groups.append(PrefixGroup(length, [*last.rows, row], shared))
        else:
            groups.append(PrefixGroup(len(row.ids), [row], shared))
    return groups


def _joins(last: PrefixGroup, row: Input, after: int) -> bool:
    common = _common(last.rows[0], row, last.length) - last.shared
    if not common or row.source:  # the encoder runs once for a group
        return common > 0
    n, after = len(last.rows), after - last.shared
    # Tokens that a cache saves: n rows of a group save n - 1 times its prefix.
    together = max(n * common, (n + 1) * min(common, after))
    return together >= (n - 1) * (last.length - last.shared) + after


def _common(first: Input, second: Input, limit: int | None = None) -> int:
    """Return the length of the common beginning; 0 with different sources."""
    if first.source != second.source:
        return 0
    return min(count_common(first.ids, second.ids), len(first.ids) if limit is None else limit)


def _parts(group: PrefixGroup, budget: Callable[[], int]) -> Iterator[PrefixGroup]:
    rest = group.rows
    while rest:
        # A long front leaves room too: each part runs it again
        room = max(budget() - group.front, budget() // 2)
        n = max(1, room // max(1, group.longest + group.shared // CACHED))
        yield group._replace(rows=rest[:n])
        rest = rest[n:]
