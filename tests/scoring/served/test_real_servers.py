"""vLLM and llama.cpp on this machine: each score equals that of the model in this process."""

import shutil
import subprocess
import time
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import numpy as np
import pytest

from polyprobe.bench import servers
from polyprobe.bench.gguf_files import write_gguf
from polyprobe.eval import evaluate_model, load_scorer
from polyprobe.schema.load import load_facts
from polyprobe.schema.run.folder import Run
from polyprobe.scoring.embedded import TRAINED
from polyprobe.system.errors import PolyprobeError
from tests.hub.client import POLYPROBE

from .stand_in import GEOLM

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.skipif(not servers.PYTHON.exists(), reason="needs `make servers`"),
]
LANGUAGES = [*TRAINED, "el", "hy", "ja", "ka", "ko", "th"]
CLOSE = 1e-4  # nats
PLAIN = 1e-3  # nats


@pytest.fixture(scope="module")
def vllm(tmp_path_factory):
    folder = shutil.copytree(GEOLM, tmp_path_factory.mktemp("model") / "geolm")
    with servers.serve_vllm(folder, "geolm") as url:
        yield url


def rows_of(folder, languages):
    run = Run(folder)
    return [row for x in languages for row in run.read(x).to_pylist()]


def scores_of(folder, languages):
    return [row["scores"] for row in rows_of(folder, languages)]


@pytest.mark.parametrize(
    ("scoring", "sample"), [("bmlama", 90), ("object", 20), ("contrastive", 20)]
)
def test_vllm_gives_every_score_of_this_process(vllm, scoring, sample, tmp_path):
    asked = {"languages": LANGUAGES, "sample": sample, "scoring": scoring, "cache": False}
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


@pytest.mark.parametrize("scoring", ["bmlama", "object"])
def test_llama_gives_every_score_of_this_process(scoring, tmp_path):
    asked = {"languages": LANGUAGES, "sample": 6, "scoring": scoring, "cache": False}
    evaluate_model("geolm", "geofacts", output=tmp_path / "own", **asked)
    write_gguf(Path(GEOLM), tmp_path / "geolm.gguf")
    with servers.serve_llama(tmp_path / "geolm.gguf", cache="float32") as url:
        evaluate_model("geolm", "geofacts", server=url, output=tmp_path / "served", **asked)
    own, served = (rows_of(tmp_path / name, LANGUAGES) for name in ("own", "served"))
    assert sum(len(row["scores"]) for row in own) > 500
    for one, other in zip(own, served, strict=True):
        summed = np.array(one["n_tokens"]) if scoring == "object" else 1
        differences = np.subtract(one["scores"], other["scores"])
        assert np.abs(differences / summed).max() < CLOSE
        assert [*np.argsort(one["scores"])] == [*np.argsort(other["scores"])]


@lru_cache(1)
def smollm2():
    return str(servers.find_smollm2())


def test_llama_gives_the_scores_of_its_own_plain_route():
    """Candidates share prompts and the prompt cache; each token alone, without a cache, agrees.

    Weights in Q4_1 are multiplied with activations in 8 bits, another precision than here.
    """
    facts = load_facts("geofacts", languages=["en", "fr", "ru", "hi"])
    rows = [(x["prompt"][0].as_py(), x["candidates"][0].as_py()[:3]) for x in facts.values()]
    with servers.serve_llama(servers.find_smollm2()) as url:
        scorer = load_scorer(smollm2(), server=url, scoring="object")
        found = scorer.score(*zip(*rows, strict=True))
        for (prompt, row), ours in zip(rows, found, strict=True):
            [start] = scorer.prefixes([prompt[: prompt.index("[Y]")]])
            ids = scorer.tokenizer(row, add_special_tokens=False)["input_ids"]
            plain = [sum(_one_by_one(url, start, pieces)) for pieces in ids]
            assert np.abs(np.subtract(ours, plain)).max() < PLAIN
            assert [*np.argsort(ours)] == [*np.argsort(plain)]


def _one_by_one(url, start, pieces):
    for k, piece in enumerate(pieces):
        body = {"prompt": [*start, *pieces[:k]], "n_predict": 1, "n_probs": 49152}
        body |= {"cache_prompt": False, "logit_bias": [[28, 1000.0]]}
        answer = httpx.post(f"{url}/completion", json=body, timeout=120).json()
        [step] = answer["completion_probabilities"]
        yield next(x["logprob"] for x in step["top_logprobs"] if x["id"] == piece)


def test_a_llama_server_that_ends_and_starts_again_gives_the_same_scores(tmp_path):
    command = [*POLYPROBE, "eval", smollm2(), "--dataset", "geofacts",
               "--languages", "en,es,fr", "--sample", "12", "--scoring", "object"]  # fmt: skip
    with servers.serve_llama(servers.find_smollm2()) as url:
        run = [*command, "--server", url, "--output"]
        subprocess.run([*run, tmp_path / "whole"], check=True, capture_output=True)
        started = subprocess.Popen([*run, tmp_path / "cut"], stderr=subprocess.PIPE, text=True)
        while not [*tmp_path.glob("cut/scores/*.parquet")] and started.poll() is None:
            time.sleep(0.02)
    with servers.serve_llama(servers.find_smollm2(), urlsplit(url).port):
        _, notices = started.communicate(timeout=300)
    assert started.returncode == 0, notices
    assert "answers again" in notices
    whole, cut = (scores_of(tmp_path / name, ["en", "es", "fr"]) for name in ("whole", "cut"))
    for ours, theirs in zip(whole, cut, strict=True):
        assert np.abs(np.subtract(ours, theirs)).max() < PLAIN
        assert [*np.argsort(ours)] == [*np.argsort(theirs)]
