"""How many tokens a batch may have: what memory allows, measured once."""

from pathlib import Path as File

import psutil
import torch

from polyprobe.eval.scoring.engine.paths.path import Path

from .plan import Input, Plan

PROBE = 256
SHARE = 0.5  # of what is free: other tensors, and batches of another shape, need room too
SMALLEST = 64


def affordable_tokens(path: Path) -> int:
    """Return the path's own budget, or less where memory is short: a power of two.

    One batch of random tokens is run and the memory that it took is scaled up. Where that cannot
    be measured the path's own budget holds; memory that runs out all the same halves it.
    """
    most = path.tokens[path.network.device.type != "cpu"]
    used, free = _measure(path)
    if not used:
        return most
    allowed = int(SHARE * free / used * PROBE)
    while most > max(allowed, SMALLEST):
        most //= 2
    return most


def _measure(path: Path) -> tuple[int, int]:
    """Return the bytes that a batch of `PROBE` tokens takes, and those that are free."""
    device = path.network.device
    plan = Plan()
    ids = torch.randint(path.network.vocabulary, (PROBE // 16, 16), generator=_generator()).tolist()
    for row in ids:
        source = tuple(row) if path.network.family == "seq2seq" else ()
        plan.read(Input(tuple(row[: 2 if source else 16]), source), [1], (0,))
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        _run(path, plan)
        used = torch.cuda.max_memory_allocated(device) - before
        kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return used, torch.cuda.mem_get_info(device)[0] + kept
    if device.type == "cpu" and _forget_peak():
        before = psutil.Process().memory_info().rss
        _run(path, plan)
        return max(0, _peak() - before), psutil.virtual_memory().available
    return 0, 0


@torch.inference_mode()
def _run(path: Path, plan: Plan) -> None:
    states, _ = path.states(plan, list(plan.reads))
    path.logits(states[:1])


def _generator() -> torch.Generator:
    return torch.Generator().manual_seed(20)


def _forget_peak() -> bool:
    """Let Linux count the process's peak anew; return whether it does."""
    try:
        File("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def _peak() -> int:
    """Return the most memory that the process held since then, in bytes."""
    lines = File("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith("VmHWM")))
