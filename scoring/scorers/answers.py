"""Free answers: short greedy texts behind the questions, instead of scores of candidates."""

from collections.abc import Sequence
from functools import partial
from itertools import groupby
from typing import Any

import torch
from transformers import GenerationConfig

from polyprobe.schema.columns import SLOT
from polyprobe.scoring.chat import Chat
from polyprobe.scoring.engine import Input, Plan, Progress
from polyprobe.scoring.options import ANSWER_TOKENS
from polyprobe.scoring.served.engine import ServedEngine
from polyprobe.scoring.served.server import Form

from .queries import Queries
from .scorer import Prepared, Scored, Scorer

LINE = "\n"  # ends the answer to a question that is no message of a chat


class AnswerScorer:
    """Let the model write at most `answer_tokens` tokens behind each question, greedily.

    Candidates are not read: each question has a single empty one. Without a chat the answer ends
    with its line. Questions of equal length share a batch, so none is padded.
    """

    model: Any
    tokenizer: Any
    engine: Any
    chat: Chat | None

    def __init__(self, *args: Any, answer_tokens: int = ANSWER_TOKENS, **options: Any) -> None:
        super().__init__(*args, **options)
        self.n_written = answer_tokens
        self.stop = None if self.chat else LINE
        self.scoring = f"answer-{answer_tokens}" + "-line" * bool(self.stop)

    def inputs(self, prompts: Sequence[str]) -> list[Input]:
        """Return what the model reads of each question, up to its slot."""
        raise NotImplementedError

    def plan(self, plan: Plan, queries: Queries) -> list[list[range]]:
        """Plan one input for each question, whose end is read."""
        return [[plan.read(x, [len(x.ids) - 1], (0,))] for x in self.inputs(queries.prompts)]

    def score_prepared(self, prepared: Prepared, progress: Progress | None = None) -> Scored:
        """Write the answers; their scores are 0."""
        report, inputs = progress or (lambda done, total: None), [*prepared.plan.reads]
        texts = self.write(inputs, report)
        numbers = {n: texts[x] for x, reads in prepared.plan.reads.items() for n in reads.numbers}
        answers = [numbers[row[0].start] for row in prepared.numbers]
        zeros = [[0.0] for _ in answers]
        return Scored(zeros, [[0] for _ in answers], [], texts=answers)

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
                for part, made in self.engine.run_parts(rows[start : start + size], self._generate):
                    texts |= zip(part, made, strict=True)
                    progress(len(texts), len(inputs))
        return texts

    @torch.inference_mode()
    def _generate(self, batch: Sequence[Input]) -> list[str]:
        model, own = self.model, self.model.generation_config
        settings = GenerationConfig(
            max_new_tokens=self.n_written,
            do_sample=False,
            num_beams=1,
            eos_token_id=own.eos_token_id,
            pad_token_id=self.engine.network.pad,
            stop_strings=self.stop,
        )
        ids = torch.tensor([row.source or row.ids for row in batch], device=model.device)
        start = torch.tensor([row.ids for row in batch], device=model.device)
        options = {"decoder_input_ids": start} if batch[0].source else {}
        made = model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            generation_config=settings,
            tokenizer=self.tokenizer,
            **options,
        )
        texts = self.tokenizer.batch_decode(made[:, start.shape[1] :], skip_special_tokens=True)
        return [*map(partial(end_line, stop=self.stop), texts)]


def _count(row: Input) -> int:
    return len(row.source or row.ids)


def end_line(text: str, stop: str | None) -> str:
    r"""Return an answer without blanks around it, and without what follows the stop.

    >>> end_line(" Paris.\nThe capital of", "\n")
    'Paris.'
    """
    text = text.strip()
    return text.partition(stop)[0].rstrip() if stop else text


class ServedAnswerScorer(AnswerScorer, Scorer):
    """The same with a chat server: it has the tokenizer, and its questions have numbers."""

    def __init__(self, engine: Any, chat: Chat, answer_tokens: int) -> None:
        self.chat = chat
        super().__init__(engine, None, answer_tokens=answer_tokens)

    def inputs(self, prompts: Sequence[str]) -> list[Input]:
        """Return the number of each question, up to its slot."""
        texts = (prompt[: prompt.index(SLOT)].rstrip() for prompt in prompts)
        return [Input((self.engine.server.number(text),)) for text in texts]
