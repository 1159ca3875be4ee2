"""One run of a translator: batches side by side, each text kept as it comes, failures counted."""

import asyncio
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

from polyprobe.system.errors import PolyprobeError
from polyprobe.system.progress import track
from polyprobe.system.store import ContentStore

from .failures import BrokenAnswerError, NoAnswerError, WrongNumberError
from .pace import Pace, Turns


class Translation(NamedTuple):
    """A sentence's translation, and what is wrong with it.

    Args:
        text: "" where none came.
        problem: "" where it is fine, else one plain line: `empty`, `unchanged` (the text equals
            the sentence and is given), `no answer: HTTP 429, 5 times`,
            `broken answer: no JSON, 5 times`.
    """

    text: str
    problem: str


class Engine(Protocol):
    """The part of a `Translator` that a run uses."""

    name: str
    batch_size: int
    concurrency: int
    per_second: float | None
    timeout: float | None
    pace: Pace
    advice: str

    async def ask(
        self, batch: Sequence[str], source: str, target: str, terms: Sequence[Mapping[str, str]]
    ) -> list[str]:
        """Return one text for each sentence of the batch."""
        ...

    def connect(self) -> AbstractAsyncContextManager[None]:
        """Hold the engine's connection for the run."""
        ...


class Question(NamedTuple):
    """A sentence as it is asked: `key` stands for all that its text depends on."""

    key: bytes
    sentence: str
    terms: Mapping[str, str]


async def answer(
    translator: Engine, questions: Sequence[Question], source: str, target: str, file: Path
) -> dict[bytes, Translation]:
    """Return a translation for each key: what `file` keeps of earlier runs, the others asked.

    Raises:
        PolyprobeError: see `Translator.translate_each`.
    """
    store = ContentStore(file, "translations")
    known = store.find(question.key for question in questions)
    found = {key: Translation(text, "") for key, text in known.items()}
    found |= {q.key: Translation("", "empty") for q in questions if not q.sentence.strip()}
    pending = {q.key: q for q in questions if q.key not in found}
    if pending:
        with _bar(len(pending), f"{translator.name} {source}-{target}") as bar:
            async with translator.connect():
                run = _Run(translator, store, (source, target), bar)
                found |= await run.work(list(pending.values()))
    return found


@contextmanager
def _bar(length: int, description: str) -> Iterator[Iterator[int]]:
    """Yield what moves a bar on by one with each `next`."""
    steps = track(range(length), description)
    next(steps)  # draws it
    try:
        yield steps
    finally:
        getattr(steps, "close", lambda: None)()


class _Run:
    def __init__(
        self,
        translator: Engine,
        store: ContentStore,
        pair: tuple[str, str],
        bar: Iterator[int],
    ) -> None:
        self._translator, self._store, self._pair, self._bar = translator, store, pair, bar
        self._turns = Turns(translator.pace, translator.per_second, translator.timeout)
        self._found: dict[bytes, Translation] = {}
        self._failed_in_a_row = 0
        self._wanted = 0

    async def work(self, pending: Sequence[Question]) -> dict[bytes, Translation]:
        """Return the translations of all that is pending."""
        size, self._wanted = self._translator.batch_size, len(pending)
        batches = deque(pending[at : at + size] for at in range(0, len(pending), size))
        tasks = [
            asyncio.create_task(self._take_batches(batches))
            for _ in range(min(self._translator.concurrency, len(batches)))
        ]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return self._found

    async def _take_batches(self, batches: deque[Sequence[Question]]) -> None:
        while batches:
            batch = batches.popleft()
            reason = await self._translate_batch(batch)
            self._failed_in_a_row = self._failed_in_a_row + 1 if reason else 0
            if self._failed_in_a_row >= self._translator.pace.give_up:
                raise self._give_up(reason)

    async def _translate_batch(self, batch: Sequence[Question]) -> str:
        """Return why none of a batch was answered, "" where one was at least."""
        try:
            texts = await self._turns.take(lambda: self._ask(batch))
        except NoAnswerError as error:
            return self._fail(batch, f"no answer: {error}")
        except BrokenAnswerError as error:
            if len(batch) == 1:
                return self._fail(batch, f"broken answer: {error}")
            reasons = [await self._translate_batch([question]) for question in batch]
            return reasons[-1] if all(reasons) else ""
        self._keep(batch, texts)
        return ""

    async def _ask(self, batch: Sequence[Question]) -> list[str]:
        sentences = [question.sentence for question in batch]
        terms = [question.terms for question in batch]
        texts = await self._translator.ask(sentences, *self._pair, terms)
        if len(texts) != len(batch):
            raise WrongNumberError(f"{len(texts)} texts for {len(batch)} sentences")
        return texts

    def _keep(self, batch: Sequence[Question], texts: Sequence[str]) -> None:
        found = {q.key: judge(q.sentence, text) for q, text in zip(batch, texts, strict=True)}
        good = {key: found.text for key, found in found.items() if not found.problem}
        if good:
            self._store.add(good)
        self._note(found)

    def _fail(self, batch: Sequence[Question], problem: str) -> str:
        self._note({question.key: Translation("", problem) for question in batch})
        return problem

    def _note(self, found: Mapping[bytes, Translation]) -> None:
        self._found |= found
        for _ in found:
            next(self._bar, None)

    def _give_up(self, reason: str) -> PolyprobeError:
        advice = f" ({self._translator.advice})" if self._translator.advice else ""
        good = sum(1 for found in self._found.values() if not found.problem)
        return PolyprobeError(
            f"{self._translator.name} gives no translations any more ({reason}; "
            f"{self._failed_in_a_row} batches in a row); {good} of {self._wanted} sentences are "
            f"translated and kept in {self._store.file}: run again to go on{advice}"
        )


def judge(sentence: str, text: str) -> Translation:
    """Return the translation, blanks at its ends left out, with what is wrong with it.

    >>> judge("Oslo lies in Norway.", "Oslo lies in Norway. ")
    Translation(text='Oslo lies in Norway.', problem='unchanged')
    """
    text = text.strip()
    if not text:
        return Translation("", "empty")
    return Translation(text, "unchanged" if text == sentence.strip() else "")
