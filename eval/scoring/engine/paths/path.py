"""A path: one way to run the inputs of a plan through a model."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence

import torch

from polyprobe.eval.scoring.engine.network import Network
from polyprobe.eval.scoring.engine.plan import Input, Plan, by_length


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
