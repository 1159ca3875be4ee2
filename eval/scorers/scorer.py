"""What every family shares: prompts in, scores out; batches across queries by token budget."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch

from polyprobe import PolyprobeError

from .boundary import only_unknown
from .plan import Input, Plan
from .queries import check_queries

CPU_TOKENS, GPU_TOKENS = 2048, 16384
LOGIT_BYTES = 2**30

Read = TypeVar("Read")


class Scored(NamedTuple):
    """Scores of a list of queries, in candidate order.

    Attributes:
        scores: what the protocol makes of each candidate (see `Scorer.scoring`), a list a query.
        n_tokens: how many tokens each score is made of.
        unknown: (query, candidate) of every candidate that is nothing but unknown tokens.
    """

    scores: list[list[float]]
    n_tokens: list[list[int]]
    unknown: list[tuple[int, int]]


class Scorer(ABC):
    """A model and its tokenizer, ready to score candidates.

    A family says in `plan` which tokens are read in which inputs, and in `logits` how its model
    is called; another protocol than BMLAMA's is a family whose `plan`, `values` or `combine` says
    something else (`SCORINGS` names them). Nothing is kept between two calls.

    Attributes:
        scoring: the name of what a score is, for the signature.
        auto: the transformers class that loads models of this family.
        architectures: model types of this family, and the class or classes of each.
    """

    scoring: str
    auto: Any
    architectures: Mapping[str, str | tuple[str, ...]]
    bos: str | None = None  # how a causal scorer begins a sentence

    def __init__(self, model: Any, tokenizer: Any, batch_tokens: int | None = None) -> None:
        self.model = model.eval()
        self.tokenizer = tokenizer
        self.batch_tokens = batch_tokens or self._default_budget()

    def score(self, prompts: list[str], candidates: list[list[str]]) -> list[list[float]]:
        """Return the score of each candidate of each prompt, higher for the likelier.

        By BMLAMA's equations it is a mean log-probability in nats; other protocols say what theirs
        is. Prompts and candidates are taken as they are given.

        Args:
            prompts: sentences with exactly one slot `[Y]`.
            candidates: for each prompt the fillers of its slot, at least one.

        Raises:
            PolyprobeError: a prompt without one slot, an empty candidate or one that becomes no
                token, a sentence that is longer than the model reads.
        """
        scored = self.score_counted(prompts, candidates)
        if scored.unknown:
            warnings.warn(f"{len(scored.unknown)} candidates are unknown tokens only", stacklevel=2)
        return scored.scores

    def score_counted(
        self,
        prompts: Sequence[str],
        candidates: Sequence[Sequence[str]],
        progress: Callable[[int, int], None] | None = None,
    ) -> Scored:
        """Return scores with their token counts; progress is called with (inputs done, inputs)."""
        check_queries(prompts, candidates)
        pieces = self._pieces(candidates)
        plan = Plan()
        wanted = self.plan(plan, prompts, candidates, pieces)
        self.check_inputs(plan)
        read = self._run(plan, progress or (lambda done, total: None))
        self.check_numbers(read)
        return Scored(
            [
                [self.combine(read[n.start : n.stop], c) for n, c in zip(*row, strict=True)]
                for row in zip(wanted, candidates, strict=True)
            ],
            [[len(n) for n in row] for row in wanted],
            self._unknown(candidates, pieces),
        )

    @abstractmethod
    def plan(
        self,
        plan: Plan,
        prompts: Sequence[str],
        candidates: Sequence[Sequence[str]],
        pieces: dict[str, tuple[int, ...]],
    ) -> list[list[range]]:
        """Put into the plan what must be read, and return the reads' numbers a candidate.

        `pieces` are the sub-words of every candidate, tokenized alone without special tokens.
        """

    @abstractmethod
    def logits(self, batch: list[Input]) -> torch.Tensor:
        """Return the logits of a batch, [inputs, tokens, vocabulary]."""

    def values(
        self, logits: torch.Tensor, which: torch.Tensor, targets: torch.Tensor
    ) -> torch.Tensor:
        """Return the value of each read, [reads]: the log-probability of its target in nats.

        `which` is the row of the [places, vocabulary] logits that a read is of.
        """
        return logits[which, targets] - logits.logsumexp(1)[which]

    def combine(self, values: np.ndarray, candidate: str) -> float:
        """Return a candidate's score from the values of its reads: their mean."""
        return float(np.mean(values))

    def padded(self, rows: Sequence[Sequence[int]]) -> dict[str, torch.Tensor]:
        """Return token ids padded on the right, and the mask that hides the padding."""
        width = max(map(len, rows))
        pad = self.tokenizer.pad_token_id
        pad = 0 if pad is None or pad >= self._vocabulary else pad  # hidden by the mask
        ids = [[*row, *[pad] * (width - len(row))] for row in rows]
        mask = [[1] * len(row) + [0] * (width - len(row)) for row in rows]
        return {
            "input_ids": torch.tensor(ids, device=self.model.device),
            "attention_mask": torch.tensor(mask, device=self.model.device),
        }

    def _run(self, plan: Plan, progress: Callable[[int, int], None]) -> np.ndarray:
        read: np.ndarray = np.empty(plan.n_reads, dtype=np.float32)
        done = 0
        for batch in plan.batches(lambda: self.batch_tokens):
            for part, values in self.halved(batch, partial(self._batch_values, plan)):
                read[[n for row in part for n in plan.reads[row].numbers]] = values
                done += len(part)
                progress(done, len(plan.reads))
        return read

    def halved(
        self, batch: list[Input], read: Callable[[list[Input]], Read]
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
            self.batch_tokens = max(1, batch[0].length * len(batch) // 2)
            if self.model.device.type == "cuda":
                torch.cuda.empty_cache()
        else:
            yield batch, values
            return
        half = len(batch) // 2
        yield from self.halved(batch[:half], read)
        yield from self.halved(batch[half:], read)

    def read(self, plan: Plan, batch: list[Input]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the logits in float32 at the batch's reads, [reads, vocabulary], and the targets.

        Gradients flow where the caller lets them: what is scored is also what can be taught.
        """
        logits, which, targets = self._at_places(plan, batch)
        return logits[which], targets

    def _at_places(
        self, plan: Plan, batch: list[Input]
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return float32 logits, [places, vocabulary], and the place and target of each read.

        A place is a position in an input. Hundreds of candidates may be read at one, so each is
        taken once.
        """
        logits = self.logits(batch)
        reads = [plan.reads[row] for row in batch]
        places: dict[tuple[int, int], int] = {}
        which = [
            places.setdefault((k, position), len(places))
            for k, read in enumerate(reads)
            for position in read.positions
        ]
        at = torch.tensor(list(places)).T
        picked = logits[at[0], at[1]].float()
        targets = [target for read in reads for target in read.targets]
        device = picked.device
        return picked, torch.tensor(which, device=device), torch.tensor(targets, device=device)

    @torch.inference_mode()
    def _batch_values(self, plan: Plan, batch: list[Input]) -> np.ndarray:
        return self.values(*self._at_places(plan, batch)).cpu().numpy()

    def _pieces(self, candidates: Sequence[Sequence[str]]) -> dict[str, tuple[int, ...]]:
        distinct = list(dict.fromkeys(c for row in candidates for c in row))
        if not distinct:
            return {}
        ids = self.tokenizer(distinct, add_special_tokens=False)["input_ids"]
        for candidate, pieces in zip(distinct, ids, strict=True):
            if not pieces:
                raise PolyprobeError(f"candidate {candidate!r} becomes no token in this model")
        return dict(zip(distinct, map(tuple, ids), strict=True))

    def _unknown(
        self, candidates: Sequence[Sequence[str]], pieces: dict[str, tuple[int, ...]]
    ) -> list[tuple[int, int]]:
        lost = {c for c, ids in pieces.items() if only_unknown(ids, self.tokenizer)}
        return [(q, k) for q, row in enumerate(candidates) for k, c in enumerate(row) if c in lost]

    @property
    def _vocabulary(self) -> int:
        """Return how many token ids the model knows; a tokenizer may have fewer or more."""
        return self.model.get_input_embeddings().weight.shape[0]

    def check_inputs(self, plan: Plan) -> None:
        """Refuse inputs that are longer than the model reads or hold ids that it does not know."""
        self._check_lengths(plan)
        self._check_ids(plan)

    def check_numbers(self, read: np.ndarray) -> None:
        """Refuse log-probabilities that are no finite numbers."""
        if not np.isfinite(read).all():
            full = self.model.dtype == torch.float32
            raise PolyprobeError(
                f"the model gives log-probabilities that are no numbers ({self.model.dtype}); "
                + ("its weights are damaged" if full else "try --dtype float32")
            )

    def _check_ids(self, plan: Plan) -> None:
        known = self._vocabulary
        for row, reads in plan.reads.items():
            largest = max(*row.ids, *row.source, *reads.targets)
            if largest >= known:
                raise PolyprobeError(
                    f"the tokenizer gives token {self.tokenizer.convert_ids_to_tokens(largest)!r} "
                    f"the id {largest}, the model knows {known} tokens; give it its own tokenizer"
                )

    def _check_lengths(self, plan: Plan) -> None:
        limit = min(self.tokenizer.model_max_length, self._positions())
        for row in plan.reads:
            if row.length > limit:
                raise PolyprobeError(
                    f"a sentence becomes {row.length} tokens, the model reads {limit}: "
                    f"{self.tokenizer.decode(row.source or row.ids)[:80]!r}…"
                )

    def _positions(self) -> int:
        """Return how many positions the model has.

        RoBERTa's kind counts them from behind its padding id: 514 are room for 512 tokens.
        """
        config = self.model.config.get_text_config()
        positions = getattr(config, "max_position_embeddings", None) or 10**30
        tables = (m for n, m in self.model.named_modules() if n.endswith("position_embeddings"))
        skipped = (getattr(table, "padding_idx", None) for table in tables)
        return positions - max((index + 1 for index in skipped if index is not None), default=0)

    def _default_budget(self) -> int:
        tokens = CPU_TOKENS if self.model.device.type == "cpu" else GPU_TOKENS
        return max(64, min(tokens, LOGIT_BYTES // (4 * self._vocabulary)))


def _out_of_memory(error: RuntimeError) -> bool:
    # torch has its own class for CUDA alone; the CPU and MPS say it in words
    said = any(words in str(error) for words in ("not enough memory", "out of memory"))
    return said or isinstance(error, torch.OutOfMemoryError)
