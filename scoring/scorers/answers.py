"""Free answers: short greedy texts behind the questions, instead of scores of candidates."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby, takewhile
from typing import Any

import torch
from transformers import GenerationConfig

from polyprobe.schema.columns import SLOT
from polyprobe.scoring import QueryScores
from polyprobe.scoring.chat import Chat
from polyprobe.scoring.engine import Input, Plan, Progress
from polyprobe.scoring.options import ANSWER_TOKENS
from polyprobe.scoring.served.engine import ServedEngine
from polyprobe.scoring.served.server import Form
from polyprobe.system.messages import PolyprobeError

from .part import FirstPieceScorer, ServedScorer, cut_question
from .scorer import Prepared, Queries, join_context

LINE = "\n"  # ends the answer to a question that is no message of a chat


class AnswerScorer(FirstPieceScorer):
    """Let the model write at most `answer_tokens` tokens behind each question, greedily.

    Each token is the most probable one: penalties and samplers that the model's authors recommend
    are not applied. Candidates are not read: each question has a single empty one. Without a chat
    the answer ends with its line. Questions of equal length share a batch, so none is padded.
    """

    model: Any
    engine: Any
    chat: Chat | None
    show: Callable[[str], str]
    sentinel = ""  # where the answer is written, if not behind the question

    def __init__(self, *args: Any, answer_tokens: int = ANSWER_TOKENS, **options: Any) -> None:
        super().__init__(*args, **options)
        self.n_written = answer_tokens
        self.stop = None if self.chat else LINE
        if isinstance(self.engine, ServedEngine):
            self.engine.repeats = False
        self.scoring = f"answer-{answer_tokens}" + "-line" * bool(self.stop)
        self.show = partial(show_prompt, self.chat, self.sentinel)

    def list_ends(self) -> list[int]:
        """List the tokens that end an answer."""
        ids = self.model.generation_config.eos_token_id
        ids = self.tokenizer.eos_token_id if ids is None else ids
        return [ids] if isinstance(ids, int) else [*(ids or ())]

    def check_inputs(self, plan: Plan) -> None:
        """Refuse inputs as scorers do, and answers for which there is no room behind them."""
        super().check_inputs(plan)  # type: ignore[misc]
        longest = max((len(row.ids) for row in plan.reads), default=0)
        room = min(self.tokenizer.model_max_length, self.engine.positions) - longest
        if room < self.n_written:
            raise PolyprobeError(
                f"behind a question of {longest} tokens the model has room for {max(room, 0)}, an "
                f"answer has up to {self.n_written}; lower --answer-tokens"
            )

    def plan(self, plan: Plan, queries: Queries) -> list[list[range]]:
        """Plan one input for each question, whose end is read."""
        return [[plan.read(row, [at], (0,))] for row, at in self.places(queries.prompts)]

    def score_prepared(
        self, prepared: Prepared, progress: Progress | None = None
    ) -> list[QueryScores]:
        """Write the answers; their scores are 0."""
        report, inputs = progress or (lambda done, total: None), [*prepared.plan.reads]
        texts = self.write(inputs, report)
        numbers = {n: texts[x] for x, reads in prepared.plan.reads.items() for n in reads.numbers}
        answers = [numbers[row[0].start] for row in prepared.numbers]
        return [QueryScores([0.0], [0], [], text=answer) for answer in answers]

    def write(self, inputs: Sequence[Input], progress: Progress) -> dict[Input, str]:
        """Return the text behind each input."""
        texts: dict[Input, str] = {}
        if isinstance(self.engine, ServedEngine):
            texts = self.engine.write(inputs, Form(self.n_written, self.stop), progress)
            return {x: end_line(text, self.stop) for x, text in texts.items()}
        for _, of_length in groupby(sorted(inputs, key=_count), _count):
            rows = [*of_length]
            size = max(1, self.engine.batch_tokens // (_count(rows[0]) + self.n_written))
            for start in range(0, len(rows), size):
                batch = rows[start : start + size]
                for part, lines in self.engine.run_parts(batch, self._generate):
                    texts |= zip(part, lines, strict=True)
                    progress(len(texts), len(inputs))
        return texts

    @torch.inference_mode()
    def _generate(self, batch: Sequence[Input]) -> list[str]:
        ends = self.list_ends()
        settings = GenerationConfig(
            max_new_tokens=self.n_written,
            do_sample=False,
            num_beams=1,
            eos_token_id=ends or None,
            pad_token_id=self.engine.network.pad,
            decoder_start_token_id=batch[0].ids[0],
        )
        device = self.engine.network.device
        ids = torch.tensor([row.source or row.ids for row in batch], device=device)
        start = torch.tensor([row.ids for row in batch], device=device)
        options = {"decoder_input_ids": start} if batch[0].source else {}
        previous, self.model.generation_config = self.model.generation_config, GenerationConfig()
        try:  # `generate` adds the model's own settings to the given ones
            ids = self.model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                generation_config=settings,
                stopping_criteria=[self._has_stop],
                **options,
            )
        finally:
            self.model.generation_config = previous
        # Behind its end a row is padded, and the padding may be a word.
        rows = [
            [*takewhile(lambda token: token not in ends, row)]
            for row in ids[:, start.shape[1] :].tolist()
        ]
        texts = self.tokenizer.batch_decode(
            rows, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return [*map(partial(end_line, stop=self.stop), texts)]

    def _has_stop(self, ids: torch.Tensor, scores: Any, **_: Any) -> torch.Tensor:
        """Mark the rows whose last token has the stop."""
        # `stop_strings` of transformers reads the whole vocabulary first, and not every one.
        texts = self.tokenizer.batch_decode(ids[:, -1:].tolist()) if self.stop else [""] * len(ids)
        return torch.tensor([(self.stop or "-") in text for text in texts], device=ids.device)


def _count(row: Input) -> int:
    return len(row.source or row.ids)


def end_line(text: str, stop: str | None) -> str:
    r"""Return an answer without blanks around it, and without what follows the stop.

    >>> end_line(" Paris.\nThe capital of", "\n")
    'Paris.'
    """
    text = text.rstrip("\ufffd").strip()  # the limit may cut a character, which servers hide
    return text.partition(stop)[0].rstrip() if stop else text


def show_prompt(chat: Chat | None, sentinel: str, prompt: str) -> str:
    """Write a prompt as the model reads it, without the tokenizer's own special tokens."""
    text = join_context(prompt).replace(SLOT, sentinel) if sentinel else cut_question(prompt)
    return chat.ask(text).rstrip(" ") if chat else text


class ServedAnswerScorer(AnswerScorer, ServedScorer):
    """The same with a chat server."""
