"""llama.cpp's server: one token behind a prompt, the most probable ones or one that is forced."""

from collections.abc import Sequence
from typing import Any

from polyprobe.system.progress import report
from polyprobe.system.sending import BrokenAnswerError

from .cover import Reach, Request
from .kind import Answer, Kind, Served, compare_ids, get, models_of

TOP = 200  # candidates among the most probable tokens need no request of their own
FORCE = 1000.0  # added to the logit of a token, so that it is drawn; its log-probability is raw


class LlamaCpp(Kind):
    """llama.cpp's server (llama-server, xllamacpp), by its own /completion.

    It ignores `echo`, so each token of a prompt takes a request; its prompt cache keeps the work
    of each to one token if neighbours are sent one after the other.
    """

    name = "llama.cpp"
    reach = Reach(path=False, children=10**6)

    def __init__(self, served: Served) -> None:
        super().__init__(served)
        self._hidden: set[int] = set()  # tokens that end inside a character
        self._whole: int | None = None

    @classmethod
    async def find(cls, client: Any, url: str, model: str) -> Served | None:
        """Return the model if the server has /props with slots."""
        props = await get(client, f"{url}/props")
        if not isinstance(props, dict) or "total_slots" not in props:
            return None
        name, listed = next(iter((await models_of(client, url)).items()), ("", {}))
        meta = listed.get("meta") or {}
        kind = props.get("model_ftype") or meta.get("ftype") or ""
        limit = (props.get("default_generation_settings") or {}).get("n_ctx")
        version = f"{props.get('build_info', 'unknown')} {kind}".strip().replace(" ", "-")
        about = f"{name.rpartition('/')[2]} {meta.get('n_params', '')}".strip().replace(" ", "-")
        if model not in (name, name.rpartition("/")[2], *listed.get("aliases", ())):
            report(f"note: llama.cpp ignores the name {model!r}; its model is {name!r}")
        return Served(url, model, version, limit, about, meta.get("n_vocab"))

    async def differ(self, client: Any, text: str, ids: Sequence[int], bos: int | None) -> str:
        """Return how the server's tokens of a text differ from these, special tokens aside."""
        body = {"content": text, "add_special": False, "parse_special": False}
        answer = await self.post(client, "/tokenize", body)
        return compare_ids(answer.get("tokens"), ids)

    async def ask(self, client: Any, requests: Sequence[Request]) -> list[Answer]:
        """Return the answer to the only request.

        The first child is forced; the others are taken from the most probable tokens, or are
        forced in turn. The server hides the log-probability of a token that ends inside a
        character, except in the list of all tokens.
        """
        [one] = requests
        found: dict[int, float] = {}
        n_tokens = None
        top = TOP if len(one.children) > 1 else 1
        for child in one.children:
            if child not in found and child not in self._hidden:
                given, n_tokens = await self._force(client, one.ids, child, top)
                self._hidden.update([child] if child not in given else [])
                found = {**given, **found}
            if child not in found:
                whole = self.served.vocabulary or 10**6
                given, n_tokens = await self._force(
                    client, one.ids, await self._comma(client), whole
                )
                found = {**given, **found}
        return [Answer([], found, n_tokens, max(found.values(), default=None))]

    async def _comma(self, client: Any) -> int:
        """Return a token of whole characters."""
        if self._whole is None:
            body = {"content": ",", "add_special": False}
            self._whole = (await self.post(client, "/tokenize", body))["tokens"][-1]
        return self._whole

    async def _force(
        self, client: Any, ids: Sequence[int], token: int, top: int
    ) -> tuple[dict[int, float], int | None]:
        """Return the log-probabilities of a token and the most probable ones behind these ids."""
        body = {
            "prompt": ids,
            "n_predict": 1,
            "temperature": 0,
            "n_probs": top,
            "logit_bias": [[token, FORCE]],
            "cache_prompt": True,
            "response_fields": ["completion_probabilities", "tokens_evaluated", "truncated"],
        }
        answer = await self.post(client, "/completion", body)
        try:
            steps = answer.get("completion_probabilities") or []
            entries = [entry for step in steps for entry in (*step["top_logprobs"], step)]
            given = {entry["id"]: entry["logprob"] for entry in entries}
        except (AttributeError, KeyError, TypeError) as error:
            raise BrokenAnswerError("no log-probabilities") from error
        return given, -1 if answer.get("truncated") else answer.get("tokens_evaluated")
