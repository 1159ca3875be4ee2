"""Score the exact tokens of a harness with polyprobe's engine."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from polyprobe.eval import load_scorer
from polyprobe.scoring.engine import Input, Plan

from .harness_peers import Answers

Ids = list[int]
Lists = dict[str, list[list[float]]]
"""By language and row: one value for each candidate."""


def replay(
    model: Path, answers: Answers, cut: Callable[[Any, str, str], tuple[Ids, Ids]]
) -> tuple[Lists, Lists]:
    """Return the sum of each choice's log-probabilities, and its number of tokens.

    `cut` returns the ids of context and choice.
    """
    scorer = load_scorer(str(model), device="cpu")
    plan, wanted = Plan(), {}
    for language, rows in answers.items():
        wanted[language] = [
            [read(plan, *cut(scorer.tokenizer, row.context, choice)) for choice in row.choices]
            for row in rows
        ]
    values = scorer.engine.run(plan, scorer.values, lambda done, total: None)
    sums = {
        language: [
            [float(np.sum(values[n.start : n.stop], dtype=np.float64)) for n in row] for row in rows
        ]
        for language, rows in wanted.items()
    }
    lengths = {x: [[float(len(n)) for n in row] for row in rows] for x, rows in wanted.items()}
    return sums, lengths


def read(plan: Plan, context: Ids, choice: Ids) -> range:
    """Add reads of a choice's log-probabilities after the context to the plan."""
    ids = (*context, *choice)
    places = range(len(context) - 1, len(ids) - 1)
    return plan.read(Input(ids[:-1]), places, tuple(choice))


def cut_together(tokenizer: Any, context: str, choice: str) -> tuple[Ids, Ids]:
    """Return context and choice as lm-eval cuts their joint text, moving spaces to the choice."""
    if not context:
        first = tokenizer.bos_token_id
        ids = tokenizer.encode(choice, add_special_tokens=False)
        return [tokenizer.eos_token_id if first is None else first], ids
    ids = tokenizer.encode(context.rstrip())
    return ids, tokenizer.encode(context + choice)[len(ids) :]


def cut_apart(tokenizer: Any, context: str, choice: str) -> tuple[Ids, Ids]:
    """Return context and choice as lighteval tokenizes each alone, moving spaces to the choice."""
    bare = context.rstrip()
    ids = tokenizer.encode(bare)
    if ids[-1:] == [tokenizer.eos_token_id]:
        ids = ids[:-1]
    return ids, tokenizer.encode(context[len(bare) :] + choice, add_special_tokens=False)
