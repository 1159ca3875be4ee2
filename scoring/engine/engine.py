"""Run a plan: the fastest path that gives the model's own scores, batches that fit the memory."""

import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from functools import cached_property, partial
from itertools import chain, combinations, product
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch

from polyprobe.scoring.options import HALF
from polyprobe.system.devices import is_out_of_memory, without_collector
from polyprobe.system.messages import PolyprobeError

from .forward import (
    Forecast,
    ForwardPath,
    Full,
    Gathered,
    Input,
    Network,
    Plan,
    Progress,
    Unpadded,
    count_common,
    find_limit,
    find_window,
)
from .kernels import TORCH, faster_product, has_product
from .tree import MAX_NODES, Tree

# Places whose logits exist at once: enough for a matrix product at full speed, and on a GPU, where
# calls are slower than memory, a gigabyte of logits.
PLACES, GPU_LOGITS = 128, 2**28
MEMORY_REMEDY = "use a smaller model, --dtype bfloat16 or another --device"

Read = TypeVar("Read")
# (logits [places, V], the place of each read, its target) → the value of each read
ReadValues = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
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
SMALLEST = 64  # tokens of a crowd, and of its budget


class BatchStates(NamedTuple):
    """The states of a batch, [places, width], and the place of each of its reads."""

    batch: list[Input]
    states: torch.Tensor
    places: np.ndarray


class Engine:
    """A model, the path of its inputs, and the token budget of a batch."""

    exact = True  # whether every read has a value
    # Whether runs share their beginnings; the model must then be the same in all of them
    shares = False

    def __init__(
        self,
        kind: type[Network],
        model: Any,
        pad: int | None,
        batch_tokens: int | None,
        special: Iterable[int] = (),
    ) -> None:
        self.network = network = kind(model, pad, special)
        self.model_type = str(model.config.model_type)
        self.vocabulary = network.vocabulary
        on_cpu = network.device.type == "cpu"
        tokens = batch_tokens or Tree.tokens[not on_cpu]
        self._trial = trial = Trial(network, min(tokens, MAX_NODES))
        self.path = trial.fastest()
        self.product = network.kernels.product  # one of `PRODUCTS`
        window = find_window(network.model.config)
        self._window = window if window and self.path.looks_back else math.inf
        gpu_places = 0 if on_cpu else GPU_LOGITS // network.vocabulary
        self._head_places = max(PLACES, gpu_places)
        # Halved whenever memory runs out
        self.batch_tokens = batch_tokens or self.path.tokens[not on_cpu]

    def fix_product(self, product: str) -> bool:
        """Replace the trial's choice; return False if it is not available or gives other scores."""
        kernels = self.network.kernels
        if product != self.product and has_product(product, self.network.model):
            with kernels.replaced_by(product, kernels.blockwise):
                # Rounded factors are compared with the model's own forward with rounded factors
                trial = Trial(self.network, self._trial.tokens) if product == HALF else self._trial
                agrees = trial.agrees(self.path)
            self.product = kernels.product = product if agrees else self.product
        return self.product == product

    @property
    def positions(self) -> int:
        """Return the largest number of tokens that the model has positions for."""
        # Models of RoBERTa's kind count positions from padding id + 1: 514 are room for 512 tokens
        model = self.network.model
        positions = getattr(model.config.get_text_config(), "max_position_embeddings", None)
        tables = (m for n, m in model.named_modules() if n.endswith("position_embeddings"))
        skipped = (getattr(table, "padding_idx", None) for table in tables)
        n_skipped = max((index + 1 for index in skipped if index is not None), default=0)
        return (positions or 10**30) - n_skipped

    def forecast(self, plan: Plan) -> Forecast:
        """Return the work of a plan; tokens include padding."""
        counts = [path.count(batches) for path, batches in self._batches(plan)]
        calls, tokens = map(sum, zip(*counts, strict=True))
        return Forecast(calls, len(plan.reads), tokens)

    @without_collector()
    def run(self, plan: Plan, values: ReadValues, progress: Progress) -> np.ndarray:
        """Compute each read's value, float32; progress is called with (inputs done, inputs)."""
        results: np.ndarray = np.empty(plan.n_reads, dtype=np.float32)
        done = 0
        for path, batches in self._batches(plan):
            compute = partial(self._compute_states, path, plan)
            pending: list[BatchStates] = []
            for part, states in self._run_batches(path, batches, compute):
                pending.append(states)
                if sum(len(entry.states) for entry in pending) >= self._head_places:
                    self._read_out(path, plan, pending, values, results)
                done += len(part)
                progress(done, len(plan.reads))
            self._read_out(path, plan, pending, values, results)
        return results

    def read(self, plan: Plan, batch: Sequence[Input]) -> tuple[torch.Tensor, torch.Tensor]:
        """Compute the float32 logits at the batch's reads, [reads, vocabulary], and the targets."""
        # Gradients flow if the caller enables them, so a plan can also be trained on.
        with nullcontext() if torch.is_grad_enabled() else self.network.context():
            states, places = self.path.states(plan, batch)
            targets = torch.tensor(plan.targets(batch), device=states.device)
            return self.path.logits(states).float()[places], targets

    def read_all(
        self, plan: Plan, compute: Callable[[list[Input]], Read]
    ) -> Iterator[tuple[list[Input], Read]]:
        """Yield batches of all inputs with what `compute` makes of each."""
        batches = self.path.batches(plan.reads, lambda: self.batch_tokens)
        yield from self._run_batches(self.path, batches, compute)

    def _run_batches(
        self,
        path: ForwardPath,
        batches: Iterable[list[Input]],
        compute: Callable[[list[Input]], Read],
    ) -> Iterator[tuple[list[Input], Read]]:
        try:
            for batch in batches:
                yield from self.run_parts(batch, compute, path)
        finally:
            if not self.shares:
                path.forget()

    @cached_property
    def _reaches(self) -> bool:
        """Return whether the path agrees with the model beyond its attention window."""
        return self._trial.reaches(self.path, int(self._window))

    @cached_property
    def _long_path(self) -> ForwardPath:
        """Return the path of inputs beyond the window: plain rows."""
        return self._trial.padded()

    def run_parts(
        self,
        batch: list[Input],
        compute: Callable[[list[Input]], Read],
        path: ForwardPath | None = None,
    ) -> Iterator[tuple[list[Input], Read]]:
        """Yield the batch with its values, or its halves if it is too large for the memory."""
        try:
            values = compute(batch)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            path = path or self.path
            if len(batch) == 1 and not (path.crowded and self.batch_tokens > SMALLEST):
                raise PolyprobeError(
                    f"out of memory with a single sentence of {batch[0].length} tokens; "
                    f"{MEMORY_REMEDY}"
                ) from error
            # The size of a crowd has its cached tokens, which are not run
            size = self.batch_tokens if path.crowded else path.size(batch)
            self.batch_tokens = max(1, min(self.batch_tokens, size // 2))
            if self.network.device.type == "cuda":
                torch.cuda.empty_cache()
        else:
            yield batch, values
            return
        half = len(batch) // 2
        for part in (batch[:half], batch[half:]):
            if part:  # a single sentence is run in smaller parts
                yield from self.run_parts(part, compute, path)

    def _batches(self, plan: Plan) -> Iterator[tuple[ForwardPath, Iterator[list[Input]]]]:
        limit = self._window
        if any(len(row.ids) > limit for row in plan.reads) and self._reaches:
            limit = find_limit(self.network.model.config)
        within = [row for row in plan.reads if len(row.ids) <= limit]
        yield self.path, self.path.batches(within, lambda: self.batch_tokens)
        if beyond := [row for row in plan.reads if len(row.ids) > limit]:
            yield self._long_path, self._long_path.batches(beyond, lambda: self.batch_tokens)

    @torch.inference_mode()
    def _compute_states(self, path: ForwardPath, plan: Plan, batch: list[Input]) -> BatchStates:
        with self.network.context():
            return BatchStates(batch, *path.states(plan, batch))

    @torch.inference_mode()
    def _read_out(
        self,
        path: ForwardPath,
        plan: Plan,
        pending: list[BatchStates],
        values: ReadValues,
        results: np.ndarray,
    ) -> None:
        """Store the values of all reads of the waiting batches, a few places at a time."""
        # Each call reads the whole head from memory, so small batches share one
        if not pending:
            return
        states = torch.cat([entry.states for entry in pending])
        sizes = [len(entry.states) for entry in pending]
        starts = zip(np.cumsum(sizes) - sizes, pending, strict=True)
        places = np.concatenate([start + entry.places for start, entry in starts])
        reads = [plan.reads[row] for entry in pending for row in entry.batch]
        numbers = np.fromiter(chain.from_iterable(x.numbers for x in reads), int, len(places))
        targets = np.fromiter(chain.from_iterable(x.targets for x in reads), int, len(places))
        pending.clear()  # frees the states, of which there is a copy now
        start = 0
        while start < len(states):
            size = self._head_places
            here = np.flatnonzero((places >= start) & (places < start + size))
            try:
                with self.network.context():
                    logits = path.logits(states[start : start + size]).float()
                indices = (places - start, targets)
                rows, columns = (torch.tensor(x[here], device=logits.device) for x in indices)
                results[numbers[here]] = values(logits, rows, columns).cpu().numpy()
            except RuntimeError as error:
                if not is_out_of_memory(error):
                    raise
                if size == 1:
                    raise PolyprobeError(
                        f"out of memory for a single token; {MEMORY_REMEDY}"
                    ) from error
                self._head_places = size // 2
                continue
            start += size


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
