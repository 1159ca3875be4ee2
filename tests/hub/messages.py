"""What passes between the server and the routes: a call, its token, an answer, a failure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs

if TYPE_CHECKING:
    from tests.hub.server import HubServer


UNKNOWN_TOKEN = "Invalid credentials in Authorization header"
NO_TOKEN = "Invalid username or password."
READ_ONLY = "Forbidden: you must use a write token to upload to a repository."


class Token(NamedTuple):
    """A user's access token.

    `role` is read or write; `organisations` are the organisations with write permission.
    """

    user: str
    role: str = "write"
    organisations: tuple[str, ...] = ()

    def owns(self, namespace: str) -> bool:
        return namespace in (self.user, *self.organisations)

    def may_write(self, name: str) -> bool:
        return self.role != "read" and self.owns(name.split("/")[0])

    def whoami(self) -> dict[str, Any]:
        """Return what clients read of the answer of `/api/whoami-v2`."""
        organisations = [{"type": "org", "name": name} for name in self.organisations]
        auth = {"type": "access_token", "accessToken": {"displayName": "test", "role": self.role}}
        return {"type": "user", "name": self.user, "orgs": organisations, "auth": auth}


class Request(NamedTuple):
    """One answered request; status 0: the connection was closed before it was handled.

    Headers, and therefore tokens, are not stored. `bytes_received` is the size of the body.
    """

    method: str
    path: str
    status: int
    bytes_received: int = 0


class Answer(NamedTuple):
    body: bytes = b""
    head: Mapping[str, str] = {}
    status: int = HTTPStatus.OK


class HubError(Exception):
    """A refusal: the status, the Hub's error code (may be empty), its message, further fields."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        head: Mapping[str, str] | None = None,
        fields: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message
        self.head, self.fields = head or {}, fields or {}

    def answer(self) -> Answer:
        """Return it as the Hub does: code and message in the headers, the message in the body."""
        head = {"X-Error-Code": self.code, "X-Error-Message": self.message, **self.head}
        body = json.dumps({"error": self.message, **self.fields}).encode()
        head = {key: value for key, value in head.items() if value}
        return Answer(body, head | {"Content-Type": "application/json"}, self.status)


class Call(NamedTuple):
    """One request on its way to an answer: `values` are the route's parts, unquoted."""

    server: "HubServer"
    method: str
    values: Mapping[str, str]
    query: Mapping[str, str]
    headers: Message
    body: bytes
    token: Token | None

    def fields(self) -> dict[str, Any]:
        if self.headers.get_content_type() == "application/x-www-form-urlencoded":
            return parse_qs(self.body.decode())
        return json.loads(self.body or b"{}")

    def asks(self, name: str) -> bool:
        return is_true(self.query.get(name))


def send_json(content: Any, status: int = HTTPStatus.OK) -> Answer:
    return Answer(json.dumps(content).encode(), {"Content-Type": "application/json"}, status)


def is_true(value: Any) -> bool:
    return str(value[0] if isinstance(value, list) else value).lower() in {"true", "1"}


CUTS = ("cut", "cut before")
MESSAGES = {
    401: NO_TOKEN,
    403: READ_ONLY,
    409: "Cannot create repo: another conflicting operation is in progress",
    412: "A commit has happened since. Please refresh and try again.",
    413: "Payload Too Large",
    429: "We had to rate limit you, you hit the quota of 500 api requests per 5 minutes period.",
    500: "Internal Error - We're working hard to fix this as soon as possible!",
    507: "Private repository storage limit reached, please upgrade your plan",
}


@dataclass
class Failure:
    """Requests to fail: the next `times` requests with `where` in the path.

    `what` is a status, or "cut" (handled, but the connection closes during the answer), or
    "cut before" (the connection closes before handling). `wait` is the Retry-After of a 429, in
    seconds.
    """

    where: str
    what: int | str
    times: int
    wait: int

    def takes(self, path: str) -> bool:
        self.times -= self.where in path
        return self.where in path and self.times >= 0

    def answer(self) -> Answer:
        head = {"Retry-After": str(self.wait)} if self.what == HTTPStatus.TOO_MANY_REQUESTS else {}
        return HubError(int(self.what), "", MESSAGES[int(self.what)], head).answer()
