"""Rate, retries and waits of a translator's requests."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple

from .failures import BrokenAnswerError, NoAnswerError

if TYPE_CHECKING:
    from tenacity import RetryCallState

Send = Callable[[], Awaitable[list[str]]]


class Pace(NamedTuple):
    """Retries of a translator's requests.

    The waits double from `first_wait` to `longest_wait`, with a random part of up to `first_wait`,
    so that several processes do not retry at the same moment. A longer Retry-After replaces the
    wait. After a Retry-After above `longest_wait` there is no retry.

    Args:
        tries: requests for a batch, the first one included.
        first_wait: seconds before the second request.
        longest_wait: seconds.
        give_up: consecutive failed batches after which a run stops.
    """

    tries: int = 5
    first_wait: float = 1.0
    longest_wait: float = 60.0
    give_up: int = 6


class Requests:
    """The requests of one run: limited to a rate, retried according to `Pace`.

    A Retry-After delays all requests of the run.
    """

    def __init__(self, pace: Pace, per_second: float | None, timeout: float | None) -> None:
        from aiolimiter import AsyncLimiter
        from tenacity import wait_exponential, wait_random

        self._pace, self._timeout = pace, timeout
        self._limiter = AsyncLimiter(1, 1 / per_second) if per_second else None
        growing = wait_exponential(multiplier=pace.first_wait, max=pace.longest_wait)
        self._wait = growing + wait_random(0, pace.first_wait)
        self._quiet_until = 0.0

    async def send(self, send: Send) -> list[str]:
        """Return the result of `send`, retried.

        Raises:
            NoAnswerError: the last try failed; the message counts the tries.
            BrokenAnswerError: the last answer was unreadable; the message counts the tries.
            WrongNumberError: at once, without a retry.
        """
        from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt

        retrying = AsyncRetrying(
            retry=retry_if_exception_type((NoAnswerError, BrokenAnswerError)),
            stop=stop_after_attempt(self._pace.tries) | self._is_too_long,
            wait=self._choose_wait,
            reraise=True,
        )
        try:
            return await retrying(self._send_once, send)
        except (NoAnswerError, BrokenAnswerError) as error:
            tries = retrying.statistics["attempt_number"]
            times = "once" if tries == 1 else f"{tries} times"
            raise type(error)(f"{error}, {times}") from error

    async def _send_once(self, send: Send) -> list[str]:
        left = self._quiet_until - asyncio.get_running_loop().time()
        if left > 0:
            await asyncio.sleep(left)
        if self._limiter:
            await self._limiter.acquire()
        try:
            async with asyncio.timeout(self._timeout):
                return await send()
        except TimeoutError as error:
            raise NoAnswerError("timeout") from error

    def _choose_wait(self, state: "RetryCallState") -> float:
        asked = _read_wait(state)
        if asked > 0:
            now = asyncio.get_running_loop().time()
            self._quiet_until = max(self._quiet_until, now + asked)
        return max(self._wait(state), asked)

    def _is_too_long(self, state: "RetryCallState") -> bool:
        return _read_wait(state) > self._pace.longest_wait


def _read_wait(state: "RetryCallState") -> float:
    """Return the Retry-After of the last failure in seconds, 0 without one."""
    error = state.outcome.exception() if state.outcome else None
    return getattr(error, "retry_after", None) or 0.0
