"""Inputs, and a language model in two parts: the trunk computes hidden states, the head logits."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch


class Input(NamedTuple):
    """One row of a batch: token ids, and for encoder-decoders the ids of the encoder as well."""

    ids: tuple[int, ...]
    source: tuple[int, ...] = ()

    @property
    def length(self) -> int:
        """Return the width of a batch that can hold the input."""
        return max(len(self.ids), len(self.source))


class Reads(NamedTuple):
    """Log-probabilities to read in one input; `numbers[k]` is the k-th's in the plan."""

    positions: list[int]
    targets: list[int]
    numbers: list[int]


class Plan:
    """Distinct inputs and the reads of each.

    Equal inputs are run once for all candidates, so candidates with equal token ids get scores
    that are equal to the last bit.
    """

    def __init__(self) -> None:
        self.reads: dict[Input, Reads] = {}
        self.n_reads = 0

    def read(self, row: Input, positions: range | list[int], targets: tuple[int, ...]) -> range:
        """Add log P(targets[k] | row) at positions[k]; return the numbers of these reads."""
        reads = self.reads.setdefault(row, Reads([], [], []))
        numbers = range(self.n_reads, self.n_reads + len(targets))
        reads.positions.extend(positions)
        reads.targets.extend(targets)
        reads.numbers.extend(numbers)
        self.n_reads = numbers.stop
        return numbers


def by_length(inputs: Iterable[Input], budget: Callable[[], int]) -> Iterator[list[Input]]:
    """Yield the inputs, longest first, in batches within the budget; padding counts.

    The budget is called for each input, because it falls when memory runs out.
    """
    batch: list[Input] = []
    for row in sorted(inputs, key=lambda row: row.length, reverse=True):
        if batch and batch[0].length * (len(batch) + 1) > budget():
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def shared(first: tuple[int, ...], second: tuple[int, ...]) -> int:
    """Return the length of the common beginning."""
    both = min(len(first), len(second))
    if first[:both] == second[:both]:
        return both
    return next(k for k in range(both) if first[k] != second[k])


class Network:
    """A model whose head runs only at the positions that are read.

    Logits of every position, [inputs, tokens, vocabulary], are most of the work of a small model
    and most of the memory of any. Classes differ between trunk and logits (a transformation, a
    scale, a soft cap), and only their own `forward` knows how. The head is therefore that
    `forward` with the trunk's output replaced.

    Each model family has a subclass. The defaults are those of a decoder.

    Attributes:
        paths: the `ForwardPath` classes of the family, the fastest first.
        model: a transformers model with a language-model head.
        pad: the id that fills up short rows; any id will do, because it is masked or comes last.
        trunk: the part whose first output is the last hidden state; None if there is none, so
            that only `model` itself can be called.
    """

    paths: tuple[Any, ...]

    def __init__(self, model: Any, pad: int | None) -> None:
        self.model = model
        self.pad = 0 if pad is None or pad >= self.vocabulary else pad
        self.trunk = self.find_trunk()
        self._output: Any = None

    @property
    def device(self) -> torch.device:
        """Return the device of the inputs."""
        return self.model.device

    @property
    def vocabulary(self) -> int:
        """Return the number of token ids of the model; a tokenizer may have fewer or more."""
        return self.model.get_input_embeddings().weight.shape[0]

    def ids(self, rows: Sequence[Sequence[int]]) -> torch.Tensor:
        """Return token ids padded on the right, [rows, longest]."""
        width = max(map(len, rows))
        padded = [[*row, *[self.pad] * (width - len(row))] for row in rows]
        return torch.tensor(padded, device=self.device)

    def mask(self, rows: Sequence[Sequence[int]]) -> torch.Tensor:
        """Return 1 for the rows' tokens and 0 for their padding, [rows, longest]."""
        lengths = torch.tensor([len(row) for row in rows], device=self.device)
        return (torch.arange(int(lengths.max()), device=self.device) < lengths[:, None]).long()

    def forward_inputs(self, batch: Sequence[Input]) -> dict[str, Any]:
        """Return the keywords of the model's own `forward`."""
        rows = [row.ids for row in batch]
        return {
            "input_ids": self.ids(rows),
            "attention_mask": self.mask(rows),
            "use_cache": False,
        }

    def trunk_inputs(self, batch: Sequence[Input]) -> dict[str, Any]:
        """Return the keywords of the trunk.

        Decoders are padded at the end, where no token looks, so they need no mask.
        """
        ids = self.ids([row.ids for row in batch])
        return {"input_ids": ids, "use_cache": False, **self.encode(batch)}

    def head_inputs(self, hidden: torch.Tensor) -> dict[str, Any]:
        """Return keywords of `forward` with [1, places, width] in place of the trunk's output."""
        return {"input_ids": torch.zeros(hidden.shape[:2], dtype=torch.long, device=hidden.device)}

    def encode(self, batch: Sequence[Input]) -> dict[str, torch.Tensor]:
        """Return the keywords of the trunk that depend on the inputs' sources."""
        return {}

    def example(self, ids: tuple[int, ...], source: tuple[int, ...]) -> Input:
        """Return random ids as an input of this family, with as many ids."""
        return Input(ids)

    def logits(self, batch: Sequence[Input]) -> torch.Tensor:
        """Return the model's own logits at every position, [inputs, tokens, V]."""
        return self.model(**self.forward_inputs(batch)).logits

    def run(self, **inputs: Any) -> Any:
        """Return the trunk's output."""
        output = self.trunk(**inputs)
        self._output = type(output)
        return output

    def head(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the logits of gathered hidden states, [places, width] → [places, V]."""
        with self._replaced(hidden[None]):
            return self.model(**self.head_inputs(hidden[None])).logits[0]

    @contextmanager
    def _replaced(self, hidden: torch.Tensor) -> Iterator[None]:
        """Let the trunk return these states for any input."""
        answer = self._output(last_hidden_state=hidden)
        own = self.trunk.__dict__.get("forward")
        try:
            self.trunk.forward = lambda *args, **kwargs: answer
            yield
        finally:
            self.trunk.__dict__.pop("forward", None)
            if own is not None:
                self.trunk.forward = own

    @torch.inference_mode()
    def find_trunk(self) -> Any:
        """Return the outermost part that the model's `forward` calls for hidden states.

        It need not be `base_model` (OPT calls its decoder instead), so one token is run to see
        which part is called.
        """
        model = self.model
        called: list[Any] = []
        parts = [model.base_model, model.get_decoder()]
        parts = [part for part in parts if part is not None and part is not model]
        hooks = [p.register_forward_hook(lambda part, *_: called.append(part)) for p in parts]
        try:
            model(input_ids=torch.zeros((1, 1), dtype=torch.long, device=model.device))
        finally:
            for hook in hooks:
                hook.remove()
        return next((part for part in parts if part in called), None)
