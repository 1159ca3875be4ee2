"""What passes between the server and the functions that answer: a call, an answer, a refusal."""

import json
from collections.abc import Mapping
from email.message import Message
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs

from tests.hub.tokens import Token

if TYPE_CHECKING:
    from tests.hub.server import HubServer


class Request(NamedTuple):
    """One answered request; status 0: the connection was closed before it was handled.

    Headers, and therefore tokens, are not stored. `bytes_received` is the size of the body.
    """

    method: str
    path: str
    status: int
    bytes_received: int = 0


class Answer(NamedTuple):
    """What is sent back."""

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
        """Return the body's fields, sent as JSON or as a form (whose values are lists)."""
        if self.headers.get_content_type() == "application/x-www-form-urlencoded":
            return parse_qs(self.body.decode())
        return json.loads(self.body or b"{}")

    def asks(self, name: str) -> bool:
        """Return whether a field of the query is true."""
        return is_true(self.query.get(name))


def send_json(content: Any, status: int = HTTPStatus.OK) -> Answer:
    """Return a JSON answer."""
    return Answer(json.dumps(content).encode(), {"Content-Type": "application/json"}, status)


def is_true(value: Any) -> bool:
    """Return whether a field of a query or form is true, in any client's spelling."""
    return str(value[0] if isinstance(value, list) else value).lower() in {"true", "1"}
