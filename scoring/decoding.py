"""X-FACTR's algorithm 1 for one prompt and one number of masks (appendix C).

A search is a generator: it yields questions to the model and receives the answers. Many searches
run side by side in this way and share batches, and each reads like the paper's pseudo-code.

Our choices where the paper and SPEC leave one:
- Among equally probable tokens the lowest id wins, among equal confidences the leftmost slot.
- Any token of the vocabulary can be predicted. A predicted mask token fills its slot.
- With a beam, a step makes the B most probable continuations of each hypothesis: one token added
  or replaced (over all unfilled slots for `confidence`), or the B best joint fillings
  (`independent`).
- Each hypothesis converges separately, when its own token is kept. It still competes.
- The beam is chosen before confidences are recomputed, and only for the chosen hypotheses: the
  paper's complexity, O(M²BT), allows no more.
- Of equal sentences the one with the higher sum is kept; of equal sums the one made first, from
  the hypothesis with the higher rank.
"""

from collections.abc import Generator, Iterable, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple

import numpy as np
import torch

from polyprobe.schema.run.protocol import find_winner, value_of
from polyprobe.scoring.engine import Ids, Input, Plan, Progress
from polyprobe.scoring.options import DecodingOptions
from polyprobe.scoring.scorers import MaskedScorer

UNFILLED = -1
Frame = tuple[Ids, Ids]
Reading = dict[int, float]
Readings = dict[tuple[Ids, int], Reading]
# Active searches for each token of the budget: enough to fill batches of short prompts.
SEARCHES_PER_TOKEN = 1 / 4


# The answer, a `Reading`, maps token ids to log-probabilities in nats: the B most probable in
# descending order, then the target.
class SlotQuestion(NamedTuple):
    """A question about the probable tokens at one slot of a filling."""

    tokens: Ids  # the filling, UNFILLED for each mask, also at the slot itself
    slot: int  # the slot that is read
    target: int = UNFILLED  # a token whose log-probability is needed, UNFILLED for none


Search = Generator[list[SlotQuestion], list[Reading], "Hypothesis"]


class Hypothesis(NamedTuple):
    """A complete or partial filling with its state of refinement."""

    tokens: Ids  # token ids, UNFILLED for slots without a prediction
    logs: tuple[float, ...]  # log c of each slot in nats, 0 for unfilled slots
    changed: bool = True  # whether the current left-to-right scan has changed a token
    converged: bool = False  # whether refinement is over

    @property
    def value(self) -> float:
        """Return the sum of log c over the filled slots."""
        return sum(self.logs)

    def without(self, slot: int) -> Ids:
        """Return the tokens with a mask in one slot: the paper's s∖k."""
        return (*self.tokens[:slot], UNFILLED, *self.tokens[slot + 1 :])


def search(n_masks: int, max_masks: int, options: DecodingOptions) -> Search:
    """Yield questions and return the best filling of `n_masks` masks."""
    # Initial prediction and refinement together take at most T = 2M steps, M = `max_masks`. No
    # question is repeated, so equal sentences have confidences that are equal to the last bit.
    first = 1 if options.initial == "independent" else n_masks
    steps = first if options.refinement == "none" else 2 * max_masks
    readings: Readings = {}
    beam = [Hypothesis((UNFILLED,) * n_masks, (0.0,) * n_masks)]
    for step in range(steps):
        moves = [(h, _slots(h, step - first, options)) for h in beam]
        questions = [SlotQuestion(h.without(k), k) for h, slots in moves for k in slots]
        if not questions:  # all hypotheses have converged
            break
        yield from _ask(readings, questions)
        children = [child for h, slots in moves for child in _extend(h, slots, readings, options)]
        distinct: dict[Ids, Hypothesis] = {}
        for child in sorted(children, key=lambda h: -h.value):
            distinct.setdefault(child.tokens, child)
        beam = list(distinct.values())[: options.beam]
        if options.recompute:
            beam = yield from _recompute(readings, beam)
    return max(beam, key=lambda h: h.value)


def _slots(h: Hypothesis, step: int, options: DecodingOptions) -> list[int]:
    """Return the slots to read next; `step` counts refinement steps from 0."""
    if h.converged:
        return []
    gaps = [k for k, token in enumerate(h.tokens) if token == UNFILLED]
    if gaps:
        return gaps[:1] if options.initial == "order" else gaps
    if options.refinement == "order":
        return [step % len(h.tokens)]
    return [min(range(len(h.tokens)), key=h.logs.__getitem__)]  # of equal ones the leftmost


def _ask(
    readings: Readings, questions: Iterable[SlotQuestion]
) -> Generator[list[SlotQuestion], list[Reading]]:
    """Yield the questions without an answer yet, and store the answers; old ones stay."""
    new = []
    for question in dict.fromkeys(questions):
        reading = readings.get((question.tokens, question.slot), {})
        if question.target not in reading and (question.target != UNFILLED or not reading):
            new.append(question)
    answers = (yield new) if new else []
    for question, answer in zip(new, answers, strict=True):
        reading = readings.setdefault((question.tokens, question.slot), {})
        for token, log in answer.items():
            reading.setdefault(token, log)


def _extend(
    h: Hypothesis, slots: list[int], readings: Readings, options: DecodingOptions
) -> list[Hypothesis]:
    """Return the B most probable continuations of a hypothesis, or itself if it has converged."""
    if not slots:
        return [h]
    best = {k: list(readings[h.without(k), k].items())[: options.beam] for k in slots}
    if options.initial == "independent" and UNFILLED in h.tokens:
        made = [Hypothesis((), ())]  # of all slots at once, those with the highest products
        for pairs in best.values():
            grown = [Hypothesis((*h.tokens, t), (*h.logs, log)) for h in made for t, log in pairs]
            made = sorted(grown, key=lambda h: -h.value)[: options.beam]
        return made
    offers = [(k, token, log) for k, pairs in best.items() for token, log in pairs]
    offers.sort(key=lambda offer: -offer[2])  # stable: equal offers stay in the order of slots
    return [_put(h, *offer, options) for offer in offers[: options.beam]]


def _put(h: Hypothesis, slot: int, token: int, log: float, options: DecodingOptions) -> Hypothesis:
    """Return the hypothesis with a token predicted or re-predicted in a slot."""
    same = h.tokens[slot] == token
    changed = not same or (h.changed and slot > 0)
    scanned = slot == len(h.tokens) - 1 and not changed
    converged = same if options.refinement == "confidence" else scanned
    # The released code stores a confidence only together with another token.
    if same and options.refresh == "released":
        log = h.logs[slot]
    return Hypothesis(
        (*h.tokens[:slot], token, *h.tokens[slot + 1 :]),
        (*h.logs[:slot], log, *h.logs[slot + 1 :]),
        changed,
        converged,
    )


def _recompute(
    readings: Readings, beam: list[Hypothesis]
) -> Generator[list[SlotQuestion], list[Reading], list[Hypothesis]]:
    """Return the beam with log c_k = log p(y_k | s∖k) for all predicted tokens."""
    questions = [[SlotQuestion(h.without(k), k, t) for k, t in enumerate(h.tokens)] for h in beam]
    yield from _ask(readings, (q for row in questions for q in row if q.target != UNFILLED))
    logs = [
        tuple(0.0 if q.target == UNFILLED else readings[q.tokens, q.slot][q.target] for q in row)
        for row in questions
    ]
    return [h._replace(logs=confidences) for h, confidences in zip(beam, logs, strict=True)]


class Decoded(NamedTuple):
    """A decoded filling of a slot."""

    tokens: Ids  # token ids, one for each mask of the winning number of masks
    # The paper's v in nats: the sum of log c, or with length normalisation the mean
    log_probability: float
    fillings: tuple[Hypothesis, ...]  # the best filling of each number of masks, 1 to M


def decode(
    scorer: MaskedScorer,
    prompts: Sequence[str],
    max_masks: int,
    options: DecodingOptions,
    progress: Progress | None = None,
) -> list[Decoded]:
    """Return for each prompt the filling with the highest v(m), m = 1…M, of equals the smaller m.

    Equal prompts are decoded once. The company of a batch changes results only by rounding. M is
    `max_masks`, not that of the options; 2M bounds the steps. `progress` is called with (searches
    done, searches); each prompt and number of masks is a search.
    """
    frames = dict(zip(prompts, scorer.around_slots(prompts), strict=True))
    longest = Plan()  # refuses a prompt that is too long with M masks before any is decoded
    for before, after in frames.values():
        row = Input((*before, *[scorer.mask] * max_masks, *after))
        longest.read(row, [len(before)], (scorer.mask,))
    scorer.check_inputs(longest)
    best: dict[str, list[Hypothesis]] = {prompt: [] for prompt in frames}
    ordered = sorted(frames, key=lambda prompt: -sum(map(len, frames[prompt])))
    masks = range(max_masks, 0, -1)
    searches = ((x, search(m, max_masks, options)) for x in ordered for m in masks)
    waiting = ((prompt, steps, next(steps)) for prompt, steps in searches)
    live: list[tuple[str, Search, list[SlotQuestion]]] = []
    done, total = 0, len(frames) * max_masks
    while True:
        # Searches end after different numbers of steps; new ones take the places of those that
        # ended. The number of places falls with the budget.
        n_places = max(16, int(scorer.engine.batch_tokens * SEARCHES_PER_TOKEN))
        live += islice(waiting, max(0, n_places - len(live)))
        if not live:
            break
        questions = [(frames[prompt], question) for prompt, _, part in live for question in part]
        answers = iter(_answer(scorer, questions, options.beam))
        going = []
        for prompt, steps, part in live:
            try:
                part = steps.send([*islice(answers, len(part))])
                going.append((prompt, steps, part))
            except StopIteration as end:
                best[prompt].append(end.value)
        done += len(live) - len(going)
        live = going
        if progress:
            progress(done, total)
    decoded = {}
    for prompt, hypotheses in best.items():
        fillings = tuple(sorted(hypotheses, key=lambda h: len(h.tokens)))
        winner = fillings[find_winner([h.logs for h in fillings], options.length_norm)]
        value = value_of(winner.logs, options.length_norm)
        decoded[prompt] = Decoded(winner.tokens, value, fillings)
    return [decoded[prompt] for prompt in prompts]


def read_confidences(
    scorer: MaskedScorer, prompts: Sequence[str], fillings: Sequence[Ids]
) -> list[tuple[float, ...]]:
    """Return log c of the tokens of given fillings: log p(y_k | s without y_k), in nats."""
    # These are the confidences of `recompute`; their sum is a pseudo-log-likelihood. Each prompt
    # has one slot and one filling.
    plan, questions = Plan(), []
    for (before, after), tokens in zip(scorer.around_slots(prompts), fillings, strict=True):
        # The whole sentence is planned only to check its length; nothing runs it.
        plan.read(Input((*before, *tokens, *after)), [len(before)], tokens[:1])
        h = Hypothesis(tokens, ())
        part = (SlotQuestion(h.without(k), k, token) for k, token in enumerate(tokens))
        questions += [((before, after), question) for question in part]
    scorer.check_inputs(plan)
    answers = iter(_answer(scorer, questions, 0))
    return [tuple(next(answers)[token] for token in tokens) for tokens in fillings]


def _answer(
    scorer: MaskedScorer, questions: list[tuple[Frame, SlotQuestion]], beam: int
) -> list[Reading]:
    """Return the model's answers; equal sentences are run once."""
    plan = Plan()
    for (before, after), question in questions:
        filling = [scorer.mask if token == UNFILLED else token for token in question.tokens]
        row = Input((*before, *filling, *after))
        plan.read(row, [len(before) + question.slot], (max(question.target, 0),))
    answers: list[Reading] = [{}] * len(questions)
    for batch, readings in scorer.engine.read_all(plan, partial(_read, scorer, plan, beam)):
        numbers = [number for row in batch for number in plan.reads[row].numbers]
        for number, reading in zip(numbers, readings, strict=True):
            answers[number] = reading
    return answers


@torch.inference_mode()
def _read(scorer: MaskedScorer, plan: Plan, beam: int, batch: list[Input]) -> list[Reading]:
    """Return log-probabilities at the batch's reads: the most probable tokens, then the target."""
    # `max` returns the first of equal values, `topk` any of them: the lowest id must win, and equal
    # logits are common in bfloat16
    logits, targets = scorer.engine.read(plan, batch)
    logs = logits - logits.logsumexp(1, keepdim=True)
    target_logs = logs.gather(1, targets[:, None])
    ids, values = [], []
    for _ in range(min(beam, logs.shape[1])):
        value, index = logs.max(1, keepdim=True)
        logs.scatter_(1, index, -torch.inf)
        ids.append(index)
        values.append(value)
    table = torch.cat([*values, target_logs], 1).cpu().numpy()
    scorer.check_numbers(table[table != -np.inf])  # a token may have probability 0
    rows = zip(torch.cat([*ids, targets[:, None]], 1).tolist(), table.tolist(), strict=True)
    # The target may be a probable token too, then with the same log-probability.
    return [dict(zip(tokens, row, strict=True)) for tokens, row in rows]
