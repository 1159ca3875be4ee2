"""Failures on demand: `HubServer.fail` defines them, and each request is compared with them."""

from dataclasses import dataclass
from http import HTTPStatus

from tests.hub.access import NO_TOKEN, READ_ONLY
from tests.hub.messages import Answer, HubError

CUTS = ("cut", "cut before")
MESSAGES = {
    401: NO_TOKEN,
    403: READ_ONLY,
    404: "Not found",
    409: "Cannot create repo: another conflicting operation is in progress",
    412: "A commit has happened since. Please refresh and try again.",
    413: "Payload Too Large",
    429: "We had to rate limit you, you hit the quota of 500 api requests per 5 minutes period.",
    500: "Internal Error - We're working hard to fix this as soon as possible!",
    502: "Bad Gateway",
    503: "Service Temporarily Unavailable",
    504: "Gateway Time-out",
    507: "Private repository storage limit reached, please upgrade your plan",
}


@dataclass
class Failure:
    """Requests to fail: the next `times` requests with `where` in the path, after `after` others.

    `what` is a status, or "cut" (handled, but the connection closes during the answer), or
    "cut before" (the connection closes before handling). `wait` is the Retry-After of a 429, in
    seconds.
    """

    where: str
    what: int | str
    times: int
    after: int
    method: str
    wait: int

    def takes(self, method: str, path: str) -> bool:
        """Tell whether this request fails, and count it."""
        if self.times < 1 or self.where not in path or not method.startswith(self.method):
            return False
        if self.after > 0:
            self.after -= 1
            return False
        self.times -= 1
        return True

    def answer(self) -> Answer:
        """Return the refusal of a status, in the Hub's words."""
        status = int(self.what)
        head = {}
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            head["Retry-After"] = str(self.wait)
            head["RateLimit"] = f'"api";r=0;t={self.wait}'
            head["RateLimit-Policy"] = '"fixed window";"api";q=500;w=300'
        return HubError(status, "", MESSAGES[status], head).answer()


def find_failure(failures: list[Failure], method: str, path: str) -> Failure | None:
    """Return the first failure that matches the request."""
    return next((each for each in failures if each.takes(method, path)), None)
