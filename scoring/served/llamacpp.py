"""llama.cpp's server: one token behind a prompt, the most probable ones or one that is forced."""

from collections.abc import Sequence
from typing import Any

from polyprobe.system.messages import report
from polyprobe.system.sending import BrokenAnswerError

from .server import (
    Answer,
    Form,
    Place,
    Prompt,
    Reach,
    ServedModel,
    Server,
    compare_ids,
    fetch_own,
    read_number,
    read_place,
)

TOP = 200  # candidates among the most probable tokens need no request of their own
FORCE = 1000.0  # added to the logit of a token, so that it is drawn; its log-probability is raw


# It ignores `echo`: each token of a prompt takes a request; its prompt cache keeps the work of
# each to one token if neighbours are sent one after the other.
class LlamaCpp(Server):
    """llama.cpp's server (llama-server, xllamacpp), by its own /completion."""

    name = "llama.cpp"
    reach = Reach(path=False, children=10**6)

    def __init__(self, served: ServedModel) -> None:
        super().__init__(served)
        self._hidden: set[int] = set()  # tokens that end inside a character
        self._comma: int | None = None  # a token of whole characters

    @classmethod
    async def find(cls, client: Any, url: str, model: str) -> ServedModel | None:
        """Return the model if the server has /props with slots."""
        props, models = await fetch_own(client, url, "/props", "llamacpp")
        if not isinstance(props, dict) or "total_slots" not in props:
            return None
        name, entry = next(iter(models.items()), ("", {}))
        short, meta = name.rpartition("/")[2], entry.get("meta") or {}
        precision = props.get("model_ftype") or meta.get("ftype") or ""
        limit = read_number((props.get("default_generation_settings") or {}).get("n_ctx"))
        version = f"{props.get('build_info', 'unknown')} {precision}".strip().replace(" ", "-")
        about = f"{short} {meta.get('n_params', '')}".strip().replace(" ", "-")
        if model not in (name, short, *entry.get("aliases", ())):
            report(f"note: llama.cpp ignores the name {model!r}; its model is {name!r}")
        return ServedModel(url, model, version, limit, about, read_number(meta.get("n_vocab")))

    async def differ(self, client: Any, text: str, ids: Sequence[int], bos: int | None) -> str:
        """Return how the server's tokens of a text differ from these, special tokens aside."""
        return compare_ids(await self._tokenize(client, text, parse_special=False), ids)

    async def ask(self, client: Any, prompts: Sequence[Prompt]) -> list[Answer]:
        """Return the answer to the only prompt."""
        # The first child is forced; the others are taken from the most probable tokens, or are
        # forced in turn. The server hides the log-probability of a token that ends inside a
        # character, except in the list of all tokens.
        [prompt] = prompts
        logs: dict[int, float] = {}
        n_tokens = None
        top = TOP if len(prompt.children) > 1 else 1
        for child in prompt.children:
            if child not in logs and child not in self._hidden:
                values, n_tokens = await self._force(client, prompt.ids, child, top)
                self._hidden.update([child] if child not in values else [])
                logs = {**values, **logs}
            if child not in logs:
                values, n_tokens = await self._list_all(client, prompt.ids)
                logs = {**values, **logs}
        return [Answer([], logs, n_tokens, max(logs.values(), default=None))]

    async def write(self, client: Any, prompts: Sequence[Any], form: Form) -> list[str]:
        """Return the text behind the only prompt."""
        body = {"prompt": [*prompts[0]], "n_predict": form.tokens, "temperature": 0}
        body |= {
            "repeat_penalty": 1.0,  # 1.1 in old versions
            "stop": [form.stop] if form.stop else [],
            "response_fields": ["content"],
        }
        return [(await self.post(client, "/completion", body))["content"]]

    async def places(self, client: Any, prompts: Sequence[Sequence[int]]) -> list[Place]:
        """Return the log-probabilities of all tokens behind each prompt."""
        return [read_place(None, (await self._list_all(client, ids))[0]) for ids in prompts]

    async def _list_all(self, client: Any, ids: Sequence[int]) -> Any:
        if self._comma is None:
            self._comma = (await self._tokenize(client, ","))[-1]
        return await self._force(client, ids, self._comma, self.served.vocabulary or 10**6)

    async def _tokenize(self, client: Any, text: str, **options: bool) -> Any:
        body = {"content": text, "add_special": False, **options}
        return (await self.post(client, "/tokenize", body)).get("tokens")

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
            values = {entry["id"]: entry["logprob"] for entry in entries}
        except (AttributeError, KeyError, TypeError) as error:
            raise BrokenAnswerError("no log-probabilities") from error
        return values, -1 if answer.get("truncated") else answer.get("tokens_evaluated")
