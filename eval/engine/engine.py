"""Run a plan: batches by token budget along the model's path, the head in pieces."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

import numpy as np
import torch

from polyprobe import PolyprobeError

from .budget import affordable_tokens
from .choose import choose_path, window_of
from .gathered import Gathered
from .network import Network
from .path import Path
from .plan import Input, Plan

# Logits that exist at once: on a CPU as many as stay in its cache.
CPU_LOGITS, GPU_LOGITS = 2**22, 2**28

Read = TypeVar("Read")
# (logits [places, V], the place of each read, its target) to the value of each read
Values = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


class Engine:
    """A model, the path that its inputs take, and the budget of a batch.

    Attributes:
        network: the model.
        path: how inputs are run; those longer than the model's attention window go the plain way.
        batch_tokens: the budget; it is halved whenever memory runs out.
    """

    def __init__(self, network: Network, batch_tokens: int | None = None) -> None:
        self.network = network
        self.path = choose_path(network)
        window = window_of(network.model.config)
        self._window = window if window and self.path.looks_back else math.inf
        self._plain = choose_path(network, (Gathered,)) if window else self.path
        self.batch_tokens = batch_tokens or affordable_tokens(self.path)

    def run(self, plan: Plan, values: Values, progress: Callable[[int, int], None]) -> np.ndarray:
        """Return the value of each read, float32; progress is called with (inputs done, inputs)."""
        read: np.ndarray = np.empty(plan.n_reads, dtype=np.float32)
        done = 0
        for path, batch in self._batches(plan):
            for part, found in self.halved(batch, partial(self._read, path, plan, values), path):
                read[[n for row in part for n in plan.reads[row].numbers]] = found
                done += len(part)
                progress(done, len(plan.reads))
        return read

    def read(self, plan: Plan, batch: Sequence[Input]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the logits in float32 at the batch's reads, [reads, vocabulary], and the targets.

        Gradients flow where the caller lets them: what is scored is also what can be taught.
        """
        path = self.path
        states, which = path.states(plan, batch)
        targets = torch.tensor(_targets(plan, batch), device=states.device)
        return path.logits(states).float()[which], targets

    def batches(self, plan: Plan) -> Iterator[list[Input]]:
        """Yield all inputs in batches within the budget, for `read`."""
        return self.path.batches(plan.reads, lambda: self.batch_tokens)

    def halved(
        self, batch: list[Input], read: Callable[[list[Input]], Read], path: Path | None = None
    ) -> Iterator[tuple[list[Input], Read]]:
        """Yield parts of the batch with what was read there; a batch too large is halved."""
        try:
            values = read(batch)
        except (torch.OutOfMemoryError, RuntimeError) as error:
            if not _out_of_memory(error):
                raise
            if len(batch) == 1:
                raise PolyprobeError(
                    f"out of memory with a single sentence of {batch[0].length} tokens; "
                    "use a smaller model, --dtype bfloat16 or another --device"
                ) from error
            self.batch_tokens = max(1, (path or self.path).size(batch) // 2)
            if self.network.device.type == "cuda":
                torch.cuda.empty_cache()
        else:
            yield batch, values
            return
        half = len(batch) // 2
        yield from self.halved(batch[:half], read, path)
        yield from self.halved(batch[half:], read, path)

    def _batches(self, plan: Plan) -> Iterator[tuple[Path, list[Input]]]:
        within = [row for row in plan.reads if len(row.ids) <= self._window]
        beyond = [row for row in plan.reads if len(row.ids) > self._window]
        for path, inputs in ((self.path, within), (self._plain, beyond)):
            for batch in path.batches(inputs, lambda: self.batch_tokens):
                yield path, batch

    @torch.inference_mode()
    def _read(self, path: Path, plan: Plan, values: Values, batch: list[Input]) -> np.ndarray:
        """Return the values of a batch's reads; logits of a few places at a time."""
        states, which = path.states(plan, batch)
        at = np.asarray(which)
        targets = np.asarray(_targets(plan, batch))
        read: np.ndarray = np.empty(len(at), dtype=np.float32)
        most = CPU_LOGITS if self.network.device.type == "cpu" else GPU_LOGITS
        size = max(1, most // self.network.vocabulary)
        for start in range(0, len(states), size):
            here = np.flatnonzero((at >= start) & (at < start + size))
            logits = path.logits(states[start : start + size]).float()
            asked = (torch.tensor(a[here], device=logits.device) for a in (at - start, targets))
            read[here] = values(logits, *asked).cpu().numpy()
        return read


def _targets(plan: Plan, batch: Sequence[Input]) -> list[int]:
    return [target for row in batch for target in plan.reads[row].targets]


def _out_of_memory(error: RuntimeError) -> bool:
    # torch has its own class for CUDA alone; the CPU and MPS say it in words
    said = any(words in str(error) for words in ("not enough memory", "out of memory"))
    return said or isinstance(error, torch.OutOfMemoryError)
