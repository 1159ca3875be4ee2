"""What a model can be asked: prompts with one slot, and texts to put there."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from polyprobe.eval.scoring.engine import Engine, Network, Plan
from polyprobe.schema.columns import SLOT
from polyprobe.system.errors import PolyprobeError

from .boundary import only_unknown


def check_queries(prompts: Sequence[str], candidates: Sequence[Sequence[str]]) -> None:
    """Refuse prompts without exactly one slot, and candidates that are none.

    Raises:
        PolyprobeError: the first query that cannot be asked, by its number.
    """
    if len(prompts) != len(candidates):
        raise PolyprobeError(f"{len(prompts)} prompts but {len(candidates)} lists of candidates")
    for number, (prompt, row) in enumerate(zip(prompts, candidates, strict=True)):
        if prompt.count(SLOT) != 1:
            raise PolyprobeError(
                f"prompt {number} holds the slot {SLOT} {prompt.count(SLOT)} times, "
                f"expected once: {prompt!r}"
            )
        if isinstance(row, str):
            raise PolyprobeError(
                f"the candidates of prompt {number} are the text {row!r}; expected a list of texts"
            )
        if not row:
            raise PolyprobeError(f"prompt {number} has no candidates: {prompt!r}")
        for candidate in row:
            if not candidate.strip():
                raise PolyprobeError(f"prompt {number} has an empty candidate: {prompt!r}")


# Logits that stay in a CPU's cache while they are normalised.
CACHED = 2**20


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


class Prepared(NamedTuple):
    """Queries as token ids: all that can be done without the model.

    Attributes:
        plan: the model's inputs, and what is read there.
        wanted: for each candidate of each query the numbers of its reads.
        candidates: as they were given.
        unknown: see `Scored`.
    """

    plan: Plan
    wanted: list[list[range]]
    candidates: Sequence[Sequence[str]]
    unknown: list[tuple[int, int]]


class Scorer(ABC):
    """A model and its tokenizer, ready to score candidates.

    A family says in `plan` which tokens are read in which inputs; the engine runs them. Another
    protocol than BMLAMA's is a family whose `plan`, `values` or `combine` says something else
    (`SCORINGS` names them). Nothing is kept between two calls.

    Attributes:
        family: `causal`, `masked` or `seq2seq`: how the engine calls the model.
        scoring: the name of what a score is, for the signature.
        auto: the transformers class that loads models of this family.
        architectures: model types of this family, and the class or classes of each.
    """

    family: str
    scoring: str
    auto: Any
    architectures: Mapping[str, str | tuple[str, ...]]
    bos: str | None = None  # how a causal scorer begins a sentence

    def __init__(self, model: Any, tokenizer: Any, batch_tokens: int | None = None) -> None:
        self.model = model.eval()
        self.tokenizer = tokenizer
        self.engine = Engine(Network(model, self.family, tokenizer.pad_token_id), batch_tokens)

    @property
    def path(self) -> str:
        """Return how the model's inputs are run, for the signature (`eval/engine`)."""
        return self.engine.path.name

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
        return self.score_prepared(self.prepare(prompts, candidates), progress)

    def prepare(self, prompts: Sequence[str], candidates: Sequence[Sequence[str]]) -> Prepared:
        """Tokenize and plan what `score_prepared` then runs; the model itself is not called."""
        check_queries(prompts, candidates)
        pieces = self._pieces(candidates)
        plan = Plan()
        wanted = self.plan(plan, prompts, candidates, pieces)
        self.check_inputs(plan)
        return Prepared(plan, wanted, candidates, self._unknown(candidates, pieces))

    def score_prepared(
        self, prepared: Prepared, progress: Callable[[int, int], None] | None = None
    ) -> Scored:
        """Run the model; progress is called with (inputs done, inputs)."""
        report = progress or (lambda done, total: None)
        read = self.engine.run(prepared.plan, self.values, report)
        self.check_numbers(read)
        scores = [
            [self.combine(read[n.start : n.stop], c) for n, c in zip(*row, strict=True)]
            for row in zip(prepared.wanted, prepared.candidates, strict=True)
        ]
        n_tokens = [[len(n) for n in row] for row in prepared.wanted]
        return Scored(scores, n_tokens, prepared.unknown)

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

    def values(
        self, logits: torch.Tensor, which: torch.Tensor, targets: torch.Tensor
    ) -> torch.Tensor:
        """Return the value of each read, [reads]: the log-probability of its target in nats.

        `which` is the row of the [places, vocabulary] logits that a read is of; they may be
        overwritten. On a CPU a few rows at a time stay in its cache: six times as fast with 250,000
        tokens.
        """
        rows = len(logits) if logits.is_cuda else max(1, CACHED // logits.shape[1])
        for part in logits.split(rows):
            part.copy_(part.log_softmax(1))
        return logits[which, targets]

    def combine(self, values: np.ndarray, candidate: str) -> float:
        """Return a candidate's score from the values of its reads: their mean."""
        return float(np.mean(values, dtype=np.float64))

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
        known = self.engine.network.vocabulary
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
