"""Decoder-only models: the mean log-probability of the whole sentence (BMLAMA eq. 10)."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from transformers import AutoModelForCausalLM
from transformers.models.auto import modeling_auto

from polyprobe.eval.scoring.engine import Input, Plan
from polyprobe.schema.columns import SLOT
from polyprobe.system.errors import PolyprobeError

from .scorer import Scorer

# Model types trained with a BOS that their tokenizer leaves out; the authors' code adds it.
ADDS_BOS = ("bloom",)
BOS = ("auto", "always", "never")


class CausalScorer(Scorer):
    """Score a candidate by the sentence that holds it (BMLAMA eq. 10).

    The candidate is written into the slot and the sentence tokenized as a whole, with the special
    tokens that are the tokenizer's own default. With a BOS in front all of its l tokens are
    scored; without one the first has nothing before it, and the mean is over l - 1. Text behind
    the slot counts, and so does an EOS that the tokenizer appends.

    `bos`: `auto` is the tokenizer's own way, plus a BOS for the model types of `ADDS_BOS`;
    `always` and `never` say what they mean.
    """

    family = "causal"
    scoring = "bmlama-eq10"
    auto = AutoModelForCausalLM
    architectures = modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    def __init__(
        self, model: Any, tokenizer: Any, batch_tokens: int | None = None, bos: str = "auto"
    ) -> None:
        if bos not in BOS:
            raise PolyprobeError(f"unknown --bos {bos!r}; known: {', '.join(BOS)}")
        if bos == "always" and tokenizer.bos_token_id is None:
            raise PolyprobeError("--bos always: this model's tokenizer has no BOS token")
        super().__init__(model, tokenizer, batch_tokens)
        self.bos: str = bos

    def plan(
        self,
        plan: Plan,
        prompts: Sequence[str],
        candidates: Sequence[Sequence[str]],
        pieces: dict[str, tuple[int, ...]],
    ) -> list[list[range]]:
        """Plan one input a distinct sentence; all its tokens but the first are read."""
        sentences = [
            prompt.replace(SLOT, candidate)
            for prompt, row in zip(prompts, candidates, strict=True)
            for candidate in row
        ]
        encoded = iter(self._sentence_ids(sentences))
        return [[self._read_sentence(plan, next(encoded)) for _ in row] for row in candidates]

    def prefixes(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """Return the ids of texts that something is read behind.

        Special tokens in front are kept and `bos` applies; those that the tokenizer appends, an
        EOS as a rule, are dropped.

        Raises:
            PolyprobeError: a text that is empty, without a BOS.
        """
        appended = self._n_appended
        found = [ids[: len(ids) - appended] for ids in self._sentence_ids(list(texts))]
        if () in found:
            raise PolyprobeError(
                f"{texts[found.index(())]!r} before the slot is no token, and there is no BOS: "
                f"nothing can be scored; {self._remedy}"
            )
        return found

    @cached_property
    def _n_appended(self) -> int:
        """Return how many tokens the tokenizer appends to any text by itself."""
        bare = self.tokenizer("a", add_special_tokens=False)["input_ids"]
        whole = self.tokenizer("a")["input_ids"]
        ends = range(len(bare), len(whole) + 1)
        return next((len(whole) - k for k in ends if whole[k - len(bare) : k] == bare), 0)

    @property
    def _remedy(self) -> str:
        if self.tokenizer.bos_token_id is None:
            return "the tokenizer knows no BOS either: leave such rows out"
        return "use --bos always"

    def _read_sentence(self, plan: Plan, ids: tuple[int, ...]) -> range:
        if len(ids) < 2:
            raise PolyprobeError(
                f"the sentence {self.tokenizer.decode(ids)!r} is a single token without a BOS: "
                f"nothing can be scored; {self._remedy}"
            )
        return plan.read(Input(ids[:-1]), range(len(ids) - 1), ids[1:])

    def _sentence_ids(self, sentences: list[str]) -> list[tuple[int, ...]]:
        if not sentences:
            return []
        bos = self.tokenizer.bos_token_id
        adds = self.model.config.model_type in ADDS_BOS
        encoded = self.tokenizer(sentences)["input_ids"]
        return [_with_bos(tuple(ids), bos, self.bos, adds) for ids in encoded]


def _with_bos(ids: tuple[int, ...], bos: int | None, when: str, adds: bool) -> tuple[int, ...]:
    present = bos is not None and ids[:1] == (bos,)
    if when == "never":
        return ids[1:] if present else ids
    if not present and bos is not None and (adds or when == "always"):
        return (bos, *ids)
    return ids
