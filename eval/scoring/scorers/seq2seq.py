"""Encoder-decoder models of the T5 kind: the sentinel's filling is decoded (BMLAMA eq. 9)."""

from collections.abc import Sequence
from functools import cached_property

from transformers import AutoModelForSeq2SeqLM
from transformers.models.auto import modeling_auto

from polyprobe.eval.scoring.engine import Input, Plan
from polyprobe.schema.columns import SLOT
from polyprobe.system.errors import PolyprobeError

from .boundary import fit
from .scorer import Scorer

SENTINEL = "<extra_id_0>"


class Seq2SeqScorer(Scorer):
    """Score a candidate as the decoder's filling of the first sentinel (eq. 9).

    The slot holds `<extra_id_0>`; the decoder reads its start token, the sentinel and the
    candidate; the score is the mean over the candidate's sub-words. The closing sentinel and EOS
    are not scored.
    """

    family = "seq2seq"
    scoring = "bmlama-eq9"
    auto = AutoModelForSeq2SeqLM
    architectures = modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES

    def plan(
        self,
        plan: Plan,
        prompts: Sequence[str],
        candidates: Sequence[Sequence[str]],
        pieces: dict[str, tuple[int, ...]],
    ) -> list[list[range]]:
        """Plan one input a prompt and candidate."""
        wanted = []
        for prompt, row in zip(prompts, candidates, strict=True):
            source = self._source(prompt)
            fillings = fit(prompt, [pieces[c] for c in row], self.tokenizer)
            wanted.append([self._read_filling(plan, source, filling) for filling in fillings])
        return wanted

    @cached_property
    def _sentinel(self) -> int:
        ids = self.tokenizer(SENTINEL, add_special_tokens=False)["input_ids"]
        known = [i for i in ids if self.tokenizer.decode([i]).strip() == SENTINEL]
        if len(known) != 1:
            raise PolyprobeError(
                f"this encoder-decoder's tokenizer knows no sentinel {SENTINEL}: "
                "models of the T5 and mT5 kind can be scored"
            )
        return known[0]

    @cached_property
    def _start(self) -> int:
        """Return the decoder's first token; T5's kind begin with padding where none is named."""
        config = self.model.config
        for start in (getattr(config, "decoder_start_token_id", None), config.pad_token_id):
            if start is not None:
                return start
        raise PolyprobeError("config.json names neither decoder_start_token_id nor pad_token_id")

    def _source(self, prompt: str) -> tuple[int, ...]:
        """Return the encoder's ids; mT5's sentinel piece begins with a blank of its own."""
        for sentinel in (SENTINEL, f" {SENTINEL}"):
            ids = self.tokenizer(prompt.replace(SLOT, sentinel))["input_ids"]
            if ids.count(self._sentinel) == 1:
                return tuple(ids)
        raise PolyprobeError(f"the sentinel is lost when this prompt is tokenized: {prompt!r}")

    def _read_filling(self, plan: Plan, source: tuple[int, ...], filling: tuple[int, ...]) -> range:
        decoder = (self._start, self._sentinel, *filling[:-1])
        return plan.read(Input(decoder, source), range(1, len(filling) + 1), filling)
