"""Errors of the Hub and its client as one line: cause, state of the repository, remedy."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import urlsplit

from huggingface_hub import constants, get_session, get_token
from huggingface_hub.errors import HfHubHTTPError, HTTPError, OfflineModeIsEnabled

from polyprobe.system.errors import PolyprobeError

WAIT = 60  # seconds without a byte of an answer; by default the client waits without limit
AGAIN = "run the same command again: uploaded files are not sent twice"
_XET_STATUS = re.compile(r"HTTP status (?:client|server) error \((\d{3}) ?([^)]*)\)")
_TOKEN = re.compile(r"\bhf_(?:oauth_)?[A-Za-z0-9._-]{8,}")


class UnreachableError(PolyprobeError):
    """The Hub could not be asked, so the state of the repository is unknown."""


@dataclass
class State:
    """The state of the repository during a push, in the words of an error message."""

    text: str = "nothing was changed there"


@contextmanager
def explain_hub(repo_id: str, state: State | None = None) -> Iterator[None]:
    """Turn any error of the Hub or its client in the block into one line without a token.

    Raises:
        UnreachableError: there is no connection, or HF_HUB_OFFLINE forbids one.
        PolyprobeError: any other error.
    """
    state = state or State()
    get_session().timeout = WAIT
    try:
        yield
    except PolyprobeError:
        raise
    except OfflineModeIsEnabled:
        raise UnreachableError(
            f"HF_HUB_OFFLINE is set, so the Hub cannot be asked for {repo_id}; unset it"
        ) from None
    except Exception as error:  # answers of the Hub, errors of the transport and of hf_xet
        if refusal := find_refusal(error):
            raise PolyprobeError(f"{repo_id}: {explain_refusal(refusal)}; {state.text}") from None
        if is_connection(error):
            raise UnreachableError(
                f"{repo_id}: no connection to {endpoint()} ({redact(error)}); {state.text}; {AGAIN}"
            ) from None
        raise PolyprobeError(
            f"{repo_id}: the upload failed ({redact(error)}); {state.text}; {AGAIN}"
        ) from None


class Refusal(NamedTuple):
    """An answer of the Hub other than 200: status, message, seconds to wait."""

    status: int
    message: str
    wait: str = ""


def find_refusal(error: BaseException | None) -> Refusal | None:
    """Return the Hub's answer behind an error; hf_xet has it in its message only."""
    while error is not None:
        if isinstance(error, HfHubHTTPError):
            answer = error.response
            message = redact(error.server_message or answer.reason_phrase)
            return Refusal(answer.status_code, message, answer.headers.get("Retry-After") or "")
        if found := _XET_STATUS.search(str(error)):
            return Refusal(int(found[1]), redact(found[2]))
        error = error.__cause__ or error.__context__
    return None


def explain_refusal(refusal: Refusal) -> str:
    """Return the meaning of an answer and the remedy."""
    status = refusal.status
    head = f"the Hub answered {status} ({refusal.message})"
    if status == 401:
        return f"{head}: the token is not valid; {how_to_log_in()}"
    if status == 403 and "disabled" in refusal.message:
        return head
    if status == 403:
        return f"{head}: the token may not do this; {how_to_log_in()}, or ask the owner for rights"
    if status == 404:
        return f"{head}: not found, or not visible to the token; check the name and the token"
    if status in (409, 412):
        return f"{head}: somebody changed the repository meanwhile; run the same command again"
    if status == 429:
        wait = f"{refusal.wait} s" if refusal.wait else "a while"
        return f"{head}: too many requests; wait {wait} and {AGAIN}"
    if status >= 500 and status != HTTPStatus.INSUFFICIENT_STORAGE:
        return f"{head}: the Hub has a fault; {AGAIN}"
    return head


def how_to_log_in() -> str:
    """Return how to get a token with write permission."""
    return (
        f"make a token with write permission at {endpoint()}/settings/tokens, then "
        "`hf auth login` or set HF_TOKEN"
    )


def endpoint() -> str:
    """Return the Hub's address without a user and password."""
    url = urlsplit(constants.ENDPOINT)
    return url._replace(netloc=url.netloc.rpartition("@")[2]).geturl()


def is_connection(error: BaseException | None) -> bool:
    """Return whether a broken or missing connection is behind an error."""
    while error is not None:
        if isinstance(error, (HTTPError, ConnectionError)):
            return True
        error = error.__cause__ or error.__context__
    return False


def redact(error: object) -> str:
    """Return an error's text as one line of at most 300 characters, without any token."""
    text = " ".join(str(error).split()) or type(error).__name__
    token = find_token()
    text = text.replace(token, "…") if token else text
    return _TOKEN.sub("…", text)[:300]


def find_token() -> str | None:
    """Return the token that the Hub's client would send, None if it cannot be found."""
    try:
        return get_token()
    except Exception:  # some sources of a token ask a server
        return None
