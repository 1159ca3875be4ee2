"""vLLM: prompt log-probabilities and those of named tokens, many prompts in a request."""

from collections.abc import Sequence
from typing import Any

from polyprobe.system.sending import BrokenAnswerError

from .cover import Reach, Request
from .kind import Answer, Kind, Served, choices_of, compare_ids, get, models_of

MOST = 20  # vLLM's own limit of log-probabilities (--max-logprobs)


class Vllm(Kind):
    """vLLM's OpenAI-compatible server, 0.16 or later (`logprob_token_ids`)."""

    name = "vllm"
    reach = Reach(path=True, children=MOST)
    prompts = 64

    @classmethod
    async def find(cls, client: Any, url: str, model: str) -> Served | None:
        """Return the model if the server has /version and lists it as vLLM's."""
        version = await get(client, f"{url}/version")
        listed = (await models_of(client, url)).get(model, {})
        if not isinstance(version, dict) or listed.get("owned_by") != "vllm":
            return None
        limit = listed.get("max_model_len")
        about = str(listed.get("root") or "").rstrip("/").rpartition("/")[2]
        return Served(url, model, str(version.get("version")), limit, about)

    async def differ(self, client: Any, text: str, ids: Sequence[int], bos: int | None) -> str:
        """Return how the server's tokens of a text differ from these, special tokens aside."""
        body = {"model": self.served.model, "prompt": text, "add_special_tokens": False}
        answer = await self.post(client, "/tokenize", body)
        return compare_ids(answer.get("tokens"), ids)

    async def ask(self, client: Any, requests: Sequence[Request]) -> list[Answer]:
        """Return the answer to each request; all children are asked for behind all prompts."""
        children = sorted({child for one in requests for child in one.children})
        body = {
            "model": self.served.model,
            "prompt": [one.ids for one in requests],
            "max_tokens": 1,
            "temperature": 0,
            "return_token_ids": True,
            "return_tokens_as_token_ids": True,
        }
        if children:
            body |= {"logprobs": 0, "logprob_token_ids": children}
        if requests[0].path:
            body |= {"prompt_logprobs": 0}
        answer = await self.post(client, "/v1/completions", body)
        self.check_model(answer)
        return [
            _read(one, choice)
            for one, choice in zip(requests, choices_of(answer, len(requests)), strict=True)
        ]


def _read(request: Request, choice: dict[str, Any]) -> Answer:
    path: list[float] = []
    if request.path:
        given = (choice.get("prompt_logprobs") or [])[1:]
        try:
            pairs = zip(request.ids[1:], given, strict=False)
            path = [entry[str(token)]["logprob"] for token, entry in pairs]
        except (KeyError, TypeError) as error:
            raise BrokenAnswerError("log-probabilities of tokens that were not sent") from error
    tops = ((choice.get("logprobs") or {}).get("top_logprobs") or [{}])[0]
    children = {int(name.removeprefix("token_id:")): value for name, value in tops.items()}
    prompt = choice.get("prompt_token_ids")
    n_tokens = None if prompt is None else len(prompt)
    return Answer(path, children, n_tokens, max(children.values(), default=None))
