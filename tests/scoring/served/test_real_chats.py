"""vLLM, llama.cpp and `transformers serve` by their chat routes: letters, or a refusal."""

import math
import shutil
from copy import deepcopy
from importlib.util import find_spec
from itertools import islice

import httpx
import numpy as np
import pytest
import torch

from polyprobe.bench import servers
from polyprobe.eval import load_scorer
from polyprobe.schema.load import load_facts
from polyprobe.scoring.options import LETTERS
from polyprobe.scoring.scorers.part import write_question
from polyprobe.scoring.served.openai import SYSTEM
from polyprobe.system.messages import PolyprobeError

from .stand_in import GEOLM

CHAT = "/v1/chat/completions"
TURNS = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}Answer:"
needs_servers = pytest.mark.skipif(not servers.PYTHON.exists(), reason="needs `make servers`")
pytestmark = pytest.mark.acceptance


@pytest.fixture(scope="module")
def llama():
    with servers.serve_llama(servers.find_smollm2(), cache="off") as url:
        yield url


def list_rows(language, n):
    table = load_facts("geofacts", languages=[language])[language]
    step = len(table) // n
    names = ("prompt", "candidates")
    return [[*islice(table[name].to_pylist()[::step], n)] for name in names]


def score(prompt, candidates, read):
    """Return the scores by the documented formula; `read` lists (text, log-probability)."""
    n, logs = len(candidates), []
    for shift in range(n):
        question = write_question(prompt, candidates, shift).removesuffix("[Y]").rstrip()
        system = {"role": "system", "content": SYSTEM}
        shares = np.zeros(n)
        for text, value in read([system, {"role": "user", "content": question}]):
            place = LETTERS.find(text.strip() or "-")
            if 0 <= place < n:
                shares[(place - shift) % n] += math.exp(value)
        logs.append(np.log(shares / shares.sum()))
    return np.mean(logs, axis=0)


def check(scorer, read, languages, close):
    for language in languages:
        prompts, lists = list_rows(language, 3)
        scored = scorer.score_counted(prompts, lists)
        for prompt, row, ours in zip(prompts, lists, scored, strict=True):
            assert ours.n_tokens == [len(row)] * len(row)
            assert np.abs(ours.scores - score(prompt, row, read)).max() < close


@needs_servers
def test_llama_gives_the_letters_of_its_plain_route(llama):
    def read(messages):
        prompt = httpx.post(f"{llama}/apply-template", json={"messages": messages}, timeout=60)
        body = {**prompt.json(), "n_predict": 1, "n_probs": 20, "temperature": 0}
        answer = httpx.post(f"{llama}/completion", json=body, timeout=60).json()
        [step] = answer["completion_probabilities"]
        return [(entry["token"], entry["logprob"]) for entry in step["top_logprobs"]]

    scorer = load_scorer("smollm2", server=llama + CHAT, scoring="letters")
    check(scorer, read, ("en", "hi"), 1e-9)


@needs_servers
def test_the_forecast_of_tokens_is_within_five_percent(llama):
    asked = {"server": llama + CHAT, "scoring": "letters", "permutations": 1}
    scorer = load_scorer("smollm2", **asked)
    server, counts = scorer.engine.server, []
    send = server.post

    async def post(*args):
        answer = await send(*args)
        counts.append(answer["usage"]["prompt_tokens"])
        return answer

    for language in ("en", "hi"):
        prepared = scorer.prepare(*list_rows(language, 10))
        forecast = scorer.engine.forecast(prepared.plan)
        server.post = post
        scorer.score_prepared(prepared)
        server.post = send
        assert forecast.calls == len(counts) - 2  # the probe and another question
        assert forecast.tokens == pytest.approx(sum(counts[:-2]), rel=0.05)
        counts.clear()


@needs_servers
def test_hindi_without_a_system_message_has_no_letters(llama):
    """llama.cpp leaves log-probabilities out where its token ends inside a character."""
    asked = {"server": llama + CHAT, "scoring": "letters", "chat": True, "system": ""}
    scorer = load_scorer("smollm2", **asked)
    with pytest.raises(PolyprobeError, match=r"\d+ of \d+ prompts have no letter among their"):
        scorer.score(*list_rows("hi", 4))


@needs_servers
def test_vllm_gives_the_letters_of_the_model_here(tmp_path):
    here = load_scorer(str(servers.find_smollm2()))
    config = deepcopy(here.model.config)
    del config.quantization_config  # its weights are float32 by now, but transformers saves no GGUF
    plain = type(here.model)(config)
    plain.load_state_dict(here.model.state_dict())
    plain.save_pretrained(tmp_path)
    here.tokenizer.save_pretrained(tmp_path)

    @torch.inference_mode()
    def read(messages):
        text = here.tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True
        )
        ids = here.tokenizer(text, add_special_tokens=False, return_tensors="pt")["input_ids"]
        row = here.model(ids).logits[0, -1].log_softmax(0)
        best = row.topk(20)
        texts = map(here.tokenizer.decode, best.indices.tolist())
        return zip(texts, best.values.tolist(), strict=True)

    with servers.serve_vllm(tmp_path, "smollm2") as url:
        scorer = load_scorer("smollm2", server=url + CHAT, scoring="letters")
        check(scorer, read, ("en", "hi"), 1e-3)
        with pytest.raises(PolyprobeError, match="The model `nope` does not exist. Valid aliases"):
            load_scorer("nope", server=url + CHAT, scoring="letters")


@pytest.mark.skipif(not find_spec("fastapi"), reason="needs transformers[serving]")
def test_transformers_serve_is_refused_with_its_words(tmp_path):
    folder = shutil.copytree(GEOLM, tmp_path / "geolm")
    (folder / "chat_template.jinja").write_text(TURNS)
    name = str(folder)
    words = {
        ("", name): "prompt must be a string; try its chat route: end the address in /v1/chat/",
        (CHAT, name): "no log-probabilities; only --scoring answer is left",
        (CHAT, "nope"): "Server is pinned to '.*/geolm'; requested 'nope'; check the model's name",
    }
    with servers.serve_transformers(folder) as url:
        for (end, model), match in words.items():
            with pytest.raises(PolyprobeError, match=match):
                load_scorer(model, server=url + end, scoring="letters")
