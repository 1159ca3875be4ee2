"""Many searches at once: prompts, numbers of masks and hypotheses share batches."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import NamedTuple

import numpy as np
import torch

from polyprobe.eval.scoring.engine import Input, Plan
from polyprobe.eval.scoring.scorers import MaskedScorer

from .algorithm import UNFILLED, Hypothesis, Reading, Search, SlotQuestion, search
from .options import DecodingOptions

# Active searches for each token of the budget: enough to fill batches of short prompts.
SEARCHES_PER_TOKEN = 1 / 4

Frame = tuple[tuple[int, ...], tuple[int, ...]]


class Decoded(NamedTuple):
    """A decoded filling of a slot.

    Attributes:
        tokens: token ids, one for each mask of the winning number of masks.
        log_probability: the paper's v in nats: the sum of log c, or with length normalisation
            the mean.
    """

    tokens: tuple[int, ...]
    log_probability: float


@dataclass
class _Live:
    """An active search, the ids around its slot, and its open questions."""

    prompt: str
    frame: Frame
    search: Search
    asked: list[SlotQuestion]


def decode(
    scorer: MaskedScorer,
    prompts: Sequence[str],
    max_masks: int,
    options: DecodingOptions,
    progress: Callable[[int, int], None] | None = None,
) -> list[Decoded]:
    """Return for each prompt the filling with the highest v(m), m = 1…M, of equals the smaller m.

    Equal prompts are decoded once. The company of a batch changes results only by rounding.

    Args:
        scorer: the model, its tokenizer and its token budget.
        prompts: sentences with exactly one slot `[Y]`.
        max_masks: M, the largest number of masks; 2M bounds the steps.
        options: see `DecodingOptions`; its own `max_masks` is ignored.
        progress: called with (searches done, searches); each prompt and number of masks is a
            search.

    Raises:
        PolyprobeError: a prompt without one slot, or too long for the model with M masks.
    """
    frames = {prompt: scorer.around_slot(prompt) for prompt in prompts}
    _check(scorer, frames, max_masks)
    best: dict[str, Decoded] = {}
    waiting = _start(frames, max_masks, options)
    live: list[_Live] = []
    done, total = 0, len(frames) * max_masks
    while live := [*live, *islice(waiting, max(0, _window(scorer) - len(live)))]:
        asked = [(one.frame, question) for one in live for question in one.asked]
        answers = iter(_answer(scorer, asked, options.beam))
        going = []
        for one in live:
            found = _advance(one, list(islice(answers, len(one.asked))))
            if found is None:
                going.append(one)
            else:
                best[one.prompt] = _better(best.get(one.prompt), _decoded(found, options))
        done += len(live) - len(going)
        live = going
        if progress:
            progress(done, total)
    return [best[prompt] for prompt in prompts]


def _check(scorer: MaskedScorer, frames: dict[str, Frame], max_masks: int) -> None:
    """Refuse a prompt that is too long with M masks before any prompt is decoded."""
    plan = Plan()
    mask = scorer.tokenizer.mask_token_id
    for before, after in frames.values():
        plan.read(Input((*before, *[mask] * max_masks, *after)), [len(before)], (mask,))
    scorer.check_inputs(plan)


def _start(frames: dict[str, Frame], max_masks: int, options: DecodingOptions) -> Iterator[_Live]:
    """Yield the searches, the longest prompts first."""
    for prompt in sorted(frames, key=lambda p: -sum(map(len, frames[p]))):
        for m in range(max_masks, 0, -1):
            one = search(m, max_masks, options)
            yield _Live(prompt, frames[prompt], one, next(one))


def _window(scorer: MaskedScorer) -> int:
    """Return the number of active searches; it falls with the budget."""
    return max(16, int(scorer.engine.batch_tokens * SEARCHES_PER_TOKEN))


def _advance(one: _Live, answers: list[Reading]) -> Hypothesis | None:
    """Send a search its answers; return its result, None if it has more questions."""
    try:
        one.asked = one.search.send(answers)
    except StopIteration as end:
        found: Hypothesis = end.value
        return found
    return None


def _decoded(found: Hypothesis, options: DecodingOptions) -> Decoded:
    value = found.value / len(found.tokens) if options.length_norm else found.value
    return Decoded(found.tokens, value)


def _better(old: Decoded | None, new: Decoded) -> Decoded:
    if old is None:
        return new
    return min(old, new, key=lambda d: (-d.log_probability, len(d.tokens)))


def _answer(
    scorer: MaskedScorer, asked: list[tuple[Frame, SlotQuestion]], beam: int
) -> list[Reading]:
    """Return the model's answers; equal sentences are run once."""
    mask = scorer.tokenizer.mask_token_id
    plan = Plan()
    for (before, after), question in asked:
        filling = [mask if token == UNFILLED else token for token in question.tokens]
        row = Input((*before, *filling, *after))
        plan.read(row, [len(before) + question.slot], (max(question.target, 0),))
    answers: list[Reading] = [{}] * len(asked)
    for batch in scorer.engine.batches(plan):
        for part, readings in scorer.engine.halved(batch, partial(_read, scorer, plan, beam)):
            numbers = [number for row in part for number in plan.reads[row].numbers]
            for number, reading in zip(numbers, readings, strict=True):
                answers[number] = reading
    return answers


@torch.inference_mode()
def _read(scorer: MaskedScorer, plan: Plan, beam: int, batch: list[Input]) -> list[Reading]:
    """Return log-probabilities at the batch's reads: the most probable tokens, then the target.

    `max` returns the first of equal values, `topk` any of them: the lowest id must win, and equal
    logits are common in bfloat16.
    """
    logits, targets = scorer.engine.read(plan, batch)
    logs = logits - logits.logsumexp(1, keepdim=True)
    asked = logs.gather(1, targets[:, None])
    ids, values = [], []
    for _ in range(min(beam, logs.shape[1])):
        value, index = logs.max(1, keepdim=True)
        logs.scatter_(1, index, -torch.inf)
        ids.append(index)
        values.append(value)
    found = torch.cat([*values, asked], 1).cpu().numpy()
    scorer.check_numbers(found[found != -np.inf])  # a token may have probability 0
    rows = zip(torch.cat([*ids, targets[:, None]], 1).tolist(), found.tolist(), strict=True)
    return [_reading(row, logs_of_row) for row, logs_of_row in rows]


def _reading(ids: list[int], logs: list[float]) -> Reading:
    """Return the row's tokens in this order, each once."""
    reading: Reading = {}
    for token, log in zip(ids, logs, strict=True):
        reading.setdefault(token, log)
    return reading
