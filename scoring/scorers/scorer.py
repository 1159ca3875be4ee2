"""Scorers: prompts with one slot and candidates (queries) in, scores out; families of models."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from polyprobe.schema.columns import SENTENCE_START, SLOT
from polyprobe.scoring import QueryScores
from polyprobe.scoring.chat import Chat
from polyprobe.scoring.engine import Engine, Ids, Network, Plan, Progress
from polyprobe.scoring.engine.tokens import list_ids
from polyprobe.scoring.served.engine import ServedEngine
from polyprobe.system.devices import without_collector
from polyprobe.system.messages import PolyprobeError
from polyprobe.system.options import convert_value

BOUNDARY = "▁"
# The number of logits that fit into a CPU's cache while they are normalised.
CACHED = 2**20


class Queries(NamedTuple):
    """Prompts, as many lists of candidates, and the sub-words of every candidate."""

    prompts: Sequence[str]  # sentences with exactly one slot
    candidates: Sequence[Sequence[str]]  # for each prompt the fillers of its slot
    # The sub-words of each candidate, tokenized alone without special tokens
    pieces: dict[str, Ids]

    @property
    def sentences(self) -> list[str]:
        """Return each prompt with each of its candidates in the slot."""
        rows = zip(self.prompts, self.candidates, strict=True)
        return [prompt.replace(SLOT, candidate) for prompt, row in rows for candidate in row]

    def fillings(self, tokenizer: Any) -> Iterator[list[Ids]]:
        """Yield for each prompt the sub-words of its candidates as they fit into the slot."""
        for prompt, row in zip(self.prompts, self.candidates, strict=True):
            yield fit(prompt, [self.pieces[candidate] for candidate in row], tokenizer)


def list_queries(prompts: Any, candidates: Any) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """List prompts and candidates; each prompt has one slot, and each candidate is a text."""
    prompts = convert_value("the prompts", prompts, Sequence[str])
    rows = enumerate(convert_value("the candidates", candidates, Sequence[Any]))
    candidates = [convert_value(f"the candidates of prompt {k}", x, Sequence[str]) for k, x in rows]
    if len(prompts) != len(candidates):
        raise PolyprobeError(f"{len(prompts)} prompts but {len(candidates)} lists of candidates")
    for number, (prompt, row) in enumerate(zip(prompts, candidates, strict=True)):
        if prompt.count(SLOT) != 1:
            raise PolyprobeError(
                f"prompt {number} holds the slot {SLOT} {prompt.count(SLOT)} times, "
                f"expected once: {prompt!r}"
            )
        if not row:
            raise PolyprobeError(f"prompt {number} has no candidates: {prompt!r}")
        if not all(map(str.strip, row)):
            raise PolyprobeError(f"prompt {number} has an empty candidate: {prompt!r}")
    return prompts, candidates


def fit(prompt: str, fillings: list[Ids], tokenizer: Any) -> list[Ids]:
    """Return the candidates' pieces as they fit into the prompt's slot."""
    # Tokenizers that mark words by `▁` split a candidate of a script without blanks into `▁`,
    # `北京`. Behind a character other than a blank there is no word boundary, so the separate piece
    # is dropped. At the start of a sentence and behind a blank it is kept (our rule; the released
    # code drops it only for XLM-R in Chinese). A piece that contains the boundary (`▁Paris`) is
    # kept.
    before = prompt[: prompt.index(SLOT)]
    if before[-1:] in ("", SENTENCE_START) or before[-1].isspace():
        return fillings
    return [
        pieces[1:]
        if len(pieces) > 1 and tokenizer.convert_ids_to_tokens(pieces[0]) == BOUNDARY
        else pieces
        for pieces in fillings
    ]


def join_context(text: str) -> str:
    """Return a text as the model reads it, with its context."""
    return text.replace(SENTENCE_START, "")


def find_unknown(pieces: Mapping[str, Ids], tokenizer: Any) -> set[str]:
    """Find the candidates with an unknown token and no other one but boundaries."""
    unknown = getattr(tokenizer, "unk_token_id", None)  # a chat server has no tokenizer
    rests = {c: {*ids} - {unknown} for c, ids in pieces.items() if unknown in ids}
    names = {c: tokenizer.convert_ids_to_tokens([*rest]) for c, rest in rests.items()}
    return {candidate for candidate, rest in names.items() if {*rest} <= {BOUNDARY}}


class Prepared(NamedTuple):
    """Queries as token ids: everything that can be done without the model."""

    plan: Plan
    numbers: list[list[range]]  # for each candidate of each query the numbers of its reads
    candidates: Sequence[Sequence[str]]
    unknown: list[list[int]]  # for each query, see `QueryScores`


class Scorer(ABC):
    """A model, in this process or on a server, and its tokenizer, ready to score candidates.

    `plan` lists the tokens to read and the inputs to read them in; the engine runs the inputs.
    Each family has a subclass for BMLAMA. Other protocols override `plan`, `values` or `combine`
    (see `SCORINGS`). Calls are independent of each other, but not of other threads' calls.
    """

    network: type[Network]  # runs models of this family
    scoring: str  # the name of the score in the signature
    bos: str | None = None  # how a causal scorer begins a sentence
    chat: Chat | None  # the conversation in front of each text
    n_written = 1  # most tokens behind an input; a server writes one if nothing is asked for
    # Of free answers: writes a prompt as the model reads it, and holds no model
    show: Callable[[str], str]
    extra: Mapping[str, str]  # what else the scores depend on, by its name in the signature

    def __init__(
        self, model: Any, tokenizer: Any, batch_tokens: int | None = None, chat: Chat | None = None
    ) -> None:
        self.tokenizer, self.chat = tokenizer, chat
        self.extra = {"chat": chat.key} if chat else {}
        self.model: Any = None  # a server has it
        if isinstance(model, ServedEngine):
            self.engine: Any = model
            self.path = model.server.name  # for the signature
            return
        self.model = model.eval()  # dropout would draw other scores each time
        names = ("bos", "eos", "cls", "sep", "mask", "unk")
        special = [getattr(tokenizer, f"{name}_token_id", None) for name in names]
        padding = getattr(model.config.get_text_config(), "pad_token_id", None)
        # RoBERTa's kind skips the positions of the model's padding, which may be a word elsewhere.
        special += [padding] if padding != tokenizer.pad_token_id else []
        ids = dict.fromkeys(id_ for id_ in special if id_ is not None)
        self.engine = Engine(self.network, model, tokenizer.pad_token_id, batch_tokens, ids)
        self.path = self.engine.path.name

    def score(self, prompts: list[str], candidates: list[list[str]]) -> list[list[float]]:
        """Return the score of each candidate of each prompt; higher is more probable.

        BMLAMA's score is a mean log-probability in nats; other protocols define their own.
        Prompts and candidates are not changed.

        Args:
            prompts: sentences with exactly one slot `[Y]`.
            candidates: for each prompt the fillers of its slot, at least one.

        Raises:
            PolyprobeError: a prompt without exactly one slot, an empty candidate or one without
                tokens, a sentence that is longer than the model's limit.
        """
        scored = self.score_counted(prompts, candidates)
        if n_unknown := sum(len(row.unknown) for row in scored):
            warnings.warn(f"{n_unknown} candidates are unknown tokens only", stacklevel=2)
        return [row.scores for row in scored]

    def score_counted(
        self, prompts: Sequence[str], candidates: Sequence[Sequence[str]]
    ) -> list[QueryScores]:
        """Return the scores of each prompt with token counts."""
        return self.score_prepared(self.prepare(prompts, candidates))

    @without_collector()
    def prepare(self, prompts: Sequence[str], candidates: Sequence[Sequence[str]]) -> Prepared:
        """Tokenize and plan for `score_prepared`, without a call of the model."""
        prompts, candidates = list_queries(prompts, candidates)
        queries = Queries(prompts, candidates, self._pieces(candidates))
        plan = Plan()
        numbers = self.plan(plan, queries)
        if self.tokenizer is not None:  # a chat server has its own
            self.check_inputs(plan)
        lost = find_unknown(queries.pieces, self.tokenizer)
        unknown = [[k for k, c in enumerate(row) if c in lost] for row in candidates]
        return Prepared(plan, numbers, candidates, unknown)

    def score_prepared(
        self, prepared: Prepared, progress: Progress | None = None
    ) -> list[QueryScores]:
        """Run the model; progress is called with (inputs done, inputs)."""
        report = progress or (lambda done, total: None)
        values = self.engine.run(prepared.plan, self.values, report)
        self.check_numbers(values)
        scored = []
        rows = zip(prepared.numbers, prepared.candidates, prepared.unknown, strict=True)
        for numbers, candidates, unknown in rows:
            # The numbers of a candidate are a range, so its values are a view and not a copy.
            parts = [values[n.start : n.stop : n.step] for n in numbers]
            scores, effects = self.combine_query(parts, candidates)
            n_tokens = [int(np.count_nonzero(np.isfinite(part))) for part in parts]
            scored.append(QueryScores(scores, n_tokens, unknown, effects))
        return scored

    @abstractmethod
    def plan(self, plan: Plan, queries: Queries) -> list[list[range]]:
        """Add the reads of all queries to the plan, and return each candidate's numbers."""

    def values(self, logits: Tensor, which: Tensor, targets: Tensor) -> Tensor:
        """Return the value of each read, [reads]: the log-probability of its target in nats."""
        # `which` is each read's row in the logits, [places, vocabulary], which may be overwritten.
        # On a CPU a few rows at a time stay in its cache: six times as fast with 250,000 tokens.
        rows = len(logits) if logits.is_cuda else max(1, CACHED // logits.shape[1])
        for part in logits.split(rows):
            part.copy_(part.log_softmax(1))
        return logits[which, targets]

    def combine_query(
        self, values: Sequence[np.ndarray], candidates: Sequence[str]
    ) -> tuple[list[float], tuple[float, ...]]:
        """Return a query's scores from the values of each candidate's reads, and `effects`."""
        return [self.combine(v, c) for v, c in zip(values, candidates, strict=True)], ()

    def combine(self, values: np.ndarray, candidate: str) -> float:
        """Return a candidate's score, here the mean of the values of its reads."""
        # In float64 the sum does not depend on the order of its terms, to the digits of float32.
        return float(np.mean(values, dtype=np.float64))

    def _pieces(self, candidates: Sequence[Sequence[str]]) -> dict[str, Ids]:
        distinct = list(dict.fromkeys(c for row in candidates for c in row))
        if not distinct or self.tokenizer is None:
            return {}
        pieces = dict(zip(distinct, list_ids(self.tokenizer, distinct, special=False), strict=True))
        for candidate, ids in pieces.items():
            if not ids:
                raise PolyprobeError(f"candidate {candidate!r} tokenizes to nothing in this model")
        return pieces

    def check_inputs(self, plan: Plan) -> None:
        """Refuse inputs that are too long for the model or hold ids outside its vocabulary."""
        # Learned positions end there; rotary ones go on, but were not trained behind it.
        limit = min(self.tokenizer.model_max_length, self.engine.positions)
        n_tokens = self.engine.vocabulary
        for row, reads in plan.reads.items():
            if row.length > limit:
                raise PolyprobeError(
                    f"a sentence becomes {row.length} tokens, the model reads {limit}: "
                    f"{self.tokenizer.decode(row.source or row.ids)[:80]!r}…"
                )
            # An embedding of a GPU fails for such an id in a later call, which names no cause.
            largest = max(chain(row.ids, row.source, reads.targets))
            if largest >= n_tokens:
                raise PolyprobeError(
                    f"the tokenizer gives token {self.tokenizer.convert_ids_to_tokens(largest)!r} "
                    f"the id {largest}, but the model has {n_tokens} tokens; "
                    "use the model's own tokenizer"
                )

    def check_numbers(self, values: np.ndarray) -> None:
        """Refuse log-probabilities that are not finite."""
        if self.engine.exact and not np.isfinite(values).all():
            full = self.model.dtype == torch.float32
            raise PolyprobeError(
                f"the model's log-probabilities are not finite ({self.model.dtype}); "
                + ("its weights are damaged" if full else "try --dtype float32")
            )


class Family(NamedTuple):
    """A family of models; its network class says how they are run."""

    name: str  # the name in tables and messages
    auto: Any  # the transformers class that loads its models
    # Its model types, and the class or classes of each
    architectures: Mapping[str, str | tuple[str, ...]]
    # The scorer of this family by the value of `--scoring`
    scorers: Mapping[str, Callable[..., Scorer]]
    suffixes: tuple[str, ...] = ()  # endings of class names that transformers does not list
    old_names: tuple[str, ...] = ()  # class names in old checkpoints
    encoder_decoder: bool = False  # whether its configurations say `is_encoder_decoder`
    takes_bos: bool = False  # whether its scorers have the options `bos` and `chat`
