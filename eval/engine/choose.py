"""Which path a model takes: the fastest whose answers are those of its own forward."""

import math
from collections.abc import Sequence

import torch

from .budget import SMALLEST, is_out_of_memory
from .gathered import Full, Gathered, Unpadded
from .network import Network
from .path import Path
from .plan import Input, Plan
from .prefix import Prefix
from .probe import make_crowd, make_probe
from .tree import Tree

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


def choose_path(network: Network, tokens: int, kinds: Sequence[type[Path]] | None = None) -> Path:
    """Return the fastest path that gives this model's own log-probabilities on a few rows.

    No list of classes is trusted: a class may take a mask over a trie and ignore it, count
    positions its own way, or let padding show. So rows that nobody wrote are run each way, in a
    batch of so many tokens as later ones may have, and compared with one forward an input. A model
    that agrees with itself in no padded batch is run in batches of equal length.
    """
    plan = make_probe(network)
    alone = Unpadded(network)
    own = torch.cat([_read(alone, plan, [row]) for row in plan.reads])
    tolerance = _tolerance(network, plan, own)
    for kind in PATHS[network.family] if kinds is None else kinds:
        path = kind(network)
        if (network.trunk or kind is Full) and _differs(path, plan, own, tokens) <= tolerance:
            return path
    return alone


def _tolerance(network: Network, plan: Plan, own: torch.Tensor) -> float:
    rounding = 4 * _differs(Full(network), plan, own, 0)
    if network.model.dtype.itemsize > 2:
        return min(MOST, max(LEAST, rounding))
    return max(HALF * own.std().item(), rounding)


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


def _differs(path: Path, plan: Plan, own: torch.Tensor, tokens: int) -> float:
    """Return how far a path's answers are from the model's own; infinity where it gives none."""
    crowd = make_crowd(path.network, tokens) if path.crowded else None
    try:
        return (_read(path, plan, list(plan.reads), crowd) - own).abs().max().item()
    except Exception as error:  # a class that cannot be called this way says so in ways of its own
        if not is_out_of_memory(error):
            return math.inf
        if not crowd or tokens < SMALLEST:
            raise
        return _differs(path, plan, own, tokens // 2)
