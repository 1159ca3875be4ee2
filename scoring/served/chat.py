"""Servers with OpenAI's chat alone: the most probable first tokens of an answer, for letters."""

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from polyprobe.scoring.chat import QUESTION
from polyprobe.scoring.options import LETTERS
from polyprobe.system.sending import BrokenAnswerError, extend

from .cover import Prompt
from .openai import FEWER_LOGPROBS, LOGPROBS, TopCompletions
from .server import LimitedError, RefusedError, ServedModel, read_number

CHAT = "/chat/completions"  # the end of an address that names the chat route itself
# Without it small models begin their answers with a word: docs/served.md has the figures.
SYSTEM = "Answer with the letter of the right option alone."
VOCABULARY = 2**18  # tokens of a model, at most
N_COUNTED = 5  # questions whose tokens are counted for a forecast
# Of two tokens llama.cpp joins the bytes, and reports the second one.
FORM = {"max_tokens": 1, "temperature": 0, "logprobs": True, "top_logprobs": LOGPROBS}
FIXES: dict[str, dict[str, Any]] = {  # what to change where a refusal has this word
    "max_completion_tokens": {"max_tokens": None, "max_completion_tokens": 1},
    "temperature": {"temperature": None},  # log-probabilities are the same without it
    "logprobs": {"top_logprobs": FEWER_LOGPROBS},
}


# A prompt is the number of a text; the numbers below are those of letters.
class ChatServer(TopCompletions):
    """A server of /v1/chat/completions: texts in, which it tokenizes by its own template."""

    name = "chat"
    prompts = 1
    remedy = "only free answers are left, which polyprobe does not score yet"
    head = ""  # the messages as JSON, with QUESTION in the place of a question

    def __init__(self, served: ServedModel) -> None:
        super().__init__(served, LETTERS.__getitem__)
        self._texts, self._form = dict[str, int](), FORM

    @classmethod
    async def find(cls, client: Any, url: str, model: str) -> ServedModel | None:
        """Return the model of the chat route; the checks tell whether there is one."""
        is_route = urlsplit(url).path.endswith(CHAT)
        return ServedModel(url if is_route else extend(url, f"/v1{CHAT}"), model, "")

    def number(self, text: str) -> int:
        """Return the number of a question, by which prompts name it."""
        return self._texts.setdefault(text, len(LETTERS) + len(self._texts))

    async def count_tokens(self, client: Any, prompts: Sequence[Prompt]) -> int:
        """Estimate the tokens of prompts by their bytes, from some of all lengths."""
        sizes = {prompt.ids: len(self._write(prompt.ids).encode()) for prompt in prompts}
        ordered, counts = sorted(sizes, key=sizes.__getitem__), dict[int, float]()
        for k in np.linspace(0, len(ordered) - 1, N_COUNTED).round().astype(int):
            usage = (await self._send(client, ids := ordered[k])).get("usage") or {}
            counts[sizes[ids]] = read_number(usage.get("prompt_tokens")) or sizes[ids] / 3  # about
        every = [sizes[prompt.ids] for prompt in prompts]
        return int(np.interp(every, [*counts], [*counts.values()]).sum())

    async def top(self, client: Any, prompts: Sequence[Any]) -> list[dict[str, float]]:
        """Return the most probable tokens behind a question; none where its answer has none."""
        answer = await self._send(client, prompts[0])
        n, name = self._form["top_logprobs"], str(answer.get("model")).rpartition("/")[2]
        if self.served.about not in ("", name):
            raise BrokenAnswerError(f"the name of another model, {name!r}")
        self.served = self.served._replace(version=f"top{n}", about=name)
        # llama.cpp has no values where its token ends inside a character.
        content = (answer["choices"][0].get("logprobs") or {}).get("content")
        entries = content[0]["top_logprobs"] if content else []
        # vLLM lists the token that it draws twice, or behind the most probable ones.
        tops = sorted({(entry["logprob"], entry["token"]) for entry in entries}, reverse=True)
        return [join_spellings(tops[:n])]

    def _write(self, ids: Sequence[int]) -> str:
        text = json.dumps([*self._texts][ids[0] - len(LETTERS)], ensure_ascii=False)
        return self.head.replace(QUESTION, text[1:-1])

    async def _send(self, client: Any, ids: Sequence[int]) -> Any:
        form = {name: value for name, value in self._form.items() if value is not None}
        body = {"model": self.served.model, "messages": json.loads(self._write(ids)), **form}
        try:
            return await self.post(client, "", body)
        except RefusedError as error:
            words = str(error)
            fixes = [{**self._form, **fix} for word, fix in FIXES.items() if word in words]
            fix = next((x for x in fixes if x != self._form), None)
            if fix is None:
                lacks = LimitedError(f"no log-probabilities ({words})")
                raise (lacks if "logprobs" in words else error) from None
            self._form = fix
        return await self._send(client, ids)


def join_spellings(tops: Sequence[tuple[float, str]]) -> dict[str, float]:
    """Return log-probabilities by text; those of a letter are added, with blanks and without.

    >>> join_spellings([(-1.0, "B"), (-2.0, "b"), (-3.0, " C")])
    {'B': -1.0, 'b': -2.0, 'C': -3.0}
    """
    values: dict[str, float] = {}
    for value, text in tops:
        name = text.strip() if text.strip() in [*LETTERS] else text
        values[name] = float(np.logaddexp(values.get(name, -np.inf), value))
    return values
