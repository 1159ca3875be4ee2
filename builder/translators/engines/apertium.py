"""Apertium, a rule-based offline engine, through an apertium-apy service."""

import os
import re
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
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
# The service splits longer requests, inside a sentence if there is no full stop.
CHARACTERS = 900
MOVED = re.compile(r" (?=[.,;:!?])")
BETWEEN = "\n\n"  # ends a sentence for the engine, even without a full stop


class Apertium(Translator):
    """The pairs of an Apertium service, without pivot languages."""

    # Unknown words stay in the text.
    name = "apertium"
    batch_size = 20
    concurrency = 2
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
            pairs = sending.run_async(self._fetch_pairs())["responseData"]
            return [(str(pair["sourceLanguage"]), str(pair["targetLanguage"])) for pair in pairs]
        except (sending.NoAnswerError, sending.BrokenAnswerError, KeyError, TypeError) as error:
            raise PolyprobeError(
                f"no apertium-apy answers at {self._shown} ({error or 'no pairs'}); {START}, or "
                "give its address (option url, or APERTIUM_APY)"
            ) from error

    async def _fetch_pairs(self) -> Any:
        with sending.http_failures(self.name):
            async with sending.open_client(self.timeout) as client:
                answer = await client.get(sending.extend(self.url, "/listPairs"))
                return answer.raise_for_status().json()

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[None]:
        """Hold the connections of a run open."""
        async with sending.open_client(self.timeout) as self._client:
            yield

    async def ask(self, batch: Sequence[Job], source: str, target: str) -> list[str]:
        """Return the translations of a batch, with several sentences in each request."""
        sentences = [" ".join(job.sentence.split()) for job in batch]
        pair, texts = f"{source}|{target}", []
        for part in split_batch(sentences):
            answers = (await self._post(BETWEEN.join(part), pair)).split(BETWEEN)
            # The engine may merge sentences; then each is sent alone.
            if len(answers) != len(part):
                answers = [await self._post(sentence, pair) for sentence in part]
            texts += answers
        return [clean_text(*each) for each in zip(sentences, texts, strict=True)]

    async def _post(self, text: str, pair: str) -> str:
        fields = {"langpair": pair, "q": text, "format": "txt", "markUnknown": "yes"}
        with sending.http_failures(self.name):
            answer = await self._client.post(sending.extend(self.url, "/translate"), data=fields)
            content = answer.raise_for_status().json()
        try:
            return str(content["responseData"]["translatedText"])
        except (KeyError, TypeError) as error:
            raise sending.BrokenAnswerError("no translatedText") from error


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


def split_batch(sentences: Sequence[str]) -> Iterator[list[str]]:
    """Yield parts of at most CHARACTERS, but at least one sentence."""
    part: list[str] = []
    for sentence in sentences:
        if part and len(BETWEEN.join([*part, sentence])) > CHARACTERS:
            yield part
            part = []
        part.append(sentence)
    if part:
        yield part


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
