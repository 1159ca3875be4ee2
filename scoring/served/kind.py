"""What a kind of server is asked, and what it answers."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from polyprobe.system.sending import BrokenAnswerError, hide_password, http_failures

from .cover import Reach, Request, Wanted

BATCH_TOKENS = 4096  # of the prompts of one HTTP request


class Answer(NamedTuple):
    """The log-probabilities of a request, in nats.

    Attributes:
        path: of each of `ids[1:]`; empty if they were not asked for.
        children: by token; a server may leave out some and add others.
        n_tokens: number of tokens of the prompt as the server counts them; None if it does not say.
        best: of the most probable token behind the prompt; None if it is unknown.
    """

    path: list[float]
    children: dict[int, float]
    n_tokens: int | None
    best: float | None = None


class Served(NamedTuple):
    """A model on a server, as the server describes it.

    Attributes:
        url: address without a path.
        model: the name of the model in requests.
        version: of the server, for the signature.
        limit: the largest number of tokens of a prompt; None if the server does not say.
        about: what identifies the weights, if the server says it; for the signature.
        vocabulary: number of tokens, if the server says it.
    """

    url: str
    model: str
    version: str
    limit: int | None = None
    about: str = ""
    vocabulary: int | None = None


class Kind(ABC):
    """A kind of server, one subclass for each; `KINDS` lists them.

    Attributes:
        name: for the signature.
        reach: the log-probabilities that one request returns.
        prompts: number of prompts in one HTTP request, at most.
        parallel: number of HTTP requests at a time.
        exact: whether any named token can be asked for, not the most probable ones only.
    """

    name: str
    reach: Reach
    prompts = 1
    parallel = 4
    exact = True

    def __init__(self, served: Served) -> None:
        self.served = served

    @property
    def where(self) -> str:
        """Return address and kind, for messages."""
        return f"{hide_password(self.served.url)} ({self.name})"

    async def answers(self, client: Any, requests: Sequence[Request]) -> list[Answer]:
        """Return the answers of `ask`; those of another form are a BrokenAnswerError."""
        with readable():
            return await self.ask(client, requests)

    @classmethod
    @abstractmethod
    async def find(cls, client: Any, url: str, model: str) -> Served | None:
        """Return the model on a server of this kind; None if it is of another kind."""

    @abstractmethod
    async def ask(self, client: Any, requests: Sequence[Request]) -> list[Answer]:
        """Return the answer to each request; all of them have equal `path`."""

    @abstractmethod
    async def differ(self, client: Any, text: str, ids: Sequence[int], bos: int | None) -> str:
        """Return how the server's tokens of a text differ from these, special tokens aside."""

    def check_model(self, answer: Any) -> None:
        """Refuse an answer of another model.

        Raises:
            BrokenAnswerError: the answer names another one.
        """
        named = answer.get("model") if isinstance(answer, dict) else None
        if named not in (None, self.served.model):
            raise BrokenAnswerError(f"the name of another model, {named!r}")

    def batches(self, wanted: Sequence[Wanted]) -> Iterator[list[Wanted]]:
        """Yield neighbours that share an HTTP request: with equal `path` and few children."""
        batch: list[Wanted] = []
        children: set[int] = set()
        size = 0
        for one in wanted:
            joined = children | set(one.request.children)
            if batch and (
                len(batch) == self.prompts
                or len(joined) > self.reach.children
                or one.request.path != batch[0].request.path
                or size + len(one.request.ids) > BATCH_TOKENS
            ):
                yield batch
                batch, joined, size = [], set(one.request.children), 0
            batch.append(one)
            children, size = joined, size + len(one.request.ids)
        if batch:
            yield batch

    async def post(self, client: Any, path: str, body: Mapping[str, Any]) -> Any:
        """Return the JSON of an answer; failures are those of `http_failures`."""
        name = f"the server {hide_password(self.served.url)}"
        with http_failures(
            name, {404: "check the model's name, and give the address without a path"}
        ):
            response = await client.post(f"{self.served.url}{path}", json=body)
            if response.status_code in (400, 413, 422):
                raise RefusedError(" ".join(response.text.split())[:300])
            response.raise_for_status()
            return response.json()


def compare_ids(theirs: Any, ours: Sequence[int]) -> str:
    """Return how two lists of token ids differ; nothing if they are equal."""
    if not isinstance(theirs, list):
        return "no list of tokens"
    if theirs == [*ours]:
        return ""
    pairs = zip(theirs, ours, strict=False)
    at = next((k for k, (a, b) in enumerate(pairs) if a != b), min(len(theirs), len(ours)))
    return f"token {at} is {theirs[at : at + 1]}, here {[*ours[at : at + 1]]}"


class LimitedError(BrokenAnswerError):
    """An answer without log-probabilities that were asked for: the server may have others."""


class RefusedError(Exception):
    """A request that the server refuses (HTTP 400, 413, 422), with its reason."""


@contextmanager
def readable() -> Iterator[None]:
    """Turn the errors of an answer that has another form than expected into BrokenAnswerError."""
    try:
        yield
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise BrokenAnswerError("another form than that of this kind of server") from error


def choices_of(answer: Any, n: int) -> list[dict[str, Any]]:
    """Return the n choices of an OpenAI-compatible answer by index.

    Raises:
        BrokenAnswerError: another number of choices.
    """
    try:
        choices = {choice["index"]: choice for choice in answer["choices"]}
        return [choices[k] for k in range(n)]
    except (KeyError, TypeError) as error:
        raise BrokenAnswerError(f"no {n} choices") from error


async def get(client: Any, url: str) -> Any:
    """Return the JSON at an address, None if there is none (or a page, by some servers)."""
    with http_failures(f"the server {hide_password(url)}", {401: "set POLYPROBE_API_KEY"}):
        response = await client.get(url)
        if response.status_code in (404, 405, 501):
            return None
        response.raise_for_status()
        if "html" in response.headers.get("content-type", ""):
            return None
        return response.json()


async def models_of(client: Any, url: str) -> dict[str, dict[str, Any]]:
    """Return what /v1/models lists, by name."""
    listed = await get(client, f"{url}/v1/models")
    try:
        return {one["id"]: one for one in listed["data"]}
    except (KeyError, TypeError):
        return {}
