"""The trial of the paths: a probe of random inputs that the model's own forward runs first."""

import math
import random
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from itertools import combinations
from typing import Any

import torch

from polyprobe.scoring.engine.forward import (
    ForwardPath,
    Full,
    Gathered,
    Input,
    Network,
    Plan,
    Unpadded,
    shared,
)
from polyprobe.scoring.engine.kernels import faster_product
from polyprobe.scoring.options import PRODUCTS
from polyprobe.system.devices import is_out_of_memory
from polyprobe.system.errors import PolyprobeError

# Log-probabilities in float32 that differ by at most LEAST agree, by more than MOST disagree. In
# between the tolerance is four times the difference that padding makes in the model's own forward.
# A wrong mask or position changes them by a tenth and more.
LEAST, MOST = 1e-4, 1e-3
# In half precision rounding reaches .4 in a deep model (SmolLM2-135M, a trie in bfloat16; padding
# alone .23; a trie that MPT misreads 3). The tolerance is at least this share of the standard
# deviation of the log-probabilities.
HALF = 0.02
# A model reads in both directions if a later token moves the scores before it by this share of
# their standard deviation, HALF in half precision. In decoders it moves them by rounding alone (60
# classes with random weights: 0 to 3e-6; encoders 2e-2 to 3), in a causal encoder not at all.
MOVED, UNMOVED = 1e-4, 1e-6
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
SMALLEST = 64
OWN = (PRODUCTS[0], False)  # torch's own operators


class Trial:
    """The model's own log-probabilities of a probe, with which every path must agree.

    A class may accept a mask over a trie and ignore it, count positions in another way, or let
    padding change its answers. Random inputs are therefore run along each path and compared; in
    one row, they are mixed with `tokens` others.

    Raises:
        PolyprobeError: the model does not read in the direction of its family.
    """

    def __init__(self, network: Network, tokens: int) -> None:
        self._network = network
        self._tokens = tokens
        network.kernels.product, network.kernels.in_parts = OWN
        self._plan = make_probe(network)
        reads = [_read(Unpadded(network), self._plan, [row]) for row in self._plan.reads]
        self._own = torch.cat(reads)
        _check_direction(network, self._plan, reads)

    def fastest(self) -> ForwardPath:
        """Return the family's first path that agrees.

        It is tried with the quick kernels first (the faster product, tries in parts), and the
        network keeps those with which it agrees. If padding changes the answers of every path,
        batches hold inputs of equal length.
        """
        product, kernels = faster_product(self._network.model), self._network.kernels
        for path in self._runnable((*self._network.paths, Unpadded)):
            choices = dict.fromkeys(
                (one, parts) for one in (product, OWN[0]) for parts in (path.crowded, False)
            )
            for choice in choices:
                kernels.product, kernels.in_parts = choice
                if self.agrees(path):
                    return path
        # Numbers that are not finite agree with nothing. The last choice was torch's own operators.
        return Unpadded(self._network)

    def padded(self) -> ForwardPath:
        """Return the first path with padding that agrees, or the one without."""
        for path in self._runnable((Gathered, Full)):
            if self.agrees(path):
                return path
        return Unpadded(self._network)

    def _runnable(self, kinds: Sequence[type[ForwardPath]]) -> Iterator[ForwardPath]:
        network = self._network
        return (kind(network) for kind in kinds if network.trunk or issubclass(kind, Full))

    def agrees(self, path: ForwardPath) -> bool:
        """Return whether the path's answers are the model's own, up to rounding."""
        difference = self._difference(path, self._tokens)
        if self._network.model.dtype.itemsize > 2 and not LEAST < difference <= MOST:
            return difference <= LEAST
        return difference <= self._tolerance

    @cached_property
    def _tolerance(self) -> float:
        kernels = self._network.kernels
        chosen = kernels.product, kernels.in_parts
        kernels.product, kernels.in_parts = OWN
        rounding = 4 * self._difference(Full(self._network), 0)
        kernels.product, kernels.in_parts = chosen
        if self._network.model.dtype.itemsize > 2:
            return min(MOST, max(LEAST, rounding))
        return max(HALF * self._own.std().item(), rounding)

    def _difference(self, path: ForwardPath, tokens: int) -> float:
        """Return the largest difference from the model's own answers; infinity on failure."""
        crowd = make_crowd(self._network, self._plan, tokens) if path.crowded else None
        try:
            rows = list(self._plan.reads)
            batches = [[row] for row in rows] if isinstance(path, Unpadded) else [rows]
            read = torch.cat([_read(path, self._plan, batch, crowd) for batch in batches])
        except Exception as error:  # unsupported keywords fail differently in every class
            if not is_out_of_memory(error):
                return math.inf
            if not crowd or tokens < SMALLEST:
                raise
            return self._difference(path, tokens // 2)
        return (read - self._own).abs().max().item()


def _check_direction(network: Network, probe: Plan, reads: Sequence[torch.Tensor]) -> None:
    """Refuse a decoder that sees later tokens, which hold the answer, and an encoder that does not.

    Inputs of one length and beginning are compared at the tokens that they share.
    """
    moved = 0.0
    for (a, one), (b, two) in combinations(zip(probe.reads, reads, strict=True), 2):
        alike = shared(a.ids, b.ids)
        targets = probe.reads[a].targets[:alike]
        if len(a.ids) == len(b.ids) and targets and targets == probe.reads[b].targets[:alike]:
            moved = max(moved, (one[:alike] - two[:alike]).abs().max().item())
    config = network.model.config
    name = f"model '{config.name_or_path or type(network.model).__name__}'"
    share = MOVED if network.model.dtype.itemsize > 2 else HALF
    if not network.sees_all and moved > share * torch.cat(list(reads)).std().item():
        raise PolyprobeError(
            f"{name} reads in both directions: later tokens change the scores before them, so it "
            "cannot be scored as a decoder; name its masked class in config.json (architectures), "
            "or set is_decoder there if it was trained as a decoder"
        )
    if network.sees_all and moved < UNMOVED:
        raise PolyprobeError(
            f"{name} has a masked head but reads from left to right only (is_decoder or causal in "
            "its configuration): a mask does not see the text behind it; use a causal head, or "
            "correct the configuration"
        )


@torch.inference_mode()
def _read(
    path: ForwardPath, plan: Plan, batch: Sequence[Input], crowd: Plan | None = None
) -> torch.Tensor:
    """Return the log-probabilities of the batch's reads, run together with a crowd."""
    others = crowd.reads if crowd else {}
    together = Plan()
    together.reads = {**others, **{row: plan.reads[row] for row in batch}}
    targets = [target for row in batch for target in plan.reads[row].targets]
    with path.network.kernels.used():
        states, which = path.states(together, [*batch, *others])
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
    window. Each has its own source, of another length. Special tokens are nowhere in the first, at
    the front of the second and inside the third, because a class may count positions by them
    (RoBERTa skips padding, which may be its BOS or EOS). The inputs of one beginning start with the
    lowest and the highest id behind it, so that `make_crowd` sorts between them, and read the same
    targets.
    """
    known = range(min(5, network.vocabulary - 3), network.vocabulary)
    draw = partial(random.Random(20).choices, known)
    length, deep = max(1, min(SHORT, _room(network) // 2)), max(1, _room(network) - SHORT)
    plan = Plan()
    for number, (size, at) in enumerate(((length, length), (length, 0), (deep, 1)), start=1):
        special = network.special[: max(0, size - at - 1)]
        start = draw(k=size - len(special))
        start[at:at] = special
        targets = tuple(draw(k=len(start) + SHORT))
        for first in (known[0], known[-1]):
            for behind in (0, min(SHORT, _room(network) - len(start)) - 1):
                ids = (*start, first, *draw(k=max(0, behind)))
                row = network.example(ids, tuple(start * number))
                plan.read(row, range(len(ids)), targets[: len(ids)])
    return plan


def make_crowd(network: Network, probe: Plan, tokens: int) -> Plan:
    """Return inputs of that many tokens that sort between the probe's of one beginning."""
    start = next(iter(probe.reads)).ids[:-1]
    known = range(min(5, network.vocabulary - 3), network.vocabulary)[1:-1]
    draw = partial(random.Random(21).choices, known)
    length = min(SHORT, max(1, _room(network) - len(start)))
    plan = Plan()
    for _ in range(tokens // SHORT):
        plan.read(Input((*start, *draw(k=length))), [0], (known[0],))
    return plan


def _room(network: Network) -> int:
    """Return the length of the longest input."""
    config = network.model.config.get_text_config()
    positions = getattr(config, "max_position_embeddings", None) or DEEP
    return max(2, min(DEEP + SHORT, window_of(config) or positions, positions - 8))
