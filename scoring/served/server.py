"""What every kind of server has: the fewest prompts of a plan in, checked answers out."""

import json
import math
import os
import re
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from polyprobe.schema.run.folder import AGREE
from polyprobe.scoring.engine import Ids, Plan
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

BATCH_TOKENS = 4096  # of the prompts of one HTTP request
KEY = "POLYPROBE_API_KEY"
ABSENT = (404, 405, 501)  # no such route, or no such model
REFUSALS = (400, 413, 422, *ABSENT)
PAGE = "a web page"  # some servers have one at each unknown path; else a proxy's error
TIMEOUT = 300.0  # seconds until an answer is complete: a server may have a queue
ABOVE_ONE, BELOW_ONE = 1e-3, 1e-2  # of sums of probabilities, by rounding
N_EQUAL = 3  # places with exactly the same least value: those of a model differ in some digit
STEP, BITS = 0.005, 11  # rounding to these decimals or bits of mantissa changes 1e-3 nats
REPEATED = 0.1  # share of values that occur before: 0.02 with 3 decimals
UNDERFLOW = -80.0  # below, llama.cpp's probabilities have few bits or are 0


class Prompt(NamedTuple):
    """Token ids, and the log-probabilities to return."""

    ids: tuple[int, ...]
    children: tuple[int, ...] = ()  # tokens whose log-probability behind `ids` is to be returned
    path: bool = False  # whether to return that of each of `ids[1:]` behind those before it


class Reach(NamedTuple):
    """The log-probabilities that one prompt can return."""

    path: bool  # those of the prompt's own tokens
    children: int  # number of named tokens behind the prompt, at most


class PromptReads(NamedTuple):
    """A prompt, and the numbers of the reads that it answers."""

    prompt: Prompt
    path: list[list[int]]  # numbers of the reads of each of `ids[1:]`, empty without `path`
    children: list[list[int]]  # numbers of the reads of each child


def cover(plan: Plan, reach: Reach) -> list[PromptReads]:
    """Choose the fewest prompts that answer all reads, in sorted order."""
    # A read is an edge: a target behind its beginning. A prompt answers the edges on the way to its
    # end (`Reach.path`) and those behind it (`Reach.children`). With both, prompts are needed at
    # the beginnings of leaves only: of edges that no other edge continues. Neighbours in the order
    # of the prompts share most of their tokens.
    edges: dict[Ids, list[int]] = {}  # with the numbers of its reads
    for row, of_row in sorted(plan.reads.items()):
        for position, target, number in zip(*of_row, strict=True):
            edges.setdefault((*row.ids[: position + 1], target), []).append(number)
    ordered = sorted(edges)
    pairs = zip_longest(ordered, ordered[1:], fillvalue=())
    leaves = [edge for edge, after in pairs if not reach.path or after[: len(edge)] != edge]
    ends = sorted({edge[:-1] if reach.children else edge for edge in leaves})
    paths = _choose_paths(ordered, ends)
    children: dict[Ids, list[Ids]] = {}
    for edge in edges:
        children.setdefault(edge[:-1], []).append(edge)
    answered: set[Ids] = set()  # each read belongs to the first prompt that answers it
    prompts = []
    for end in ends:
        way = [end[:k] for k in range(2, len(end) + 1)] if end in paths else []
        path = [[] if edge in answered else edges.get(edge, []) for edge in way]
        answered.update(way)
        targets = children.get(end, [])
        for start in range(0, max(1, len(targets)), max(1, reach.children)):
            part = targets[start : start + reach.children]
            prompt = Prompt(end, tuple(edge[-1] for edge in part), bool(way) and not start)
            reads = [[] if edge in answered else edges[edge] for edge in part]
            prompts.append(PromptReads(prompt, [] if start else path, reads))
            answered.update(part)
    return prompts


def _choose_paths(edges: Sequence[Ids], ends: Sequence[Ids]) -> set[Ids]:
    """Choose the prompts with a path: one on which each edge without a prompt in front of it is."""
    # A server does not use its prefix cache for the log-probabilities of a prompt.
    paths, places = set[Ids](), {*ends}
    latest: Ids = ()
    for edge in reversed(edges):  # the deepest first: its path answers the edges above too
        if edge[:-1] not in places and latest[: len(edge)] != edge:
            latest = ends[bisect_left(ends, edge)]  # the first that begins with the edge
            paths.add(latest)
    return paths


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
    async def places(self, client: Any, prompts: Sequence[Sequence[int]]) -> list["Place"]:
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


class Place(NamedTuple):
    """Log-probabilities behind a beginning."""

    token: float | None  # that of the prompt's next token; None without
    best: list[float]  # the largest ones, in order; empty if unknown


def read_place(value: float | None, top: Mapping[Any, float] | None) -> Place:
    """Read a place; a token that is not among the best may be listed behind them."""
    best = sorted(map(float, (top or {}).values()), reverse=True)
    return Place(value, best[:-1] if best and value == best[-1] else best)


def find_fault(places: Sequence[Place], vocabulary: int) -> str:
    """Describe what is wrong with log-probabilities; nothing if a model can have them."""
    lows = [
        min((x for x in place.best if x > UNDERFLOW), default=0.0)
        if place.token is None
        else place.token
        for place in places
    ]
    return _find_sum(places, vocabulary) or find_floor(lows) or _find_rounding(places)


def _find_sum(places: Sequence[Place], vocabulary: int) -> str:
    # Each other token has at most the least probability of the best; a model may have more tokens
    # than its tokenizer. A list that is shorter than others lacks a token whose text occurs twice.
    size = max(len(place.best) for place in places)
    full = [place for place in places if len(place.best) == size > 1]
    n_others = 2 * vocabulary - size if size < vocabulary else 0
    sums = [math.fsum(math.exp(min(x, 1.0)) for x in place.best) for place in full]
    bounds = [x + n_others * math.exp(y.best[-1]) for x, y in zip(sums, full, strict=True)]
    if not all(total <= 1 + ABOVE_ONE for total in sums):  # or NaN
        return "probabilities add up to more than one"
    if min(bounds, default=1.0) < 1 - BELOW_ONE:
        return (
            f"probabilities add up to {min(bounds):.3g} at most: log-probabilities have another "
            "base than e, or are cut or shifted"
        )
    outside = [x.token == x.best[-1] for x in full if x.token and x.token <= x.best[-1]]
    unlikely = sum(outside) >= max(N_EQUAL, len(outside) / 2)
    return "unlikely tokens have the log-probability of a likely one" if unlikely else ""


def find_floor(lows: Sequence[float]) -> str:
    """Describe the least value of several places, if it is that of `N_EQUAL` of them."""
    floor = min(lows, default=0.0)
    if floor == 0 or lows.count(floor) < N_EQUAL:
        return ""
    return f"the least log-probabilities are all {floor:.6g}: unlikely tokens have one floor"


def _find_rounding(places: Sequence[Place]) -> str:
    tokens = [x.token for x in places if x.token is not None and x.token < -0.1]
    values = np.array(tokens or [x for place in places for x in place.best])
    on_steps = np.abs(values / STEP - np.round(values / STEP)).max() < 1e-3
    few_bits = not (values.astype(np.float32).view(np.int32) & (2 ** (23 - BITS) - 1)).any()
    repeated = len(tokens) - len({*tokens}) > REPEATED * len(tokens)
    return "log-probabilities are rounded" if on_steps or few_bits or repeated else ""
