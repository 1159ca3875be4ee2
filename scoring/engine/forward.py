"""Inputs, a language model in two parts, and the paths of a batch."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from polyprobe.scoring.engine.kernels import TORCH, Kernels
from polyprobe.scoring.options import HALF
from polyprobe.system.devices import device_of

Ids = tuple[int, ...]  # of tokens
Progress = Callable[[int, int], None]  # called with (done, total)
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


class Input(NamedTuple):
    """One row of a batch: token ids, and for encoder-decoders the ids of the encoder as well."""

    ids: Ids
    source: Ids = ()

    @property
    def length(self) -> int:
        """Return the width of a batch that can hold the input."""
        return max(len(self.ids), len(self.source))


class Reads(NamedTuple):
    """Log-probabilities to read in one input; `numbers[k]` is the k-th's in the plan."""

    positions: Sequence[int]
    targets: list[int]
    numbers: Sequence[int]


class Forecast(NamedTuple):
    """The work of a plan."""

    calls: int  # batches of a model in this process, HTTP requests to a server
    inputs: int  # distinct inputs, prompts of a server
    tokens: int  # number of their tokens that are run or sent


# Equal inputs are run once for all candidates, so candidates with equal token ids get scores that
# are equal to the last bit.
class Plan:
    """Distinct inputs and the reads of each."""

    def __init__(self) -> None:
        self.reads: dict[Input, Reads] = {}
        self.n_reads = 0

    def read(self, row: Input, positions: range | list[int], targets: Ids) -> range:
        """Add log P(targets[k] | row) at positions[k]; return the numbers of these reads."""
        numbers = range(self.n_reads, self.n_reads + len(targets))
        self.n_reads = numbers.stop
        new = Reads(positions, [*targets], numbers)
        reads: Any = self.reads.setdefault(row, new)
        if reads is not new:
            if isinstance(reads.numbers, range):  # copied once, however many reads follow
                reads = self.reads[row] = Reads(*map(list, reads))
            for values, more in zip(reads, new, strict=True):
                values.extend(more)
        return numbers

    def targets(self, batch: Sequence[Input]) -> list[int]:
        """List the targets of a batch's reads."""
        return [target for row in batch for target in self.reads[row].targets]


def count_common(first: Ids, second: Ids) -> int:
    """Count the ids of the common beginning."""
    start, stop = 0, min(len(first), len(second))
    while start < stop:  # halves are compared without a loop over tokens
        middle = (start + stop + 1) // 2
        if first[start:middle] == second[start:middle]:
            start = middle
        else:
            stop = middle - 1
    return start


# Logits of every position, [inputs, tokens, vocabulary], are most of the work of a small model and
# most of the memory of any. Classes differ between trunk and logits (a transformation, a scale, a
# soft cap), and only their own `forward` knows how. The head is therefore that `forward` with the
# trunk's output replaced.
# Each model family has a subclass. The defaults are those of a decoder.
class Network:
    """A model whose head runs only at the positions that are read."""

    paths: tuple[Any, ...]  # the `ForwardPath` classes of the family, the fastest first
    sees_all = False  # whether a token sees those behind it

    def __init__(self, model: Any, pad: int | None, special: Iterable[int] = ()) -> None:
        self.model = model  # a transformers model with a language-model head
        # The id that fills up short rows; any will do, because it is masked or comes last. Some
        # tokenizers pad with an id for which the model has no embedding.
        self.pad = 0 if pad is None or pad >= self.vocabulary else pad
        # Ids with a meaning of their own that sentences may contain
        self.special = [id_ for id_ in special if 0 <= id_ < self.vocabulary]
        # The part whose first output is the last hidden state; None: only the model can be called
        self.trunk = self.find_trunk()
        self._output: Any = None
        self.kernels = Kernels()

    @property
    def full_precision(self) -> bool:
        """Return whether weights and factors have more than 16 bits."""
        return bool(self.model.dtype.itemsize > 2) and self.kernels.product != HALF

    @property
    def device(self) -> torch.device:
        """Return the device of the inputs."""
        return device_of(self.model)

    @property
    def vocabulary(self) -> int:
        """Return the number of token ids of the model; a tokenizer may have fewer or more."""
        return self.model.get_input_embeddings().weight.shape[0]

    def context(self) -> AbstractContextManager[Any]:
        """Return the context of a path's calls; an empty one if no operator is replaced."""
        # Each call of torch passes through a context, which takes time
        operators = self.kernels.product, self.kernels.blockwise
        return nullcontext() if operators == TORCH else self.kernels

    def ids(self, rows: Sequence[Sequence[int]]) -> Tensor:
        """Return token ids padded on the right, [rows, longest]."""
        width = max(map(len, rows))
        padded = [[*row, *[self.pad] * (width - len(row))] for row in rows]
        return torch.tensor(padded, device=self.device)

    def mask(self, rows: Sequence[Sequence[int]]) -> Tensor:
        """Return 1 for the rows' tokens and 0 for their padding, [rows, longest]."""
        lengths = torch.tensor([len(row) for row in rows], device=self.device)
        return (torch.arange(int(lengths.max()), device=self.device) < lengths[:, None]).long()

    def forward_inputs(self, batch: Sequence[Input]) -> dict[str, Any]:
        """Return the keywords of the model's own `forward`."""
        rows = [row.ids for row in batch]
        inputs = {"input_ids": self.ids(rows), "attention_mask": self.mask(rows)}
        return inputs if self.sees_all else {**inputs, "use_cache": False}  # encoders have none

    def trunk_inputs(self, batch: Sequence[Input]) -> dict[str, Any]:
        """Return the trunk's keywords, without a mask: no token of a decoder sees its padding."""
        ids = self.ids([row.ids for row in batch])
        return {"input_ids": ids, "use_cache": False, **self.encode(batch)}

    def head_inputs(self, hidden: Tensor) -> dict[str, Any]:
        """Return keywords of `forward` with [1, places, width] in place of the trunk's output."""
        # Only the shape of the ids matters; some classes derive positions or masks from it.
        return {"input_ids": torch.zeros(hidden.shape[:2], dtype=torch.long, device=hidden.device)}

    def encode(self, batch: Sequence[Input]) -> dict[str, Tensor]:
        """Return the keywords of the trunk that depend on the inputs' sources."""
        return {}

    def example(self, ids: Ids, source: Ids) -> Input:
        """Return random ids as an input of this family, with as many ids."""
        return Input(ids)

    def logits(self, batch: Sequence[Input]) -> Tensor:
        """Compute the model's own logits at every position, [inputs, tokens, V]."""
        return self.model(**self.forward_inputs(batch)).logits

    def run(self, **inputs: Any) -> Any:
        """Return the trunk's output."""
        output = self.trunk(**inputs)
        self._output = type(output)
        return output

    def head(self, hidden: Tensor) -> Tensor:
        """Compute the logits of gathered hidden states, [places, width] → [places, V]."""
        # The trunk returns these states for any input. A wrapper (accelerate's hooks, say) may have
        # replaced `forward` in the instance.
        answer = self._output(last_hidden_state=hidden[None])
        instance_forward = self.trunk.__dict__.get("forward")
        try:
            self.trunk.forward = lambda *args, **kwargs: answer
            return self.model(**self.head_inputs(hidden[None])).logits[0]
        finally:
            self.trunk.__dict__.pop("forward", None)
            if instance_forward is not None:
                self.trunk.forward = instance_forward

    @torch.inference_mode()
    def find_trunk(self) -> Any:
        """Find the outermost part that the model's `forward` calls for hidden states."""
        # It need not be `base_model` (OPT calls its decoder instead), so one token is run to see
        # which part is called
        model = self.model
        called: list[Any] = []
        parts = [p for p in (model.base_model, model.get_decoder()) if p not in (None, model)]
        hooks = [p.register_forward_hook(lambda part, *_: called.append(part)) for p in parts]
        try:
            self.logits([Input((0,))])
        finally:
            for hook in hooks:
                hook.remove()
        return next((part for part in parts if part in called), None)


# A place is a position in an input. Hundreds of candidates may be read at one place, and many
# inputs may contain it (the prompt's last token). A path computes each place once if it can.
class ForwardPath(ABC):
    """A way to compute the hidden state of every place that is read."""

    name: str  # the name in the run's signature
    looks_back = False  # whether inputs must fit into the model's attention window, if it has one
    crowded = False  # whether inputs share one row, so that one could see another
    # The default budget of a batch on a CPU and on an accelerator
    tokens: tuple[int, int] = (512, 16384)

    def __init__(self, network: Network) -> None:
        self.network = network

    def batches(self, inputs: Iterable[Input], budget: Callable[[], int]) -> Iterator[list[Input]]:
        """Yield the inputs, longest first, in batches within the budget; padding counts."""
        # The budget is called for each input, because it falls when memory runs out
        batch: list[Input] = []
        for row in sorted(inputs, key=lambda row: row.length, reverse=True):
            if batch and batch[0].length * (len(batch) + 1) > budget():
                yield batch
                batch = []
            batch.append(row)
        if batch:
            yield batch

    def size(self, batch: Sequence[Input]) -> int:
        """Return the number of tokens of a batch, padding included."""
        return max(row.length for row in batch) * len(batch)

    def count(self, batches: Iterable[Sequence[Input]]) -> tuple[int, int]:
        """Count batches, as they are yielded, and their tokens."""
        sizes = [*map(self.size, batches)]
        return len(sizes), sum(sizes)

    def forget(self) -> None:  # noqa: B027
        """Forget what a later call could share with earlier ones."""

    @abstractmethod
    def states(self, plan: Plan, batch: Sequence[Input]) -> tuple[Tensor, np.ndarray]:
        """Compute states, [places, width], and the place of each of the batch's reads, in order."""

    def logits(self, states: Tensor) -> Tensor:
        """Compute the logits of some of these places, [places, V]."""
        return self.network.head(states)

    @torch.inference_mode()
    def read_logs(
        self, plan: Plan, rows: Sequence[Input], crowd: Plan | None = None, budget: int = 10**9
    ) -> Tensor:
        """Compute the log-probabilities of the rows' reads, run together with a crowd."""
        together = Plan()
        logs: dict[Input, Tensor] = {}
        together.reads = {
            **(crowd.reads if crowd else {}),
            **{row: plan.reads[row] for row in rows},
        }
        with self.network.context():
            for batch in self.batches(together.reads, lambda: budget):
                states, places = self.states(together, batch)
                values = self.logits(states).float().log_softmax(1)
                values = values[places, together.targets(batch)]
                sizes = [len(together.reads[row].targets) for row in batch]
                logs |= zip(batch, values.split(sizes), strict=True)
        return torch.cat([logs[row] for row in rows])


class Full(ForwardPath):
    """The model's own `forward` with all logits, with which every other path must agree."""

    name = "full"
    tokens = (512, 4096)

    def states(self, plan: Plan, batch: Sequence[Input]) -> tuple[Tensor, np.ndarray]:
        """Compute logits instead of states."""
        return _pick(self.network.logits(batch), plan, batch)

    def logits(self, states: Tensor) -> Tensor:
        """Return the argument, which holds logits already."""
        return states


class Unpadded(Full):
    """The same in batches of equal length, for models whose answers depend on padding."""

    name = "unpadded"

    def batches(self, inputs: Iterable[Input], budget: Callable[[], int]) -> Iterator[list[Input]]:
        """Yield the inputs in batches of one length each."""
        same: dict[tuple[int, int], list[Input]] = {}
        for row in inputs:
            same.setdefault((len(row.ids), len(row.source)), []).append(row)
        for lengths in sorted(same):
            yield from super().batches(same[lengths], budget)


class Gathered(ForwardPath):
    """Inputs of about one length in a batch; hidden states are gathered before the head."""

    name = "gathered"

    def states(self, plan: Plan, batch: Sequence[Input]) -> tuple[Tensor, np.ndarray]:
        """Compute the states at the batch's reads."""
        return _pick(self.network.run(**self.network.trunk_inputs(batch))[0], plan, batch)


def _pick(states: Tensor, plan: Plan, batch: Sequence[Input]) -> tuple[Tensor, np.ndarray]:
    """Gather the states of the places that are read, [places, width], with each read's place."""
    # Each place once, however many targets are read there: the head is the largest product.
    reads = [(k, p) for k, row in enumerate(batch) for p in plan.reads[row].positions]
    places = {place: number for number, place in enumerate(dict.fromkeys(reads))}
    at = torch.tensor(list(places), device=states.device).T
    return states[at[0], at[1]], np.array([places[place] for place in reads])


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
