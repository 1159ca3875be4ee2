"""Which path a model takes: the fastest whose answers are those of its own forward."""

import random
from collections.abc import Sequence
from typing import Any

import torch

from .gathered import Full, Gathered
from .network import Network
from .path import Path
from .plan import Input, Plan
from .prefix import Prefix
from .tree import Tree

# The fastest first; `Full` is what they are compared with.
PATHS: dict[str, tuple[type[Path], ...]] = {
    "causal": (Tree, Prefix, Gathered),
    "masked": (Gathered,),
    "seq2seq": (Prefix, Gathered),
}
# Mean difference of log-probabilities that is rounding in float32: what is wrong by a mask or a
# position differs by a tenth and more. In half precision rounding alone comes near that in a deep
# model (mean .07 in SmolLM2-135M, a trie in bfloat16), seven times what padding does to it; so
# there the model's own answers to a padded batch are the measure, ten times over.
TOLERANCE = 1e-3
HALF = {torch.float16: 0.005, torch.bfloat16: 0.02}
# Settings by which layers look back no further than so many tokens, under the names they go by.
WINDOWS = ("sliding_window", "attention_chunk_size", "attention_window_size", "window_size")


def choose_path(network: Network, kinds: Sequence[type[Path]] | None = None) -> Path:
    """Return the fastest path that gives this model's own log-probabilities on a few rows.

    No list of classes is trusted: a class may take a mask over a trie and ignore it, or count
    positions its own way. So rows that nobody wrote (random ids with shared beginnings, short
    enough for every window) are run each way and compared with one forward an input.
    """
    plan = _probe(network)
    full = Full(network)
    own = torch.cat([_read(full, plan, [row]) for row in plan.reads])
    tolerance = TOLERANCE
    if network.model.dtype in HALF:
        noise = (_read(full, plan, list(plan.reads)) - own).abs().mean().item()
        tolerance = max(HALF[network.model.dtype], 10 * noise)
    known = PATHS[network.family] if kinds is None else kinds
    for kind in known if network.trunk is not None else ():
        path = kind(network)
        if _agrees(path, plan, own, tolerance):
            return path
    return full


def window_of(config: Any) -> int | None:
    """Return how far back all layers look at least, in tokens; None if there is no limit."""
    config = config.get_text_config()
    if getattr(config, "use_sliding_window", True) is False:
        return None
    found = [getattr(config, name, None) for name in WINDOWS]
    return min((size for size in found if isinstance(size, int) and size > 0), default=None)


def _probe(network: Network) -> Plan:
    """Return inputs with common beginnings and of several lengths, all their tokens read."""
    draw = random.Random(20)
    longest = min(12, window_of(network.model.config) or 12)
    known = range(min(5, network.vocabulary - 1), network.vocabulary)
    plan = Plan()
    for _ in range(3):
        start = tuple(draw.choices(known, k=longest // 2))
        for behind in (1, 2, longest - longest // 2, longest - longest // 2):
            ids = start + tuple(draw.choices(known, k=behind))
            source = tuple(reversed(start)) if network.family == "seq2seq" else ()
            plan.read(Input(ids, source), range(len(ids)), tuple(draw.choices(known, k=len(ids))))
    return plan


@torch.inference_mode()
def _read(path: Path, plan: Plan, batch: list[Input]) -> torch.Tensor:
    states, which = path.states(plan, batch)
    logs = path.logits(states).float().log_softmax(1)
    return logs[which, [target for row in batch for target in plan.reads[row].targets]]


def _agrees(path: Path, plan: Plan, own: torch.Tensor, tolerance: float) -> bool:
    try:
        read = _read(path, plan, list(plan.reads))
    except torch.OutOfMemoryError:
        raise
    except Exception:  # a class that cannot be called this way says so in ways of its own
        return False
    return (read - own).abs().mean().item() <= tolerance
