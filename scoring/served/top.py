"""Completions without `echo`: only the most probable tokens behind a prompt, enough for letters."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from polyprobe.schema.run.folder import AGREE
from polyprobe.system.sending import BrokenAnswerError

from .completions import Completions
from .cover import Reach, Request
from .kind import Answer, RefusedError, Served, choices_of

MOST, FEW = 20, 5  # log-probabilities: vLLM's limit, and OpenAI's


class TopCompletions(Completions):
    """A server of /v1/completions that gives the log-probabilities of the most probable tokens.

    Tokens are recognised by their text behind other text, so ` A` and `A` are two. If no text that
    the server has shown begins with a blank, it removes them, and blanks do not count.
    """

    name = "top"
    reach = Reach(path=False, children=10**6)
    exact = False
    most = MOST

    def __init__(self, served: Served, spell: Callable[[int], str]) -> None:
        super().__init__(served)
        self._spell = cache(spell)  # the text of a token behind other text
        self._blanks = False  # whether the server shows any

    async def differ(self, client: Any, text: str, ids: Sequence[int], bos: int | None) -> str:
        """Return how the most probable tokens behind a text differ from those behind its ids."""
        [whole] = await self._top(client, [text])
        worst = []
        for front in ([], [bos] if bos is not None else []):
            [own] = await self._top(client, [[*front, *ids]])
            values = [sorted(found.values(), reverse=True)[:FEW] for found in (whole, own)]
            worst.append(max(abs(a - b) for a, b in zip(*values, strict=False)))
        return f"log-probabilities differ by {min(worst):.3g}" if min(worst) > AGREE else ""

    async def ask(self, client: Any, requests: Sequence[Request]) -> list[Answer]:
        """Return the answer to each request; children that are not among the first are left out."""
        found = await self._top(client, [one.ids for one in requests])
        pairs = zip(requests, found, strict=True)
        return [
            Answer([], self._name(one.children, tops), None, max(tops.values(), default=None))
            for one, tops in pairs
        ]

    def _name(self, children: Sequence[int], tops: Mapping[str, float]) -> dict[int, float]:
        """Return the log-probabilities by token; tokens that nobody asked for are below 0."""
        texts = {child: self._spell(child) for child in children}
        if not self._blanks:
            texts = {child: text.lstrip() for child, text in texts.items()}
        named = {child: tops[text] for child, text in texts.items() if text in tops}
        others = (tops[text] for text in tops.keys() - texts.values())
        return named | {-1 - k: value for k, value in enumerate(others)}

    async def _top(self, client: Any, prompts: Sequence[Any]) -> list[dict[str, float]]:
        """Return the log-probabilities of the most probable tokens behind each prompt, by text."""
        body = {
            "model": self.served.model,
            "prompt": prompts,
            "max_tokens": 1,
            "temperature": 0,
            "logprobs": self.most,
        }
        try:
            answer = await self.post(client, "/v1/completions", body)
        except RefusedError:
            if self.most == FEW:
                raise
            self.most = FEW
            return await self._top(client, prompts)
        self.check_model(answer)
        counted = (answer.get("usage") or {}).get("prompt_tokens")
        sent = sum(map(len, prompts))
        if counted is not None and not isinstance(prompts[0], str) and counted != sent:
            raise BrokenAnswerError(f"{counted} tokens in prompts of {sent}")
        choices = choices_of(answer, len(prompts))
        tops = [((one.get("logprobs") or {}).get("top_logprobs") or [{}])[-1] for one in choices]
        if not all(tops):
            raise BrokenAnswerError("no most probable tokens")
        self._blanks |= any(text.startswith(" ") for shown in tops for text in shown)
        return tops
