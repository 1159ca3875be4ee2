"""What every translator is to its callers, and what an engine has to give."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from polyprobe.system.store import cache_folder

from .failures import packages_explained
from .loop import run
from .pace import Pace
from .run import Question, Translation, answer

__all__ = ["Terms", "Translation", "Translator"]

Terms = Mapping[str, str]
"""{label in the source language: label in the target language} of the entities in a sentence."""


class Translator(ABC):
    """An engine that translates sentences; its texts are kept on disk and never paid for twice.

    An engine gives `name`, `signature`, `ask`, and `check` and `connect` where it needs them; what
    it asks for again, how fast, what is kept and what is drawn is the same for all.

    Attributes:
        name: as in TRANSLATORS.
        signature: all that a text depends on beside the sentence: engine, version, model, prompt.
        uses_terms: whether the terms of a sentence change its text.
        batch_size: sentences that one request takes.
        concurrency: requests under way at once.
        per_second: requests a second, None without a limit.
        timeout: seconds for one request from first to last byte, None without a limit.
        pace: how a failed request is asked again.
        advice: what to do when no answers come any more; ends the line that says so.
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
        """Return one text for each sentence of a batch of at most `batch_size`: one request.

        `source` and `target` are what `check` returned; `terms` is as long as the batch, with an
        empty mapping where a sentence has none.

        Raises:
            NoAnswerError: nothing came; it is asked again.
            BrokenAnswerError: what came is no translation; it is asked again.
            PolyprobeError: a mistake of the user's; the run stops.
        """

    def check(self, source: str, target: str) -> tuple[str, str]:
        """Return the engine's own codes of two languages of ours.

        Raises:
            PolyprobeError: the engine does not translate so; the pair is named, and what there is.
        """
        return source, target

    def sign(self, source: str, target: str) -> str:
        """Return what the texts of one pair depend on: `signature`, and what only this pair has.

        The languages are those that `check` returned.
        """
        return self.signature

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[None]:
        """Hold open what a run needs, a client of HTTP say, made in the run's own event loop."""
        yield

    def translate(
        self,
        sentences: Sequence[str],
        source: str,
        target: str,
        terms: Sequence[Terms] | None = None,
    ) -> list[str]:
        """Return a text for each sentence, "" where none came; arguments as in `translate_each`."""
        return [found.text for found in self.translate_each(sentences, source, target, terms)]

    def translate_each(
        self,
        sentences: Sequence[str],
        source: str,
        target: str,
        terms: Sequence[Terms] | None = None,
    ) -> list[Translation]:
        """Return a translation for each sentence, with what is wrong with it.

        What is known from earlier runs is not asked; each good text is on disk before the next is
        awaited, so that a run which is stopped goes on where it was. Equal sentences are asked
        once, blank ones not at all. It may be called where an event loop runs (Jupyter).

        Args:
            sentences: one line each.
            source: language code as in our datasets.
            target: language code as in our datasets.
            terms: for each sentence {source label: target label} of its entities.

        Raises:
            PolyprobeError: a pair that the engine does not translate, a key or an address that is
                refused, no answer to several batches in a row, no place to keep texts. All that
                came is kept.
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
        found = run(answer(self, questions, source, target, file))
        return [found[question.key] for question in questions]


def key_of(signature: str, source: str, target: str, sentence: str, terms: Terms) -> bytes:
    """Return the SHA-256 of everything a translation depends on, the order of terms aside."""
    parts = [signature, source, target, sentence, sorted(terms.items())]
    return hashlib.sha256(json.dumps(parts, ensure_ascii=True).encode()).digest()
