"""One run of a translator: concurrent batches, each text stored at once, failures counted."""

import asyncio
from collections import deque
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, closing
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from polyprobe.system.errors import PolyprobeError
from polyprobe.system.progress import track
from polyprobe.system.store import ContentStore

from .failures import BrokenAnswerError, NoAnswerError, WrongNumberError
from .pace import Pace, Requests

Result = TypeVar("Result")


class Translation(NamedTuple):
    """A sentence's translation and its problem.

    Args:
        text: "" if there is no translation.
        problem: "" or one line: `empty`, `unchanged` (the text equals the sentence; it is given),
            `no answer: HTTP 429, 5 times`, `broken answer: no JSON, 5 times`.
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
    """A sentence to translate; `key` is the hash of everything that its text depends on."""

    key: bytes
    sentence: str
    terms: Mapping[str, str]


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """Return the result of a coroutine; use a thread if an event loop runs already (Jupyter).

    Ctrl-C cancels the coroutine, waits for its end and is raised.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    from anyio.from_thread import start_blocking_portal

    async def finish() -> Result:
        return await work

    with start_blocking_portal() as portal:
        return portal.call(finish)


async def translate_all(
    translator: Engine, questions: Sequence[Question], source: str, target: str, file: Path
) -> dict[bytes, Translation]:
    """Return a translation for each key, from `file` where it has one.

    Raises:
        PolyprobeError: see `Translator.translate_each`.
    """
    store = ContentStore(file, "translations")
    known = store.find(question.key for question in questions)
    found = {key: Translation(text, "") for key, text in known.items()}
    found |= {q.key: Translation("", "empty") for q in questions if not q.sentence.strip()}
    pending = {q.key: q for q in questions if q.key not in found}
    if pending:
        steps = track(range(len(pending)), f"{translator.name} {source}-{target}")
        next(steps)  # draws the bar
        with closing(steps):  # type: ignore[type-var]
            async with translator.connect():
                own = _Run(translator, store, (source, target), steps)
                found |= await own.work(list(pending.values()))
    return found


class _Run:
    def __init__(
        self,
        translator: Engine,
        store: ContentStore,
        pair: tuple[str, str],
        steps: Iterator[int],
    ) -> None:
        self._translator, self._store, self._pair, self._steps = translator, store, pair, steps
        self._requests = Requests(translator.pace, translator.per_second, translator.timeout)
        self._found: dict[bytes, Translation] = {}
        self._failed_in_a_row = 0
        self._wanted = 0

    async def work(self, pending: Sequence[Question]) -> dict[bytes, Translation]:
        size, self._wanted = self._translator.batch_size, len(pending)
        batches = deque(pending[at : at + size] for at in range(0, len(pending), size))
        tasks = [
            asyncio.create_task(self._translate_batches(batches))
            for _ in range(min(self._translator.concurrency, len(batches)))
        ]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return self._found

    async def _translate_batches(self, batches: deque[Sequence[Question]]) -> None:
        while batches:
            batch = batches.popleft()
            reason = await self._translate_batch(batch)
            self._failed_in_a_row = self._failed_in_a_row + 1 if reason else 0
            if self._failed_in_a_row >= self._translator.pace.give_up:
                raise self._explain_stop(reason)

    async def _translate_batch(self, batch: Sequence[Question]) -> str:
        """Return why all sentences of a batch failed, "" if one succeeded."""
        try:
            texts = await self._requests.send(lambda: self._ask(batch))
        except NoAnswerError as error:
            return self._fail(batch, f"no answer: {error}")
        except (BrokenAnswerError, WrongNumberError) as error:
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
        found = {q.key: check_text(q.sentence, text) for q, text in zip(batch, texts, strict=True)}
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
            next(self._steps, None)

    def _explain_stop(self, reason: str) -> PolyprobeError:
        advice = f" ({self._translator.advice})" if self._translator.advice else ""
        good = sum(1 for found in self._found.values() if not found.problem)
        return PolyprobeError(
            f"{self._translator.name} failed {self._failed_in_a_row} batches in a row ({reason}); "
            f"{good} of {self._wanted} sentences are translated and stored in {self._store.file}; "
            f"run the same command again to resume{advice}"
        )


def check_text(sentence: str, text: str) -> Translation:
    """Return a text, stripped, with its problem: `empty`, `unchanged` or none.

    >>> check_text("Oslo is in Norway.", "Oslo is in Norway. ")
    Translation(text='Oslo is in Norway.', problem='unchanged')
    """
    text = text.strip()
    if not text:
        return Translation("", "empty")
    return Translation(text, "unchanged" if text == sentence.strip() else "")
