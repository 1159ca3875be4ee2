"""The token budget of a batch: the path's own, or less on a GPU with little free memory."""

import torch

from polyprobe.eval.scoring.engine.paths.path import ForwardPath

from .plan import Input, Plan

ROWS, WIDTH = 16, 16  # of the batch that is measured
SHARE = 0.5  # of the free memory: other tensors and batches of other shapes need room too
SMALLEST = 64


def affordable_tokens(path: ForwardPath) -> int:
    """Return the path's own budget, halved until it fits into the free memory of a GPU.

    One batch of random tokens is run and its memory is scaled up. On other devices nothing is
    measured: the engine halves the budget whenever memory runs out.
    """
    most = path.tokens[path.network.device.type != "cpu"]
    used, free = _measure(path)
    if not used:
        return most
    allowed = int(SHARE * free / used * ROWS * WIDTH)
    while most > max(allowed, SMALLEST):
        most //= 2
    return most


def _measure(path: ForwardPath) -> tuple[int, int]:
    """Return the bytes that a batch takes and the bytes that are free, zeros without CUDA."""
    device = path.network.device
    if device.type != "cuda":
        return 0, 0
    plan = _random_plan(path)
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    _run(path, plan)
    used = torch.cuda.max_memory_allocated(device) - before
    cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return used, torch.cuda.mem_get_info(device)[0] + cached


def _random_plan(path: ForwardPath) -> Plan:
    """Return inputs of random ids; behind a source two ids are enough."""
    generator = torch.Generator().manual_seed(20)
    plan = Plan()
    for row in torch.randint(path.network.vocabulary, (ROWS, WIDTH), generator=generator).tolist():
        ids, source = path.network.example(tuple(row), tuple(row))
        plan.read(Input(ids[:2] if source else ids, source), [1], (0,))
    return plan


@torch.inference_mode()
def _run(path: ForwardPath, plan: Plan) -> None:
    states, _ = path.states(plan, list(plan.reads))
    path.logits(states[:1])
