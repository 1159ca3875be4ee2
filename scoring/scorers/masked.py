"""Encoder-only models: BMLAMA's left-to-right masks (eq. 8), mParaRel's, pseudo-log-likelihoods."""

import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor
from transformers import AutoModelForMaskedLM
from transformers.models.auto import modeling_auto

from polyprobe.schema.columns import SLOT
from polyprobe.scoring.engine import Ids, Input, Network, Plan
from polyprobe.scoring.engine.forward import Full, Gathered
from polyprobe.scoring.engine.tokens import list_ids
from polyprobe.scoring.options import FREE
from polyprobe.system.messages import PolyprobeError

from .part import FirstPieceScorer, LettersScorer, ObjectScorer
from .scorer import Family, Queries, Scorer, join_context

_INSIDE = ("Mn", "Mc", "Me", "Cf")


class MaskedNetwork(Network):
    """An encoder: it reads in both directions, so its padding is always masked."""

    paths = (Gathered, Full)
    sees_all = True
    trunk_inputs = Network.forward_inputs  # unlike a decoder's trunk it needs the padding's mask


# The i-th sub-word is read at the i-th mask; earlier masks hold the candidate's own sub-words,
# later ones are still masks. The score is the mean. Everything is done on token ids: the authors'
# code pastes sub-words back into the text and tokenizes again, which gives other ids.
class MaskedScorer(Scorer):
    """Score a candidate of n sub-words by n masks in the slot, filled left to right (eq. 8)."""

    network = MaskedNetwork
    scoring = "bmlama-eq8"

    def __init__(self, model: Any, tokenizer: Any, batch_tokens: int | None = None) -> None:
        if tokenizer.mask_token_id is None:
            raise PolyprobeError(
                "this masked model's tokenizer has no mask token; use the model's own tokenizer"
            )
        super().__init__(model, tokenizer, batch_tokens)
        self.mask: int = tokenizer.mask_token_id

    def plan(self, plan: Plan, queries: Queries) -> list[list[range]]:
        """Plan the inputs of each prompt and candidate; equal ones are planned once."""
        frames = self.around_slots(queries.prompts)
        return [
            [self.read_filling(plan, before, pieces, after) for pieces in fillings]
            for (before, after), fillings in zip(
                frames, queries.fillings(self.tokenizer), strict=True
            )
        ]

    def read_filling(self, plan: Plan, before: Ids, pieces: Ids, after: Ids) -> range:
        """Plan one input for each sub-word: those before it are filled in, later ones masked."""
        first = plan.n_reads
        for i in range(len(pieces)):
            row = Input((*before, *pieces[:i], *[self.mask] * (len(pieces) - i), *after))
            plan.read(row, [len(before) + i], pieces[i : i + 1])
        return range(first, plan.n_reads)

    def around_slots(self, prompts: Sequence[str]) -> list[tuple[Ids, Ids]]:
        """Return each prompt's ids before and behind the mask, special tokens included."""
        # The mask token may absorb a blank in front of it (XLM-R): it is tokenized in the text.
        texts = [join_context(x).replace(SLOT, self.tokenizer.mask_token) for x in prompts]
        rows = list_ids(self.tokenizer, texts)
        for prompt, ids in zip(prompts, rows, strict=True):
            if (n := ids.count(self.mask)) != 1:
                raise PolyprobeError(
                    f"the prompt becomes {n} mask tokens, expected one: {prompt!r}"
                )
        places = [ids.index(self.mask) for ids in rows]
        return [(ids[:at], ids[at + 1 :]) for ids, at in zip(rows, places, strict=True)]


class MaskedObjectScorer(ObjectScorer, MaskedScorer):
    """Sum the log-probabilities of equation 8."""


# A full stop is appended to a prompt that ends with the slot, as the authors do.
class MaskedContrastiveScorer(FirstPieceScorer, MaskedScorer):
    """Read the first sub-word at one mask in the slot."""

    def places(self, prompts: Sequence[str]) -> list[tuple[Input, int]]:
        """Return each prompt with a mask, and the mask's position."""
        closed = [p.rstrip() + "." if p.rstrip().endswith(SLOT) else p for p in prompts]
        parts = self.around_slots(closed)
        return [(Input((*before, self.mask, *after)), len(before)) for before, after in parts]


class MaskedLettersScorer(LettersScorer, MaskedContrastiveScorer):
    """Read the letter at a mask behind the question, with a full stop."""


# `p(c) = mean_i P(mask_i = s_i | q with n masks)`; the score is log p(c) in nats, which has the
# order of p(c). All candidates of n sub-words are read in one input. BMLAMA's equation 8 instead
# fills the masks from left to right and takes the mean of logarithms.
class MparaRelScorer(MaskedScorer):
    """Score a candidate of n sub-words by their mean probability at n masks, all still masked."""

    scoring = "mpararel"

    def read_filling(self, plan: Plan, before: Ids, pieces: Ids, after: Ids) -> range:
        """Plan one input for each number of sub-words."""
        row = Input((*before, *[self.mask] * len(pieces), *after))
        return plan.read(row, range(len(before), len(before) + len(pieces)), pieces)

    def combine(self, values: np.ndarray, candidate: str) -> float:
        """Return log p(c) from the log-probabilities of its sub-words."""
        # Probabilities of rare names underflow in float32, their logarithms do not.
        return float(np.logaddexp.reduce(values, dtype=np.float64) - np.log(len(values)))


# Logits of different masks have no common scale, so candidates of different lengths are hardly
# comparable.
class ReleasedMparaRelScorer(MparaRelScorer):
    """Score a candidate by the mean of its sub-words' raw logits, as the authors' code does."""

    scoring = "mpararel-released"

    def values(self, logits: Tensor, which: Tensor, targets: Tensor) -> Tensor:
        """Return the logit of each read's target."""
        return logits[which, targets]

    def combine(self, values: np.ndarray, candidate: str) -> float:
        """Return the mean logit."""
        return float(np.mean(values))


class PllScorer(MaskedScorer):
    """Score a candidate by its sentence (Salazar et al., ACL 2020, equation 1).

    `PLL(W) = sum_t log P(w_t | W without t)` in nats. The candidate is written into the slot and
    the sentence tokenized as a whole. Each token is masked alone in turn; the special tokens around
    a text (`[CLS]`, `[SEP]`) are seen and not scored. An unknown token counts as a token.

    The sum favours short candidates. Its mean (minus the logarithm of Salazar's pseudo-perplexity)
    favours long ones of predictable sub-words. Rivals: minicons takes the mean by default,
    lm-pub-quiz the sum of `pll-word-l2r`; equation 8 reads the candidate, not the text around it.
    """

    scoring = "pll"

    def plan(self, plan: Plan, queries: Queries) -> list[list[range]]:
        """Plan one input for each token of each sentence."""
        sentences = queries.sentences
        if not sentences:
            return []
        encoded = self.tokenizer(sentences, return_special_tokens_mask=True)
        numbers = []
        for row, words in zip(encoded["input_ids"], self.words(sentences, encoded), strict=True):
            ids, first = tuple(row), plan.n_reads
            for i, word in enumerate(words):
                if word is not None:
                    tail = zip(ids[i:], words[i:], strict=True)
                    rest = (self.mask if number == word else piece for piece, number in tail)
                    plan.read(Input((*ids[:i], *rest)), [i], ids[i : i + 1])
            numbers.append(range(first, plan.n_reads))
        queue = iter(numbers)
        return [[next(queue) for _ in row] for row in queries.candidates]

    def words(self, sentences: Sequence[str], encoded: Any) -> list[list[int | None]]:
        """Return the number of each token's word, None for tokens that are not scored."""
        # With a token all later tokens of its word are masked. Here each token is its own word.
        special = encoded["special_tokens_mask"]
        return [[None if s else k for k, s in enumerate(row)] for row in special]

    def combine(self, values: np.ndarray, candidate: str) -> float:
        """Return the sum of the sentence's log-probabilities."""
        return float(np.sum(values, dtype=np.float64))


# The later tokens of a word give away the earlier ones, so `pll` scores rare names of many
# sub-words too high. Here a token is read with all tokens to its right in the same word masked.
# Words are the tokenizer's own (see `number_words`), as in the authors' code and by default in
# lm-pub-quiz. In scripts without blanks WordPiece takes each Han character as a word, which is
# `pll`; elsewhere all up to the next blank or punctuation mark is one word.
class WordPllScorer(PllScorer):
    """Mask the rest of the word too (PLL-word-l2r: Kauf and Ivanova, ACL 2023)."""

    scoring = "pll-word-l2r"

    def words(self, sentences: Sequence[str], encoded: Any) -> list[list[int | None]]:
        """Return the number of each token's word, None for tokens that are not scored."""
        if not encoded.encodings:
            raise PolyprobeError(
                f"--scoring {self.scoring} needs to know which tokens form a word, and "
                f"{type(self.tokenizer).__name__}, written in Python, does not report it; use "
                "--scoring pll"
            )
        pairs = zip(sentences, encoded.encodings, strict=True)
        return [number_words(sentence, encoding) for sentence, encoding in pairs]


def number_words(text: str, encoding: Any) -> list[int | None]:
    """Return the number of each token's word, None for special tokens."""
    # Words are the parts into which the tokenizer splits a text before it looks for sub-words:
    # letters and punctuation apart (WordPiece, byte-level), or together up to the next blank (`▁`).
    # There are two corrections. A blank always separates words: tokenizers of Gemma's kind do not
    # split at all. Inside a run of letters a combining mark or a joiner never separates them
    # (Unicode's UAX #29, rule WB4): byte-level tokenizers split there, `पेरिस` into five.
    numbers: list[int | None] = []
    number, before, last = -1, None, 0
    pieces = zip(encoding.word_ids, encoding.offsets, encoding.special_tokens_mask, strict=True)
    for word, (start, end), special in pieces:
        if special:
            numbers.append(None)
            continue
        # The offsets of a token may or may not include the blank in front of it.
        new = any(map(str.isspace, text[last : start + (start < end)]))
        if new or (word != before and not _inside_word(text, start)):
            number += 1
        numbers.append(number)
        before, last = word, end
    return numbers


def _inside_word(text: str, at: int) -> bool:
    """Return whether this is between letters and marks, with a mark or a joiner on a side."""
    kinds = [unicodedata.category(c) for c in text[max(0, at - 1) : at + 1]]
    letters = all(kind[0] == "L" or kind in _INSIDE for kind in kinds)
    return len(kinds) == 2 and letters and any(kind in _INSIDE for kind in kinds)


MASKED = Family(
    name="masked",
    auto=AutoModelForMaskedLM,
    architectures=modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    scorers={
        "bmlama": MaskedScorer,
        "mpararel": MparaRelScorer,
        "mpararel-released": ReleasedMparaRelScorer,
        **MaskedObjectScorer.by_length(),
        "contrastive": MaskedContrastiveScorer,
        "contrastive-released": MaskedContrastiveScorer,
        "letters": MaskedLettersScorer,
        "pll": PllScorer,
        "pll-word-l2r": WordPllScorer,
        FREE: MaskedScorer,  # decodes (scoring/decoding.py); nothing is scored
    },
    suffixes=("ForMaskedLM",),
    old_names=("BertForPreTraining",),
)
