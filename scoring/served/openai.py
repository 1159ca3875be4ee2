"""Servers with OpenAI's routes: completions, with `echo` or the best tokens alone, vLLM; chat."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from heapq import nlargest
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from polyprobe.schema.run.folder import AGREE
from polyprobe.scoring.chat import Chat
from polyprobe.scoring.options import LETTERS
from polyprobe.system.messages import PolyprobeError, guess, list_first
from polyprobe.system.sending import BrokenAnswerError, extend
from polyprobe.system.text import hide_secrets

from .server import (
    ABSENT,
    Answer,
    Form,
    LimitedError,
    Place,
    Prompt,
    Reach,
    RefusedError,
    ServedModel,
    Server,
    compare_ids,
    fetch_models,
    fetch_own,
    read_number,
    read_place,
)

ROUTE = "/v1/completions"
LOGPROBS, FEWER_LOGPROBS = 20, 5  # the limits of vLLM (--max-logprobs) and of OpenAI
CHAT = "/chat/completions"  # the end of an address that names the chat route itself
# Without it small models begin their answers with a word: docs/served.md has the figures.
SYSTEM = "Answer with the letter of the right option alone."
N_COUNTED = 5  # questions whose tokens are counted for a forecast
# vLLM would apply the penalty of the model's files
GREEDY = {"temperature": 0, "repetition_penalty": 1.0}
SHORT = {"max_tokens": 1, "temperature": 0}
# Of two tokens llama.cpp joins the bytes, and reports the second one.
FORM = {**SHORT, "logprobs": True, "top_logprobs": LOGPROBS}
# Where a refusal has a word, what it names is left out, or replaced; the first one that fits
FIXES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("max_completion_tokens", "max_tokens", {"max_completion_tokens": None}),  # the same value
    ("temperature", "temperature", {}),  # log-probabilities are the same without it
    ("repetition_penalty", "repetition_penalty", {}),
    ("logprobs", "top_logprobs", {"top_logprobs": FEWER_LOGPROBS}),
)


class Completions(Server):
    """A server of /v1/completions that returns the prompt with its log-probabilities."""

    name = "completions"
    reach = Reach(path=True, children=0)
    prompts = 32
    n_best = LOGPROBS  # most probable tokens of an answer, at most
    greedy: Mapping[str, float] = MappingProxyType({})  # switches off what changes greedy answers

    @classmethod
    async def find(cls, client: Any, url: str, model: str) -> ServedModel | None:
        """Return the model if the server lists it, or lists nothing."""
        models = await fetch_models(client, url)
        if models and model not in models:
            raise PolyprobeError(
                f"the server {hide_secrets(url)} has no model {model!r};{guess(model, models)} "
                f"it has: {list_first(models)}"
            )
        limit = read_number(models.get(model, {}).get("max_model_len"))
        body = {"model": model, "prompt": "a", "max_tokens": 1}
        try:
            await cls(served := ServedModel(url, model, "", limit)).post(client, ROUTE, body)
        except RefusedError as error:
            if error.status in ABSENT or "chat" in str(error):
                return None
        return served

    async def complete(
        self, client: Any, prompts: Sequence[Any], **options: Any
    ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Request one token behind each prompt; return the choices in order and the answer."""
        body = {"model": self.served.model, "prompt": prompts, "max_tokens": 1, "temperature": 0}
        try:
            answer = await self.post(client, ROUTE, body | options)
        except RefusedError:
            if options.get("logprobs") != LOGPROBS:
                raise
            self.n_best = FEWER_LOGPROBS
            return await self.complete(client, prompts, **options | {"logprobs": self.n_best})
        name = answer.get("model") if isinstance(answer, dict) else None
        if name not in (None, self.served.model):
            raise BrokenAnswerError(f"the name of another model, {name!r}")
        try:
            choices = {choice["index"]: choice for choice in answer["choices"]}
            return [choices[k] for k in range(len(prompts))], answer
        except (KeyError, TypeError) as error:
            raise BrokenAnswerError(f"no {len(prompts)} choices") from error

    async def differ(self, client: Any, text: str, ids: Sequence[int], bos: int | None) -> str:
        """Return how log-probabilities of a text differ from those of its ids, both sent."""
        # If the server puts a BOS in front of texts, the ids have one too. Each list has the values
        # of all tokens and of the one that the server generates.
        [of_text] = await self._echo(client, [text])
        front = [bos] if bos is not None and len(of_text) == len(ids) + 2 else []
        [of_ids] = await self._echo(client, [[*front, *ids]])
        if len(of_text) != len(of_ids):
            return f"{len(of_text) - 1} tokens, here {len(ids)}"
        pairs = zip(of_text[1:-1], of_ids[1:-1], strict=True)
        worst = max((abs(a - b) for a, b in pairs if a is not None and b is not None), default=0.0)
        return f"log-probabilities differ by {worst:.3g}" if worst > AGREE else ""

    async def ask(self, client: Any, prompts: Sequence[Prompt]) -> list[Answer]:
        """Return the answer to each prompt; the first token has no log-probability."""
        return [
            Answer([x for x in values[1:-1] if x is not None], {}, len(values) - 1, values[-1])
            for values in await self._echo(client, [prompt.ids for prompt in prompts])
        ]

    async def write(self, client: Any, prompts: Sequence[Any], form: Form) -> list[str]:
        """Return the text behind each prompt."""
        options = {"max_tokens": form.tokens, "stop": form.stop, **self.greedy}
        return [x["text"] for x in (await self.complete(client, prompts, **options))[0]]

    async def places(self, client: Any, prompts: Sequence[Sequence[int]]) -> list[Place]:
        """Return each token's log-probability and the largest ones, as many as the server has."""
        choices, _ = await self.complete(client, prompts, echo=True, logprobs=self.n_best)
        places: list[Place] = []
        for logs in (choice["logprobs"] for choice in choices):
            values = logs["token_logprobs"][1:]
            tops = (logs.get("top_logprobs") or [None] * (len(values) + 1))[1:]
            places += map(read_place, values, tops)
        return places

    async def _echo(self, client: Any, prompts: Sequence[Any]) -> list[list[float | None]]:
        """Return the log-probability of each token of each prompt and of one token behind it."""
        choices, _ = await self.complete(client, prompts, echo=True, logprobs=1)
        rows = [(choice.get("logprobs") or {}).get("token_logprobs") or [] for choice in choices]
        if min(map(len, rows)) < 2:
            raise LimitedError("no log-probabilities of the prompt: echo is ignored")
        return rows


# Tokens are recognised by their text behind other text, so ` A` and `A` are two. If no text of any
# answer begins with a blank, the server removes them, and blanks do not count.
class TopCompletions(Completions):
    """Completions without `echo`: the most probable tokens behind a prompt, enough for letters."""

    name = "top"
    reach = Reach(path=False, children=10**6)
    exact = False
    remedy = "try its chat route: end the address in /v1/chat/completions"

    def __init__(self, served: ServedModel, spell: Callable[[int], str]) -> None:
        super().__init__(served)
        self._spell = cache(spell)  # the text of a token behind other text
        self._blanks = False  # whether a text of an answer began with one

    async def differ(self, client: Any, text: str, ids: Sequence[int], bos: int | None) -> str:
        """Return how the most probable tokens behind a text differ from those behind its ids."""
        [of_text] = await self.top(client, [text])
        differences = []
        for front in ([], [bos] if bos is not None else []):
            [of_ids] = await self.top(client, [[*front, *ids]])
            largest = (nlargest(FEWER_LOGPROBS, tops.values()) for tops in (of_text, of_ids))
            differences.append(max(abs(a - b) for a, b in zip(*largest, strict=False)))
        worst = min(differences)  # the server may or may not put a BOS in front of texts
        return f"log-probabilities differ by {worst:.3g}" if worst > AGREE else ""

    async def ask(self, client: Any, prompts: Sequence[Prompt]) -> list[Answer]:
        """Return the answer to each prompt; children that are not among the first are left out."""
        rows = await self.top(client, [prompt.ids for prompt in prompts])
        return [
            Answer([], self._name(prompt.children, tops), None, max(tops.values(), default=None))
            for prompt, tops in zip(prompts, rows, strict=True)
        ]

    async def places(self, client: Any, prompts: Sequence[Sequence[int]]) -> list[Place]:
        """Return the largest log-probabilities behind each prompt."""
        return [read_place(None, tops) for tops in await self.top(client, prompts)]

    def _name(self, children: Sequence[int], tops: Mapping[str, float]) -> dict[int, float]:
        """Return the log-probabilities by token; those of texts without a child are below 0."""
        texts = {child: self._spell(child) for child in children}
        if not self._blanks:
            texts = {child: text.lstrip() for child, text in texts.items()}
        # Several tokens may have one text (a byte of a character, say); all get its value.
        values = {child: tops[text] for child, text in texts.items() if text in tops}
        rest = (tops[text] for text in tops.keys() - texts.values())
        return values | {-1 - k: value for k, value in enumerate(rest)}

    async def top(self, client: Any, prompts: Sequence[Any]) -> list[dict[str, float]]:
        """Return the log-probabilities of the most probable tokens behind each prompt, by text."""
        choices, answer = await self.complete(client, prompts, logprobs=self.n_best)
        n_tokens = (answer.get("usage") or {}).get("prompt_tokens")
        sent = sum(map(len, prompts))
        if n_tokens is not None and not isinstance(prompts[0], str) and n_tokens != sent:
            raise BrokenAnswerError(f"{n_tokens} tokens in prompts of {sent}")
        tops = [((x.get("logprobs") or {}).get("top_logprobs") or [{}])[-1] for x in choices]
        if not all(tops):
            raise LimitedError("no most probable tokens")
        self._blanks |= any(text.startswith(" ") for values in tops for text in values)
        return tops


class Vllm(Completions):
    """vLLM's server, 0.16 or later: prompts and named tokens (`logprob_token_ids`)."""

    name = "vllm"
    reach = Reach(path=True, children=LOGPROBS)
    prompts = 64
    # Penalties of the model's generation_config.json are applied to greedy answers too
    greedy = MappingProxyType({"repetition_penalty": 1.0})

    @classmethod
    async def find(cls, client: Any, url: str, model: str) -> ServedModel | None:
        """Return the model if the server has /version and lists it as vLLM's."""
        version, models = await fetch_own(client, url, "/version", "vllm")
        entry = models.get(model, {})
        if not isinstance(version, dict) or entry.get("owned_by") != "vllm":
            return None
        about = str(entry.get("root") or "").rstrip("/").rpartition("/")[2]
        limit = read_number(entry.get("max_model_len"))
        return ServedModel(url, model, str(version.get("version")), limit, about)

    async def differ(self, client: Any, text: str, ids: Sequence[int], bos: int | None) -> str:
        """Return how the server's tokens of a text differ from these, special tokens aside."""
        body = {"model": self.served.model, "prompt": text, "add_special_tokens": False}
        answer = await self.post(client, "/tokenize", body)
        return compare_ids(answer.get("tokens"), ids)

    async def ask(self, client: Any, prompts: Sequence[Prompt]) -> list[Answer]:
        """Return the answer to each prompt; all children are named behind all prompts."""
        # Texts of tokens are ambiguous, so vLLM names them by their ids.
        options: dict[str, Any] = {"return_token_ids": True, "return_tokens_as_token_ids": True}
        children = sorted({child for prompt in prompts for child in prompt.children})
        if children:
            options |= {"logprobs": 0, "logprob_token_ids": children}
        if prompts[0].path:
            options |= {"prompt_logprobs": 0}
        choices, _ = await self.complete(client, [prompt.ids for prompt in prompts], **options)
        return [_read(prompt, x) for prompt, x in zip(prompts, choices, strict=True)]


def _read(prompt: Prompt, choice: Mapping[str, Any]) -> Answer:
    path: list[float] = []
    if prompt.path:
        entries = (choice.get("prompt_logprobs") or [])[1:]
        try:
            pairs = zip(prompt.ids[1:], entries, strict=False)
            path = [entry[str(token)]["logprob"] for token, entry in pairs]
        except (KeyError, TypeError) as error:
            raise BrokenAnswerError("log-probabilities of tokens that were not sent") from error
    tops = ((choice.get("logprobs") or {}).get("top_logprobs") or [{}])[0]
    children = {int(name.removeprefix("token_id:")): value for name, value in tops.items()}
    ids = choice.get("prompt_token_ids")
    n_tokens = None if ids is None else len(ids)
    return Answer(path, children, n_tokens, max(children.values(), default=None))


# The tokens are not known: the ids of a prompt are the characters of its question.
class ChatServer(TopCompletions):
    """A server of /v1/chat/completions: texts in, which it tokenizes by its own template."""

    name = "chat"
    prompts = 1
    remedy = "only --scoring answer is left"
    chat: Chat  # the messages around a question

    def __init__(self, served: ServedModel) -> None:
        super().__init__(served, chr)
        self._fixes: list[Any] = []

    @classmethod
    async def find(cls, client: Any, url: str, model: str) -> ServedModel | None:
        """Return the model of the chat route; the checks tell whether there is one."""
        is_route = urlsplit(url).path.endswith(CHAT)
        return ServedModel(url if is_route else extend(url, f"/v1{CHAT}"), model, "")

    async def count_tokens(self, client: Any, prompts: Sequence[Prompt]) -> int:
        """Estimate the tokens of prompts by their bytes, from some of all lengths."""
        sizes = {prompt.ids: len(self._write(prompt.ids).encode()) for prompt in prompts}
        ordered, counts = sorted(sizes, key=sizes.__getitem__), dict[int, float]()
        for k in np.linspace(0, len(ordered) - 1, N_COUNTED).round().astype(int):
            usage = (await self._send(client, ids := ordered[k], SHORT)).get("usage") or {}
            counts[sizes[ids]] = read_number(usage.get("prompt_tokens")) or sizes[ids] / 3  # about
        every = [sizes[prompt.ids] for prompt in prompts]
        return int(np.interp(every, [*counts], [*counts.values()]).sum())

    async def top(self, client: Any, prompts: Sequence[Any]) -> list[dict[str, float]]:
        """Return the most probable tokens behind each question; none where an answer has none."""
        rows = []
        for ids in prompts:
            answer, n = await self._send(client, ids), self._mend(FORM)["top_logprobs"]
            name = str(answer.get("model") or "").rpartition("/")[2]
            if self.served.about not in ("", name):
                raise BrokenAnswerError(f"the name of another model, {name!r}")
            self.served = self.served._replace(version=f"top{n}", about=name)
            # llama.cpp has no values where its token ends inside a character.
            content = (answer["choices"][0].get("logprobs") or {}).get("content")
            entries = content[0]["top_logprobs"] if content else []
            # vLLM lists the token that it draws twice, or behind the most probable ones.
            tops = sorted({(entry["logprob"], entry["token"]) for entry in entries}, reverse=True)
            rows.append(join_spellings(tops[:n]))
        return rows

    async def write(self, client: Any, prompts: Sequence[Any], form: Form) -> list[str]:
        """Return the answer to the only question; one that thinks until its end is empty."""
        answer = await self._send(client, prompts[0], {**GREEDY, "max_tokens": form.tokens})
        return [answer["choices"][0]["message"].get("content") or ""]

    def _write(self, ids: Sequence[int]) -> str:
        return self.chat.ask("".join(map(chr, ids)))

    def _mend(self, form: dict[str, Any]) -> dict[str, Any]:
        """Return a form as far as the server takes it."""
        for _, name, new in (fix for fix in FIXES if fix in self._fixes and fix[1] in form):
            values = {x: form[name] if y is None else y for x, y in new.items()}
            form = {x: y for x, y in form.items() if x != name} | values
        return form

    async def _send(self, client: Any, ids: Sequence[int], form: dict[str, Any] = FORM) -> Any:
        mended = self._mend(form)
        body = {"model": self.served.model, "messages": json.loads(self._write(ids)), **mended}
        try:
            return await self.post(client, "", body)
        except RefusedError as error:
            words = str(error)
            for fix in (x for x in FIXES if x[0] in words and x not in self._fixes):
                self._fixes.append(fix)
                return await self._send(client, ids, form)
            if "logprobs" in words:
                raise LimitedError(f"no log-probabilities ({words})") from error
            raise


def join_spellings(tops: Sequence[tuple[float, str]]) -> dict[str, float]:
    """Return log-probabilities by text; those of `A` and ` A` are added, as of other letters."""
    values: dict[str, float] = {}
    for value, text in tops:
        name = text.strip() if text.strip() in [*LETTERS] else text
        values[name] = float(np.logaddexp(values.get(name, -np.inf), value))
    return values
