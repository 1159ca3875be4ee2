"""Failures of a translator's requests: no answer, an unreadable answer, an error of the user."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit, urlunsplit

from polyprobe.system.errors import PolyprobeError
from polyprobe.system.extras import missing

RETRIED = frozenset({302, 303, 307, 408, 409, 425, 429})  # Google redirects to its captcha
REMEDIES = {
    400: "the request is invalid; check the model's name and the languages",
    401: "check the key",
    403: "check the key and its permissions",
    404: "check the address and the model's name",
}


class NoAnswerError(Exception):
    """No answer: a timeout, a lost connection, HTTP 429 or 5xx. The request is retried.

    Args:
        reason: a few words: `HTTP 429`, `timeout`.
        retry_after: seconds to wait before the next request, None if the server does not say.
    """

    def __init__(self, reason: str, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


class BrokenAnswerError(Exception):
    """An answer without a translation: `no JSON`, `several lines`. The request is retried."""


class WrongNumberError(Exception):
    """The number of texts differs from the batch: its sentences are then requested one by one."""


def status_failure(
    engine: str, status: int, headers: Mapping[str, str], remedies: Mapping[int, str] = REMEDIES
) -> Exception:
    """Return the exception for an HTTP status.

    Timeouts, conflicts, 429, 5xx and redirects are retried (NoAnswerError). Any other status is a
    PolyprobeError with a remedy.
    """
    if status in RETRIED or status >= 500:
        return NoAnswerError(f"HTTP {status}", read_retry_after(headers.get("retry-after")))
    remedy = remedies.get(status) or REMEDIES.get(status, "check the address")
    return PolyprobeError(f"{engine} refused the request with HTTP {status}; {remedy}")


def read_retry_after(value: str | None, now: datetime | None = None) -> float | None:
    """Return the seconds of a Retry-After header: a number, or a date (RFC 9110, 10.2.3).

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
    """Return the address of an engine without its final slash.

    Raises:
        PolyprobeError: an invalid address; the message hides a password.
    """
    parts = urlsplit(address.strip())
    try:
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # of the port
        good = False
    if not good:
        shown = address.rpartition("@")[2]
        raise PolyprobeError(
            f"invalid address of {engine}: {shown!r}; expected an address such as "
            "http://127.0.0.1:8000"
        )
    return address.strip().rstrip("/")


def hide_password(address: str) -> str:
    """Return an address without its user name and password, to be shown or stored.

    >>> hide_password("http://me:secret@127.0.0.1:8000/v1")
    'http://127.0.0.1:8000/v1'
    """
    parts = urlsplit(address)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


@contextmanager
def http_failures(engine: str, remedies: Mapping[int, str] = REMEDIES) -> Iterator[None]:
    """Turn the exceptions of httpx, and of JSON that cannot be read, into those of this module.

    The block may call `response.raise_for_status()` and `response.json()`.

    Args:
        engine: its name, for messages.
        remedies: {HTTP status: remedy}; REMEDIES has the rest.
    """
    import httpx

    try:
        yield
    except httpx.HTTPStatusError as error:
        response = error.response
        raise status_failure(engine, response.status_code, response.headers, remedies) from error
    except httpx.TimeoutException as error:
        raise NoAnswerError("timeout") from error
    except (httpx.DecodingError, httpx.RemoteProtocolError) as error:
        raise NoAnswerError("connection cut") from error
    except httpx.TransportError as error:
        raise NoAnswerError("no connection") from error
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        raise PolyprobeError(f"{engine}: {error}; expected an address http://…") from error
    except ValueError as error:  # of json
        raise BrokenAnswerError("no JSON") from error


@contextmanager
def packages_explained(translator: str) -> Iterator[None]:
    """Turn a ModuleNotFoundError into one line with the remedy."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise missing(f"the translator {translator}", error.name or "") from error
