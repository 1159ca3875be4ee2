"""Requests to a server over HTTP: rate, retries and waits, limits of answers, and failures."""

import asyncio
import os
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import urlsplit, urlunsplit

from .messages import PolyprobeError, one_line

if TYPE_CHECKING:
    from tenacity import RetryCallState

Item = TypeVar("Item")
Result = TypeVar("Result")
Send = Callable[[], Awaitable[Result]]
RETRIED = frozenset({302, 303, 307, 408, 409, 425, 429})  # Google redirects to its captcha
REMEDIES = {
    400: "the request is invalid; check the model's name and the languages",
    401: "check the key",
    403: "check the key and its permissions",
    404: "check the address and the model's name",
}
# Of an answer after decompression; of all tokens of a vocabulary llama.cpp sends 25 MB.
SMALL, LARGE = 4 * 2**20, 64 * 2**20
VALUES = 4 * 2**20  # of the JSON of an answer: each takes some 60 bytes of memory
# A part of 64 kB has 64 MB with one of them, and no bound with two, or with brotli.
ENCODINGS = ("", "identity", "gzip", "deflate")
CONTENT = (b"content-encoding", b"content-length", b"transfer-encoding")


class NoAnswerError(Exception):
    """No answer: a timeout, a lost connection, HTTP 429 or 5xx. The request is retried."""

    state = "does not answer"

    def __init__(self, reason: str, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after  # seconds; None if the server does not say


class BusyError(NoAnswerError):
    """HTTP 429: the server has too many requests."""

    state = "is busy"


class BrokenAnswerError(Exception):
    """An answer without its content: `no JSON`, `several lines`. The request is retried."""

    def __init__(self, reason: str) -> None:
        super().__init__(one_line(reason))  # it may have a value of the answer


class WrongNumberError(Exception):
    """The number of texts differs from the batch: its sentences are then requested one by one."""


class Pace(NamedTuple):
    """Retries of requests.

    The waits double from `first_wait` to `longest_wait`, with a random part of up to `first_wait`,
    so that several processes do not retry at the same moment. A longer Retry-After replaces the
    wait. After a Retry-After above `longest_wait` there is no retry.
    """

    tries: int = 5  # requests for a batch, the first one included
    first_wait: float = 1.0  # seconds before the second request
    longest_wait: float = 60.0  # seconds
    give_up: int = 6  # consecutive failed batches after which a run stops
    busy_tries: int | None = None  # requests while the server is busy; None: `tries`


def run_async(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine, in a thread if an event loop runs already (Jupyter)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    from anyio.from_thread import start_blocking_portal

    with start_blocking_portal() as portal:
        return portal.call(lambda: work)


async def run_each(work: Callable[[Item], Awaitable[None]], items: Iterable[Item], n: int) -> None:
    """Run a coroutine for each item, n at a time; if one fails, cancel the others and wait."""
    pending = deque(items)

    async def drain() -> None:
        while pending:
            await work(pending.popleft())

    tasks = [asyncio.create_task(drain()) for _ in range(min(n, len(pending)))]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Requests:
    """The requests of one run: limited to a rate, retried according to `Pace`."""

    def __init__(self, pace: Pace, per_second: float | None, timeout: float | None) -> None:
        from aiolimiter import AsyncLimiter
        from tenacity import wait_exponential, wait_random

        self._pace, self._timeout = pace, timeout
        self._limiter = AsyncLimiter(1, 1 / per_second) if per_second else None
        growing = wait_exponential(multiplier=pace.first_wait, max=pace.longest_wait)
        self._wait = growing + wait_random(0, pace.first_wait)
        self._quiet_until = 0.0

    async def send(self, send: Send[Result]) -> Result:
        """Await `send`, retried; the message of the last failure counts the tries."""
        from tenacity import AsyncRetrying, retry_if_exception_type

        retrying = AsyncRetrying(
            retry=retry_if_exception_type((NoAnswerError, BrokenAnswerError)),
            stop=self._is_over,
            wait=self._choose_wait,
            reraise=True,
        )
        try:
            return await retrying(self._send_once, send)
        except (NoAnswerError, BrokenAnswerError) as error:
            tries = retrying.statistics["attempt_number"]
            times = "once" if tries == 1 else f"{tries} times"
            error.args = (f"{error}, {times}",)
            raise

    async def _send_once(self, send: Send[Result]) -> Result:
        remaining = self._quiet_until - asyncio.get_running_loop().time()
        if remaining > 0:
            await asyncio.sleep(remaining)
        if self._limiter:
            await self._limiter.acquire()
        try:
            async with asyncio.timeout(self._timeout):
                return await send()
        except TimeoutError as error:
            raise NoAnswerError("timeout") from error

    def _is_over(self, state: "RetryCallState") -> bool:
        error = state.outcome.exception() if state.outcome else None
        busy = self._pace.busy_tries if isinstance(error, BusyError) else None
        tries = busy or self._pace.tries
        return state.attempt_number >= tries or _read_wait(state) > self._pace.longest_wait

    def _choose_wait(self, state: "RetryCallState") -> float:
        seconds = _read_wait(state)
        if seconds > 0:  # it delays all requests of the run
            now = asyncio.get_running_loop().time()
            self._quiet_until = max(self._quiet_until, now + seconds)
        return max(self._wait(state), seconds)


def _read_wait(state: "RetryCallState") -> float:
    """Read the Retry-After of the last failure in seconds, 0 without one."""
    error = state.outcome.exception() if state.outcome else None
    return getattr(error, "retry_after", None) or 0.0


def read_retry_after(value: str | None, now: datetime | None = None) -> float | None:
    """Read the seconds of a Retry-After header: a number, or a date (RFC 9110, 10.2.3).

    >>> read_retry_after("120")
    120.0
    """
    if not value:
        return None
    try:
        if value.strip().isdecimal():
            return float(value)
        date = parsedate_to_datetime(value)
        date = date if date.tzinfo else date.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
    return max(0.0, (date - (now or datetime.now(UTC))).total_seconds())


def check_address(engine: str, address: str) -> str:
    """Check an engine's address; cut its final slash, and its fragment, which is never sent."""
    address = address.strip()
    try:
        parts = urlsplit(address)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # of the port
        good = False
    if not good or len(address.split()) > 1:
        secret = {*"@?#"} & {*address}  # where one begins and ends is not known
        raise PolyprobeError(
            f"invalid address of {engine}{f': {address!r}' * (not secret)}; expected an address "
            "such as http://127.0.0.1:8000, where a password has %2F for a slash"
        )
    return urlunsplit(parts._replace(path=parts.path.rstrip("/"), fragment=""))


def extend(address: str, path: str) -> str:
    """Write a path behind that of an address, in front of its query.

    >>> extend("https://example.org/v1?key=abc", "/models")
    'https://example.org/v1/models?key=abc'
    """
    parts = urlsplit(address)
    return urlunsplit(parts._replace(path=parts.path.rstrip("/") + path))


def open_client(timeout: float, variable: str = "", largest: int = SMALL) -> Any:
    """Make an HTTP client, with the key of an environment variable and a limit to its answers."""
    import httpx

    key = os.environ.get(variable, "")
    if strange := next((x for x in key if not "!" <= x <= "~"), ""):
        name = "a blank or a line break" if strange.isspace() else f"the character {strange!r}"
        raise PolyprobeError(f"the key in {variable} has {name}, which no key has; set it again")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        client = httpx.AsyncClient(timeout=timeout, headers=headers, verify=read_certificates())
    except (ImportError, ValueError, httpx.InvalidURL):
        text = "the proxy of the environment cannot be used; correct http_proxy or all_proxy"
        raise PolyprobeError(text) from None
    return limit_answers(client, largest)


@cache
def read_certificates() -> Any:
    """Read the certificates of authorities once: each client would read them again, in 60 ms."""
    import httpx

    return httpx.create_ssl_context()


def limit_answers(client: Any, largest: int) -> Any:
    """Let a client of httpx refuse answers that take more memory than any that is expected."""
    send = client.send

    async def send_limited(request: Any, **options: Any) -> Any:
        response = await send(request, **options | {"stream": True})
        try:
            if response.headers.get("content-encoding", "").strip().lower() not in ENCODINGS:
                raise BrokenAnswerError("a compression that was not requested")
            limit = SMALL if request.method == "GET" else largest
            body, n_values = bytearray(), 0
            async for part in response.aiter_bytes():
                n_values += part.count(b",")
                if len(body) + len(part) > limit or n_values > VALUES:
                    raise BrokenAnswerError(f"more than {limit >> 20} MB or {VALUES:,} values")
                body += part
        finally:
            await response.aclose()
        headers = [pair for pair in response.headers.raw if pair[0].lower() not in CONTENT]
        return type(response)(
            response.status_code, headers=headers, content=bytes(body), request=request
        )

    client.headers["Accept-Encoding"] = "gzip, deflate"
    client.send = send_limited
    return client


@contextmanager
def http_failures(
    engine: str, remedies: Mapping[int, str] = REMEDIES, lack: str = "another form"
) -> Iterator[None]:
    """Turn the exceptions of httpx, and of JSON that cannot be read, into those of this module.

    `lack` is what an answer is without whose JSON has another form.
    """
    import httpx  # its texts have the whole address, or a key: they and the causes are left out

    try:
        yield
    except httpx.HTTPStatusError as error:
        status, seconds = error.response.status_code, error.response.headers.get("retry-after")
        if status in RETRIED or status >= 500:
            kind = BusyError if status == 429 else NoAnswerError
            raise kind(f"HTTP {status}", read_retry_after(seconds)) from None
        remedy = remedies.get(status) or REMEDIES.get(status, "check the address")
        text = f"{engine} refused the request with HTTP {status}; {remedy}"
        raise PolyprobeError(text) from None
    except httpx.TimeoutException:
        raise NoAnswerError("timeout") from None
    except (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError):
        raise PolyprobeError(
            f"{engine}: HTTP does not permit this address or key; expected an address http://…"
        ) from None
    except (httpx.DecodingError, httpx.RemoteProtocolError, httpx.ReadError):
        raise NoAnswerError("connection cut") from None
    except httpx.TransportError:
        raise NoAnswerError("no connection") from None
    except (ValueError, RecursionError):  # of json
        raise BrokenAnswerError("no JSON") from None
    except (AttributeError, LookupError, TypeError):
        raise BrokenAnswerError(lack) from None
