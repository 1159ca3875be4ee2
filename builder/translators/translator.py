"""The interface of every translator, and the methods that an engine implements."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from polyprobe.system.store import cache_folder

from .failures import packages_explained
from .pace import Pace
from .run import Question, Translation, run, translate_all

__all__ = ["Terms", "Translation", "Translator"]

Terms = Mapping[str, str]
"""{source label: target label} of the entities in a sentence."""


class Translator(ABC):
    """An engine that translates sentences; texts are stored on disk and never requested twice.

    An engine implements `name`, `signature`, `ask`, and optionally `check` and `connect`. Retries,
    rate, storage and the progress bar are the same for all engines.

    Attributes:
        name: as in TRANSLATORS.
        signature: everything but the sentence that a text depends on: engine, version, model.
        uses_terms: whether the terms of a sentence change its text.
        batch_size: sentences in one request.
        concurrency: simultaneous requests.
        per_second: requests per second, None without a limit.
        timeout: seconds for one request from first to last byte, None without a limit.
        pace: retries of a failed request.
        advice: remedy at the end of the message of a run that stops.
    """

    name: str
    signature: str
    uses_terms: bool = False
    batch_size: int = 1
    concurrency: int = 4
    per_second: float | None = None
    timeout: float | None = None
    pace: Pace = Pace()
    advice: str = ""

    @abstractmethod
    async def ask(
        self, batch: Sequence[str], source: str, target: str, terms: Sequence[Terms]
    ) -> list[str]:
        """Return one text for each sentence of a batch, from one request.

        Args:
            batch: at most `batch_size` sentences.
            source: the source's code from `check`.
            target: the target's code from `check`.
            terms: one mapping for each sentence, which may be empty.

        Raises:
            NoAnswerError: no answer; the request is retried.
            BrokenAnswerError: an answer without a translation; the request is retried.
            PolyprobeError: an error of the user; the run stops.
        """

    def check(self, source: str, target: str) -> tuple[str, str]:
        """Return the engine's codes of a pair of languages.

        Raises:
            PolyprobeError: the engine lacks the pair; the message lists the available ones.
        """
        return source, target

    def sign(self, source: str, target: str) -> str:
        """Return the signature of one pair, in the codes from `check`."""
        return self.signature

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[None]:
        """Hold the resources of a run open, such as an HTTP client, in the run's event loop."""
        yield

    def translate(
        self,
        sentences: Sequence[str],
        source: str,
        target: str,
        terms: Sequence[Terms] | None = None,
    ) -> list[str]:
        """Return a text for each sentence, "" for a failed one; see `translate_each`."""
        return [found.text for found in self.translate_each(sentences, source, target, terms)]

    def translate_each(
        self,
        sentences: Sequence[str],
        source: str,
        target: str,
        terms: Sequence[Terms] | None = None,
    ) -> list[Translation]:
        """Return a translation for each sentence, with its problem.

        Stored texts are not requested. Each good text is stored at once, so a second run resumes
        an interrupted one. Equal sentences are requested once, blank ones never. The method works
        inside a running event loop (Jupyter).

        Args:
            sentences: one line each.
            source: language code of the datasets.
            target: language code of the datasets.
            terms: one mapping {source label: target label} for each sentence.

        Raises:
            PolyprobeError: an unavailable pair, a rejected key or address, several batches in a row
                without an answer, a store that cannot be written. Texts received are stored.
        """
        with packages_explained(self.name):
            return self._translate_each(sentences, source, target, terms)

    def _translate_each(
        self,
        sentences: Sequence[str],
        source: str,
        target: str,
        terms: Sequence[Terms] | None,
    ) -> list[Translation]:
        source, target = self.check(source, target)
        given = terms if terms is not None else [{}] * len(sentences)
        signature = self.sign(source, target)
        questions = []
        for sentence, named in zip(sentences, given, strict=True):
            used = dict(named) if self.uses_terms else {}
            key = key_of(signature, source, target, sentence, used)
            questions.append(Question(key, sentence, used))
        file = cache_folder() / "translations.sqlite"
        found = run(translate_all(self, questions, source, target, file))
        return [found[question.key] for question in questions]


def key_of(signature: str, source: str, target: str, sentence: str, terms: Terms) -> bytes:
    """Return the SHA-256 of everything a translation depends on, the order of terms aside."""
    parts = [signature, source, target, sentence, sorted(terms.items())]
    return hashlib.sha256(json.dumps(parts, ensure_ascii=True).encode()).digest()
