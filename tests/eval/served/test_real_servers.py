"""vLLM and llama.cpp on this machine: each score equals that of the model in this process."""

import shutil
from functools import lru_cache

import numpy as np
import pytest

from polyprobe.bench import servers
from polyprobe.eval import evaluate_model, load_scorer
from polyprobe.eval.run.folder import Run
from polyprobe.system.errors import PolyprobeError

from .stand_in import GEOLM

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.skipif(not servers.PYTHON.exists(), reason="needs `make servers`"),
]
LANGUAGES = ["en", "es", "ru", "ja"]
CLOSE = 1e-4  # nats


@pytest.fixture(scope="module")
def vllm(tmp_path_factory):
    folder = shutil.copytree(GEOLM, tmp_path_factory.mktemp("model") / "geolm")
    with servers.serve_vllm(folder, "geolm") as url:
        yield url


def scores_of(folder, languages):
    run = Run(folder)
    return [row for x in languages for row in run.read(x)["scores"].to_pylist()]


@pytest.mark.parametrize("scoring", ["bmlama", "object", "contrastive"])
def test_vllm_gives_every_score_of_this_process(vllm, scoring, tmp_path):
    asked = {"languages": LANGUAGES, "sample": 60, "scoring": scoring, "cache": False}
    evaluate_model("geolm", "geofacts", output=tmp_path / "own", **asked)
    evaluate_model("geolm", "geofacts", server=vllm, output=tmp_path / "served", **asked)
    own, served = (scores_of(tmp_path / name, LANGUAGES) for name in ("own", "served"))
    differences = np.concatenate([np.subtract(a, b) for a, b in zip(own, served, strict=True)])
    assert len(differences) > 1500
    assert np.abs(differences).max() < CLOSE
    for ours, theirs in zip(own, served, strict=True):
        order = np.argsort(ours)
        assert (np.diff(np.array(theirs)[order]) > -CLOSE).all()


def test_vllm_with_another_tokenizer_is_refused(vllm, tmp_path):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(GEOLM)
    tokenizer.add_tokens(["Москва"])
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(PolyprobeError, match="twelve scripts"):
        load_scorer("geolm", server=vllm, tokenizer=str(tmp_path))


@lru_cache(1)
def smollm2():
    return str(servers.find_smollm2())


def test_llama_gives_the_scores_of_its_own_plain_route(tmp_path):
    """Candidates share prompts and the prompt cache; each token alone, without a cache, agrees.

    Weights in Q4_1 are multiplied in another precision than in this process.
    """
    import httpx

    prompts = ["The capital of France is [Y].", "Столица Франции — [Y]"]
    candidates = [["Paris", "Rome", "London"], ["Париж", "Рим"]]
    with servers.serve_llama(servers.find_smollm2()) as url:
        scorer = load_scorer(smollm2(), server=url, scoring="object")
        found = scorer.score(prompts, candidates)
        plain = []
        for prompt, row in zip(prompts, candidates, strict=True):
            [start] = scorer.prefixes([prompt[: prompt.index("[Y]")]])
            ids = scorer.tokenizer(row, add_special_tokens=False)["input_ids"]
            plain.append([sum(_one_by_one(httpx, url, start, pieces)) for pieces in ids])
    for ours, theirs in zip(found, plain, strict=True):
        assert np.abs(np.subtract(ours, theirs)).max() < 1e-2


def _one_by_one(httpx, url, start, pieces):
    for k, piece in enumerate(pieces):
        body = {"prompt": [*start, *pieces[:k]], "n_predict": 1, "n_probs": 49152}
        body |= {"cache_prompt": False, "logit_bias": [[28, 1000.0]]}
        answer = httpx.post(f"{url}/completion", json=body, timeout=120).json()
        [step] = answer["completion_probabilities"]
        yield next(x["logprob"] for x in step["top_logprobs"] if x["id"] == piece)
