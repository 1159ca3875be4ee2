"""X-FACTR's algorithm 1 from the paper, one sentence after the other: no batches, float64."""

import itertools
import math
from typing import NamedTuple

import numpy as np
import torch


class Plain(NamedTuple):
    """The decoded text, and the smallest margin of any choice."""

    tokens: tuple
    value: float
    margin: float


class MaskedModel:
    """Return log p at one masked position of a sentence; sentences are remembered."""

    def __init__(self, model, tokenizer):
        self.model, self.tokenizer, self.remembered = model, tokenizer, {}

    @torch.inference_mode()
    def log_p(self, ids, position):
        ids = tuple(ids)
        if ids not in self.remembered:
            logits = self.model(torch.tensor([ids])).logits[0].double()
            self.remembered[ids] = torch.log_softmax(logits, -1).numpy()
        return self.remembered[ids][position]


class Sentence:
    """s with the masks' places i…j, the predictions y (None: still a mask) and log c."""

    def __init__(self, prompt, y, c, converged=False, changes=1):
        self.prompt, self.y, self.c = prompt, y, c
        self.converged, self.changes = converged, changes

    def but(self, k, token, log_c):
        y, c = list(self.y), list(self.c)
        y[k], c[k] = token, log_c
        return y, c

    def confidence(self):
        return sum(self.c[k] for k in range(len(self.y)) if self.y[k] is not None)


def search_all(
    model, prompt, max_masks, initial="independent", refinement="none", recompute=False,
    beam=1, refresh="always",
):  # fmt: skip
    """Return the result of the search for each m = 1…M, and the margins of its choices."""
    margins = [math.inf]
    options = (max_masks, initial, refinement, recompute, beam, refresh, margins)
    return [search(model, prompt, m, *options) for m in range(1, max_masks + 1)], margins


def highest(found, margins, length_norm=False):
    """Return the one with the highest v(m), the smaller m on equality."""
    values = [s.confidence() / (len(s.y) if length_norm else 1) for s in found]
    best = values.index(max(values))
    margins = list(margins)
    note(margins, values, 1)
    return Plain(tuple(found[best].y), values[best], min(margins))


def note(margins, values, size):
    """Record the distance between the last selected and the first rejected value.

    Distances of exactly 0 are ties, which are resolved by rule and do not depend on rounding.
    """
    ranked = np.sort(values)[::-1]
    if len(ranked) > size and ranked[size - 1] > ranked[size]:
        margins.append(ranked[size - 1] - ranked[size])


def search(
    model, prompt, m, max_masks, initial, refinement, recompute, beam, refresh, margins
):  # fmt: skip
    sentences = [Sentence(prompt, [None] * m, [None] * m)]
    n_initial = 1 if initial == "independent" else m
    for t in range(1, 2 * max_masks + 1):
        if t > n_initial and refinement == "none":
            break
        if all(s.converged for s in sentences):
            break
        offered = []
        for s in sentences:
            if s.converged:
                offered.append(s)
            elif t > n_initial:
                k = (t - n_initial - 1) % m if refinement == "order" else least(s, margins)
                offered += refine(model, s, k, refinement, beam, refresh, margins)
            elif initial == "independent":
                offered += fill_all(model, s, beam, margins)
            else:
                offered += fill_one(model, s, initial, beam, margins)
        sentences = top(offered, beam, margins)
        if recompute:
            for s in sentences:
                s.c = [None if s.y[k] is None else at(model, s, k)[s.y[k]] for k in range(len(s.y))]
    note(margins, [s.confidence() for s in sentences], 1)
    return max(sentences, key=Sentence.confidence)


def at(model, s, k):
    """log p(. | s∖k)"""
    tokenizer = model.tokenizer
    marked = tokenizer(s.prompt.replace("[Y]", tokenizer.mask_token))["input_ids"]
    start = marked.index(tokenizer.mask_token_id)
    filling = [tokenizer.mask_token_id if (y is None or j == k) else y for j, y in enumerate(s.y)]
    return model.log_p(marked[:start] + filling + marked[start + 1 :], start + k)


def top_tokens(table, beam, margins):
    note(margins, table, beam)
    return np.argsort(-table, kind="stable")[:beam].tolist()


def fill_all(model, s, beam, margins):
    tables = [at(model, s, k) for k in range(len(s.y))]
    made = []
    for y in itertools.product(*[top_tokens(table, beam, []) for table in tables]):
        made.append(Sentence(s.prompt, list(y), [t[w] for t, w in zip(tables, y, strict=True)]))
    made.sort(key=lambda s: -s.confidence())
    # the runner-up beyond the best tokens of every slot replaces one token by the next best
    reach = [top_tokens(table, beam + 1, []) for table in tables]
    sums = [sum(t[w] for t, w in zip(tables, y, strict=True)) for y in itertools.product(*reach)]
    note(margins, sums, beam)
    return made[:beam]


def fill_one(model, s, initial, beam, margins):
    masks = [k for k in range(len(s.y)) if s.y[k] is None]
    if initial == "order":
        masks = masks[:1]
    offers, beyond = [], []
    for k in masks:
        table = at(model, s, k)
        offers += [(table[w], k, w) for w in top_tokens(table, beam, [])]
        beyond += [table[w] for w in top_tokens(table, beam + 1, [])]
    note(margins, beyond, beam)
    offers.sort(key=lambda offer: (-offer[0], offer[1], offer[2]))
    return [Sentence(s.prompt, *s.but(k, w, p)) for p, k, w in offers[:beam]]


def least(s, margins):
    note(margins, [-c for c in s.c], 1)
    return s.c.index(min(s.c))


def refine(model, s, k, refinement, beam, refresh, margins):
    table = at(model, s, k)
    made = []
    for w in top_tokens(table, beam, margins):
        same = w == s.y[k]
        p = s.c[k] if same and refresh == "released" else table[w]
        changes = (0 if k == 0 else s.changes) + (not same)
        scanned = k == len(s.y) - 1 and changes == 0
        converged = same if refinement == "confidence" else scanned
        made.append(Sentence(s.prompt, *s.but(k, w, p), converged, changes))
    return made


def top(offered, beam, margins):
    """Deduplicate, keep the top B."""
    by_tokens = {}
    for s in offered:
        by_tokens.setdefault(tuple(s.y), []).append(s)
    kept = []
    for same in by_tokens.values():
        note(margins, [s.confidence() for s in same], 1)
        kept.append(max(same, key=Sentence.confidence))
    order = {id(s): place for place, s in enumerate(offered)}
    kept.sort(key=lambda s: (-s.confidence(), order[id(s)]))
    note(margins, [s.confidence() for s in kept], beam)
    return kept[:beam]
