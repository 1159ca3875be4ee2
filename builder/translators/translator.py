"""The interface of every translator, and its runs: concurrent batches, each text stored at once."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from typing import NamedTuple

from polyprobe.system import sending
from polyprobe.system.download import ContentStore, cache_folder
from polyprobe.system.messages import PolyprobeError, explain_missing_extras, track

Terms = Mapping[str, str]
"""{source label: target label} of the entities in a sentence."""


class Translation(NamedTuple):
    """A sentence's translation, "" if there is none, and its problem."""

    text: str
    # "", or one line: `empty`, `unchanged` (the text equals the sentence; it is given), `no answer:
    # HTTP 429, 5 times`, `broken answer: no JSON, 5 times`.
    problem: str


class Job(NamedTuple):
    """A sentence to translate."""

    key: bytes  # the hash of everything that its text depends on
    sentence: str
    terms: Terms


class Translator(ABC):
    """An engine that translates sentences; texts are stored on disk and never requested twice.

    An engine implements `name`, `signature`, `ask`, and optionally `check` and `connect`. Retries,
    rate, storage and the progress bar are the same for all engines.
    """

    name: str  # as in TRANSLATORS
    signature: str  # everything but the sentence that a text depends on: engine, version, model
    uses_terms: bool = False  # the terms of a sentence change its text
    batch_size: int = 1  # sentences in one request
    longest_first: bool = False  # memory then runs out in the first batch or never
    concurrency: int = 4  # simultaneous requests
    per_second: float | None = None  # requests, None without a limit
    timeout: float | None = None  # seconds of a request from first to last byte
    pace: sending.Pace = sending.Pace()  # retries of a failed request
    advice: str = ""  # remedy at the end of the message of a run that stops

    @abstractmethod
    async def ask(self, batch: Sequence[Job], source: str, target: str) -> list[str]:
        """Return one text for each sentence of a batch, from one request.

        The codes are those of `check`.

        Raises:
            NoAnswerError: no answer; the request is retried.
            BrokenAnswerError: an answer without a translation; the request is retried.
            PolyprobeError: an error of the user; the run stops.
        """

    def check(self, source: str, target: str) -> tuple[str, str]:
        """Return the engine's codes of a pair; PolyprobeError lists the pairs that it has."""
        return source, target

    def sign(self, source: str, target: str) -> str:
        """Return the signature of one pair, in the codes from `check`."""
        return self.signature

    def of_relation(self, relation: str) -> "Translator":
        """Return the engine for sentences of a relation: itself, unless it treats them apart."""
        return self

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[None]:
        """Hold the resources of a run open, such as an HTTP client, in the run's event loop."""
        yield

    def translate(
        self, sentences: Sequence[str], source: str, target: str, terms: Sequence[Terms] = ()
    ) -> list[str]:
        """Return a text for each sentence, "" for a failed one; see `translate_each`."""
        return [answer.text for answer in self.translate_each(sentences, source, target, terms)]

    def translate_each(
        self,
        sentences: Sequence[str],
        source: str,
        target: str,
        terms: Sequence[Terms] = (),
        relations: Sequence[str] | None = None,
    ) -> list[Translation]:
        """Return a translation for each sentence, with its problem.

        Stored texts are not requested. Each good text is stored at once, so a second run resumes
        an interrupted one. Equal sentences are requested once, blank ones never. `terms` has a
        mapping {source label: target label} for each sentence, `relations` its relation.

        Raises:
            PolyprobeError: an unavailable pair, a rejected key or address, several batches in a row
                without an answer, a store that cannot be written. Texts received are stored.
        """
        mappings = terms or [{}] * len(sentences)
        engines = {relation: self.of_relation(relation) for relation in relations or ()}
        if relations is not None and any(engine is not self for engine in engines.values()):
            for engine in engines.values():
                engine.check(source, target)
            texts: dict[int, Translation] = {}
            for relation, engine in engines.items():
                rows = [row for row, of in enumerate(relations) if of == relation]
                part, part_terms = [sentences[row] for row in rows], [mappings[row] for row in rows]
                translations = engine.translate_each(part, source, target, part_terms)
                texts |= zip(rows, translations, strict=True)
            return [texts[row] for row in range(len(sentences))]
        questions = []
        with explain_missing_extras(f"the translator {self.name}", any_package=True):
            pair = self.check(source, target)
            signature = self.sign(*pair)
            for sentence, names in zip(sentences, mappings, strict=True):
                relevant = dict(names) if self.uses_terms else {}
                key = hash_job(signature, *pair, sentence, relevant)
                questions.append(Job(key, sentence, relevant))
            answers = sending.run_async(run_jobs(self, questions, pair))
        return [answers[question.key] for question in questions]


def hash_job(signature: str, source: str, target: str, sentence: str, terms: Terms) -> bytes:
    """Return the SHA-256 of everything a translation depends on, the order of terms aside."""
    parts = [signature, source, target, sentence, sorted(terms.items())]
    return hashlib.sha256(json.dumps(parts, ensure_ascii=True).encode()).digest()


async def run_jobs(
    translator: Translator, questions: Sequence[Job], pair: tuple[str, str]
) -> dict[bytes, Translation]:
    """Return a translation for each key, from the store where it has one."""
    store = ContentStore(cache_folder() / "translations.sqlite", "translations", seal=b"")
    texts = store.find(question.key for question in questions)
    answers = {key: Translation(text.decode(), "") for key, text in texts.items()}
    answers |= {q.key: Translation("", "empty") for q in questions if not q.sentence.strip()}
    pending = list({q.key: q for q in questions if q.key not in answers}.values())
    if translator.longest_first:
        pending.sort(key=lambda question: -len(question.sentence))
    if pending:
        steps = track(range(len(pending)), f"{translator.name} {'-'.join(pair)}")
        next(steps)  # draws the bar
        with closing(steps):  # type: ignore[type-var]
            async with translator.connect():
                answers |= await _Run(translator, store, pair, steps).work(pending)
    return answers


class _Run:
    def __init__(
        self, engine: Translator, store: ContentStore, pair: tuple[str, str], steps: Iterator[int]
    ) -> None:
        self._engine, self._store, self._pair, self._steps = engine, store, pair, steps
        self._requests = sending.Requests(engine.pace, engine.per_second, engine.timeout)
        self._answers: dict[bytes, Translation] = {}
        self._failed_in_a_row = 0
        self._total = 0

    async def work(self, pending: Sequence[Job]) -> dict[bytes, Translation]:
        size, self._total = self._engine.batch_size, len(pending)
        batches = (pending[at : at + size] for at in range(0, len(pending), size))
        await sending.run_each(self._translate_or_stop, batches, self._engine.concurrency)
        return self._answers

    async def _translate_or_stop(self, batch: Sequence[Job]) -> None:
        reason = await self._translate_batch(batch)
        self._failed_in_a_row = self._failed_in_a_row + 1 if reason else 0
        # Waiting longer would not help: the engine is down, or refuses this machine.
        if self._failed_in_a_row >= self._engine.pace.give_up:
            good = sum(not answer.problem for answer in self._answers.values())
            advice = f" ({self._engine.advice})" if self._engine.advice else ""
            raise PolyprobeError(
                f"{self._engine.name} failed {self._failed_in_a_row} batches in a row "
                f"({reason}); {good} of {self._total} sentences are translated and stored in "
                f"{self._store.file}; run the same command again to resume{advice}"
            )

    async def _translate_batch(self, batch: Sequence[Job]) -> str:
        """Return why all sentences of a batch failed, "" if one succeeded."""
        reason = ""
        try:
            texts = await self._requests.send(lambda: self._ask(batch))
        except sending.NoAnswerError as error:
            reason = f"no answer: {error}"
        except (sending.BrokenAnswerError, sending.WrongNumberError) as error:
            if len(batch) > 1:
                # One bad sentence spoils a batch: each is sent alone to find it.
                reasons = [await self._translate_batch([question]) for question in batch]
                return reasons[-1] if all(reasons) else ""
            reason = f"broken answer: {error}"
        if reason:
            answers = {question.key: Translation("", reason) for question in batch}
        else:
            pairs = zip(batch, texts, strict=True)
            answers = {q.key: check_text(q.sentence, text) for q, text in pairs}
        if good := {key: each.text.encode() for key, each in answers.items() if not each.problem}:
            self._store.add(good)
        self._answers |= answers
        for _ in answers:
            next(self._steps, None)
        return reason

    async def _ask(self, batch: Sequence[Job]) -> list[str]:
        texts = await self._engine.ask(batch, *self._pair)
        if len(texts) != len(batch):
            raise sending.WrongNumberError(f"{len(texts)} texts for {len(batch)} sentences")
        return texts


def check_text(sentence: str, text: str) -> Translation:
    """Return a text, stripped, with its problem: `empty`, `unchanged` or none.

    >>> check_text("Oslo is in Norway.", "Oslo is in Norway. ")
    Translation(text='Oslo is in Norway.', problem='unchanged')
    """
    text = text.strip()
    if not text:
        return Translation("", "empty")
    return Translation(text, "unchanged" if text == sentence.strip() else "")
