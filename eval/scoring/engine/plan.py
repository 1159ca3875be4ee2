"""The plan of a scoring: distinct model inputs, and the log-probabilities to read in each."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple


class Input(NamedTuple):
    """One row of a batch: token ids, and for encoder-decoders the ids of the encoder as well."""

    ids: tuple[int, ...]
    source: tuple[int, ...] = ()

    @property
    def length(self) -> int:
        """Return the width of a batch that can hold the input."""
        return max(len(self.ids), len(self.source))


class Reads(NamedTuple):
    """Log-probabilities to read in one input; `numbers[k]` is the k-th's in the plan."""

    positions: list[int]
    targets: list[int]
    numbers: list[int]


class Plan:
    """Distinct inputs and the reads of each.

    Equal inputs are run once for all candidates, so candidates with equal token ids get scores
    that are equal to the last bit.
    """

    def __init__(self) -> None:
        self.reads: dict[Input, Reads] = {}
        self.n_reads = 0

    def read(self, row: Input, positions: range | list[int], targets: tuple[int, ...]) -> range:
        """Add log P(targets[k] | row) at positions[k]; return the numbers of these reads."""
        reads = self.reads.setdefault(row, Reads([], [], []))
        numbers = range(self.n_reads, self.n_reads + len(targets))
        reads.positions.extend(positions)
        reads.targets.extend(targets)
        reads.numbers.extend(numbers)
        self.n_reads = numbers.stop
        return numbers


def by_length(inputs: Iterable[Input], budget: Callable[[], int]) -> Iterator[list[Input]]:
    """Yield the inputs, longest first, in batches within the budget; padding counts.

    The budget is called for each input, because it falls when memory runs out.
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
    """Return the length of the common beginning."""
    both = min(len(first), len(second))
    if first[:both] == second[:both]:
        return both
    return next(k for k in range(both) if first[k] != second[k])
