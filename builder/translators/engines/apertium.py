"""Apertium, a rule-based offline engine, through an apertium-apy service."""

import os
import re
import shutil
import subprocess
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from polyprobe.system import sending
from polyprobe.system.messages import PolyprobeError
from polyprobe.system.text import hide_secrets

from ..codes import match_code
from ..translator import Job, Translator

ADDRESS = "http://127.0.0.1:2737"
INSTALL = "Debian's packages are apertium-SOURCE-TARGET, as apertium-eng-spa (apt-get install)"
START = (
    "install it (Debian: apt-get install apertium-apy apertium-eng-spa), start it with "
    "`apertium-apy -p 2737 /usr/share/apertium`"
)
MOVED = re.compile(r" (?=[.,;:!?])")


class Apertium(Translator):
    """The pairs of an Apertium service, without pivot languages."""

    # Unknown words stay in the text.
    name = "apertium"
    timeout = 60.0
    pace = sending.Pace(tries=3, first_wait=0.5, give_up=3)  # a local service

    def __init__(self, url: str | None = None) -> None:
        """Use the service at `url` (default: APERTIUM_APY, then ADDRESS)."""
        address = url or os.environ.get("APERTIUM_APY") or ADDRESS
        self.url = sending.check_address(self.name, address)
        self._shown = hide_secrets(self.url)
        self.signature = f"apertium|{state_versions(self._shown)}"

    def check(self, source: str, target: str) -> tuple[str, str]:
        """Return the service's codes of a pair."""
        pairs = self.list_pairs()
        own_source = match_code(source, {pair[0] for pair in pairs})
        targets = {pair[1] for pair in pairs if pair[0] == own_source}
        if own_source and (own_target := match_code(target, targets)):
            return own_source, own_target
        listing = ", ".join(sorted("-".join(pair) for pair in pairs)) or "none"
        raise PolyprobeError(
            f"apertium at {self._shown} does not translate from {source} to {target}; available: "
            f"{listing}; {INSTALL}"
        )

    def list_pairs(self) -> list[tuple[str, str]]:
        """Return the service's pairs, in its codes (ISO 639-3)."""
        try:
            return sending.run_async(self._fetch_pairs())
        except (sending.NoAnswerError, sending.BrokenAnswerError) as error:
            raise PolyprobeError(
                f"no apertium-apy answers at {self._shown} ({error}); {START}, or give its address "
                "(option url, or APERTIUM_APY)"
            ) from error

    async def _fetch_pairs(self) -> list[tuple[str, str]]:
        with sending.http_failures(self.name, lack="no pairs"):
            async with sending.open_client(self.timeout) as client:
                answer = await client.get(sending.extend(self.url, "/listPairs"))
                pairs = answer.raise_for_status().json()["responseData"]
                return [(str(x["sourceLanguage"]), str(x["targetLanguage"])) for x in pairs]

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[None]:
        """Hold the connections of a run open."""
        async with sending.open_client(self.timeout) as self._client:
            yield

    async def ask(self, batch: Sequence[Job], source: str, target: str) -> list[str]:
        """Return the translation of one sentence."""
        sentence = " ".join(batch[0].sentence.split())
        fields = {"langpair": f"{source}|{target}", "q": sentence}
        fields |= {"format": "txt", "markUnknown": "yes"}
        with sending.http_failures(self.name, lack="no translatedText"):
            answer = await self._client.post(sending.extend(self.url, "/translate"), data=fields)
            content = answer.raise_for_status().json()
            return [clean_text(sentence, str(content["responseData"]["translatedText"]))]


def clean_text(sentence: str, text: str) -> str:
    """Return the text without marks, double blanks, and blanks before punctuation.

    Marks (of unknown words, translations and forms) and such blanks stay if the sentence has any.

    >>> clean_text("Oslo and Rome are cities.", "*Oslo y Roma son  ciudades .")
    'Oslo y Roma son ciudades.'
    """
    # Without `markUnknown` the service would remove `*`, but not `@` and `#`.
    for mark in {*"*@#"} - {*sentence}:
        text = text.replace(mark, "")
    text = " ".join(text.split())
    return text if MOVED.search(sentence) else MOVED.sub("", text)


def state_versions(url: str) -> str:
    """Return the engine's Debian packages if the service is local, else its address."""
    # The service does not report its version: a new one on another machine is not noticed.
    if urlsplit(url).hostname not in ("127.0.0.1", "localhost", "::1"):
        return f"versions unknown, at {url}"
    query = ["dpkg-query", "-W", "-f", "${Package} ${Version}\\n", "*apertium*", "lttoolbox", "cg3"]
    output = ""
    if shutil.which(query[0]):
        output = subprocess.run(query, capture_output=True, text=True, check=False).stdout
    installed = [line for line in output.splitlines() if line.split()[1:]]
    return ", ".join(installed) or "versions unknown, on this machine"
