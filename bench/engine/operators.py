"""Where our time goes: seconds by operator, from torch's profiler."""

import time

from torch.profiler import ProfilerActivity, profile
from worker import Method, load_ours

# Operators by what they do; the first whose part of a name fits.
KINDS = {
    "attention": ("scaled_dot_product", "flash_attention"),
    "matrix products": ("mm", "linear", "matmul", "conv1d"),
    "softmax, log-sum-exp": ("softmax", "logsumexp", "exp", "amax", "logaddexp"),
    "copies, gathering, packing": (
        "copy", "index", "gather", "cat", "stack", "select", "slice", "clone", "empty", "fill",
        "zero", "expand", "view", "reshape", "transpose", "permute", "repeat", "as_strided",
        "arange", "contiguous", "detach", "where", "masked", "tensor", "resize", "split",
    ),
}  # fmt: skip
OTHER, OUTSIDE = "other operators", "outside operators"


def load(family: str, model: str, dtype: str) -> Method:
    """Return a function that scores rows and returns seconds by operator.

    `OUTSIDE` is what no operator took: tokenizing, planning, Python.
    """
    score = load_ours(family, model, dtype)

    def run(prompts: list[str], candidates: list[list[str]]) -> dict[str, float]:
        start = time.perf_counter()
        with profile(activities=[ProfilerActivity.CPU]) as profiler:
            score(prompts, candidates)
            wall = time.perf_counter() - start
        events = profiler.key_averages()
        seconds = {event.key: event.self_cpu_time_total / 1e6 for event in events}
        return seconds | {OUTSIDE: max(0.0, wall - sum(seconds.values()))}

    return run


def group(seconds: dict[str, float]) -> dict[str, float]:
    """Return the share of each kind of operator."""
    total = sum(seconds.values())
    shares = dict.fromkeys((*KINDS, OTHER, OUTSIDE), 0.0)
    for name, value in seconds.items():
        shares[name if name == OUTSIDE else _kind(name)] += value / total
    return shares


def _kind(name: str) -> str:
    return next((kind for kind, parts in KINDS.items() if any(p in name for p in parts)), OTHER)


def show(seconds: dict[str, float], n: int = 15) -> str:
    """Return the n largest as lines of text."""
    total = sum(seconds.values())
    largest = sorted(seconds.items(), key=lambda pair: -pair[1])[:n]
    return "\n".join(f"{value / total:7.1%} {value:8.3f} s  {name}" for name, value in largest)
