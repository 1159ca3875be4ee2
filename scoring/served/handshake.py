"""The checks of a server before the first row; a server that fails one is refused."""

from collections import deque
from collections.abc import Sequence
from functools import partial
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

from polyprobe.schema.run.folder import AGREE
from polyprobe.system.errors import PolyprobeError
from polyprobe.system.sending import (
    BrokenAnswerError,
    NoAnswerError,
    Pace,
    Requests,
    run,
    run_copies,
)

from .cover import Request
from .engine import ServedEngine, check_answer
from .kind import Answer, Kind, LimitedError, RefusedError, readable
from .kinds import new_client

SAMPLE = (
    "Paris, Москва, Αθήνα, القاهرة, ירושלים, दिल्ली, กรุงเทพฯ, 北京, 서울, თბილისი, Երևան, አዲስ አበባ"
)
FEW = 5
SHORT, LONG = 48, 400  # tokens of the inputs
PROBE = "probe"  # before the number that a served model has instead of a revision
LEAST = 8  # different tokens of the sample, and tokens of a prompt
LEAST_NOISE = 1e-6  # nats
SAME = 1e-2  # nats between two states of the same model


class Handshake(NamedTuple):
    """What a server answered before the first row.

    Attributes:
        probe: log-probabilities of the sample's tokens, in nats: the same model has the same.
        rounding: the largest difference between equal requests, alone and with others.
        passed: the names of the checks, for the signature.
    """

    probe: list[float]
    rounding: float
    passed: tuple[str, ...]

    @property
    def revision(self) -> str:
        """Return the probe's mean in nats, rounded so that noise hardly ever changes it."""
        return f"{PROBE}{np.mean(self.probe):.1f}"


def shake(engine: ServedEngine, tokenizer: Any, before: Sequence[float] = ()) -> Handshake:
    """Return the outcome of all checks.

    `before` is the probe of a run to resume. The engine repeats the probe after each plan and
    whenever the server was away.

    - tokens: a text in twelve scripts has the same tokens on the server;
    - counts: as many log-probabilities come back as tokens were sent, no BOS is added;
    - numbers: log-probabilities are finite, differ between tokens, and sum to one at most;
    - order: a request gives the same alone, and among others, in any order and at the same time;
    - length: the end of a long prompt depends on its beginning;
    - bos: a BOS in front of a prompt changes its log-probabilities;
    - routes: a named token has the log-probability that it has inside a prompt, or that it has
      among the most probable ones.

    Raises:
        PolyprobeError: the first check that fails, in one sentence.
    """
    return run(_shake(engine, tokenizer, before))


async def _shake(engine: ServedEngine, tokenizer: Any, before: Sequence[float]) -> Handshake:
    checks = Checks(engine.kind, tokenizer, engine.vocabulary)
    async with new_client() as client:
        try:
            found = await checks.all(client)
        except LimitedError as error:
            left = "only --scoring letters is left, if it gives the most probable tokens"
            refusal = _refusal(engine.kind, f"an answer has {error}", left)
            raise LimitedServerError(str(refusal)) from error
        except BrokenAnswerError as error:
            raise _refusal(engine.kind, f"an answer has {error}") from error
        except RefusedError as error:
            raise _refusal(engine.kind, f"it refuses the request: {error}") from error
        except NoAnswerError as error:
            raise _refusal(engine.kind, f"it does not answer: {error}") from error

    if len(before) == len(found.probe):  # of the same kind of server, else the settings differ
        _check_same(engine.kind, found, found.probe, before)
        found = found._replace(probe=[*before])

    async def again(client: Any) -> None:
        _check_same(engine.kind, found, await checks.values(client), found.probe)

    engine.check = again
    return found


def _check_same(
    kind: Kind, found: Handshake, now: Sequence[float], before: Sequence[float]
) -> None:
    """Refuse a server that has another model than before."""
    worst = np.abs(np.subtract(now, before)).max()
    if worst > min(AGREE, max(SAME, 4 * found.rounding)):
        raise PolyprobeError(
            f"the server {kind.where} has another model behind the name "
            f"{kind.served.model!r} than before (log-probabilities differ by {worst:.3g}); scores "
            "so far are kept: serve the same model, or choose another --output"
        )


def _refusal(kind: Kind, problem: str, left: str = "no scoring is left") -> PolyprobeError:
    """Return the error for a server that fails a check, with the scorings that are left."""
    return PolyprobeError(f"the server {kind.where} cannot score candidates: {problem}; {left}")


class LimitedServerError(PolyprobeError):
    """A server that lacks log-probabilities, but is not known to be wrong."""


class Checks:
    """The requests of the checks.

    The sample is cut to SHORT tokens. `first` asks for all of its tokens behind those before them,
    as far as the server can; `second` and `third` are others to mix it with.
    """

    def __init__(self, kind: Kind, tokenizer: Any, vocabulary: int) -> None:
        self._kind, self._vocabulary = kind, vocabulary
        limit = kind.served.limit or LONG
        self.text = SAMPLE
        self.bare = tuple(tokenizer(SAMPLE, add_special_tokens=False)["input_ids"])
        self.bos = tokenizer.bos_token_id
        if limit < LEAST or len(set(self.bare)) < LEAST:
            raise _refusal(
                kind,
                f"it reads {limit} tokens, and a text in twelve scripts has {len(set(self.bare))} "
                f"different ones; the checks need {LEAST}",
            )
        ids = self.bare[: min(SHORT, limit - 2)]
        whole = (token for token in dict.fromkeys(ids) if "\ufffd" not in tokenizer.decode([token]))
        n_children = min(FEW, kind.reach.children) if kind.exact else 0
        others, path = tuple(islice(whole, n_children)), kind.reach.path
        self.first = Request(ids, others, path)
        self.second = Request(ids[: len(ids) // 2], others, path)
        self.third = Request(ids[::-1], others, path)
        self.begun = self.second._replace(ids=(self.bos or 0, *self.second.ids))
        # The end repeats the beginning, so that a model that sees it expects what follows there.
        size = min(LONG, limit - 2) - len(ids)
        middle = (ids[::-1] * (LONG // len(ids) + 1))[: max(0, size)]
        half = len(ids) // 2
        self.long = Request((*ids[:half], *middle, *ids[: half - 1]), others, path)
        self.other = self.long._replace(ids=(*ids[half : 2 * half], *self.long.ids[half:]))

    async def all(self, client: Any) -> Handshake:
        """Return the outcome of all checks."""
        kind = self._kind
        with readable():
            differ = await kind.differ(client, self.text, self.bare, self.bos)
        if differ:
            raise _refusal(
                kind,
                f"its tokens of a text in twelve scripts are not those of the tokenizer ({differ})",
                "give the tokenizer of the served model (--tokenizer)",
            )
        three = [self.first, self.second, self.third]
        singles = [(await self.ask(client, [one]))[0] for one in three]
        if np.ptp(_numbers(self.first, singles[0])) == 0:
            raise _refusal(kind, "a likely and an unlikely token have the same log-probability")
        differences: list[float] = []
        orders = ([0], [0, 1, 2], [2, 1, 0])
        answers = await self.ask(client, *([three[k] for k in order] for order in orders))
        for k, answer in zip(chain(*orders), answers, strict=True):
            pair = _numbers(three[k], singles[k]), _numbers(three[k], answer)
            differences += np.abs(np.subtract(*pair)).tolist()
        rounding = max(differences)
        if rounding > AGREE:
            raise _refusal(
                kind,
                "a request gives other log-probabilities alone than among others "
                f"(they differ by {rounding:.3g}): answers may be of other prompts",
            )
        noise = max(LEAST_NOISE, 3 * float(np.mean(differences)))
        long, other = [(await self.ask(client, [one]))[0] for one in (self.long, self.other)]
        if _apart(self.long, long, other) <= noise:
            raise _refusal(
                kind,
                f"the end of a prompt of {len(self.long.ids)} tokens does not depend on its "
                "beginning: the prompt is cut",
            )
        counted = singles[0].n_tokens is not None
        passed = ["tokens", *["counts"][:counted], "numbers", "order", "length"]
        if self.bos is not None:
            [begun] = await self.ask(client, [self.begun])
            if _apart(self.second, singles[1], begun) <= max(SAME, noise):
                raise _refusal(kind, "a prompt with a BOS gives the same as without: it adds one")
            passed.append("bos")
        if kind.reach.children and kind.exact:
            await self._compare_routes(client, singles[0])
            passed.append("routes")
        return Handshake(await self.values(client), rounding, tuple(passed))

    async def _compare_routes(self, client: Any, alone: Answer) -> None:
        """Compare two ways to the same log-probability, where the server has two."""
        ids, kind = self.first.ids, self._kind
        for at in (len(ids) // 2, len(ids) - 1):
            children = tuple(dict.fromkeys((*self.first.children, ids[at])))
            [many] = await self.ask(client, [Request(ids[:at], children)])
            [one] = await self.ask(client, [Request(ids[:at], (ids[at],))])
            found = [many.children[ids[at]], one.children[ids[at]]]
            found += [alone.path[at - 1]] if kind.reach.path else []
            if np.ptp(found) > AGREE:
                raise _refusal(
                    kind,
                    "two ways to ask for the same log-probability differ by "
                    f"{np.ptp(found):.3g}: one of them is wrong",
                )

    async def values(self, client: Any) -> list[float]:
        """Return the probe's log-probabilities."""
        [found] = await self.ask(client, [self.first])
        return _numbers(self.first, found)

    async def ask(self, client: Any, *batches: Sequence[Request]) -> list[Answer]:
        """Return the checked answers; each batch is one HTTP request, if the kind has batches.

        HTTP requests are sent at the same time, as many as in a run.
        """
        sender = Requests(Pace(tries=3, first_wait=0.2, longest_wait=2.0), None, 120.0)
        size = self._kind.prompts
        parts = [batch[k : k + size] for batch in batches for k in range(0, len(batch), size)]
        answers: list[list[Answer]] = [[] for _ in parts]
        waiting = deque(range(len(parts)))

        async def work() -> None:
            while waiting:
                k = waiting.popleft()
                answers[k] = await sender.send(partial(self._kind.answers, client, parts[k]))

        await run_copies(work, self._kind.parallel)
        found = [*chain(*answers)]
        for request, answer in zip(chain(*batches), found, strict=True):
            check_answer(request, answer, self._kind.exact, self._vocabulary)
        return found


def _apart(request: Request, first: Answer, second: Answer) -> float:
    """Return the mean difference at the ends of two prompts: of children and last tokens."""
    a, b = ([*answer.path[-3:], *_children(request, answer)] for answer in (first, second))
    return float(np.abs(np.subtract(a, b)).mean())


def _children(request: Request, answer: Answer) -> list[float]:
    """Return the log-probabilities of the children, or the largest ones."""
    if request.children or request.path:
        return [answer.children[child] for child in request.children]
    return sorted(answer.children.values(), reverse=True)[:FEW]


def _numbers(request: Request, answer: Answer) -> list[float]:
    """Return the log-probabilities that a request asked for, else the largest ones."""
    return [*answer.path, *_children(request, answer)]
