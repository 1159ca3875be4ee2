"""The engine of a served model: requests instead of forward passes."""

import math
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from polyprobe.scoring.engine import Forecast, Plan, Progress
from polyprobe.scoring.options import PRODUCTS
from polyprobe.system.errors import PolyprobeError
from polyprobe.system.progress import report
from polyprobe.system.sending import (
    BrokenAnswerError,
    NoAnswerError,
    Pace,
    Requests,
    Result,
    run_async,
)

from .cover import PromptReads, cover
from .server import TIMEOUT, Answer, RefusedError, Server, new_client

# A server that is restarted needs a minute; one that is gone ends the run after about eight.
PACE = Pace(tries=12, first_wait=0.5, longest_wait=120.0)
REMEDY = "scores so far are kept: run the same command again when the server answers"
UNUSABLE = 3  # answers to the same request that cannot be used, before a run ends
ENOUGH = 30  # prompts before a server is refused because most are without an answer


class ServedEngine:
    """Runs plans by requests to a server; see `Engine` for that of a model in this process."""

    batch_tokens = None
    product = PRODUCTS[0]

    def __init__(self, server: Server, vocabulary: int, model_type: str = "") -> None:
        # The number of the tokenizer's ids; the type is `unknown` without a configuration.
        self.server, self.vocabulary, self.model_type = server, vocabulary, model_type
        # A server generates a token behind a prompt, which has the last read too without children.
        self.positions = (server.served.limit or 10**30) - (1 if server.reach.children else 2)
        # Refuses a server that has another model than before; set by the handshake
        self.check: Callable[[Any], Awaitable[None]] | None = None
        self.exact = server.exact  # whether every read has a value; others are NaN
        self._away = False
        self._prompts = self._silent = 0  # of servers that are not exact

    def forecast(self, plan: Plan) -> Forecast:
        """Return the work of a plan: HTTP requests, prompts in them, tokens of the prompts."""
        batches = [*self.server.batches(cover(plan, self.server.reach))]
        sizes = [len(reads.prompt.ids) for batch in batches for reads in batch]
        return Forecast(len(batches), len(sizes), sum(sizes))

    def run(self, plan: Plan, values: Any, progress: Progress) -> np.ndarray:
        """Return the log-probability of each read, float32, NaN for one that is not exact."""
        # `values` is for a model in this process.
        results: np.ndarray = np.full(plan.n_reads, np.nan, dtype=np.float32)
        reads = cover(plan, self.server.reach)
        run_async(self._send_all(reads, results, progress))
        if self.exact:
            return results
        self._prompts += len(reads)
        self._silent += sum(np.isnan(results[[*chain(*x.children)]]).all() for x in reads)
        if self._prompts >= ENOUGH and self._silent > self._prompts / 2:
            raise PolyprobeError(
                f"the server {self.server.where} cannot score candidates: {self._silent:,} of "
                f"{self._prompts:,} prompts have no letter among their most probable tokens: the "
                "model does not answer with letters, or the server shows too few tokens"
            )
        return results

    async def _send_all(
        self, reads: Sequence[PromptReads], results: np.ndarray, progress: Progress
    ) -> None:
        requests = Requests(PACE, None, TIMEOUT)
        done = 0

        async def send(batch: list[PromptReads]) -> None:
            nonlocal done
            answers = await self._insist(requests, partial(self._ask_once, client, batch, []))
            for entry, answer in zip(batch, answers, strict=True):
                for value, numbers in zip(answer.path, entry.path, strict=False):
                    results[numbers] = value
                for child, numbers in zip(entry.prompt.children, entry.children, strict=True):
                    results[numbers] = answer.children.get(child, math.nan)
            done += len(batch)
            progress(done, len(reads))

        async with new_client() as client:
            await self.server.run_all(send, self.server.batches(reads))
            if self.check and reads:
                await self._insist(requests, partial(self.check, client))

    async def _insist(self, requests: Requests, send: Callable[[], Awaitable[Result]]) -> Result:
        try:
            return await requests.send(send)
        except NoAnswerError as error:
            raise self._end(f"{error.state} ({error}); {REMEDY}") from error
        except BrokenAnswerError as error:
            raise self._end(f"gives no usable answer ({error}); {REMEDY}") from error
        except RefusedError as error:
            raise self._end(f"refuses a request ({error})") from error

    def _end(self, problem: str) -> PolyprobeError:
        return PolyprobeError(f"the server {self.server.where} {problem}")

    async def _ask_once(
        self, client: Any, batch: Sequence[PromptReads], failures: list[Exception]
    ) -> list[Answer]:
        """Return the answers to a batch; `failures` collects those that cannot be used."""
        try:
            if self._away and self.check:
                await self.check(client)
                if self._away:
                    report(f"the server {self.server.where} answers again")
                self._away = False
            answers = await self.server.answers(client, [entry.prompt for entry in batch])
            for entry, answer in zip(batch, answers, strict=True):
                answer.check(entry.prompt, self.exact, self.vocabulary)
        except BrokenAnswerError as error:
            failures.append(error)
            if len(failures) < UNUSABLE:
                raise
            raise self._end(f"gives no usable answer ({error}); {REMEDY}") from error
        except NoAnswerError as error:
            if not self._away:
                report(f"the server {self.server.where} {error.state} ({error}): trying again")
            self._away = True
            raise
        return answers
