"""What every kind of server has: a model, prompts in, checked answers out."""

import json
import math
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from polyprobe.schema.run.folder import AGREE
from polyprobe.system.messages import PolyprobeError, one_line
from polyprobe.system.sending import (
    LARGE,
    BrokenAnswerError,
    BusyError,
    extend,
    http_failures,
    open_client,
    read_retry_after,
)
from polyprobe.system.text import hide_secrets

from .cover import Prompt, PromptReads, Reach
from .values import ABOVE_ONE, Place

BATCH_TOKENS = 4096  # of the prompts of one HTTP request
KEY = "POLYPROBE_API_KEY"
ABSENT = (404, 405, 501)  # no such route, or no such model
REFUSALS = (400, 413, 422, *ABSENT)
PAGE = "a web page"  # some servers have one at each unknown path; else a proxy's error
TIMEOUT = 300.0  # seconds until an answer is complete: a server may have a queue


@contextmanager
def readable() -> Iterator[None]:
    """Turn the errors of an answer that has another form than expected into BrokenAnswerError."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        raise BrokenAnswerError("another form than that of this kind of server") from None


class LimitedError(BrokenAnswerError):
    """An answer that lacks log-probabilities: the server may have others."""


class RefusedError(Exception):
    """A request that the server refuses (`REFUSALS`), with its own words."""

    def __init__(self, words: str, status: int) -> None:
        super().__init__(words)
        self.status = status


class Answer(NamedTuple):
    """The log-probabilities of a prompt, in nats."""

    path: list[float]  # of each of `ids[1:]`; empty if they were not requested
    children: dict[int, float]  # by token; a server may leave out some and add others
    # Number of tokens of the prompt as the server counts them; None if it does not say
    n_tokens: int | None
    best: float | None = None  # of the most probable token behind the prompt; None if it is unknown

    @readable()
    def check(self, prompt: Prompt, exact: bool, vocabulary: int) -> None:
        """Refuse an answer that does not fit its prompt."""
        n = len(prompt.ids)
        if self.n_tokens is not None and self.n_tokens != n:
            raise BrokenAnswerError(f"{self.n_tokens} tokens in a prompt of {n}")
        if prompt.path and len(self.path) != n - 1:
            raise (BrokenAnswerError if self.path else LimitedError)(
                f"{len(self.path)} log-probabilities for the {n - 1} tokens of a prompt"
            )
        missing = [child for child in prompt.children if child not in self.children]
        if missing and exact:
            raise LimitedError(f"no log-probability of token {missing[0]}, which was named")
        numbers = [*self.path, *self.children.values()]
        if not all(isinstance(x, int | float) and math.isfinite(x) for x in numbers):
            raise BrokenAnswerError("log-probabilities that are not finite")
        total = math.fsum(map(math.exp, self.children.values()))
        if any(x > ABOVE_ONE for x in numbers) or total > 1 + ABOVE_ONE:
            raise BrokenAnswerError("probabilities above one")
        # The most probable of V tokens has at least the probability 1 / V.
        if self.best is not None and self.best < -math.log(vocabulary) - AGREE:
            raise BrokenAnswerError(
                "log-probabilities of another scale: even the largest is too small"
            )


class Form(NamedTuple):
    """How long a text is that a server writes."""

    tokens: int  # at most
    stop: str | None  # the text before which it ends


class ServedModel(NamedTuple):
    """A model on a server, as the server describes it."""

    url: str  # address without a path
    model: str  # the name of the model in requests
    version: str  # of the server, for the signature
    # The largest number of tokens of a prompt; None if the server does not say
    limit: int | None = None
    about: str = ""  # what identifies the weights, if the server says it; for the signature
    vocabulary: int | None = None  # number of tokens, if the server says it


class Server(ABC):
    """A kind of server, one subclass for each; `KINDS` lists them."""

    name: str  # for the signature
    reach: Reach  # the log-probabilities that one prompt returns
    prompts = 1  # number of prompts in one HTTP request, at most
    parallel = 4  # number of HTTP requests at a time
    exact = True  # whether any token can be named, not the most probable ones only
    remedy = "only --scoring letters is left, if it gives the most probable tokens"

    def __init__(self, served: ServedModel) -> None:
        self.served = served

    @property
    def where(self) -> str:
        """Return address and kind, for messages."""
        return f"{hide_secrets(self.served.url)} ({self.name})"

    async def answers(self, client: Any, prompts: Sequence[Prompt]) -> list[Answer]:
        """Return the answers of `ask`; those of another form are a BrokenAnswerError."""
        with readable():
            return await self.ask(client, prompts)

    async def texts(self, client: Any, prompts: Sequence[Any], form: Form) -> list[str]:
        """Return the texts of `write`; those of another form are a BrokenAnswerError."""
        with readable():
            texts = await self.write(client, prompts, form)
            if not all(isinstance(text, str) for text in texts):
                raise TypeError
            return texts

    @classmethod
    @abstractmethod
    async def find(cls, client: Any, url: str, model: str) -> ServedModel | None:
        """Return the model on a server of this kind; None if it is of another kind."""

    @abstractmethod
    async def ask(self, client: Any, prompts: Sequence[Prompt]) -> list[Answer]:
        """Return the answer to each prompt; all of them have equal `path`."""

    @abstractmethod
    async def write(self, client: Any, prompts: Sequence[Any], form: Form) -> list[str]:
        """Return the text that the model writes behind each prompt, greedily."""

    @abstractmethod
    async def places(self, client: Any, prompts: Sequence[Sequence[int]]) -> list[Place]:
        """Return the places of these prompts for which the server has values; see `find_fault`."""

    @abstractmethod
    async def differ(self, client: Any, text: str, ids: Sequence[int], bos: int | None) -> str:
        """Return how the server's tokens of a text differ from these, special tokens aside."""

    async def count_tokens(self, client: Any, prompts: Sequence[Prompt]) -> int:
        """Return the number of tokens of these prompts together."""
        return sum(len(prompt.ids) for prompt in prompts)

    def batches(self, reads: Sequence[PromptReads]) -> Iterator[list[PromptReads]]:
        """Yield neighbours that share an HTTP request: with equal `path` and few children."""
        batch: list[PromptReads] = []
        children: set[int] = set()
        size = 0
        for entry in reads:
            prompt = entry.prompt
            union = children | set(prompt.children)
            if batch and (
                len(batch) == self.prompts
                or len(union) > self.reach.children
                or prompt.path != batch[0].prompt.path
                or size + len(prompt.ids) > BATCH_TOKENS
            ):
                yield batch
                batch, union, size = [], set(prompt.children), 0
            batch.append(entry)
            children, size = union, size + len(prompt.ids)
        if batch:
            yield batch

    async def post(self, client: Any, path: str, body: Mapping[str, Any]) -> Any:
        """Return the JSON of an answer; failures are those of `http_failures`."""
        with http_failures(f"the server {hide_secrets(self.served.url)}"):
            response = await client.post(extend(self.served.url, path), json=body)
            return read_response(response, self.served.url)


def new_client() -> Any:
    """Return an HTTP client, with the key of POLYPROBE_API_KEY if it is set."""
    return open_client(TIMEOUT, KEY, LARGE)


def read_number(value: Any) -> int | None:
    """Return a number of tokens, None for anything else."""
    return value if type(value) is int and value > 0 else None


def compare_ids(server_ids: Any, ids: Sequence[int]) -> str:
    """Describe how the server's token ids differ from these; nothing if they are equal."""
    if not isinstance(server_ids, list):
        return "no list of tokens"
    if server_ids == [*ids]:
        return ""
    # Two lists of equal beginnings differ where the shorter one ends.
    pairs = enumerate(zip(server_ids, ids, strict=False))
    at = next((k for k, (a, b) in pairs if a != b), min(len(server_ids), len(ids)))
    return f"token {at} is {server_ids[at : at + 1]}, here {[*ids[at : at + 1]]}"


def read_response(response: Any, url: str) -> Any:
    """Return the JSON of an answer; a refusal is an error with the server's own words."""
    status, words = response.status_code, response.text
    if status in (*REFUSALS, 401, 403, 429):
        message = re.search(r'"(message|detail|error)": *("([^"\\]|\\.)*")', words)
        words = json.loads(message[2], strict=False) if message else words
        words = one_line(hide_secrets(words, url)) if words.strip() else f"HTTP {status}"
        if status in REFUSALS:
            raise RefusedError(words, status)
        if status == 429:
            wait = read_retry_after(response.headers.get("retry-after"))
            raise BusyError(f"HTTP 429: {words}".removesuffix(": HTTP 429"), wait)
        remedy = f"set {KEY}, which is empty" if not os.environ.get(KEY) else f"correct {KEY}"
        raise PolyprobeError(f"the server {hide_secrets(url)} refuses the key: {words}; {remedy}")
    response.raise_for_status()
    return response.json()


async def get(client: Any, url: str, absent: Sequence[int] = ABSENT) -> Any:
    """Return the JSON at an address, None if there is none, `PAGE` for a web page."""
    with http_failures(f"the server {hide_secrets(url)}"):
        # `transformers serve` cuts a connection after its error 500, and a later request with it
        response = await client.get(url, headers={"Connection": "close"})
        if response.status_code in absent:
            return None
        if response.is_success and "html" in response.headers.get("content-type", ""):
            return PAGE
        return read_response(response, url)


async def fetch_own(
    client: Any, url: str, path: str, owner: str
) -> tuple[Any, dict[str, dict[str, Any]]]:
    """Return what only the servers of an owner have at a path, and what /v1/models lists."""
    answer = await get(client, extend(url, path))
    models = {} if answer is None else await fetch_models(client, url)
    if answer == PAGE and owner in [model.get("owned_by") for model in models.values()]:
        raise BrokenAnswerError(f"{PAGE} for {path}")
    return answer, models


async def fetch_models(client: Any, url: str) -> dict[str, dict[str, Any]]:
    """Return what /v1/models lists, by name."""
    answer = await get(client, extend(url, "/v1/models"), (*ABSENT, 500))
    if answer == PAGE:
        raise BrokenAnswerError(f"{PAGE} for /v1/models")
    try:
        return {model["id"]: model for model in answer["data"]}
    except (KeyError, TypeError):
        return {}
