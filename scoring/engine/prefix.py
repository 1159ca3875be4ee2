"""Key-value caches: the common beginning of inputs runs once, and the rest of each behind it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from typing import NamedTuple

import torch

from polyprobe.scoring.engine.forward import ForwardPath, Input, Network, Plan, shared

# Everything that a state depends on: the encoder's ids, and the decoder's up to its place.
Beginning = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True)
class Size:
    """The size of a batch: tokens of prefixes, rows behind them, and the longest such row."""

    front: int
    rows: int
    width: int

    def __add__(self, other: "Size") -> "Size":
        """Return the size of both in one batch."""
        widest = max(self.width, other.width)
        return Size(self.front + other.front, self.rows + other.rows, widest)

    @property
    def tokens(self) -> int:
        """Return the number of tokens that are run, padding included."""
        return self.front + self.rows * self.width


NO_TOKENS = Size(0, 0, 0)


class Group(NamedTuple):
    """Inputs with the same source and the same first `length` ids, in sorted order."""

    length: int
    rows: list[Input]

    @property
    def leaves(self) -> list[Input]:
        """Return the inputs longer than the prefix that are not the beginning of another."""
        longer = [row for row in self.rows if len(row.ids) > self.length]
        return [
            row
            for row, following in zip_longest(longer, longer[1:])
            if following is None or shared(row.ids, following.ids) < len(row.ids)
        ]

    @property
    def longest(self) -> int:
        """Return the largest number of ids behind the shared ones."""
        return max(len(row.ids) for row in self.rows) - self.length

    @property
    def size(self) -> Size:
        """Return the group's share of a batch; the encoder's tokens count too."""
        front = self.length + len(self.rows[0].source)
        return Size(front, len(self.leaves), self.longest)


class Prefix(ForwardPath):
    """A prompt's beginning or an encoder's source runs once; all candidates use its cache.

    For decoders that take no mask over a trie, and for encoder-decoders, whose decoders derive
    distances from positions in the row.
    """

    name = "prefix"
    looks_back = True

    def __init__(self, network: Network) -> None:
        super().__init__(network)
        self._lengths: dict[Input, int] = {}  # of the groups that `batches` last made

    def batches(self, inputs: Iterable[Input], budget: Callable[[], int]) -> Iterator[list[Input]]:
        """Yield groups of inputs; groups of similar shape share a batch."""
        batch: list[Input] = []
        size = NO_TOKENS
        groups = sorted(group(inputs), key=lambda g: (g.length, g.longest), reverse=True)
        self._lengths = {row: one.length for one in groups for row in one.rows}
        for part in (part for whole in groups for part in _parts(whole, budget)):
            if batch and (size + part.size).tokens > budget():
                yield batch
                batch, size = [], NO_TOKENS
            batch.extend(part.rows)
            size += part.size
        if batch:
            yield batch

    def size(self, batch: Sequence[Input]) -> int:
        """Return the number of tokens that are run, the encoder's and padding included."""
        return sum((one.size for one in self._groups(batch)), NO_TOKENS).tokens

    def states(self, plan: Plan, batch: Sequence[Input]) -> tuple[torch.Tensor, list[int]]:
        """Return the states at the batch's reads, one for all inputs with the same beginning."""
        found: list[torch.Tensor] = []
        numbers: dict[Beginning, int] = {}
        groups = sorted(self._groups(batch), key=lambda g: g.length)
        by_length = groupby(groups, key=lambda g: g.length)
        for states, rows in (run for _, same in by_length for run in self._run(list(same))):
            before, width = sum(map(len, found)), states.shape[1]
            for k, (row, start) in enumerate(rows):
                for p in range(start, min(len(row.ids), start + width)):
                    number = before + k * width + p - start
                    numbers.setdefault((row.source, row.ids[: p + 1]), number)
            found.append(states.flatten(0, 1))
        wanted = [
            numbers[row.source, row.ids[: p + 1]]
            for row in batch
            for p in plan.reads[row].positions
        ]
        asked = sorted(set(wanted))
        places = {number: place for place, number in enumerate(asked)}
        return torch.cat(found)[asked], [places[number] for number in wanted]

    def _groups(self, batch: Sequence[Input]) -> list[Group]:
        """Return the groups of `batches`; grouping a batch alone could give others."""
        if not all(row in self._lengths for row in batch):
            return group(batch)
        found: dict[Beginning, Group] = {}
        for row in sorted(batch):
            length = self._lengths[row]
            beginning = row.source, row.ids[:length]
            found.setdefault(beginning, Group(length, [])).rows.append(row)
        return list(found.values())

    def _run(self, groups: list[Group]) -> Iterator[tuple[torch.Tensor, list[tuple[Input, int]]]]:
        """Yield states of groups of one prefix length, [rows, tokens, width].

        With each row comes the position at which it begins in its input.
        """
        fronts = [one.rows[0] for one in groups]
        length = groups[0].length
        ends = [(k, row) for k, one in enumerate(groups) for row in one.leaves]
        encoded = self.network.encode(fronts)
        ids = self.network.ids([row.ids[:length] for row in fronts])
        output = self.network.run(input_ids=ids, use_cache=True, **encoded)
        yield output[0], [(row, 0) for row in fronts]
        if not ends:
            return
        kept = torch.tensor([k for k, _ in ends], device=self.network.device)
        output.past_key_values.batch_select_indices(kept)
        output = self.network.run(
            input_ids=self.network.ids([row.ids[length:] for _, row in ends]),
            past_key_values=output.past_key_values,
            use_cache=True,
            **{name: tensor[kept] for name, tensor in encoded.items()},
        )
        yield output[0], [(row, length) for _, row in ends]


def group(inputs: Iterable[Input]) -> list[Group]:
    """Return the inputs in groups that share much of their beginning.

    In sorted order inputs with a common beginning are neighbours. Each input joins the group
    before it, unless that group and a new one of this input and the next would save more tokens.
    The groups of an encoder-decoder have one source each.
    """
    rows = sorted(inputs, key=lambda row: (row.source, row.ids))
    groups: list[Group] = []
    for row, following in zip_longest(rows, rows[1:]):
        after = _common(row, following) if following else 0
        if groups and _joins(groups[-1], row, after):
            last = groups.pop()
            groups.append(Group(_common(last.rows[0], row, last.length), [*last.rows, row]))
        else:
            groups.append(Group(len(row.ids), [row]))
    return groups


def _joins(last: Group, row: Input, after: int) -> bool:
    common = _common(last.rows[0], row, last.length)
    if not common or row.source:
        return common > 0
    n = len(last.rows)
    joined = max(n * common, (n + 1) * min(common, after))
    return joined >= (n - 1) * last.length + after


def _common(first: Input, second: Input, most: int | None = None) -> int:
    """Return the length of the common beginning; 0 with different sources."""
    if first.source != second.source:
        return 0
    return min(shared(first.ids, second.ids), len(first.ids) if most is None else most)


def _parts(one: Group, budget: Callable[[], int]) -> Iterator[Group]:
    """Yield the group, or parts of it within the budget."""
    rest = one.rows
    while rest:
        room = budget() - one.length - len(one.rows[0].source)
        n = max(1, room // max(1, one.longest))
        yield Group(one.length, rest[:n])
        rest = rest[n:]
