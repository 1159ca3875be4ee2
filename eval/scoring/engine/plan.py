"""What has to be run to score a list of queries: distinct model inputs, and what is read there."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple


class Input(NamedTuple):
    """One row of a batch: token ids, and for encoder-decoders the encoder's ids beside them."""

    ids: tuple[int, ...]
    source: tuple[int, ...] = ()

    @property
    def length(self) -> int:
        """Return how wide a batch must be to hold it."""
        return max(len(self.ids), len(self.source))


class Reads(NamedTuple):
    """Log-probabilities to read in one input; `numbers[k]` is the k-th's in the plan."""

    positions: list[int]
    targets: list[int]
    numbers: list[int]


class Plan:
    """Distinct inputs and the reads of each.

    Equal inputs are run once, however many candidates ask for them, so that candidates with equal
    token ids get scores that are equal to the last bit.
    """

    def __init__(self) -> None:
        self.reads: dict[Input, Reads] = {}
        self.n_reads = 0

    def read(self, row: Input, positions: range | list[int], targets: tuple[int, ...]) -> range:
        """Ask for log P(targets[k] | row) at positions[k]; return the numbers of these reads."""
        reads = self.reads.setdefault(row, Reads([], [], []))
        numbers = range(self.n_reads, self.n_reads + len(targets))
        reads.positions.extend(positions)
        reads.targets.extend(targets)
        reads.numbers.extend(numbers)
        self.n_reads = numbers.stop
        return numbers


def by_length(inputs: Iterable[Input], budget: Callable[[], int]) -> Iterator[list[Input]]:
    """Yield the inputs, longest first, in batches of at most so many tokens with padding.

    The budget is asked for anew at each input: it falls when memory runs out.
    """
    batch: list[Input] = []
    for row in sorted(inputs, key=lambda row: row.length, reverse=True):
        if batch and batch[0].length * (len(batch) + 1) > budget():
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def shared(first: tuple[int, ...], second: tuple[int, ...]) -> int:
    """Return how many ids are the same at the beginning of both."""
    both = min(len(first), len(second))
    if first[:both] == second[:both]:
        return both
    return next(k for k in range(both) if first[k] != second[k])
