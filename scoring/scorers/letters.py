"""Letters: the candidates as options behind the question, in several orders; the letter is read."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import log_softmax

from polyprobe.schema.columns import SLOT
from polyprobe.schema.run.protocol import BLANK
from polyprobe.scoring.engine import Plan
from polyprobe.scoring.options import LETTERS
from polyprobe.system.messages import PolyprobeError

from .part import FirstPieceScorer, ServedScorer, first_pieces
from .scorer import Queries, join_context, list_queries

ANSWER = f"Answer: {SLOT}"
FLOOR = 1.0  # nats below the least probable letter that was read


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
    ) -> tuple[list[float], list[float]]:
        """Return the candidates' scores and the effects of the positions, see `separate`."""
        shifts = choose_shifts(len(candidates), self.permutations)
        scores, effects = separate(np.stack(values), shifts)
        return scores.tolist(), effects.tolist()

    def _read_letters(self, n: int) -> list[int]:
        if self.tokenizer is None:
            return [*range(n)]
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
