"""What the Hub refuses or breaks off, in one line that says what became of it and what to do."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import urlsplit

from huggingface_hub import constants, get_session, get_token
from huggingface_hub.errors import (
    HfHubHTTPError,
    HFValidationError,
    HTTPError,
    OfflineModeIsEnabled,
)

from polyprobe.system.errors import PolyprobeError

WAIT = 60  # seconds without a byte of an answer; by itself the client waits for ever
AGAIN = "run the same command again: what was uploaded is not sent twice"
_XET_STATUS = re.compile(r"HTTP status (?:client|server) error \((\d{3}) ?([^)]*)\)")
_TOKEN = re.compile(r"\bhf_(?:oauth_)?[A-Za-z0-9._-]{8,}")


class UnreachableError(PolyprobeError):
    """The Hub could not be asked, so that it is not known what it has."""


class Left:
    """What became of the repository so far, in the words of the line that tells of a failure."""

    def __init__(self) -> None:
        self.said = "nothing was changed there"


@contextmanager
def explain_hub(repo_id: str, left: Left | None = None) -> Iterator[None]:
    """Turn whatever the Hub or its client raise in the block into one line.

    `left` says what became of the repository. No token is in the line, whoever put it there.

    Raises:
        UnreachableError: no connection, or none is allowed.
        PolyprobeError: all else.
    """
    left = left or Left()
    get_session().timeout = WAIT
    try:
        yield
    except PolyprobeError:
        raise
    except HFValidationError as error:
        raise PolyprobeError(f"{repo_id!r} is no name of a repository: {tell(error)}") from None
    except OfflineModeIsEnabled:
        raise UnreachableError(
            f"HF_HUB_OFFLINE is set, so the Hub cannot be asked for {repo_id}; unset it"
        ) from None
    except Exception as error:  # the Hub's answers, the transport's errors, hf_xet's
        if refusal := find_refusal(error):
            raise PolyprobeError(f"{repo_id}: {explain_refusal(refusal)}; {left.said}") from None
        if is_connection(error):
            raise UnreachableError(
                f"{repo_id}: no connection to {endpoint()} ({tell(error)}); {left.said}; {AGAIN}"
            ) from None
        raise PolyprobeError(
            f"{repo_id}: the upload broke off ({tell(error)}); {left.said}; {AGAIN}"
        ) from None


class Refusal(NamedTuple):
    """An answer of the Hub that is not 200: its status, its words, the seconds it asks to wait."""

    status: int
    said: str
    wait: str = ""


def find_refusal(error: BaseException | None) -> Refusal | None:
    """Return the Hub's answer behind an error; hf_xet, which uploads, has it in its words alone."""
    while error is not None:
        if isinstance(error, HfHubHTTPError):
            answer = error.response
            said = error.server_message or answer.reason_phrase
            return Refusal(answer.status_code, tell(said), answer.headers.get("Retry-After") or "")
        if found := _XET_STATUS.search(str(error)):
            return Refusal(int(found[1]), tell(found[2]))
        error = error.__cause__ or error.__context__
    return None


def explain_refusal(refusal: Refusal) -> str:
    """Return what an answer of the Hub means and what to do about it."""
    status = refusal.status
    head = f"the Hub answered {status} ({refusal.said})"
    if status == 401:
        return f"{head}: the token is not valid; {how_to_log_in()}"
    if status == 403 and "disabled" in refusal.said:
        return head
    if status == 403:
        return f"{head}: the token may not do this; {how_to_log_in()}, or ask the owner for rights"
    if status == 404:
        return f"{head}: it is not there, or the token may not see it; check the name and the token"
    if status in (409, 412):
        return f"{head}: somebody changed the repository meanwhile; run the same command again"
    if status == 429:
        wait = f"{refusal.wait} s" if refusal.wait else "a while"
        return f"{head}: too many requests; wait {wait} and {AGAIN}"
    if status >= 500 and status != HTTPStatus.INSUFFICIENT_STORAGE:
        return f"{head}: the Hub has a fault; {AGAIN}"
    return head


def how_to_log_in() -> str:
    """Return how to get a token that may write."""
    return (
        f"make a token with write permission at {endpoint()}/settings/tokens, then "
        "`hf auth login` or set HF_TOKEN"
    )


def endpoint() -> str:
    """Return the Hub's address, without a user and password that may stand in it."""
    url = urlsplit(constants.ENDPOINT)
    return url._replace(netloc=url.netloc.rpartition("@")[2]).geturl()


def is_connection(error: BaseException | None) -> bool:
    """Tell whether a broken or missing connection is behind an error."""
    while error is not None:
        if isinstance(error, (HTTPError, ConnectionError)):
            return True
        error = error.__cause__ or error.__context__
    return False


def tell(error: object) -> str:
    """Return an error's words in one line of at most 300 characters, without any token."""
    text = " ".join(str(error).split()) or type(error).__name__
    token = find_token()
    text = text.replace(token, "…") if token else text
    return _TOKEN.sub("…", text)[:300]


def find_token() -> str | None:
    """Return the token that the Hub's client would send; where finding it fails, there is none."""
    try:
        return get_token()
    except Exception:  # some ways to a token ask a server
        return None
