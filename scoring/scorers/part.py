"""Scores of a part of the sentence: the object, its first sub-word, a letter; and examples."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import torch
from scipy.special import log_softmax

from polyprobe.schema.columns import SENTENCE_START, SLOT, has_prompts
from polyprobe.schema.run.protocol import BLANK
from polyprobe.scoring import QueryScores
from polyprobe.scoring.engine import Ids, Input, Plan, Progress
from polyprobe.scoring.engine.tokens import list_ids
from polyprobe.scoring.options import LETTERS
from polyprobe.system.files import hash_text
from polyprobe.system.messages import PolyprobeError

from .scorer import BOUNDARY, Prepared, Queries, Scorer, join_context, list_queries

# The divisor of the sum, given the candidate and its number of tokens.
LENGTHS: dict[str, Callable[[str, int], int]] = {
    "object": lambda candidate, n_tokens: 1,
    "object-released": lambda candidate, n_tokens: 1,
    "object-tokens": lambda candidate, n_tokens: n_tokens,
    "object-characters": lambda candidate, n_tokens: len(candidate),  # Unicode code points
    "object-bytes": lambda candidate, n_tokens: len(candidate.encode()),
}
ANSWER = f"Answer: {SLOT}"
FLOOR = 1.0  # nats below the least probable letter that was read


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
    """Ask a chat server: it has the tokenizer, and is sent characters."""

    def places(self, prompts: Sequence[str]) -> list[tuple[Input, int]]:
        """Return the characters of each question, up to its slot, and the last one's place."""
        questions = map(cut_question, prompts)
        return [(Input((*map(ord, text),)), len(text) - 1) for text in questions]


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

    def score_prepared(
        self, prepared: Prepared, progress: Progress | None = None
    ) -> list[QueryScores]:
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


class LettersScorer(FirstPieceScorer):
    """Score a candidate by the letter of its option, with the effect of its position taken out.

    The question is the prompt with `___` in its slot, a line for each option, and `Answer:`::

        The capital of France is ___.
        A. Paris
        B. Rome
        Answer:

    The letter behind it is read as a part of the text (` A`, `▁A` or `A`). Each query is asked in k
    orders of its n candidates, cyclic shifts (`choose_shifts`): k is `permutations`, by default n.
    `separate` parts candidates from positions in the additive model of PriDe (Zheng et al., ICLR
    2024: the prior of the letter times the probability of the content). PriDe estimates one prior
    from some queries; here each query has its own, so that its scores depend on no other query.
    The rival is the mean of probabilities over the orders.
    """

    _pieces: Any  # of the family's scorer

    def __init__(self, *args: Any, permutations: int | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self.permutations = permutations
        self.scoring = f"letters-k{permutations}" if permutations else "letters"

    def plan(self, plan: Plan, queries: Queries) -> list[list[range]]:
        """Plan one input for each query and order; every letter in use is read at its end."""
        rows = queries.candidates
        ids = self._read_letters(max(map(len, rows), default=0))
        orders = [choose_shifts(len(row), self.permutations) for row in rows]
        triples = zip(map(join_context, queries.prompts), rows, orders, strict=True)
        texts = [write_question(p, row, shift) for p, row, shifts in triples for shift in shifts]
        list_queries(texts, [["A"]] * len(texts))  # a candidate may hold a slot
        places, numbers = iter(self.places(texts)), []
        for row, shifts in zip(rows, orders, strict=True):
            n, first = len(row), plan.n_reads
            for shift in shifts:
                question, at = next(places)
                plan.read(question, [at] * n, tuple(ids[(j + shift) % n] for j in range(n)))
            # Candidate j's reads are every n-th number.
            numbers.append([range(first + j, plan.n_reads, n) for j in range(n)])
        return numbers

    def combine_query(
        self, values: Sequence[np.ndarray], candidates: Sequence[str]
    ) -> tuple[list[float], tuple[float, ...]]:
        """Return the candidates' scores and the effects of the positions, see `separate`."""
        shifts = choose_shifts(len(candidates), self.permutations)
        scores, effects = separate(np.stack(values), shifts)
        return scores.tolist(), tuple(effects.tolist())

    def _read_letters(self, n: int) -> list[int]:
        if self.tokenizer is None:
            return [*map(ord, LETTERS[:n])]
        letters = list(LETTERS[:n])
        queries = Queries([ANSWER], [letters], self._pieces([letters]))
        [ids] = first_pieces(queries, self.tokenizer)
        for letter, piece in zip(letters, ids, strict=True):
            if self.tokenizer.decode([piece]).strip().upper() != letter:
                raise PolyprobeError(
                    f"--scoring letters reads single tokens, and this model's tokenizer has none "
                    f"for the letter {letter}; use another scoring"
                )
        return ids


class ServedLettersScorer(LettersScorer, ServedScorer):
    """The same with a chat server."""


def write_question(prompt: str, candidates: Sequence[str], shift: int) -> str:
    r"""Return the question, with the slot for the letter; candidate j is at position j + shift.

    >>> write_question("France is in [Y].", ["Asia", "Europe"], 1)
    'France is in ___.\nA. Europe\nB. Asia\nAnswer: [Y]'
    """
    n = len(candidates)
    if n > len(LETTERS):
        raise PolyprobeError(
            f"--scoring letters has {len(LETTERS)} letters, a list has {n} candidates; "
            "use another scoring"
        )
    shifted = [candidates[(place - shift) % n] for place in range(n)]
    options = [f"{letter}. {text}" for letter, text in zip(LETTERS, shifted, strict=False)]
    return "\n".join([prompt.replace(SLOT, BLANK), *options, ANSWER])


def choose_shifts(n: int, k: int | None) -> list[int]:
    """Return k cyclic shifts of n candidates in ascending order, the given order (0) included.

    All n if k is None or larger. Otherwise each shift is the one that leaves the least variance to
    the worst contrast of candidates (see `separate`). Two shifts always identify all contrasts:
    their distance has no common divisor with n.

    >>> choose_shifts(4, None), choose_shifts(10, 4)
    ([0, 1, 2, 3], [0, 1, 3, 5])
    """
    if k is None or k >= n:
        return list(range(n))
    waves = np.exp(2j * np.pi * np.outer(np.arange(n), np.arange(1, n)) / n)
    shifts = [0]
    while len(shifts) < k:
        worst = np.abs(waves[shifts].sum(axis=0) + waves).max(axis=1).round(9)
        worst[shifts] = np.inf
        shifts.append(int(worst.argmin()))
    return sorted(shifts)


def separate(table: np.ndarray, shifts: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of candidates [n] and the effects of positions [n] from letters [n, k].

    Row j, column i is the log-probability of candidate j's letter in order i, at position
    (j + shifts[i]) mod n. The probability of other tokens differs between orders, so each column is
    first normalised over the n letters. Then by least squares

        log p[j, i] = candidate[j] + position[(j + shifts[i]) mod n] + order[i]

    The score is the candidate's effect plus the mean of all log-probabilities, in nats. With all n
    shifts it is the mean over the orders, in which position effects cancel exactly. The mean of
    position effects is 0: exp(effect) is proportional to the prior probability of the letter. A
    single order (k = 1 < n) tells nothing about positions: the scores are its log-probabilities and
    there are no effects, [0].

    A NaN is a letter that was not reported: it counts as `FLOOR` nats below the smallest one in the
    table. A table of NaN gives equal scores.
    """
    n, k = table.shape
    values = table[~np.isnan(table)]
    floor = values.min() - FLOOR if len(values) else 0.0
    logs = log_softmax(np.where(np.isnan(table), floor, table).astype(np.float64), axis=0)
    if k == 1:
        return logs[:, 0], np.empty(0)
    places = (np.arange(n)[:, None] + np.asarray(shifts)) % n
    centred = logs - logs.mean(axis=0)
    # Sums over cyclic shifts are products of Fourier coefficients, so the normal equations of the
    # least squares, n in candidates and n in positions, fall apart into n pairs.
    turns = np.fft.fft(np.bincount(shifts, minlength=n))
    of_candidates = np.fft.fft(centred.sum(axis=1))
    of_positions = np.fft.fft(np.bincount(places.ravel(), centred.ravel(), minlength=n))
    information = k - np.abs(turns) ** 2 / k
    information[0] = 1  # the means are 0
    candidates = (of_candidates - turns.conj() * of_positions / k) / information
    positions = (of_positions - turns * candidates) / k
    return np.fft.ifft(candidates).real + logs.mean(), np.fft.ifft(positions).real


class Shots(NamedTuple):
    """The rows of a split that are asked, and of each the rows of its examples."""

    rows: Sequence[int] | None = None  # None: all, without examples
    examples: Sequence[Sequence[int]] = ()

    def select(self, table: pa.Table) -> pa.Table:
        """Return the rows that are asked, without their examples."""
        if self.rows is None:
            return table
        if has_prompts(table):
            raise PolyprobeError(
                "--shots needs one prompt for all candidates, but the dataset has rows with a "
                "prompt for each candidate (column 'prompts'); leave it out"
            )
        return table.take(self.rows)

    def put_in_front(self, table: pa.Table, letters: bool = False) -> pa.Table:
        """Return the rows that are asked, with their examples, which are questions for letters."""
        rest = self.select(table)
        if self.rows is None:
            return rest
        places = [*{place: None for row in self.examples for place in row}]
        lines = [write_example(row, letters) for row in table.take(places).to_pylist()]
        texts = dict(zip(places, lines, strict=True))
        rows = zip(self.examples, rest["prompt"].to_pylist(), strict=True)
        prompts = ["".join(texts[x] for x in of) + SENTENCE_START + prompt for of, prompt in rows]
        at = rest.column_names.index("prompt")
        return rest.set_column(at, "prompt", pa.array(prompts, pa.string()))


def write_example(row: Mapping[str, Any], letters: bool) -> str:
    """Write a row with its first right answer, or as a question with the letter of that."""
    candidates, right = row["candidates"], row["answers"][0]
    if not letters:
        return f"{row['prompt'].replace(SLOT, candidates[right])}\n"
    # The order follows from the fact, so that no letter is right more often than others.
    shift = hash_text(row["fact_id"]) % len(candidates)
    question = write_question(row["prompt"], candidates, shift)
    return f"{question.replace(SLOT, LETTERS[(right + shift) % len(candidates)])}\n\n"
