"""Scores of a part of the candidate, in every family: the object alone, its first sub-word."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from polyprobe.schema.columns import SLOT
from polyprobe.scoring.engine import Ids, Input, Plan, Progress
from polyprobe.scoring.engine.tokens import list_ids
from polyprobe.system.messages import PolyprobeError

from .scorer import BOUNDARY, Prepared, Queries, Scored, Scorer, join_context

# The divisor of the sum, given the candidate and its number of tokens.
LENGTHS: dict[str, Callable[[str, int], int]] = {
    "object": lambda candidate, n_tokens: 1,
    "object-released": lambda candidate, n_tokens: 1,
    "object-tokens": lambda candidate, n_tokens: n_tokens,
    "object-characters": lambda candidate, n_tokens: len(candidate),  # Unicode code points
    "object-bytes": lambda candidate, n_tokens: len(candidate.encode()),
}


# `scoring` names the divisor of the sum (`LENGTHS`). Each family has a subclass that derives from
# this class first and from its own scorer second.
class ObjectScorer:
    """Score a candidate by the sum of its tokens' log-probabilities in nats."""

    def __init__(self, *args: Any, scoring: str = "object", **options: Any) -> None:
        super().__init__(*args, **options)
        self.scoring = scoring

    def combine(self, values: np.ndarray, candidate: str) -> float:
        """Return the sum of a candidate's log-probabilities by its length."""
        length = LENGTHS[self.scoring](candidate, len(values))
        return float(np.sum(values, dtype=np.float64)) / length

    @classmethod
    def by_length(cls) -> dict[str, Callable[..., Any]]:
        """Return the scorer of each divisor."""
        return {scoring: partial(cls, scoring=scoring) for scoring in LENGTHS}


# Candidates with the same first sub-word tie. Each family has a subclass, as of `ObjectScorer`.
class FirstPieceScorer:
    """Score a candidate by log P(its first sub-word) in nats, at one place of a prompt's input."""

    scoring = "contrastive"
    tokenizer: Any

    @abstractmethod
    def places(self, prompts: Sequence[str]) -> list[tuple[Input, int]]:
        """Return the input of each prompt, and the position at which sub-words are read."""

    def plan(self, plan: Plan, queries: Queries) -> list[list[range]]:
        """Plan one input for each distinct prompt."""
        firsts = first_pieces(queries, self.tokenizer)
        return [
            [plan.read(row, [at], (first,)) for first in pieces]
            for (row, at), pieces in zip(self.places(queries.prompts), firsts, strict=True)
        ]


class ServedScorer(FirstPieceScorer, Scorer):
    """Ask a chat server: it has the tokenizer, and its questions have numbers."""

    def places(self, prompts: Sequence[str]) -> list[tuple[Input, int]]:
        """Return the number of each question, up to its slot."""
        return [(Input((self.engine.server.number(cut_question(x)),)), 0) for x in prompts]


def cut_question(prompt: str) -> str:
    """Return the text of a prompt up to its slot, with its examples."""
    return join_context(prompt[: prompt.index(SLOT)].rstrip())


def first_pieces(queries: Queries, tokenizer: Any) -> list[list[int]]:
    """Return the first sub-word of each candidate that is not blank."""
    # Any blanks count as one (our rule; the paper's stems all end in one). `▁` or a blank alone is
    # skipped; an unknown token counts as a sub-word.
    stems = (prompt[: prompt.index(SLOT)] for prompt in queries.prompts)
    blanks = [" " if stem[-1:].isspace() else "" for stem in stems]
    firsts = {}
    for (blank, candidate), ids in pieces_behind(blanks, queries, tokenizer).items():
        first = next((piece for piece in ids if tokenizer.decode([piece]).strip()), None)
        if first is None:
            raise PolyprobeError(f"candidate {candidate!r} is nothing but blanks in this model")
        firsts[blank, candidate] = first
    rows = zip(blanks, queries.candidates, strict=True)
    return [[firsts[blank, candidate] for candidate in row] for blank, row in rows]


def pieces_behind(
    blanks: Sequence[str], queries: Queries, tokenizer: Any
) -> dict[tuple[str, str], Ids]:
    """Return the sub-words of each (blanks in front of a query's slot, candidate)."""
    # Behind blanks the candidate is tokenized with them, as in a sentence, unless the tokenizer
    # itself marks the start of a word (`▁Paris`); WordPiece gives the same either way. Behind a
    # letter, as in scripts without blanks, and at the start of a prompt it is tokenized bare.
    bare = queries.pieces
    names = tokenizer.convert_ids_to_tokens([ids[0] for ids in bare.values()])
    words = {c for c, name in zip(bare, names, strict=True) if name.startswith(BOUNDARY)}
    rows = zip(blanks, queries.candidates, strict=True)
    pairs = dict.fromkeys((blank, candidate) for blank, row in rows for candidate in row)
    spaced = [(x, c) for x, c in pairs if x and not (x == " " and c in words)]
    texts = [blank + candidate for blank, candidate in spaced]
    rest = zip(spaced, list_ids(tokenizer, texts, special=False), strict=True)
    return {pair: bare[pair[1]] for pair in pairs} | dict(rest)


# The most probable token is appended until it is a word: no special token, no blank. The sub-words
# of all candidates are read where this first token is. After `steps` steps without a word the last
# one is read (our rule).
class SettlingScorer(FirstPieceScorer, Scorer):
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
