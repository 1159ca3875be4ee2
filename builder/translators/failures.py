"""How a request to a translator fails: no answer, a broken answer, a mistake of the user's."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit, urlunsplit

from polyprobe.system.errors import PolyprobeError

RETRIED = frozenset({302, 303, 307, 408, 409, 425, 429})  # a redirect is Google's "are you human?"
REMEDIES = {
    400: "it does not take such a request; look at the model's name and the languages",
    401: "look at the key",
    403: "look at the key and what it may be used for",
    404: "look at the address and the model's name",
}


class NoAnswerError(Exception):
    """Nothing came: a timeout, a lost connection, HTTP 429 or 5xx. It is asked again.

    Args:
        reason: what happened, in a few words: `HTTP 429`, `timeout`.
        retry_after: seconds that the engine wants to be left alone, None where it does not say.
    """

    def __init__(self, reason: str, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


class BrokenAnswerError(Exception):
    """Something came that is no translation: `no JSON`, `several lines`. It is asked again."""


class WrongNumberError(BrokenAnswerError):
    """An answer has another number of texts than the batch: it is asked again one by one."""


def status_failure(
    engine: str, status: int, headers: Mapping[str, str], remedies: Mapping[int, str] = REMEDIES
) -> Exception:
    """Return the failure that an HTTP status means; raise it.

    Timeouts, conflicts, 429, 5xx and redirects are asked again. What asking again does not mend
    is the user's: a PolyprobeError with the remedy for its status.
    """
    if status in RETRIED or status >= 500:
        return NoAnswerError(f"HTTP {status}", read_retry_after(headers.get("retry-after")))
    remedy = remedies.get(status) or REMEDIES.get(status, "look at the address")
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
    """Return the address of an engine without a slash at its end.

    Raises:
        PolyprobeError: it is no address; what it holds of a password is not shown.
    """
    parts = urlsplit(address.strip())
    try:
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # of the port
        good = False
    if not good:
        shown = address.rpartition("@")[2]
        raise PolyprobeError(
            f"no address of {engine}: {shown!r}; expected one such as http://127.0.0.1:8000"
        )
    return address.strip().rstrip("/")


def hide_password(address: str) -> str:
    """Return an address as it may be shown and kept: without a user's name and password.

    >>> hide_password("http://me:secret@127.0.0.1:8000/v1")
    'http://127.0.0.1:8000/v1'
    """
    parts = urlsplit(address)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


@contextmanager
def http_failures(engine: str, remedies: Mapping[int, str] = REMEDIES) -> Iterator[None]:
    """Turn what httpx raises, and what reading a broken answer raises, into our failures.

    Inside, `response.raise_for_status()` and `response.json()` may be called as they are.

    Args:
        engine: its name, for messages.
        remedies: {HTTP status: what to do}, where the engine knows better than REMEDIES.
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
    """Turn the absence of an optional package into one line with the remedy."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise PolyprobeError(
            f"the translator {translator} needs the package {error.name}: "
            "pip install 'polyprobe[sentences]'"
        ) from error
