"""Run a plan: batches within the budget and the memory, the head at a few places at a time."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from functools import cached_property, partial
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch

from polyprobe.scoring.options import HALF
from polyprobe.system.devices import is_out_of_memory, without_collector
from polyprobe.system.messages import PolyprobeError

from .forward import Forecast, ForwardPath, Input, Network, Plan, Progress
from .kernels import has_product
from .tree import MAX_NODES, Tree
from .trial import SMALLEST, Trial
from .windows import find_limit, find_window

# Places whose logits exist at once: enough for a matrix product at full speed, and on a GPU, where
# calls are slower than memory, a gigabyte of logits.
PLACES, GPU_LOGITS = 128, 2**28
ROWS, WIDTH = 16, 16  # of the batch that is measured
SHARE = 0.5  # of the free memory: other tensors and batches of other shapes need room too
MEMORY_REMEDY = "use a smaller model, --dtype bfloat16 or another --device"

Read = TypeVar("Read")
# (logits [places, V], the place of each read, its target) → the value of each read
ReadValues = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


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
        tokens = batch_tokens or Tree.tokens[network.device.type != "cpu"]
        self._trial = trial = Trial(network, min(tokens, MAX_NODES))
        self.path = trial.fastest()
        self.product = network.kernels.product  # one of `PRODUCTS`
        window = find_window(network.model.config)
        self._window = window if window and self.path.looks_back else math.inf
        gpu_places = 0 if network.device.type == "cpu" else GPU_LOGITS // network.vocabulary
        self._head_places = max(PLACES, gpu_places)
        # Halved whenever memory runs out
        self.batch_tokens = batch_tokens or affordable_tokens(self.path)

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


def affordable_tokens(path: ForwardPath) -> int:
    """Return the path's own budget, halved until it fits into the free memory of a GPU."""
    # One batch of random tokens is run and its memory is scaled up. On other devices nothing is
    # measured: the engine halves the budget whenever memory runs out.
    budget = path.tokens[path.network.device.type != "cpu"]
    n_bytes, free = _measure(path)
    if not n_bytes:
        return budget
    allowed = int(SHARE * free / n_bytes * ROWS * WIDTH)
    while budget > max(allowed, SMALLEST):
        budget //= 2
    return budget


@torch.inference_mode()
def _measure(path: ForwardPath) -> tuple[int, int]:
    """Measure the bytes that a batch takes and the bytes that are free, zeros without CUDA."""
    device = path.network.device
    if device.type != "cuda":
        return 0, 0
    # Inputs of random ids; behind a source two ids are enough.
    generator = torch.Generator().manual_seed(20)
    plan = Plan()
    for row in torch.randint(path.network.vocabulary, (ROWS, WIDTH), generator=generator).tolist():
        ids, source = path.network.example(tuple(row), tuple(row))
        plan.read(Input(ids[:2] if source else ids, source), [1], (0,))
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    with path.network.context():
        states, _ = path.states(plan, list(plan.reads))
        path.logits(states[:1])
    n_bytes = torch.cuda.max_memory_allocated(device) - before
    # torch keeps freed memory, which the driver counts as taken.
    cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return n_bytes, torch.cuda.mem_get_info(device)[0] + cached
