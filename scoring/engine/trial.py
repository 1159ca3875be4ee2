"""Choose the fastest path that gives the model's own scores of random inputs."""

import math
import random
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from itertools import combinations, product

import torch

from polyprobe.system.devices import is_out_of_memory
from polyprobe.system.messages import PolyprobeError

from .forward import ForwardPath, Full, Gathered, Input, Network, Plan, Unpadded, count_common
from .kernels import TORCH, faster_product
from .windows import find_window

# Log-probabilities in float32 agree below the first difference and disagree above the second. In
# between the tolerance is four times the difference that padding makes in the model's own forward.
# A wrong mask or position changes them by a tenth and more.
AGREE_BELOW, DISAGREE_ABOVE = 1e-4, 1e-3
# In half precision rounding reaches .4 in a deep model (SmolLM2-135M, a trie in bfloat16; padding
# alone .23; a trie that MPT misreads 3). The tolerance is at least this share of the standard
# deviation of the log-probabilities.
HALF_PRECISION = 0.02
# A decoder must not change a log-probability by a later token by more than this share of their
# standard deviation (HALF_PRECISION in half precision), an encoder must change one by at least this
# difference. Decoders do so by rounding alone (60 classes with random weights: 0 to 3e-6; encoders
# 2e-2 to 3), a causal encoder not at all.
CAUSAL_BELOW, CAUSAL_AT = 1e-4, 1e-6
SHORT, DEEP = 6, 64  # tokens of the beginnings of the probe
SMALLEST = 64  # tokens of a crowd, and of a budget on a GPU


# A class may accept a mask over a trie and ignore it, count positions in another way, or let
# padding change its answers. Random inputs are therefore run along each path and compared; in one
# row, they are mixed with `tokens` others.
class Trial:
    """The model's own log-probabilities of a probe, with which every path must agree."""

    def __init__(self, network: Network, tokens: int, longest: int = 0) -> None:
        self._network = network
        self.tokens = tokens
        self._plan = make_probe(network, longest or _max_length(network))
        # A new network has torch's own operators.
        self._operators = network.kernels.product, False
        path = Unpadded(network)
        logs = [path.read_logs(self._plan, [row]) for row in self._plan.reads]
        self._reference = torch.cat(logs)
        _check_direction(network, self._plan, logs)

    def fastest(self) -> ForwardPath:
        """Return the family's first path that agrees."""
        # It is tried with the fast kernels first (the faster product, attention in blocks), and the
        # network keeps those with which it agrees. If padding changes the answers of every path,
        # batches hold inputs of equal length.
        kernels = self._network.kernels
        products = (faster_product(self._network.model), TORCH[0])
        for path in self._list_runnable((*self._network.paths, Unpadded)):
            for choice in dict.fromkeys(product(products, (path.crowded, False))):
                kernels.product, kernels.blockwise = choice
                if self.agrees(path):
                    return path
        # Numbers that are not finite agree with nothing. The last choice was torch's own operators.
        return Unpadded(self._network)

    def padded(self) -> ForwardPath:
        """Return the first path with padding that agrees, or the one without."""
        agreeing = filter(self.agrees, self._list_runnable((Gathered, Full)))
        return next(agreeing, Unpadded(self._network))

    def reaches(self, path: ForwardPath, window: int) -> bool:
        """Return whether a path agrees beyond the attention window."""
        return Trial(self._network, self.tokens, window + 2 * SHORT).agrees(path)

    def _list_runnable(self, classes: Sequence[type[ForwardPath]]) -> Iterator[ForwardPath]:
        network = self._network
        return (path(network) for path in classes if network.trunk or issubclass(path, Full))

    def agrees(self, path: ForwardPath) -> bool:
        """Return whether the path's answers are the model's own, up to rounding."""
        difference = self._measure_difference(path, self.tokens)
        if self._network.full_precision and not AGREE_BELOW < difference <= DISAGREE_ABOVE:
            return difference <= AGREE_BELOW  # without the model's tolerance, which takes time
        return difference <= self._tolerance

    @cached_property
    def _tolerance(self) -> float:
        with self._network.kernels.replaced_by(*self._operators):
            rounding = 4 * self._measure_difference(Full(self._network), 0)
        if self._network.full_precision:
            return min(DISAGREE_ABOVE, max(AGREE_BELOW, rounding))
        return max(HALF_PRECISION * self._reference.std().item(), rounding)

    def _measure_difference(self, path: ForwardPath, tokens: int) -> float:
        """Return the largest difference from the model's own answers; infinity on failure."""
        crowd = make_crowd(self._network, self._plan, tokens) if path.crowded else None
        try:
            # A crowd takes three batches, so that all but the first begin behind cached tokens
            budget = max(1, tokens // 2) if crowd else Full.tokens[1]
            logs = path.read_logs(self._plan, [*self._plan.reads], crowd, budget)
        except Exception as error:  # unsupported keywords fail differently in every class
            if not is_out_of_memory(error):
                return math.inf
            if not crowd or tokens < SMALLEST:
                raise
            return self._measure_difference(path, tokens // 2)
        return (logs - self._reference).abs().max().item()


def _check_direction(network: Network, probe: Plan, logs: Sequence[torch.Tensor]) -> None:
    """Refuse a decoder that sees later tokens (with the answer), and an encoder that does not."""
    # The largest effect of later tokens on a log-probability is compared with the deviation of all.
    effect, deviation = 0.0, torch.cat([*logs]).std().item()
    pairs = combinations(zip(probe.reads.items(), logs, strict=True), 2)
    for ((a, a_reads), a_logs), ((b, b_reads), b_logs) in pairs:
        # Inputs of one length and beginning are compared at the tokens that they share.
        n = max(0, count_common(a.ids, b.ids) - a_reads.positions[0])
        targets = a_reads.targets[:n]
        if len(a.ids) == len(b.ids) and targets and targets == b_reads.targets[:n]:
            effect = max(effect, (a_logs[:n] - b_logs[:n]).abs().max().item())
    config = network.model.config
    name = f"model '{config.name_or_path or type(network.model).__name__}'"
    share = CAUSAL_BELOW if network.full_precision else HALF_PRECISION
    if not network.sees_all and effect > share * deviation:
        raise PolyprobeError(
            f"{name} reads in both directions: later tokens change the scores before them, so it "
            "cannot be scored as a decoder; name its masked class in config.json (architectures), "
            "or set is_decoder there if it was trained as a decoder"
        )
    if network.sees_all and effect < CAUSAL_AT:
        raise PolyprobeError(
            f"{name} has a masked head but reads from left to right only (is_decoder or causal in "
            "its configuration): a mask does not see the text behind it; use a causal head, or "
            "correct the configuration"
        )


def make_probe(network: Network, limit: int) -> Plan:
    """Draw inputs with common beginnings and several lengths to a limit; their ends are read."""
    # Two of the beginnings are short, and one is as long as a sentence. Each has its own source, of
    # another length. Special tokens are nowhere in the first, at the front of the second and inside
    # the third, because a class may count positions by them (RoBERTa skips padding, which may be
    # its BOS or EOS). The inputs of one beginning start with the lowest and the highest id behind
    # it, so that `make_crowd` sorts between them, and read the same targets.
    vocabulary = _list_tokens(network)
    draw = partial(random.Random(20).choices, vocabulary)
    length, deep = max(1, min(SHORT, limit // 2)), max(1, limit - SHORT)
    plan = Plan()
    for number, (size, at) in enumerate(((length, length), (length, 0), (deep, 1)), start=1):
        special = network.special[: max(0, size - at - 1)]
        start = draw(k=size - len(special))
        start[at:at] = special
        targets = tuple(draw(k=len(start) + SHORT))
        for first in (vocabulary[0], vocabulary[-1]):
            for extra in (0, min(SHORT, limit - len(start)) - 1):
                ids = (*start, first, *draw(k=max(0, extra)))
                row = network.example(ids, tuple(start * number))
                positions = range(max(0, len(ids) - DEEP - SHORT), len(ids))
                plan.read(row, positions, targets[positions.start : positions.stop])
    return plan


def make_crowd(network: Network, probe: Plan, tokens: int) -> Plan:
    """Draw inputs of that many tokens that sort between the probe's of one beginning."""
    start = next(iter(probe.reads)).ids[:-1]
    vocabulary = _list_tokens(network)[1:-1]
    draw = partial(random.Random(21).choices, vocabulary)
    length = min(SHORT, max(1, _max_length(network) - len(start)))
    plan = Plan()
    for _ in range(tokens // SHORT):
        plan.read(Input((*start, *draw(k=length))), [0], (vocabulary[0],))
    return plan


def _list_tokens(network: Network) -> range:
    """Return the ids of the probe; the first five are special in most vocabularies."""
    return range(min(5, network.vocabulary - 3), network.vocabulary)


def _max_length(network: Network) -> int:
    config = network.model.config.get_text_config()
    positions = getattr(config, "max_position_embeddings", None) or DEEP
    return max(2, min(DEEP + SHORT, find_window(config) or positions, positions - 8))
