"""Decoder-only models: the mean log-probability of the whole sentence (BMLAMA eq. 10)."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from transformers import AutoModelForCausalLM
from transformers.models.auto import modeling_auto

from polyprobe.schema.columns import SENTENCE_START, SLOT
from polyprobe.scoring.chat import Chat, split_ids
from polyprobe.scoring.engine import Ids, Input, Network, Plan
from polyprobe.scoring.engine.forward import Full, Gathered
from polyprobe.scoring.engine.prefix import Prefix
from polyprobe.scoring.engine.tokens import list_heads, list_ids
from polyprobe.scoring.engine.tree import Tree
from polyprobe.system.messages import PolyprobeError

from .answers import AnswerScorer
from .part import (
    FirstPieceScorer,
    LettersScorer,
    ObjectScorer,
    SettlingScorer,
    cut_question,
    pieces_behind,
)
from .scorer import Family, Queries, Scorer, join_context

# Model types whose tokenizer adds no BOS; the code of BMLAMA's authors adds it.
ADDS_BOS = ("bloom",)
# Greedy steps by model type; other causal models are read at the stem's end. RedPajama and StableLM
# have the type gpt_neox.
STEPS = {"mpt": 4, "stablelm": 4, "gpt_neox": 4, "falcon": 3}


class CausalNetwork(Network):
    """A decoder."""

    paths = (Tree, Prefix, Gathered, Full)


class CausalScorer(Scorer):
    """Score a candidate by its whole sentence (BMLAMA eq. 10).

    The candidate is written into the slot and the sentence tokenized as a whole, with the
    tokenizer's default special tokens. Behind a BOS all l tokens are scored; without one the first
    token has no context, and the mean is over l - 1. Text behind the slot counts, and so does an
    EOS that the tokenizer appends.

    `bos`: `auto` is what the protocol's authors did: the tokenizer's default, plus a BOS for the
    model types of `adds_bos`; `always` adds a BOS where there is none, `never` removes it.

    `chat`: the sentence begins an answer. Its tokens are scored, none of the conversation's; the
    chat template decides on the BOS, and no EOS is appended.
    """

    network = CausalNetwork
    scoring = "bmlama-eq10"
    adds_bos: Sequence[str] = ADDS_BOS

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        batch_tokens: int | None = None,
        bos: str = "auto",
        chat: Chat | None = None,
    ) -> None:
        if bos == "always" and tokenizer.bos_token_id is None:
            raise PolyprobeError("--bos always: this model's tokenizer has no BOS token")
        super().__init__(model, tokenizer, batch_tokens, chat)
        self.bos: str = bos

    def plan(self, plan: Plan, queries: Queries) -> list[list[range]]:
        """Plan one input for each distinct sentence; its tokens behind the context are read."""
        sentences = self._encode(queries.sentences)
        for context, tokens in sentences:
            if not tokens:
                raise PolyprobeError(
                    f"the sentence {self.tokenizer.decode(context)!r} is a single token without a "
                    f"BOS: nothing can be scored; {self._remedy}"
                )
        numbers = (_read_behind(plan, *sentence) for sentence in sentences)
        return [[next(numbers) for _ in row] for row in queries.candidates]

    def prefixes(self, texts: Sequence[str]) -> list[Ids]:
        """Return the ids of texts whose continuation is scored."""
        # Special tokens in front are kept and `bos` applies. Tokens that the tokenizer appends,
        # usually an EOS, are dropped. An empty text without a BOS is refused.
        contexts = [*map(join_context, texts)]
        if self.chat:
            prefixes = [front + ids for front, ids in self.chat.encode(contexts, self.tokenizer)]
        else:
            prefixes = self._prefix_ids(contexts)
        if () in prefixes:
            raise PolyprobeError(
                f"{texts[prefixes.index(())]!r} before the slot has no tokens, and there is no "
                f"BOS: nothing can be scored; {self._remedy}"
            )
        return prefixes

    @cached_property
    def _n_appended(self) -> int:
        # Tokenizers do not say which special tokens they append: a letter is tokenized both ways.
        bare = self.tokenizer("a", add_special_tokens=False)["input_ids"]
        complete = self.tokenizer("a")["input_ids"]
        ends = range(len(bare), len(complete) + 1)
        return next((len(complete) - k for k in ends if complete[k - len(bare) : k] == bare), 0)

    @property
    def _remedy(self) -> str:
        if self.tokenizer.bos_token_id is None:
            return "the tokenizer has no BOS: leave such rows out"
        return "use --bos always"

    def _encode(self, texts: list[str]) -> list[tuple[Ids, Ids]]:
        """Return the ids of each text's context, which are not scored, and those that are."""
        # The context is the conversation's ids, and what is in front of SENTENCE_START; without any
        # it is the first token, such as a BOS
        if self.chat:
            pairs = self.chat.encode(texts, self.tokenizer)
            return [(c, tokens) if c else (tokens[:1], tokens[1:]) for c, tokens in pairs]
        sentences = self._sentence_ids([*map(join_context, texts)])
        parts = [text.rpartition(SENTENCE_START) for text in texts]
        fronts = list_heads(filter(None, (part[0] for part in parts)), self._prefix_ids)
        return [
            split_ids(ids, head, text, fronts, self.tokenizer) if head else (ids[:1], ids[1:])
            for ids, (head, _, text) in zip(sentences, parts, strict=True)
        ]

    def _prefix_ids(self, texts: list[str]) -> list[Ids]:
        """Return the ids of each text without tokens that the tokenizer appends."""
        return [ids[: len(ids) - self._n_appended] for ids in self._sentence_ids(texts)]

    def _sentence_ids(self, sentences: list[str]) -> list[Ids]:
        """Return the ids of each sentence, with a BOS or without as `bos` says."""
        rows, bos = list_ids(self.tokenizer, sentences), self.tokenizer.bos_token_id
        if bos is None:
            return rows
        if self.bos == "never":
            return [ids[1:] if ids[:1] == (bos,) else ids for ids in rows]
        if self.bos == "always" or self.engine.model_type in self.adds_bos:
            return [ids if ids[:1] == (bos,) else (bos, *ids) for ids in rows]
        return rows


def _read_behind(plan: Plan, context: Ids, tokens: Ids) -> range:
    """Plan one input that reads all of a text's own tokens behind its context."""
    first = len(context) - 1
    return plan.read(Input((*context, *tokens[:-1])), range(first, first + len(tokens)), tokens)


# The input is the ids of the prompt up to the slot, with its special tokens, followed by the ids of
# the candidate. The blanks between them are the candidate's, as in lm-eval and lighteval; in the
# released code of Fluent-mLAMA they are the prompt's. The joined text is never tokenized, because a
# tokenizer may split it elsewhere. Text behind the slot is neither seen nor scored.
class CausalObjectScorer(ObjectScorer, CausalScorer):
    """Sum over the candidate's tokens behind the prompt's."""

    def plan(self, plan: Plan, queries: Queries) -> list[list[range]]:
        """Plan one input for each (prompt, all sub-words of a candidate but the last)."""
        texts = [prompt[: prompt.index(SLOT)] for prompt in queries.prompts]
        stems = texts if self.scoring == "object-released" else [*map(str.rstrip, texts)]
        blanks = [text[len(stem) :] for text, stem in zip(texts, stems, strict=True)]
        pieces = pieces_behind(blanks, queries, self.tokenizer)
        return [
            [_read_behind(plan, prefix, pieces[blank, candidate]) for candidate in row]
            for prefix, blank, row in zip(
                self.prefixes(stems), blanks, queries.candidates, strict=True
            )
        ]


# The stem is the prompt up to the slot without its trailing blank, which belongs to the sub-word.
# With `bos="auto"` BLOOM has no BOS, as in the authors' code; its runs are signed `bos:never`.
class CausalContrastiveScorer(FirstPieceScorer, CausalScorer):
    """Read the first sub-word behind the stem."""

    adds_bos: Sequence[str] = ()

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # The signature says so, because `auto` means a BOS for BLOOM in the other scorings.
        kind, bos = self.engine.model_type, self.tokenizer.bos_token_id
        dropped = self.bos == "auto" and kind in ADDS_BOS and kind not in self.adds_bos
        if dropped and self.tokenizer("a").input_ids[0] != bos:
            self.bos = "never"

    def places(self, prompts: Sequence[str]) -> list[tuple[Input, int]]:
        """Return each stem and the position of its last token."""
        stems = [prompt[: prompt.index(SLOT)].rstrip() for prompt in prompts]
        return [(Input(prefix), len(prefix) - 1) for prefix in self.prefixes(stems)]


class CausalReleasedScorer(SettlingScorer, CausalContrastiveScorer):
    """Read behind special tokens and blanks, for the model types of `STEPS`."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.steps = STEPS.get(self.engine.model_type, 1)
        if self.steps > 1 and self.model is None:
            raise PolyprobeError(
                f"--scoring {self.scoring} needs the most probable token of a "
                f"{self.engine.model_type} model, which a server does not give; use --scoring "
                "contrastive"
            )

    def skips(self, token: int) -> bool:
        """Return whether a token is special or a blank."""
        return not self.tokenizer.decode([token], skip_special_tokens=True).strip()


class CausalLettersScorer(LettersScorer, CausalContrastiveScorer):
    """Read the letter behind the question; in a chat the user asks, and the answer is `Answer:`."""

    adds_bos = ADDS_BOS

    def places(self, prompts: Sequence[str]) -> list[tuple[Input, int]]:
        """Return each question up to its letter, and the position of its last token."""
        if self.chat is None:
            return super().places(prompts)
        parts = [prompt[: prompt.index(SLOT)].rstrip().rpartition("\n") for prompt in prompts]
        answers, questions = [part[2] for part in parts], [part[0] for part in parts]
        pairs = self.chat.encode(answers, self.tokenizer, questions)
        return [(Input(front + tokens), len(front + tokens) - 1) for front, tokens in pairs]


class CausalAnswerScorer(AnswerScorer, CausalContrastiveScorer):
    """Write behind the question; in a chat the user asks it."""

    adds_bos = ADDS_BOS

    def places(self, prompts: Sequence[str]) -> list[tuple[Input, int]]:
        """Return each question with the conversation around it, and the position of its end."""
        if self.chat is None:
            return super().places(prompts)
        questions = [*map(cut_question, prompts)]
        heads = self.chat.encode([""] * len(questions), self.tokenizer, questions)
        return [(Input(front), len(front) - 1) for front, _ in heads]


CAUSAL = Family(
    name="causal",
    auto=AutoModelForCausalLM,
    architectures=modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    scorers={
        "bmlama": CausalScorer,
        **CausalObjectScorer.by_length(),
        "contrastive": CausalContrastiveScorer,
        "contrastive-released": CausalReleasedScorer,
        "letters": CausalLettersScorer,
        "answer": CausalAnswerScorer,
    },
    suffixes=("ForCausalLM", "LMHeadModel"),
    takes_bos=True,
)
