"""Which kind of server answers, and its checks before the first row."""

import asyncio
import math
from collections.abc import Sequence
from functools import partial
from itertools import chain, cycle, islice, permutations
from random import Random
from typing import Any, NamedTuple
from urllib.parse import urlsplit, urlunsplit

import numpy as np

from polyprobe.schema.run.folder import AGREE
from polyprobe.system import sending
from polyprobe.system.messages import PolyprobeError, report
from polyprobe.system.text import hide_secrets

from .engine import ServedEngine
from .llamacpp import LlamaCpp
from .openai import CHAT, ChatServer, Completions, Vllm
from .server import (
    ABSENT,
    Answer,
    Form,
    LimitedError,
    Prompt,
    RefusedError,
    Server,
    find_fault,
    new_client,
    readable,
)

# In the order of asking: the last but one takes every server with OpenAI's completions.
KINDS: tuple[type[Server], ...] = (Vllm, LlamaCpp, Completions, ChatServer)
SAMPLE = (
    "Paris, Москва, Αθήνα, القاهرة, ירושלים, दिल्ली, กรุงเทพฯ, 北京, 서울, თბილისი, Երևան, አዲስ አበባ"
)
QUESTIONS = [
    "The capital of France is ___.\nA. {}\nB. {}\nC. {}\nD. {}\nAnswer:".format(*options)
    for options in permutations(("Rome", "Paris", "Berlin", "Madrid"))
][::4]
LEAST_LETTER = math.log(0.01)
N_CHILDREN = 5  # named tokens of a prompt, or the most probable ones where none can be named
SHORT, LONG = 48, 400  # tokens of the prompts
PROBE = "probe"  # before the number that a served model has instead of a revision
MIN_TOKENS = 8  # different tokens of the sample, and tokens of a prompt
MIN_NOISE = 1e-6  # nats
SILENCE = 3.0  # seconds until a server that has not answered yet is named
LATER = "run the same command again later"
STATE_DRIFT = 1e-2  # nats between two states of the same model


class Handshake(NamedTuple):
    """What a server answered before the first row."""

    # Log-probabilities of the sample's tokens, in nats: the same model has the same
    probe: list[float]
    rounding: float  # the largest difference between equal requests, alone and with others
    passed: tuple[str, ...]  # the names of the checks, for the signature

    @property
    def revision(self) -> str:
        """Return the probe's mean in nats, rounded so that noise hardly ever changes it."""
        return f"{PROBE}{np.mean(self.probe):.1f}" if self.probe else "unknown"


async def connect(url: str, model: str) -> Server:
    """Recognise the server at an address, with what it says of the model."""
    # Addresses are often copied from a client of OpenAI, which has the version in them.
    parts = urlsplit(sending.check_address("--server", url))
    kinds = (ChatServer,) if parts.path.endswith(CHAT) else KINDS
    base = urlunsplit(parts._replace(path=parts.path.removesuffix("/v1")))
    address = hide_secrets(base)
    requests = sending.Requests(sending.Pace(tries=3, busy_tries=8), None, 30.0)
    line = f"waiting for an answer of {address}"
    notice = asyncio.get_running_loop().call_later(SILENCE, report, line)
    async with new_client() as client:
        for kind in kinds:
            try:
                with readable():
                    served = await requests.send(partial(kind.find, client, base, model))
            except sending.BusyError as error:
                raise PolyprobeError(f"the server {address} is busy ({error}); {LATER}") from error
            except (sending.NoAnswerError, sending.BrokenAnswerError, RefusedError) as error:
                scheme = " (http, not https?)" if base.startswith("https:") else ""
                raise PolyprobeError(
                    f"no model server answers at {address} ({error}); start it, or "
                    f"correct --server{scheme}"
                ) from error
            finally:
                notice.cancel()
            if served:
                return kind(served)
    raise AssertionError(url)


class LimitedServerError(PolyprobeError):
    """A server that lacks log-probabilities, but is not known to be wrong."""


async def shake(
    engine: ServedEngine, tokenizer: Any, before: Sequence[float] = (), answers: bool = False
) -> Handshake:
    """Run all checks; the engine repeats the probe after each plan and after an absence."""
    # `before` is the probe of a run to resume; `answers`: those of a server without values.
    server = engine.server
    kind = AnswerChecks if answers else ChatChecks if isinstance(server, ChatServer) else Checks
    checks = kind(server, tokenizer, engine.vocabulary)
    async with new_client() as client:
        try:
            with readable():
                outcome = await checks.run(client)
        except LimitedError as error:
            refusal = _refusal(server, f"an answer has {error}", server.remedy)
            raise LimitedServerError(refusal) from error
        except sending.BrokenAnswerError as error:
            raise _refusal(server, f"an answer has {error}") from error
        except RefusedError as error:
            wrong = error.status in ABSENT or isinstance(server, ChatServer)
            remedy = "check the model's name and the address" if wrong else server.remedy
            refusal = _refusal(server, f"it refuses the request: {error}", remedy)
            raise LimitedServerError(refusal) from error
        except sending.NoAnswerError as error:
            line = f"the server {server.where} {error.state} ({error}); {LATER}"
            raise PolyprobeError(line) from error

    if len(before) == len(outcome.probe):  # of the same kind of server, else the settings differ
        _check_same(server, outcome, outcome.probe, before)
        # All parts of a run are compared with its first state, so that drift does not add up.
        outcome = outcome._replace(probe=[*before])

    turns = cycle([1, 2])

    async def check_again(client: Any) -> None:
        # Another prompt too: a router or a cache may know the probe.
        turn = next(turns)
        now = await checks.read(client, 0, turn)
        with readable():  # a probe of another length
            _check_same(server, outcome, now, [*outcome.probe, *checks.earlier(turn)])

    engine.check = check_again
    return outcome


def _check_same(
    server: Server, outcome: Handshake, now: Sequence[float], before: Sequence[float]
) -> None:
    worst = np.abs(np.subtract(now, before)).max(initial=0)
    if worst > min(AGREE, max(STATE_DRIFT, 4 * outcome.rounding)):
        raise PolyprobeError(
            f"the server {server.where} has another model behind the name "
            f"{server.served.model!r} than before (log-probabilities differ by {worst:.3g}); "
            "scores so far are kept: serve the same model, or choose another --output"
        )


def _refusal(server: Server, problem: str, remedy: str = "no scoring is left") -> PolyprobeError:
    return PolyprobeError(f"the server {server.where} cannot score candidates: {problem}; {remedy}")


# A method returns what is wrong with a server, "" for nothing, and None if it cannot be checked.
class Checks:
    """The prompts of the checks, and a method for each check."""

    # In the order in which they run; later checks use what earlier ones have measured.
    names = "tokens counts numbers order length bos routes values"

    def __init__(self, server: Server, tokenizer: Any, vocabulary: int) -> None:
        self._server, self._vocabulary = server, vocabulary
        pace = sending.Pace(tries=3, first_wait=0.2, busy_tries=10)
        self._sender = sending.Requests(pace, None, 120.0)
        self._singles: list[Answer] = []
        self._rounding, self._noise = 0.0, MIN_NOISE
        self._choose_prompts(tokenizer)

    def _choose_prompts(self, tokenizer: Any) -> None:
        # The sample is cut to SHORT tokens. The first prompt asks for all of its tokens behind
        # those before them, as far as the server can; the others are to be mixed with it.
        server = self._server
        limit = server.served.limit or LONG
        self._sample = tuple(tokenizer(SAMPLE, add_special_tokens=False)["input_ids"])
        self._bos = tokenizer.bos_token_id
        if limit < MIN_TOKENS or len(set(self._sample)) < MIN_TOKENS:
            raise _refusal(
                server,
                f"it reads {limit} tokens, and a text in twelve scripts has "
                f"{len(set(self._sample))} different ones; the checks need {MIN_TOKENS}",
            )
        ids = self._sample[: min(SHORT, limit - 2)]
        # A server may hide tokens that end inside a character.
        tokens = (x for x in dict.fromkeys(ids) if "\ufffd" not in tokenizer.decode([x]))
        n_children = min(N_CHILDREN, server.reach.children) if server.exact else 0
        self._children = tuple(islice(tokens, n_children))
        half = len(ids) // 2
        self._first, self._second = self._prompt(ids), self._prompt(ids[:half])
        self._prompts = [self._first, self._second, self._prompt(ids[::-1])]
        # The end repeats the beginning, so that a model that sees it expects what follows there.
        size = min(LONG, limit - 2) - len(ids)
        # Models are sure at places of the repeated part, and hardly expect the tokens of the other.
        shuffled = Random(0).sample(ids * (LONG // len(ids) + 1), LONG)
        middle = (*ids[::-1] * 3, *shuffled)[: max(0, size)]
        self._long = self._prompt((*ids[:half], *middle, *ids[: half - 1]))
        # No prompt begins with another one, so that no value is read twice.
        self._places = [ids, ids[::-1], self._long.ids[::-1]]

    def _prompt(self, ids: tuple[int, ...]) -> Prompt:
        return Prompt(ids, self._children, self._server.reach.path)

    async def run(self, client: Any) -> Handshake:
        """Run all checks in order."""
        passed = []
        for name in self.names.split():
            problem = await getattr(self, f"check_{name}")(client)
            if problem:
                raise _refusal(self._server, problem)
            passed += [name] * (problem is not None)
        return Handshake(await self.read(client, 0), self._rounding, tuple(passed))

    async def check_tokens(self, client: Any) -> str:
        """Compare the tokens of a text in twelve scripts with the server's."""
        differ = partial(self._server.differ, client, SAMPLE, self._sample, self._bos)
        with readable():
            difference = await self._sender.send(differ)
        if difference:
            raise _refusal(
                self._server,
                "its tokens of a text in twelve scripts are not those of the tokenizer "
                f"({difference})",
                "give the tokenizer of the served model (--tokenizer)",
            )
        return ""

    async def check_counts(self, client: Any) -> str | None:
        """Compare the number of tokens in the answer (`Answer.check`): no BOS is added."""
        self._singles = [await self._ask_one(client, prompt) for prompt in self._prompts]
        return None if self._singles[0].n_tokens is None else ""

    async def check_numbers(self, client: Any) -> str:
        """Compare log-probabilities of different tokens; `Answer.check` refuses impossible ones."""
        if np.ptp(_list_values(self._prompts[0], self._singles[0])) == 0:
            return "a likely and an unlikely token have the same log-probability"
        return ""

    async def check_order(self, client: Any) -> str:
        """Compare an answer alone with those among others, in any order and at the same time."""
        orders = ([0], [0, 1, 2], [2, 1, 0])
        answers = await self._ask(client, *([self._prompts[k] for k in order] for order in orders))
        differences: list[float] = []
        for k, answer in zip(chain(*orders), answers, strict=True):
            values = (_list_values(self._prompts[k], x) for x in (self._singles[k], answer))
            differences += np.abs(np.subtract(*values)).tolist()
        self._rounding = max(self._rounding, *differences)
        self._noise = max(MIN_NOISE, 3 * float(np.mean(differences)))
        if self._rounding > AGREE:
            return (
                "a request gives other log-probabilities alone than among others "
                f"(they differ by {self._rounding:.3g}): answers may be of other prompts"
            )
        return ""

    async def check_length(self, client: Any) -> str:
        """Compare the ends of two long prompts that differ at the beginning only."""
        half = len(self._second.ids)
        start = self._first.ids[half : 2 * half]
        changed = self._long._replace(ids=(*start, *self._long.ids[half:]))
        first, second = [await self._ask_one(client, x) for x in (self._long, changed)]
        if _compare_ends(self._long, first, second) <= self._noise:
            return (
                f"the end of a prompt of {len(self._long.ids)} tokens does not depend on its "
                "beginning: the prompt is cut"
            )
        return ""

    async def check_bos(self, client: Any) -> str | None:
        """Compare a prompt with a BOS in front with the same without."""
        if self._bos is None:
            return None
        prompt = self._second
        answer = await self._ask_one(client, prompt._replace(ids=(self._bos, *prompt.ids)))
        if _compare_ends(prompt, self._singles[1], answer) <= max(STATE_DRIFT, self._noise):
            return "a prompt with a BOS gives the same as without: it adds one"
        return ""

    async def check_routes(self, client: Any) -> str | None:
        """Compare a token's log-probability when named alone, among others and in a prompt."""
        reach, ids = self._server.reach, self._first.ids
        if not (reach.children and self._server.exact):
            return None
        for at in (len(ids) // 2, len(ids) - 1):
            token = ids[at]
            children = tuple(dict.fromkeys((*self._children, token)))
            prompts = [Prompt(ids[:at], x) for x in (children, (token,))]
            answers = [await self._ask_one(client, prompt) for prompt in prompts]
            values = [answer.children[token] for answer in answers]
            values += [self._singles[0].path[at - 1]] if reach.path else []
            if np.ptp(values) > AGREE:
                return (
                    "two ways to ask for the same log-probability differ by "
                    f"{np.ptp(values):.3g}: one of them is wrong"
                )
        return ""

    async def check_values(self, client: Any) -> str:
        """Look for log-probabilities that no model gives, and for those of other places."""
        best, place = self._singles[1].best, len(self._prompts[1].ids) - 1

        async def ask() -> str:
            with readable():
                places = await self._server.places(client, self._places)
                if self._server.exact and not self._server.reach.children and best is not None:
                    largest = places[place].best[:1]
                    if largest and abs(largest[0] - best) > AGREE:
                        return "log-probabilities inside of a prompt are those of other places"
                return find_fault(places, self._vocabulary)

        return await self._sender.send(ask)

    async def read(self, client: Any, *numbers: int) -> list[float]:
        """Return the log-probabilities of some prompts: the first one is the probe."""
        prompts = [prompt for k, prompt in enumerate(self._prompts) if k in numbers]
        return [*chain(*map(_list_values, prompts, await self._ask(client, prompts)))]

    def earlier(self, number: int) -> list[float]:
        """Return those of a prompt in the handshake."""
        of_prompt = slice(number, number + 1)  # nothing without prompts
        pairs = zip(self._prompts[of_prompt], self._singles[of_prompt], strict=True)
        return [value for pair in pairs for value in _list_values(*pair)]

    async def _ask_one(self, client: Any, prompt: Prompt) -> Answer:
        [answer] = await self._ask(client, [prompt])
        return answer

    async def _ask(self, client: Any, *batches: Sequence[Prompt]) -> list[Answer]:
        """Return the checked answers; each batch is one HTTP request, if the kind has batches."""
        # HTTP requests are sent at the same time, as many as in a run
        size = self._server.prompts
        parts = [batch[k : k + size] for batch in batches for k in range(0, len(batch), size)]
        answers: dict[int, list[Answer]] = {}

        async def ask(k: int) -> None:
            answers[k] = await self._sender.send(partial(self._server.answers, client, parts[k]))

        await sending.run_each(ask, range(len(parts)), self._server.parallel)
        results = [answer for k in range(len(parts)) for answer in answers[k]]
        for prompt, answer in zip(chain(*parts), results, strict=True):
            if not (answer.path or answer.children):
                raise LimitedError("no log-probabilities")
            answer.check(prompt, self._server.exact, self._vocabulary)
        return results


class ChatChecks(Checks):
    """The same for questions, where the server's tokens are not known."""

    _server: ChatServer
    names = "counts numbers order values letters"

    def _choose_prompts(self, tokenizer: Any) -> None:
        self._prompts = [Prompt((*map(ord, text),)) for text in QUESTIONS]
        self._places = [prompt.ids for prompt in self._prompts]
        # Equal questions are read from a cache; later ones differ by .08 on llama.cpp.
        self._rounding = AGREE / 4

    async def check_letters(self, client: Any) -> str:
        """Look for the letters of the options among the most probable tokens."""
        tops = await self._server.top(client, self._places)
        if max(x.get(letter, -math.inf) for x in tops for letter in "ABCD") < LEAST_LETTER:
            begin = ", ".join(map(repr, [*tops[0]][:3]))
            remedy = "switch thinking off, or try --chat --system with another text"
            raise _refusal(self._server, f"its answers begin with {begin}, not a letter", remedy)
        return ""


class AnswerChecks(ChatChecks):
    """The same for servers that give texts alone."""

    names = "answers"

    def _choose_prompts(self, tokenizer: Any) -> None:
        chat, self._prompts = isinstance(self._server, ChatServer), []
        self._texts = [(*map(ord, text),) if chat else text for text in QUESTIONS]

    async def check_answers(self, client: Any) -> str | None:
        """Compare the answers to the same questions in another order: None if they differ."""
        rows = []
        for texts in (self._texts, self._texts[::-1]):
            write = partial(self._server.texts, client, form=Form(N_CHILDREN, None))
            rows.append([await self._sender.send(partial(write, [x])) for x in texts])
        if rows[0] == rows[1][::-1]:
            return ""
        report("warning: the server answers the same questions differently when asked again")
        return None


def _compare_ends(prompt: Prompt, first: Answer, second: Answer) -> float:
    """Return the mean difference at the ends of two prompts: of children and last tokens."""
    n = min(3, len(first.path), len(second.path))
    a, b = ([*x.path[len(x.path) - n :], *_list_children(prompt, x)] for x in (first, second))
    return float(np.abs(np.subtract(a, b)).mean())


def _list_children(prompt: Prompt, answer: Answer) -> list[float]:
    """Return the log-probabilities of the children, or the largest ones."""
    if prompt.children or prompt.path:
        return [answer.children[child] for child in prompt.children]
    return sorted(answer.children.values(), reverse=True)[:N_CHILDREN]


def _list_values(prompt: Prompt, answer: Answer) -> list[float]:
    return [*answer.path, *_list_children(prompt, answer)]
