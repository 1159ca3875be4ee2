"""What a path is: a way to run a plan's inputs through a model."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence

import torch

from polyprobe.eval.scoring.engine.network import Network
from polyprobe.eval.scoring.engine.plan import Input, Plan, by_length


class Path(ABC):
    """A way to get the hidden state of every place at which something is read.

    A place is a position in an input. Hundreds of candidates may be read at one, and one may stand
    in many inputs (the prompt's last token): a path takes each once, as far as it can.

    Attributes:
        name: for the run's signature.
        looks_back: whether inputs must fit into the model's attention window, if it has one.
        crowded: whether inputs stand in one row, so that what one sees may depend on the others.
        tokens: the default budget of a batch on a CPU and on an accelerator.
    """

    name: str
    looks_back = False
    crowded = False
    tokens: tuple[int, int] = (512, 16384)

    def __init__(self, network: Network) -> None:
        self.network = network

    def batches(self, inputs: Iterable[Input], budget: Callable[[], int]) -> Iterator[list[Input]]:
        """Yield all inputs in batches of at most so many tokens, padding included.

        The budget is asked for anew at each input: it falls when memory runs out.
        """
        return by_length(inputs, budget)

    def size(self, batch: Sequence[Input]) -> int:
        """Return how many tokens a batch is, padding included."""
        return max(row.length for row in batch) * len(batch)

    @abstractmethod
    def states(self, plan: Plan, batch: Sequence[Input]) -> tuple[torch.Tensor, list[int]]:
        """Return states, [places, width], and the place of each read of the batch, in its order."""

    def logits(self, states: torch.Tensor) -> torch.Tensor:
        """Return the logits of some of these places, [places, V]."""
        return self.network.head(states)


class Places(dict[tuple[int, int], int]):
    """The places that are read, each (row, position) numbered as it is first asked for."""

    def number(self, row: int, position: int) -> int:
        """Return the place's number."""
        return self.setdefault((row, position), len(self))

    def pick(self, states: torch.Tensor) -> torch.Tensor:
        """Return the places of [rows, tokens, width], [places, width]."""
        at = torch.tensor(list(self), device=states.device).T
        return states[at[0], at[1]]
