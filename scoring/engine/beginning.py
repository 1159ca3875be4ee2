"""A beginning that many inputs share: it runs once, and its keys and values are kept."""

import copy
from collections.abc import Callable
from typing import Any

from torch import Tensor
from transformers.cache_utils import Cache, DynamicLayer

from polyprobe.scoring.engine.forward import Ids, Input, Network, count_common


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
            self._cut(n_known)
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

    def _cut(self, n_tokens: int) -> None:
        if n_tokens and all(type(layer) is DynamicLayer for layer in self.cache.layers):
            keep_tokens(self.cache, slice(n_tokens))
            self.ids, self.states = self.ids[:n_tokens], self.states[: n_tokens // self.piece]
        else:  # a recurrent state cannot be cut, and an empty cache keeps its one row
            self.clear()


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


def copy_cache(cache: Any, rows: Tensor) -> Any:
    """Return a copy of a cache of one row that has as many rows as asked, all of them that one."""
    cache = copy.deepcopy(cache)
    if cache is not None:
        select_rows(cache, rows)
    return cache


def select_rows(cache: Any, rows: Tensor) -> None:
    """Replace the rows of a cache by some of them, in this order."""
    # Layers with recurrent states know the order of beams only; MiniMax's cache knows the other
    if type(cache).batch_select_indices is Cache.batch_select_indices:
        cache.reorder_cache(rows)
    else:
        cache.batch_select_indices(rows)
