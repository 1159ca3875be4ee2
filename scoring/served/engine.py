"""The engine of a served model: requests instead of forward passes."""

import math
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from random import Random
from typing import Any

import numpy as np

from polyprobe.schema.run.folder import AGREE
from polyprobe.scoring.engine import Forecast, Input, Plan, Progress
from polyprobe.scoring.options import PRODUCTS
from polyprobe.system import sending
from polyprobe.system.messages import PolyprobeError, report

from .server import (
    TIMEOUT,
    Answer,
    Form,
    Prompt,
    PromptReads,
    RefusedError,
    Server,
    cover,
    find_floor,
    new_client,
)

# A server that is restarted needs a minute; one that is gone ends the run after about eight.
PACE = sending.Pace(tries=12, first_wait=0.5, longest_wait=120.0)
REMEDY = "scores so far are kept: run the same command again when the server answers"
UNUSABLE = 3  # answers to the same request that cannot be used, before a run ends
SHARE, FEWEST = 32, 8  # one prompt of so many is sent again; prompts of a task, at least
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
        self.repeats = True  # whether some prompts are sent again at the end, which texts are not
        self._away = False
        self._prompts = self._silent = 0  # of servers that are not exact

    def forecast(self, plan: Plan) -> Forecast:
        """Return the work of a plan: HTTP requests, prompts in them, tokens of the prompts."""
        reads = cover(plan, self.server.reach)
        parts = (reads, self._choose_again(reads) if self.repeats else [])
        batches = [batch for part in parts for batch in self.server.batches(part)]
        prompts = [reads.prompt for batch in batches for reads in batch]
        return Forecast(len(batches), len(prompts), sending.run_async(self._count_tokens(prompts)))

    async def _count_tokens(self, prompts: Sequence[Prompt]) -> int:
        async with new_client() as client:
            send = partial(self.server.count_tokens, client, prompts)
            return int(await self._insist(sending.Requests(PACE, None, TIMEOUT), send))

    def run(self, plan: Plan, values: Any, progress: Progress) -> np.ndarray:
        """Return the log-probability of each read, float32, NaN for one that is not exact."""
        # `values` is for a model in this process.
        results: np.ndarray = np.full(plan.n_reads, np.nan, dtype=np.float32)
        reads = cover(plan, self.server.reach)
        sending.run_async(self._send_all(reads, results, progress))
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
        requests = sending.Requests(PACE, None, TIMEOUT)
        done, lows, differences = 0, list[float](), list[float]()

        async def send(batch: list[PromptReads]) -> None:
            nonlocal done
            answers = await self._insist(requests, self._read(client, batch))
            for entry, answer in zip(batch, answers, strict=True):
                pairs = [*_pair(entry, answer)]
                for value, numbers in pairs:
                    results[numbers] = value
                lows.append(min((value for value, _ in pairs if self.exact), default=0.0))
            done += len(batch)
            progress(done, len(reads))

        async def repeat(batch: list[PromptReads]) -> None:
            answers = await self._insist(requests, self._read(client, batch))
            for entry, answer in zip(batch, answers, strict=True):
                gaps = [abs(x - results[numbers[0]]) for x, numbers in _pair(entry, answer)]
                gaps = [x for x in gaps if not math.isnan(x)]
                differences.append(float(np.mean(gaps or [0.0])))

        async with new_client() as client:
            await sending.run_each(send, self.server.batches(reads), self.server.parallel)
            again = self.server.batches(self._choose_again(reads))
            await sending.run_each(repeat, again, self.server.parallel)
            self._check_repeated(differences)
            if problem := find_floor(lows):
                raise self._end(f"cannot score candidates: {problem}")
            if self.check and reads:
                await self._insist(requests, partial(self.check, client))

    def _choose_again(self, reads: Sequence[PromptReads]) -> list[PromptReads]:
        """Make other prompts, in another order, with some reads of every `SHARE`-th prompt."""
        # A prompt has one token more where that keeps its log-probabilities: a named token's is
        # then read inside of a prompt, and a cache of answers does not know it.
        step = max(1, min(SHARE, len(reads) // FEWEST))
        again = []
        for k, (prompt, path, children) in enumerate(reads[step // 2 :: step]):
            pairs = [x for x in zip(prompt.children, children, strict=True) if x[1]]
            token, numbers = pairs[k % len(pairs)] if pairs else (prompt.ids[-1], [])
            if self.server.reach.path and len(prompt.ids) < self.positions:
                ids = (*prompt.ids, token)
                before = path or [[] for _ in prompt.ids[1:]]
                again.append(PromptReads(Prompt(ids, (), True), [*before, numbers], []))
            elif pairs:
                again.append(PromptReads(Prompt(prompt.ids, (token,)), [], [numbers]))
        Random(len(reads)).shuffle(again)
        return again

    def _check_repeated(self, differences: Sequence[float]) -> None:
        # Few answers of another model differ by more than most; where all differ it is the rounding
        # of the server, up to a nat
        limit = min(1.0, max(AGREE, 10 * float(np.median([0.0, *differences]))))
        n_others = sum(x > limit for x in differences)
        if n_others:
            raise self._end(
                f"gives other log-probabilities for {n_others} of {len(differences)} prompts that "
                f"were sent again (they differ by up to {max(differences):.3g}): several models "
                "answer, or answers are of other prompts; scores before this task are kept"
            )

    async def _insist(self, requests: sending.Requests, send: sending.Send[Any]) -> Any:
        try:
            return await requests.send(send)
        except sending.NoAnswerError as error:
            raise self._end(f"{error.state} ({error}); {REMEDY}") from error
        except sending.BrokenAnswerError as error:
            raise self._end(f"gives no usable answer ({error}); {REMEDY}") from error
        except RefusedError as error:
            raise self._end(f"refuses a request ({error})") from error

    def _end(self, problem: str) -> PolyprobeError:
        return PolyprobeError(f"the server {self.server.where} {problem}")

    def write(self, inputs: Sequence[Input], form: Form, progress: Progress) -> dict[Input, str]:
        """Return the text that the server writes behind each input."""
        texts: dict[Input, str] = {}
        sending.run_async(self._write_all(inputs, form, texts, progress))
        return texts

    async def _write_all(
        self, inputs: Sequence[Input], form: Form, texts: dict[Input, str], progress: Progress
    ) -> None:
        requests = sending.Requests(PACE, None, TIMEOUT)

        async def send(batch: list[PromptReads]) -> None:
            prompts = [entry.prompt.ids for entry in batch]
            write = partial(self.server.texts, client, prompts, form)
            answers = await self._insist(requests, partial(self._ask_once, client, write, []))
            texts.update(zip(map(Input, prompts), answers, strict=True))
            progress(len(texts), len(inputs))

        entries = [PromptReads(Prompt(row.ids), [], []) for row in inputs]
        async with new_client() as client:
            await sending.run_each(send, self.server.batches(entries), self.server.parallel)
            if self.check and inputs:
                await self._insist(requests, partial(self.check, client))

    def _read(self, client: Any, batch: Sequence[PromptReads]) -> sending.Send[list[Answer]]:
        """Return what requests the answers to a batch once, and checks them."""

        async def read() -> list[Answer]:
            answers = await self.server.answers(client, [entry.prompt for entry in batch])
            for entry, answer in zip(batch, answers, strict=True):
                answer.check(entry.prompt, self.exact, self.vocabulary)
            return answers

        return partial(self._ask_once, client, read, [])

    async def _ask_once(
        self, client: Any, ask: sending.Send[list[Any]], failures: list[Exception]
    ) -> list[Any]:
        """Return the answers to a batch; `failures` collects those that cannot be used."""
        try:
            if self._away and self.check:
                await self.check(client)
                if self._away:
                    report(f"the server {self.server.where} answers again")
                self._away = False
            return await ask()
        except sending.BrokenAnswerError as error:
            failures.append(error)
            if len(failures) < UNUSABLE:
                raise
            raise self._end(f"gives no usable answer ({error}); {REMEDY}") from error
        except sending.NoAnswerError as error:
            if not self._away:
                report(f"the server {self.server.where} {error.state} ({error}): trying again")
            self._away = True
            raise


def _pair(entry: PromptReads, answer: Answer) -> Iterator[tuple[float, list[int]]]:
    """Pair the log-probabilities of an answer with the numbers of their reads, if there are any."""
    children = (answer.children.get(child, math.nan) for child in entry.prompt.children)
    values = chain(
        zip(answer.path, entry.path, strict=False), zip(children, entry.children, strict=True)
    )
    yield from ((value, numbers) for value, numbers in values if numbers)
