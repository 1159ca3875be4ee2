"""Limits of how many tokens a layer looks back, as configurations name them."""

import math
from collections.abc import Sequence
from typing import Any

SLIDING = "sliding_window"
# Some rotary positions are stretched for the whole batch if one row is longer than this.
STRETCHED, KINDS = "original_max_position_embeddings", ("longrope", "dynamic")
WINDOWS = (
    SLIDING,
    "sliding_window_size",
    "attention_chunk_size",
    "attention_window_size",
    "local_attention_window_len",
    "window_size",
    STRETCHED,
)


def find_window(config: Any, names: Sequence[str] = WINDOWS) -> int | None:
    """Return the smallest attention window of a layer in tokens; None if no limit is known."""
    config = config.get_text_config()
    rope = getattr(config, "rope_parameters", None) or {}
    sizes = [getattr(config, name, None) for name in names]
    if rope.get("rope_type") in KINDS:
        sizes.append(rope.get(STRETCHED))
    if getattr(config, "use_sliding_window", True) is False:
        return None
    return min((size for size in sizes if isinstance(size, int) and size > 0), default=None)


def find_limit(config: Any) -> float:
    """Return the smallest limit that no mask of ours describes, in tokens; infinity without one."""
    return find_window(config, WINDOWS[1:]) or math.inf
