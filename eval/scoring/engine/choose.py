"""Which path a model takes: the fastest whose answers are those of its own forward."""

import math
from collections.abc import Sequence

import torch

from polyprobe.eval.scoring.engine.paths.gathered import Full, Gathered, Unpadded
from polyprobe.eval.scoring.engine.paths.path import Path
from polyprobe.eval.scoring.engine.paths.prefix import Prefix
from polyprobe.eval.scoring.engine.paths.tree import Tree
from polyprobe.system.devices import is_out_of_memory

from .budget import SMALLEST
from .network import Network
from .plan import Input, Plan
from .probe import make_crowd, make_probe

# The fastest first; one forward an input is what they are compared with.
PATHS: dict[str, tuple[type[Path], ...]] = {
    "causal": (Tree, Prefix, Gathered, Full),
    "masked": (Gathered, Full),
    "seq2seq": (Prefix, Gathered, Full),
}
# The greatest difference of log-probabilities that is rounding in float32, and what is none however
# large rounding is; what is wrong by a mask or a position differs by a tenth and more. Rounding is
# what the model's own answers to a padded batch differ by, four times over.
LEAST, MOST = 1e-4, 1e-3
# In half precision it reaches .4 in a deep model (SmolLM2-135M, a trie in bfloat16; padding alone
# .23; a trie that MPT misreads 3), and this share of the spread of the log-probabilities at least.
HALF = 0.02


class Trial:
    """A model's own log-probabilities on a few rows, which its paths are to give too.

    No list of classes is trusted: a class may take a mask over a trie and ignore it, count
    positions its own way, or let padding show. So rows that nobody wrote are run each way and
    compared with one forward an input.
    """

    def __init__(self, network: Network) -> None:
        self._network = network
        self._plan = make_probe(network)
        alone = Unpadded(network)
        self._own = torch.cat([_read(alone, self._plan, [row]) for row in self._plan.reads])
        rounding = 4 * self._differs(Full(network), 0)
        if network.model.dtype.itemsize > 2:
            self._tolerance = min(MOST, max(LEAST, rounding))
        else:
            self._tolerance = max(HALF * self._own.std().item(), rounding)

    def fastest(self, tokens: int, kinds: Sequence[type[Path]] | None = None) -> Path:
        """Return the first path that agrees in a batch of so many tokens as later ones may have.

        A model that agrees with itself in no padded batch is run in batches of equal length.
        """
        network = self._network
        for kind in PATHS[network.family] if kinds is None else kinds:
            path = kind(network)
            if (network.trunk or kind is Full) and self._differs(path, tokens) <= self._tolerance:
                return path
        return Unpadded(network)

    def _differs(self, path: Path, tokens: int) -> float:
        """Return how far a path is off; infinity where it gives no answers."""
        crowd = make_crowd(self._network, self._plan, tokens) if path.crowded else None
        try:
            read = _read(path, self._plan, list(self._plan.reads), crowd)
        except Exception as error:  # a class that cannot be called this way says so in its own ways
            if not is_out_of_memory(error):
                return math.inf
            if not crowd or tokens < SMALLEST:
                raise
            return self._differs(path, tokens // 2)
        return (read - self._own).abs().max().item()


@torch.inference_mode()
def _read(
    path: Path, plan: Plan, batch: Sequence[Input], crowd: Plan | None = None
) -> torch.Tensor:
    """Return the log-probabilities of the batch's reads, run together with a crowd."""
    others = crowd.reads if crowd else {}
    together = Plan()
    together.reads = {**others, **{row: plan.reads[row] for row in batch}}
    states, which = path.states(together, [*batch, *others])
    targets = [target for row in batch for target in plan.reads[row].targets]
    return path.logits(states).float().log_softmax(1)[which[: len(targets)], targets]
