"""How fast a translator is asked, and how patiently."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple

from .failures import BrokenAnswerError, NoAnswerError, WrongNumberError

if TYPE_CHECKING:
    from tenacity import RetryCallState


class Pace(NamedTuple):
    """How a translator is asked again.

    The waits double from `first_wait` to `longest_wait`, with up to `first_wait` of chance added,
    so that several processes do not come back at one moment. A Retry-After is obeyed where it is
    longer; one beyond `longest_wait` is not waited for.

    Args:
        tries: requests for a batch, the first one counted.
        first_wait: seconds before the second request.
        longest_wait: seconds.
        give_up: batches in a row that got no answer, after which a run stops.
    """

    tries: int = 5
    first_wait: float = 1.0
    longest_wait: float = 60.0
    give_up: int = 6


class Turns:
    """One run's requests: at most so many a second, each tried again as its `Pace` says.

    A wait that the engine asks for (Retry-After) holds back all requests of the run.
    """

    def __init__(self, pace: Pace, per_second: float | None, timeout: float | None) -> None:
        from aiolimiter import AsyncLimiter

        self._pace, self._timeout = pace, timeout
        self._limiter = AsyncLimiter(1, 1 / per_second) if per_second else None
        self._quiet_until = 0.0

    async def take(self, ask: Callable[[], Awaitable[list[str]]]) -> list[str]:
        """Return what `ask` gives in the end.

        Raises:
            NoAnswerError: nothing came; the text tells the last reason and the number of tries.
            BrokenAnswerError: the same of answers that could not be read.
            WrongNumberError: at once, without a second try.
        """
        from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt
        from tenacity import retry_if_not_exception_type as unless

        tries = 0
        attempts = AsyncRetrying(
            retry=retry_if_exception_type((NoAnswerError, BrokenAnswerError))
            & unless(WrongNumberError),
            stop=stop_after_attempt(self._pace.tries) | self._asks_too_much,
            wait=self._choose_wait,
            reraise=True,
        )
        try:
            async for attempt in attempts:
                with attempt:
                    tries += 1
                    return await self._ask_once(ask)
        except NoAnswerError as error:
            raise NoAnswerError(f"{error}, {_count(tries)}", error.retry_after) from error
        except WrongNumberError:
            raise
        except BrokenAnswerError as error:
            raise BrokenAnswerError(f"{error}, {_count(tries)}") from error
        raise AssertionError("tenacity returns or raises")

    async def _ask_once(self, ask: Callable[[], Awaitable[list[str]]]) -> list[str]:
        left = self._quiet_until - asyncio.get_running_loop().time()
        if left > 0:
            await asyncio.sleep(left)
        if self._limiter:
            await self._limiter.acquire()
        try:
            async with asyncio.timeout(self._timeout):
                return await ask()
        except TimeoutError as error:
            raise NoAnswerError("timeout") from error

    def _choose_wait(self, state: "RetryCallState") -> float:
        first, longest = self._pace.first_wait, self._pace.longest_wait
        wait = min(longest, first * 2.0 ** (state.attempt_number - 1)) + random.uniform(0, first)
        asked = _asked_wait(state)
        if asked > 0:
            now = asyncio.get_running_loop().time()
            self._quiet_until = max(self._quiet_until, now + asked)
        return max(wait, asked)

    def _asks_too_much(self, state: "RetryCallState") -> bool:
        return _asked_wait(state) > self._pace.longest_wait


def _asked_wait(state: "RetryCallState") -> float:
    """Return the seconds that the last failure asks us to wait, 0 where it does not say."""
    error = state.outcome.exception() if state.outcome else None
    return getattr(error, "retry_after", None) or 0.0


def _count(tries: int) -> str:
    return "once" if tries == 1 else f"{tries} times"
