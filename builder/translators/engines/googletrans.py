"""Google Translate through the package googletrans: no key, one sentence for each request."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from polyprobe.system import sending
from polyprobe.system.text import hide_secrets

from ..codes import check_pair, current
from ..translator import Job, Translator

if TYPE_CHECKING:
    import httpx

SERVICE = "https://translate.googleapis.com"
REMEDIES = {
    400: "the sentence or the languages are invalid",
    403: "Google blocks this machine: wait some hours, or use another translator",
    404: "check base_url",
}


class Googletrans(Translator):
    """Google's free web service. It has no version: a sentence's translation may change."""

    name = "googletrans"
    per_second = 1 / 3  # what users report as safe: 20 a minute (py-googletrans, issue 277)
    timeout = 20.0
    pace = sending.Pace(first_wait=4.0, longest_wait=600.0, busy_tries=9)  # 429: 17 minutes
    can_block = True
    advice = "Google limits requests per machine: wait until tomorrow, or give a lower per_second"

    def __init__(self, *, base_url: str = SERVICE) -> None:
        import googletrans  # noqa: F401 - fail early if it is missing

        self._base = sending.check_address(self.name, base_url)
        # The package's version does not matter: it only transfers the service's answers.
        suffix = "" if self._base == SERVICE else f" {hide_secrets(self._base)}"
        self.signature = f"googletrans{suffix}"

    def check(self, source: str, target: str) -> tuple[str, str]:
        """Return Google's codes, with two letters where possible."""
        return check_pair(self.name, source, target, _known())

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[None]:
        """Hold a client open that sends requests to `base_url` and raises HTTP errors."""
        import googletrans

        async with googletrans.Translator(raise_exception=True) as self._client:
            http = sending.limit_answers(self._client.client, sending.SMALL)
            http.timeout = self.timeout
            http.event_hooks = {"request": [self._send_to_base], "response": [_refuse_errors]}
            yield

    async def ask(self, batch: Sequence[Job], source: str, target: str) -> list[str]:
        """Return the text of one sentence."""
        # The package checks `src` and `dest` against its own table, in which some codes have three
        # letters; the service gets `sl` and `tl`.
        codes = {"src": _known()[source], "dest": _known()[target], "sl": source, "tl": target}
        with sending.http_failures(self.name, REMEDIES, "no translation in it"):
            answer = await self._client.translate(batch[0].sentence, **codes)
            return [read_answer_text(answer._response.json())]

    async def _send_to_base(self, request: "httpx.Request") -> None:
        """Redirect a request to `base_url`; the package accepts only names of Google's hosts."""
        import httpx

        base = httpx.URL(self._base)
        query = b"&".join(filter(None, (base.query, request.url.query)))
        path = base.raw_path.partition(b"?")[0].rstrip(b"/") + request.url.path.encode()
        request.url = base.copy_with(raw_path=path + b"?" + query)
        request.headers["host"] = base.netloc.decode()


async def _refuse_errors(response: "httpx.Response") -> None:
    """Raise for an error status, which the package would read as a translation."""
    response.raise_for_status()


def read_answer_text(answer: Any) -> str:
    """Return the text of an answer `[[[text, source, …], …], …]`; TypeError or LookupError else."""
    # The package itself would turn an error's JSON object into a text.
    if not isinstance(answer, list) or not isinstance(answer[0], list):
        raise TypeError
    parts = [part[0] for part in answer[0] if isinstance(part, list)]
    return "".join(part for part in parts if part is not None)


@cache
def _known() -> dict[str, str]:
    """Return {Google's code: the package's}, such as {"br": "bre"}."""
    from googletrans import LANGUAGES

    return {current(code): code for code in sorted(LANGUAGES, key=len, reverse=True)}
