"""Servers with OpenAI's chat alone: the most probable first tokens of an answer, for letters."""

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from polyprobe.scoring.chat import Chat
from polyprobe.scoring.options import LETTERS
from polyprobe.system.sending import BrokenAnswerError, extend

from .cover import Prompt
from .openai import FEWER_LOGPROBS, LOGPROBS, TopCompletions
from .server import Form, LimitedError, RefusedError, ServedModel, read_number

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


# A prompt is the number of a text; the numbers below are those of letters.
class ChatServer(TopCompletions):
    """A server of /v1/chat/completions: texts in, which it tokenizes by its own template."""

    name = "chat"
    prompts = 1
    remedy = "only --scoring answer is left"
    chat: Chat  # the messages around a question

    def __init__(self, served: ServedModel) -> None:
        super().__init__(served, LETTERS.__getitem__)
        self._numbers, self._texts, self._fixes = dict[str, int](), dict[int, str](), list[Any]()

    @classmethod
    async def find(cls, client: Any, url: str, model: str) -> ServedModel | None:
        """Return the model of the chat route; the checks tell whether there is one."""
        is_route = urlsplit(url).path.endswith(CHAT)
        return ServedModel(url if is_route else extend(url, f"/v1{CHAT}"), model, "")

    def number(self, text: str) -> int:
        """Return the number of a question, by which prompts name it."""
        number = self._numbers.setdefault(text, len(LETTERS) + len(self._numbers))
        self._texts[number] = text
        return number

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
        return self.chat.ask(self._texts[ids[0]])

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
