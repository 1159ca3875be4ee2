"""The interface of every translator, and its runs: concurrent batches, each text stored at once."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from math import ceil
from typing import NamedTuple

from polyprobe.system import sending
from polyprobe.system.download import ContentStore, cache_folder
from polyprobe.system.messages import PolyprobeError, explain_missing_extras, track

Terms = Mapping[str, str]
"""{source label: target label} of the entities in a sentence."""
SUSPECT = 10  # unchanged texts in a row after which a service is checked


class Translation(NamedTuple):
    """A sentence's translation, "" if there is none, and its problem."""

    text: str
    # "", or one line: `empty`, `unchanged` (the text equals the sentence; it is given), `no answer:
    # HTTP 429, 5 times`, `broken answer: no JSON, 5 times`.
    problem: str


class PairTexts(NamedTuple):
    """Sentences to translate between two languages, with the terms and the relation of each."""

    sentences: Sequence[str]
    source: str
    target: str
    terms: Sequence[Terms] = ()
    relations: Sequence[str] | None = None


class Job(NamedTuple):
    """A sentence to translate."""

    key: bytes  # the hash of everything that its text depends on
    sentence: str
    terms: Terms
    relation: str = ""  # "" if it is unknown


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
    can_block: bool = False  # the service may refuse a machine, or return its texts unchanged
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

    def sign(self, source: str, target: str, relation: str = "") -> str:
        """Return the signature of sentences of a relation, in the codes from `check`."""
        return self.signature

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
            PolyprobeError: an unavailable pair, a rejected key or address, no answer to several
                batches, a refusal (`can_block`), a store that cannot be written. Texts are stored.
        """
        with explain_missing_extras(f"the translator {self.name}", any_package=True):
            part = PairTexts(sentences, source, target, terms, relations)
            pair, jobs = self.list_jobs(part)
            answers = sending.run_async(run_jobs(self, jobs, pair))
        return [answers[job.key] for job in jobs]

    def list_jobs(self, part: PairTexts) -> tuple[tuple[str, str], list[Job]]:
        """List the engine's codes of the pair, and a job for each sentence."""
        pair, n = self.check(part.source, part.target), len(part.sentences)
        relations = part.relations or [""] * n
        signatures = {name: self.sign(*pair, name) for name in dict.fromkeys(relations)}
        jobs = []
        rows = zip(part.sentences, part.terms or [{}] * n, relations, strict=True)
        for text, mapping, relation in rows:
            terms = dict(mapping) if self.uses_terms else {}
            key = hash_job(signatures[relation], *pair, text, terms)
            jobs.append(Job(key, text, terms, relation))
        return pair, jobs

    def forecast(self, parts: Iterable[PairTexts]) -> str:
        """Describe the requests for sentences without a stored text; "" if there are none."""
        jobs = (self.list_jobs(part)[1] for part in parts)
        keys = [{job.key for job in row if job.sentence.strip()} for row in jobs]
        sizes = [len(part) - len(open_translations().find(part)) for part in keys]
        n_requests = sum(ceil(size / self.batch_size) for size in sizes)
        line = f"{self.name}: {sum(sizes):,} sentences to translate, {n_requests:,} requests"
        if self.per_second:
            hours = n_requests / self.per_second / 3600
            line += f", {hours:,.1f} hours at {60 * self.per_second:g} a minute (per_second)"
        return line if n_requests else ""


def hash_job(signature: str, source: str, target: str, sentence: str, terms: Terms) -> bytes:
    """Return the SHA-256 of everything a translation depends on, the order of terms aside."""
    parts = [signature, source, target, sentence, sorted(terms.items())]
    return hashlib.sha256(json.dumps(parts, ensure_ascii=True).encode()).digest()


def open_translations() -> ContentStore:
    """Return the store of translations, by `hash_job`."""
    return ContentStore(cache_folder() / "translations.sqlite", "translations", seal=b"")


async def run_jobs(
    translator: Translator, questions: Sequence[Job], pair: tuple[str, str]
) -> dict[bytes, Translation]:
    """Return a translation for each key, from the store where it has one."""
    store = open_translations()
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
                sample = next((q for q in questions if q.key in texts), None)
                answers |= await _Run(translator, store, pair, steps, sample).work(pending)
    return answers


class _Run:
    def __init__(
        self,
        engine: Translator,
        store: ContentStore,
        pair: tuple[str, str],
        steps: Iterator[int],
        sample: Job | None,
    ) -> None:
        self._engine, self._store, self._pair, self._steps = engine, store, pair, steps
        self._sample = sample  # a sentence that the service has translated
        self._requests = sending.Requests(engine.pace, engine.per_second, engine.timeout)
        self._answers: dict[bytes, Translation] = {}
        self._failed_in_a_row = self._unchanged_in_a_row = self._total = 0

    async def work(self, pending: Sequence[Job]) -> dict[bytes, Translation]:
        self._total = len(pending)
        await self._send(pending)
        doubtful = [job for job in pending if self._answers[job.key].problem]
        if self._engine.can_block and doubtful and self._sample:
            # Only what fails twice, while the service works, is an outcome of the sentence.
            await self._send(doubtful)
            await self._check_service()
        return self._answers

    async def _send(self, jobs: Sequence[Job]) -> None:
        size = self._engine.batch_size
        batches = (jobs[at : at + size] for at in range(0, len(jobs), size))
        await sending.run_each(self._translate_or_stop, batches, self._engine.concurrency)

    async def _translate_or_stop(self, batch: Sequence[Job]) -> None:
        reason = await self._translate_batch(batch)
        self._failed_in_a_row = self._failed_in_a_row + 1 if reason else 0
        # Waiting longer would not help: the engine is down, or refuses this machine.
        if self._failed_in_a_row >= self._engine.pace.give_up:
            raise self._stop(f"failed {self._failed_in_a_row} batches in a row ({reason})")
        if self._engine.can_block and self._unchanged_in_a_row >= SUSPECT:
            await self._check_service()

    async def _check_service(self) -> None:
        """Stop if a sentence that was translated before comes back unchanged, or not at all."""
        reason = "sentences come back unchanged"
        if job := self._sample:
            try:
                [text] = await self._requests.send(lambda: self._ask([job]))
                if not check_text(job.sentence, text).problem:
                    self._unchanged_in_a_row = 0
                    return
            except (sending.NoAnswerError, sending.BrokenAnswerError) as error:
                reason = str(error)
        raise self._stop(f"refuses this machine ({reason})")

    def _stop(self, what: str) -> PolyprobeError:
        good = sum(not answer.problem for answer in self._answers.values())
        advice = f" ({self._engine.advice})" if self._engine.advice else ""
        return PolyprobeError(
            f"{self._engine.name} {what}; {good} of {self._total} sentences are translated and "
            f"stored in {self._store.file}; run the same command again to resume{advice}"
        )

    async def _translate_batch(self, batch: Sequence[Job]) -> str:
        """Return why all sentences of a batch failed, "" if one succeeded."""
        reason = ""
        try:
            texts = await self._requests.send(lambda: self._ask(batch))
        except sending.NoAnswerError as error:
            if self._engine.can_block and isinstance(error, sending.BusyError):
                raise self._stop(f"refuses this machine ({error})") from None
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
            self._sample = self._sample or next(job for job in batch if job.key in good)
        same = any(answer.problem == "unchanged" for answer in answers.values())
        self._unchanged_in_a_row = self._unchanged_in_a_row + 1 if same else 0
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
