"""Where the released code of Polyglot or Not reads the first sub-word."""

from collections.abc import Sequence
from typing import Any

import torch

from polyprobe.schema.columns import SLOT
from polyprobe.scoring.engine import Input, Plan, Progress
from polyprobe.system.errors import PolyprobeError

from .causal import CausalContrastiveScorer
from .part import FirstPieceScorer
from .scorer import Prepared, Scored, Scorer
from .seq2seq import SENTINEL, Seq2SeqContrastiveScorer

# Greedy steps by model type; other causal models are read at the stem's end. RedPajama and StableLM
# have the type gpt_neox.
STEPS = {"mpt": 4, "stablelm": 4, "gpt_neox": 4, "falcon": 3}


# The most probable token is appended until it is a word: no special token, no blank. The sub-words
# of all candidates are read where this first token is. After `steps` steps without a word the last
# one is read (our rule).
class _Settling(FirstPieceScorer, Scorer):
    """Read each stem behind the special tokens and blanks that the model continues it with."""

    scoring = "contrastive-released"
    steps: int

    def skips(self, token: int) -> bool:
        """Return whether a token says nothing: the text that it decodes to is special or blank."""
        raise NotImplementedError

    def score_prepared(self, prepared: Prepared, progress: Progress | None = None) -> Scored:
        """Find where each input is read, and run the model there."""
        ends = {row: row for row in prepared.plan.reads}
        open_ = list(ends)
        for _ in range(self.steps - 1):
            tops = self._most_probable([ends[row] for row in open_])
            open_ = [row for row in open_ if self.skips(tops[ends[row]])]
            for row in open_:
                ends[row] = ends[row]._replace(ids=(*ends[row].ids, tops[ends[row]]))
        reads = (
            (number, row, target)
            for row, entry in prepared.plan.reads.items()
            for number, target in zip(entry.numbers, entry.targets, strict=True)
        )
        extended = Plan()  # in the order of the numbers, so that each read keeps its own
        for _, row, target in sorted(reads):
            extended.read(ends[row], [len(ends[row].ids) - 1], (target,))
        return super().score_prepared(prepared._replace(plan=extended), progress)

    @torch.inference_mode()
    def _most_probable(self, rows: Sequence[Input]) -> dict[Input, int]:
        engine = self.engine
        plan = Plan()
        for row in dict.fromkeys(rows):
            plan.read(row, [len(row.ids) - 1], (0,))
        tokens: dict[Input, int] = {}
        for batch, tops in engine.read_all(plan, lambda x: engine.read(plan, x)[0].argmax(1)):
            tokens.update(zip(batch, tops.tolist(), strict=True))
        return tokens


# The encoder reads the stem alone. The decoder begins with its start token; `<extra_id_0>`,
# `<pad>` and blanks are skipped.
class Seq2SeqReleasedScorer(_Settling, Seq2SeqContrastiveScorer):
    """Read a T5's own continuation of the stem: no sentinel is in the stem."""

    steps = 4

    def places(self, prompts: Sequence[str]) -> list[tuple[Input, int]]:
        """Return each stem as the source, and the position of the decoder's start token."""
        stems = [prompt[: prompt.index(SLOT)].rstrip() for prompt in prompts]
        sources = self.tokenizer(stems)["input_ids"] if stems else []
        return [(Input((self._start,), tuple(ids)), 0) for ids in sources]

    def skips(self, token: int) -> bool:
        """Return whether a token is the first sentinel, padding or a blank."""
        skipped = {SENTINEL, self.tokenizer.pad_token, ""}
        return self.tokenizer.decode([token]).strip() in skipped


class CausalReleasedScorer(_Settling, CausalContrastiveScorer):
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
