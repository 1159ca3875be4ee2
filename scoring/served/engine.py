"""The engine of a served model: requests instead of forward passes."""

import math
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from polyprobe.schema.run.folder import AGREE
from polyprobe.scoring.engine import Forecast, Plan
from polyprobe.scoring.options import PRODUCTS
from polyprobe.system.errors import PolyprobeError
from polyprobe.system.progress import report
from polyprobe.system.sending import (
    BrokenAnswerError,
    NoAnswerError,
    Pace,
    Requests,
    Result,
    run,
    run_copies,
)

from .cover import Request, Wanted, cover
from .kind import Answer, Kind, LimitedError, RefusedError
from .kinds import TIMEOUT, new_client

# A server that is restarted needs a minute; one that is gone ends the run after about eight.
PACE = Pace(tries=12, first_wait=0.5, longest_wait=120.0)
REMEDY = "scores so far are kept: start the server and run the same command again"
BROKEN = 3  # answers to the same request that cannot be used
ENOUGH = 30  # prompts before a server is refused because most are without an answer
ABOVE_ONE = 1e-3  # of a sum of probabilities, by rounding


class ServedEngine:
    """Runs plans by requests to a server; see `Engine` for that of a model in this process.

    Attributes:
        kind: the server.
        vocabulary: number of the tokenizer's ids.
        positions: the largest number of tokens of an input.
        model_type: of the model's configuration; `unknown` if there is none.
    """

    batch_tokens = None
    product = PRODUCTS[0]

    def __init__(self, kind: Kind, vocabulary: int, model_type: str = "") -> None:
        self.kind, self.vocabulary, self.model_type = kind, vocabulary, model_type
        # A server generates a token behind a prompt, which has the last read too without children.
        self.positions = (kind.served.limit or 10**30) - (1 if kind.reach.children else 2)
        self.check: Callable[[Any], Any] | None = None  # of a server that may be another one
        self._away = False
        self._prompts = self._silent = 0  # of servers that are not exact

    @property
    def exact(self) -> bool:
        """Return whether every read has a value; others are NaN."""
        return self.kind.exact

    def forecast(self, plan: Plan) -> Forecast:
        """Return the work of a plan: HTTP requests, prompts in them, tokens of the prompts."""
        batches = [*self.kind.batches(cover(plan, self.kind.reach))]
        prompts = [len(one.request.ids) for batch in batches for one in batch]
        return Forecast(len(batches), len(prompts), sum(prompts))

    def run(self, plan: Plan, values: Any, progress: Callable[[int, int], None]) -> np.ndarray:
        """Return the log-probability of each read, float32, NaN for one that is not exact.

        Progress is called with (prompts done, prompts). `values` is for a model in this process.

        Raises:
            PolyprobeError: no answer for minutes, an answer that cannot be used, or most answers
                without any of the tokens that were asked for (see `exact`).
        """
        read: np.ndarray = np.full(plan.n_reads, np.nan, dtype=np.float32)
        wanted = cover(plan, self.kind.reach)
        run(self._send_all(wanted, read, progress))
        if not self.exact:
            self._check_given(read, wanted)
        return read

    def _check_given(self, read: np.ndarray, wanted: Sequence[Wanted]) -> None:
        """Refuse a server that gave none of the tokens of most prompts so far."""
        self._prompts += len(wanted)
        self._silent += sum(np.isnan(read[[*chain(*one.children)]]).all() for one in wanted)
        if self._prompts >= ENOUGH and self._silent > self._prompts / 2:
            raise PolyprobeError(
                f"the server {self.kind.where} cannot score candidates: {self._silent:,} of "
                f"{self._prompts:,} prompts have no letter among their most probable tokens: the "
                "model does not answer with letters, or the server shows too few tokens"
            )

    async def _send_all(
        self, wanted: Sequence[Wanted], read: np.ndarray, progress: Callable[[int, int], None]
    ) -> None:
        batches = deque(self.kind.batches(wanted))
        requests = Requests(PACE, None, TIMEOUT)
        done = 0

        async def work(client: Any) -> None:
            nonlocal done
            while batches:
                batch = batches.popleft()
                answers = await self._insist(requests, partial(self._ask_once, client, batch, []))
                for one, answer in zip(batch, answers, strict=True):
                    fill(read, one, answer)
                done += len(batch)
                progress(done, len(wanted))

        async with new_client() as client:
            await run_copies(lambda: work(client), self.kind.parallel)
            if self.check and wanted:
                await self._insist(requests, partial(self.check, client))

    async def _insist(self, requests: Requests, send: Callable[[], Awaitable[Result]]) -> Result:
        """Return the result of a request, retried while the server is away."""
        try:
            return await requests.send(send)
        except (NoAnswerError, BrokenAnswerError) as error:
            silent = isinstance(error, NoAnswerError)
            how = "does not answer" if silent else "gives no usable answer"
            raise PolyprobeError(
                f"the server {self.kind.where} {how} ({error}); {REMEDY}"
            ) from error
        except RefusedError as error:
            raise PolyprobeError(
                f"the server {self.kind.where} refuses a request ({error})"
            ) from error

    async def _ask_once(
        self, client: Any, batch: Sequence[Wanted], broken: list[Exception]
    ) -> list[Answer]:
        """Return the answers to a batch; `broken` collects those that cannot be used."""
        try:
            if self._away and self.check:
                await self.check(client)
                if self._away:
                    report(f"the server {self.kind.where} answers again")
                self._away = False
            answers = await self.kind.answers(client, [one.request for one in batch])
            for one, answer in zip(batch, answers, strict=True):
                check_answer(one.request, answer, self.kind.exact, self.vocabulary)
        except BrokenAnswerError as error:
            broken.append(error)
            if len(broken) < BROKEN:
                raise
            raise PolyprobeError(
                f"the server {self.kind.where} gives no usable answer ({error}); {REMEDY}"
            ) from error
        except NoAnswerError as error:
            if not self._away:
                report(f"no answer from {self.kind.where} ({error}): trying again")
            self._away = True
            raise
        return answers


def fill(read: np.ndarray, wanted: Wanted, answer: Answer) -> None:
    """Store the log-probabilities of a request under the numbers of its reads."""
    for value, numbers in zip(answer.path, wanted.path, strict=False):
        read[numbers] = value
    for child, numbers in zip(wanted.request.children, wanted.children, strict=True):
        read[numbers] = answer.children.get(child, math.nan)


def check_answer(request: Request, answer: Answer, exact: bool, vocabulary: int) -> None:
    """Refuse an answer that does not fit its request.

    Raises:
        BrokenAnswerError: fewer log-probabilities than tokens, another number of tokens in the
            prompt, numbers that are no log-probabilities.
    """
    n = len(request.ids)
    if answer.n_tokens is not None and answer.n_tokens != n:
        raise BrokenAnswerError(f"{answer.n_tokens} tokens in a prompt of {n}")
    if request.path and len(answer.path) != n - 1:
        raise (BrokenAnswerError if answer.path else LimitedError)(
            f"{len(answer.path)} log-probabilities for the {n - 1} tokens of a prompt"
        )
    missing = [child for child in request.children if child not in answer.children]
    if missing and exact:
        raise LimitedError(f"no log-probability of token {missing[0]}, which was named")
    numbers = [*answer.path, *answer.children.values()]
    if not all(isinstance(x, int | float) and math.isfinite(x) for x in numbers):
        raise BrokenAnswerError("log-probabilities that are not finite")
    if any(x > ABOVE_ONE for x in numbers) or _sum(answer) > 1 + ABOVE_ONE:
        raise BrokenAnswerError("probabilities above one")
    if answer.best is not None and answer.best < -math.log(vocabulary) - AGREE:
        raise BrokenAnswerError("log-probabilities of another scale: even the largest is too small")


def _sum(answer: Answer) -> float:
    return math.fsum(map(math.exp, answer.children.values()))
