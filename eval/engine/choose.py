"""Which path a model takes: the fastest whose answers are those of its own forward."""

from collections.abc import Sequence

import torch

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
# The greatest difference of log-probabilities that is rounding in float32 (3e-5 in SmolLM2-135M);
# what is wrong by a mask or a position differs by a tenth and more.
TOLERANCE = 1e-3
# In half precision rounding comes near that in a deep model (.36 in SmolLM2-135M, a trie in
# bfloat16, and .23 by padding alone; a trie that MPT misreads is 3 off). So there the model's own
# answers to a padded batch are the measure, four times over, and at least this.
HALF = 0.1


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
    for kind in PATHS[network.family] if kinds is None else kinds:
        path = kind(network)
        if (network.trunk or kind is Full) and _agrees(path, plan, own, tokens):
            return path
    return alone


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


def _agrees(path: Path, plan: Plan, own: torch.Tensor, tokens: int) -> bool:
    rows = list(plan.reads)
    crowd = make_crowd(path.network, tokens) if path.crowded else None
    try:
        difference = (_read(path, plan, rows, crowd) - own).abs().max().item()
    except torch.OutOfMemoryError:
        raise
    except Exception:  # a class that cannot be called this way says so in ways of its own
        return False
    if path.network.model.dtype.itemsize > 2:
        return difference <= TOLERANCE
    noise = (_read(Full(path.network), plan, rows) - own).abs().max().item()
    return difference <= max(HALF, 4 * noise)
