"""The path of a model: the fastest one that agrees with the model's own forward."""

import math
from collections.abc import Sequence

import torch

from polyprobe.eval.scoring.engine.paths.gathered import Full, Unpadded
from polyprobe.eval.scoring.engine.paths.path import ForwardPath
from polyprobe.system.devices import is_out_of_memory

from .budget import SMALLEST
from .network import Network
from .plan import Input, Plan
from .probe import make_crowd, make_probe

# Log-probabilities in float32 that differ by at most LEAST agree, by more than MOST disagree. In
# between the tolerance is four times the difference that padding makes in the model's own forward.
# A wrong mask or position changes them by a tenth and more.
LEAST, MOST = 1e-4, 1e-3
# In half precision rounding reaches .4 in a deep model (SmolLM2-135M, a trie in bfloat16; padding
# alone .23; a trie that MPT misreads 3). The tolerance is at least this share of the standard
# deviation of the log-probabilities.
HALF = 0.02


class Trial:
    """The model's own log-probabilities of a probe, with which every path must agree.

    A list of classes would not do: a class may accept a mask over a trie and ignore it, count
    positions in another way, or let padding change its answers. Random inputs are therefore run
    along each path and compared with one forward for each input.
    """

    def __init__(self, network: Network) -> None:
        self._network = network
        self._plan = make_probe(network)
        alone = Unpadded(network)
        self._own = torch.cat([_read(alone, self._plan, [row]) for row in self._plan.reads])
        rounding = 4 * self._difference(Full(network), 0)
        if network.model.dtype.itemsize > 2:
            self._tolerance = min(MOST, max(LEAST, rounding))
        else:
            self._tolerance = max(HALF * self._own.std().item(), rounding)

    def fastest(self, tokens: int, kinds: Sequence[type[ForwardPath]] | None = None) -> ForwardPath:
        """Return the first path that agrees in a batch of that many tokens.

        If padding changes the answers of every path, batches hold inputs of equal length.

        Args:
            tokens: the size of later batches.
            kinds: the paths to try in this order (default: those of the model's family).
        """
        network = self._network
        for kind in network.paths if kinds is None else kinds:
            path = kind(network)
            runs = network.trunk or kind is Full
            if runs and self._difference(path, tokens) <= self._tolerance:
                return path
        return Unpadded(network)

    def _difference(self, path: ForwardPath, tokens: int) -> float:
        """Return the largest difference from the model's own answers; infinity on failure."""
        crowd = make_crowd(self._network, self._plan, tokens) if path.crowded else None
        try:
            read = _read(path, self._plan, list(self._plan.reads), crowd)
        except Exception as error:  # unsupported keywords fail differently in every class
            if not is_out_of_memory(error):
                return math.inf
            if not crowd or tokens < SMALLEST:
                raise
            return self._difference(path, tokens // 2)
        return (read - self._own).abs().max().item()


@torch.inference_mode()
def _read(
    path: ForwardPath, plan: Plan, batch: Sequence[Input], crowd: Plan | None = None
) -> torch.Tensor:
    """Return the log-probabilities of the batch's reads, run together with a crowd."""
    others = crowd.reads if crowd else {}
    together = Plan()
    together.reads = {**others, **{row: plan.reads[row] for row in batch}}
    states, which = path.states(together, [*batch, *others])
    targets = [target for row in batch for target in plan.reads[row].targets]
    return path.logits(states).float().log_softmax(1)[which[: len(targets)], targets]
