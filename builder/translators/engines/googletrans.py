"""Google Translate by the package googletrans: no key, one sentence a request."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from polyprobe.builder.translators.codes import check_pair, current
from polyprobe.builder.translators.failures import (
    BrokenAnswerError,
    check_address,
    hide_password,
    http_failures,
)
from polyprobe.builder.translators.translator import Terms, Translator

if TYPE_CHECKING:
    import httpx

SERVICE = "https://translate.googleapis.com"
REMEDIES = {
    400: "it does not take the sentence or the languages",
    403: "Google bars this machine: wait some hours, or use another translator",
    404: "look at base_url",
}


class Googletrans(Translator):
    """Google's free web service. It is not versioned: the same sentence may change with the years.

    Args:
        base_url: where the service is; another address stands for another service, so its texts
            are kept apart.
    """

    name = "googletrans"
    per_second = 4.0
    timeout = 20.0
    advice = "Google limits requests by machine: wait, or give a lower per_second"

    def __init__(self, *, base_url: str = SERVICE) -> None:
        import googletrans  # noqa: F401 - its absence is told before work begins

        self._base = check_address(self.name, base_url)
        # The package's version is no part: it only carries what the service answers.
        other = "" if self._base == SERVICE else f" {hide_password(self._base)}"
        self.signature = f"googletrans{other}"

    def check(self, source: str, target: str) -> tuple[str, str]:
        """Return Google's codes, of two letters where a language has such a code."""
        return check_pair(self.name, source, target, _known())

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[None]:
        """Hold a client open whose requests go to `base_url` and whose errors are not hidden."""
        import googletrans

        async with googletrans.Translator(raise_exception=True) as self._client:
            http = self._client.client
            http.timeout = self.timeout
            http.event_hooks = {"request": [self._send_to_base], "response": [_refuse_errors]}
            yield

    async def ask(
        self, batch: Sequence[str], source: str, target: str, terms: Sequence[Terms]
    ) -> list[str]:
        """Return the text of one sentence.

        The package checks codes against its own table, where some have three letters; `sl` and
        `tl` are what the service gets.
        """
        [sentence] = batch
        known = _known()
        try:
            with http_failures(self.name, REMEDIES):
                answer = await self._client.translate(
                    sentence, src=known[source], dest=known[target], sl=source, tl=target
                )
                return [read_text(answer._response.json())]
        except (TypeError, LookupError, AttributeError) as error:  # of the package on odd JSON
            raise BrokenAnswerError("no translation in it") from error

    async def _send_to_base(self, request: "httpx.Request") -> None:
        """Point a request to `base_url`; the package itself only takes names of Google's hosts."""
        import httpx

        base = httpx.URL(self._base)
        path = base.raw_path.rstrip(b"/") + request.url.raw_path
        request.url = base.copy_with(raw_path=path)
        request.headers["host"] = base.netloc.decode()


async def _refuse_errors(response: "httpx.Response") -> None:
    """Raise for a status that is no success, which the package would take for a translation."""
    response.raise_for_status()


def read_text(answer: Any) -> str:
    """Return the text of an answer `[[[text, source, …], …], …]`, of which each part is checked.

    The package itself would make letters of an error's JSON object into a text.

    Raises:
        TypeError: it has another form.
        LookupError: a part is missing.
    """
    if not isinstance(answer, list) or not isinstance(answer[0], list):
        raise TypeError
    parts = [part[0] for part in answer[0] if isinstance(part, list)]
    return "".join(part for part in parts if part is not None)


@cache
def _known() -> dict[str, str]:
    """Return {Google's code: the package's}, which differ where it has br as bre."""
    from googletrans import LANGUAGES

    return {current(code): code for code in sorted(LANGUAGES, key=len, reverse=True)}
