"""Plain OpenAI-compatible completions: the prompt's log-probabilities by `echo`."""

from collections.abc import Sequence
from typing import Any

from polyprobe.schema.run.folder import AGREE
from polyprobe.system.errors import PolyprobeError, guess
from polyprobe.system.sending import hide_password

from .cover import Reach, Request
from .kind import Answer, Kind, LimitedError, Served, choices_of, models_of


class Completions(Kind):
    """A server of /v1/completions that returns the prompt with its log-probabilities."""

    name = "completions"
    reach = Reach(path=True, children=0)
    prompts = 32

    @classmethod
    async def find(cls, client: Any, url: str, model: str) -> Served | None:
        """Return the model if the server lists it, or lists nothing."""
        listed = await models_of(client, url)
        if listed and model not in listed:
            raise PolyprobeError(
                f"the server {hide_password(url)} has no model {model!r};{guess(model, listed)} "
                f"it has: {', '.join(listed)}"
            )
        limit = listed.get(model, {}).get("max_model_len")
        return Served(url, model, "", limit if isinstance(limit, int) else None)

    async def differ(self, client: Any, text: str, ids: Sequence[int], bos: int | None) -> str:
        """Return how log-probabilities of a text differ from those of its ids, both sent.

        If the server puts a BOS in front of texts, the ids have one too.
        """
        [whole] = await self._echo(client, [text])
        added = [bos] if bos is not None and len(whole) == len(ids) + 2 else []
        [own] = await self._echo(client, [[*added, *ids]])
        if len(whole) != len(own):
            return f"{len(whole) - 1} tokens, here {len(ids)}"
        pairs = zip(whole[1:-1], own[1:-1], strict=True)
        worst = max((abs(a - b) for a, b in pairs if a is not None and b is not None), default=0.0)
        return f"log-probabilities differ by {worst:.3g}" if worst > AGREE else ""

    async def ask(self, client: Any, requests: Sequence[Request]) -> list[Answer]:
        """Return the answer to each request."""
        values = await self._echo(client, [one.ids for one in requests])
        return [Answer(_numbers(own), {}, len(own) - 1, own[-1]) for own in values]

    async def _echo(self, client: Any, prompts: Sequence[Any]) -> list[list[float | None]]:
        """Return the log-probability of each token of each prompt and of one token behind it."""
        body = {
            "model": self.served.model,
            "prompt": prompts,
            "max_tokens": 1,
            "temperature": 0,
            "echo": True,
            "logprobs": 1,
        }
        answer = await self.post(client, "/v1/completions", body)
        self.check_model(answer)
        choices = choices_of(answer, len(prompts))
        found = [(one.get("logprobs") or {}).get("token_logprobs") or [] for one in choices]
        if min(map(len, found)) < 2:
            raise LimitedError("no log-probabilities of the prompt: echo is ignored")
        return found


def _numbers(values: Sequence[float | None]) -> list[float]:
    """Return the values of the prompt's tokens except the first, which has none."""
    return [value for value in values[1:-1] if value is not None]
