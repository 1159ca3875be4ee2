"""The path of a model: the fastest one that agrees with the model's own forward, and its budget."""

import math
import random
from collections.abc import Sequence
from typing import Any

import torch

from polyprobe.eval.scoring.engine.forward import ForwardPath, Full, Unpadded
from polyprobe.system.devices import is_out_of_memory

from .forward import Input, Network, Plan

# Log-probabilities in float32 that differ by at most LEAST agree, by more than MOST disagree. In
# between the tolerance is four times the difference that padding makes in the model's own forward.
# A wrong mask or position changes them by a tenth and more.
LEAST, MOST = 1e-4, 1e-3
# In half precision rounding reaches .4 in a deep model (SmolLM2-135M, a trie in bfloat16; padding
# alone .23; a trie that MPT misreads 3). The tolerance is at least this share of the standard
# deviation of the log-probabilities.
HALF = 0.02
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
ROWS, WIDTH = 16, 16  # of the batch that is measured
SHARE = 0.5  # of the free memory: other tensors and batches of other shapes need room too
SMALLEST = 64


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
    deep = _draw(draw, known, max(1, _room(network) - SHORT))
    length = max(1, min(SHORT, _room(network) // 2))
    starts = [_draw(draw, known, length) for _ in range(2)]
    plan = Plan()
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
