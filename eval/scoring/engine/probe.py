"""Random inputs on which the paths of a model are compared."""

import random
from typing import Any

from .network import Network
from .plan import Input, Plan

# Names of the setting that limits how many tokens a layer looks back.
WINDOWS = (
    "sliding_window",
    "sliding_window_size",
    "attention_chunk_size",
    "attention_window_size",
    "local_attention_window_len",
    "window_size",
    "original_max_position_embeddings",
)
# Rotary positions are stretched for the whole batch if one row is longer than this.
STRETCHED = "original_max_position_embeddings"
SHORT, DEEP = 6, 64


def window_of(config: Any) -> int | None:
    """Return the smallest attention window of a layer in tokens; None if no limit is known."""
    config = config.get_text_config()
    if getattr(config, "use_sliding_window", True) is False:
        return None
    rope = getattr(config, "rope_parameters", None) or {}
    found = [getattr(config, name, None) for name in WINDOWS] + [rope.get(STRETCHED)]
    return min((size for size in found if isinstance(size, int) and size > 0), default=None)


def make_probe(network: Network) -> Plan:
    """Return inputs with common beginnings and several lengths; every token is read.

    Two of the beginnings are short, and one is as long as a sentence; all fit into the model's
    window. Each has its own source, of another length. The inputs of one beginning start with the
    lowest and the highest id behind it, so that `make_crowd` sorts between them.
    """
    draw = random.Random(20)
    known = _known(network)
    plan = Plan()
    deep = _draw(draw, known, max(1, _room(network) - SHORT))
    length = max(1, min(SHORT, _room(network) // 2))
    starts = [_draw(draw, known, length) for _ in range(2)]
    for number, start in enumerate((*starts, deep), start=1):
        for first in (known[0], known[-1]):
            for behind in (0, min(SHORT, _room(network) - len(start)) - 1):
                ids = (*start, first, *_draw(draw, known, max(0, behind)))
                row = network.example(ids, start * number)
                plan.read(row, range(len(ids)), _draw(draw, known, len(ids)))
    return plan


def make_crowd(network: Network, probe: Plan, tokens: int) -> Plan:
    """Return inputs of that many tokens that sort between the probe's of one beginning."""
    start = next(iter(probe.reads)).ids[:-1]
    draw = random.Random(21)
    known = _known(network)[1:-1]
    plan = Plan()
    for _ in range(tokens // SHORT):
        ids = (*start, *_draw(draw, known, min(SHORT, max(1, _room(network) - len(start)))))
        plan.read(Input(ids), [0], (known[0],))
    return plan


def _room(network: Network) -> int:
    """Return the length of the longest input."""
    config = network.model.config.get_text_config()
    positions = getattr(config, "max_position_embeddings", None) or DEEP
    return max(2, min(DEEP + SHORT, window_of(config) or positions, positions - 8))


def _known(network: Network) -> range:
    return range(min(5, network.vocabulary - 3), network.vocabulary)


def _draw(draw: random.Random, known: range, n: int) -> tuple[int, ...]:
    return tuple(draw.choices(known, k=n))
