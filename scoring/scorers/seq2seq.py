"""Encoder-decoder models of the T5 kind: the sentinel's filling is decoded (BMLAMA eq. 9)."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import torch
from transformers import AutoModelForSeq2SeqLM
from transformers.models.auto import modeling_auto

from polyprobe.schema.columns import SLOT
from polyprobe.scoring.engine import Ids, Input, Network, Plan
from polyprobe.scoring.engine.forward import Full, Gathered
from polyprobe.scoring.engine.prefix import Prefix
from polyprobe.scoring.engine.tokens import list_ids
from polyprobe.system.messages import PolyprobeError

from .answers import AnswerScorer
from .part import FirstPieceScorer, LettersScorer, ObjectScorer, SettlingScorer
from .scorer import Family, Queries, Scorer, join_context

SENTINEL, CLOSING = "<extra_id_0>", "<extra_id_1>"


class Seq2SeqNetwork(Network):
    """A decoder that also sees an encoder's states of the input's source."""

    paths = (Prefix, Gathered, Full)

    def forward_inputs(self, batch: Sequence[Input]) -> dict[str, Any]:
        """Return the encoder's ids and mask, and the decoder's ids."""
        sources = [row.source for row in batch]
        return {
            "input_ids": self.ids(sources),
            "attention_mask": self.mask(sources),
            "decoder_input_ids": self.ids([row.ids for row in batch]),
            "use_cache": False,
        }

    def head_inputs(self, hidden: torch.Tensor) -> dict[str, Any]:
        """Return the states as the encoder's output too, so that the encoder does not run."""
        ids = super().head_inputs(hidden)["input_ids"]
        return {"encoder_outputs": (hidden,), "decoder_input_ids": ids}

    def encode(self, batch: Sequence[Input]) -> dict[str, torch.Tensor]:
        """Return the encoder's states and their mask."""
        sources = [row.source for row in batch]
        mask = self.mask(sources)
        states = self.model.get_encoder()(input_ids=self.ids(sources), attention_mask=mask)[0]
        return {"encoder_hidden_states": states, "encoder_attention_mask": mask}

    def example(self, ids: Ids, source: Ids) -> Input:
        """Return the ids with the decoder's start token first, and their source."""
        start = getattr(self.model.config, "decoder_start_token_id", None)
        return Input(ids if start is None else (start, *ids[1:]), source)

    def find_trunk(self) -> Any:
        """Return the decoder."""
        return self.model.get_decoder()


# The slot holds `<extra_id_0>`. The decoder reads its start token, the sentinel and the candidate;
# the score is the mean over the candidate's sub-words. The closing sentinel and EOS are not
# scored.
class Seq2SeqScorer(Scorer):
    """Score a candidate as the decoder's filling of the first sentinel (eq. 9)."""

    network = Seq2SeqNetwork
    scoring = "bmlama-eq9"

    def plan(self, plan: Plan, queries: Queries) -> list[list[range]]:
        """Plan one input for each prompt and candidate."""
        numbers = []
        sources = self._sources(queries.prompts)
        for source, fillings in zip(sources, queries.fillings(self.tokenizer), strict=True):
            # Position 0 predicts the sentinel, which every candidate has.
            start = (self._start, self._sentinel)
            rows = [(Input((*start, *ids[:-1]), source), ids) for ids in fillings]
            numbers.append([plan.read(row, range(1, len(ids) + 1), ids) for row, ids in rows])
        return numbers

    @cached_property
    def _sentinel(self) -> int:
        # A tokenizer may put a piece for a blank in front of the sentinel.
        ids = self.tokenizer(SENTINEL, add_special_tokens=False)["input_ids"]
        matches = [i for i in ids if self.tokenizer.decode([i]).strip() == SENTINEL]
        if len(matches) != 1:
            raise PolyprobeError(
                f"this encoder-decoder's tokenizer has no sentinel {SENTINEL}: "
                "only models of the T5 and mT5 kind can be scored"
            )
        return matches[0]

    @cached_property
    def _start(self) -> int:
        """Return the decoder's first token: `decoder_start_token_id`, or padding as in T5."""
        config = self.model.config
        for start in (getattr(config, "decoder_start_token_id", None), config.pad_token_id):
            if start is not None:
                return start
        raise PolyprobeError("config.json names neither decoder_start_token_id nor pad_token_id")

    def _sources(self, prompts: Sequence[str]) -> list[Ids]:
        """Return the encoder's ids; mT5's sentinel piece begins with its own blank."""
        sources: dict[str, Ids] = {}
        for sentinel in (SENTINEL, f" {SENTINEL}"):
            rest = [prompt for prompt in dict.fromkeys(prompts) if prompt not in sources]
            texts = [join_context(prompt).replace(SLOT, sentinel) for prompt in rest]
            rows = zip(rest, list_ids(self.tokenizer, texts), strict=True)
            sources |= {prompt: ids for prompt, ids in rows if ids.count(self._sentinel) == 1}
        for prompt in prompts:
            if prompt not in sources:
                raise PolyprobeError(
                    f"the sentinel is lost when this prompt is tokenized: {prompt!r}"
                )
        return [sources[prompt] for prompt in prompts]


class Seq2SeqObjectScorer(ObjectScorer, Seq2SeqScorer):
    """Sum the log-probabilities of equation 9."""


class Seq2SeqContrastiveScorer(FirstPieceScorer, Seq2SeqScorer):
    """Read the first sub-word behind the sentinel."""

    def places(self, prompts: Sequence[str]) -> list[tuple[Input, int]]:
        """Return each prompt as the source, and the position of the decoder's sentinel."""
        decoder = (self._start, self._sentinel)
        return [(Input(decoder, source), 1) for source in self._sources(prompts)]


# The encoder reads the stem alone. The decoder begins with its start token; `<extra_id_0>`,
# `<pad>` and blanks are skipped.
class Seq2SeqReleasedScorer(SettlingScorer, Seq2SeqContrastiveScorer):
    """Read a T5's own continuation of the stem: no sentinel is in the stem."""

    steps = 4

    def places(self, prompts: Sequence[str]) -> list[tuple[Input, int]]:
        """Return each stem as the source, and the position of the decoder's start token."""
        stems = [join_context(prompt[: prompt.index(SLOT)]).rstrip() for prompt in prompts]
        return [(Input((self._start,), ids), 0) for ids in list_ids(self.tokenizer, stems)]

    def skips(self, token: int) -> bool:
        """Return whether a token is the first sentinel, padding or a blank."""
        skipped = {SENTINEL, self.tokenizer.pad_token, ""}
        return self.tokenizer.decode([token]).strip() in skipped


class Seq2SeqLettersScorer(LettersScorer, Seq2SeqContrastiveScorer):
    """Read the letter behind the sentinel at the end of the question."""


class Seq2SeqAnswerScorer(AnswerScorer, Seq2SeqContrastiveScorer):
    """Write the sentinel's filling."""

    sentinel = SENTINEL

    def list_ends(self) -> list[int]:
        """List the tokens that end a filling, the next sentinel among them."""
        ids = self.tokenizer(CLOSING, add_special_tokens=False)["input_ids"]
        closing = [x for x in ids if self.tokenizer.decode([x]).strip() == CLOSING]
        return [*super().list_ends(), *closing]


SEQ2SEQ = Family(
    name="seq2seq",
    auto=AutoModelForSeq2SeqLM,
    architectures=modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
    scorers={
        "bmlama": Seq2SeqScorer,
        **Seq2SeqObjectScorer.by_length(),
        "contrastive": Seq2SeqContrastiveScorer,
        "contrastive-released": Seq2SeqReleasedScorer,
        "letters": Seq2SeqLettersScorer,
        "answer": Seq2SeqAnswerScorer,
    },
    old_names=("T5WithLMHeadModel",),
    encoder_decoder=True,
)
