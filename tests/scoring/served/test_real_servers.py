"""vLLM and llama.cpp on this machine: each score equals that of the model in this process."""

import shutil
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import numpy as np
import psutil
import pytest

from polyprobe.bench import servers
from polyprobe.bench.gguf_files import write_gguf
from polyprobe.eval import evaluate_model, load_scorer
from polyprobe.schema.load import load_facts
from polyprobe.schema.run.folder import Run
from polyprobe.system.messages import PolyprobeError
from tests.hub.client import POLYPROBE
from tests.making.waiting import wait_until
from tests.scoring.plain import object_pieces

from .stand_in import GEOLM

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.skipif(not servers.PYTHON.exists(), reason="needs `make servers`"),
]
LANGUAGES = ["en", "ru", "hy", "th"]  # geolm is trained in two of them
CLOSE = 1e-4  # nats, of a token
PLAIN = 1e-3  # nats


@pytest.fixture(scope="module")
def vllm(tmp_path_factory):
    folder = shutil.copytree(GEOLM, tmp_path_factory.mktemp("model") / "geolm")
    with servers.serve_vllm(folder, "geolm") as url:
        yield url


@pytest.fixture(scope="module")
def gguf(tmp_path_factory):
    file = tmp_path_factory.mktemp("gguf") / "geolm.gguf"
    write_gguf(Path(GEOLM), file)
    return file


@pytest.fixture(scope="module")
def llama(gguf):
    with servers.serve_llama(gguf, cache="float32") as url:
        yield url


def rows_of(folder, languages=LANGUAGES):
    run = Run(folder)
    return [row for x in languages for row in run.read(x).to_pylist()]


@pytest.mark.parametrize(
    ("server", "scoring", "sample", "shots"),
    [
        ("vllm", "bmlama", 15, 0),
        ("vllm", "object", 15, 0),
        ("vllm", "bmlama", 8, 2),
        ("llama", "bmlama", 4, 0),
        ("llama", "object", 6, 0),
        ("llama", "object", 4, 2),
    ],
)
def test_a_server_gives_every_score_of_this_process(
    server, scoring, sample, shots, request, tmp_path
):
    """Also in two calls, where it has to repeat some scores of the first."""
    options = {"sample": sample, "scoring": scoring, "shots": shots, "cache": False}
    evaluate_model("geolm", "geofacts", output=tmp_path / "own", languages=LANGUAGES, **options)
    options |= {"server": request.getfixturevalue(server), "output": tmp_path / "served"}
    for languages in (LANGUAGES[:1], LANGUAGES):
        evaluate_model("geolm", "geofacts", languages=languages, **options)
    own, served = (rows_of(tmp_path / name) for name in ("own", "served"))
    assert sum(len(row["scores"]) for row in own) > 20 * sample
    for ours, theirs in zip(own, served, strict=True):
        summed = np.array(ours["n_tokens"]) if scoring == "object" else 1
        differences = np.subtract(ours["scores"], theirs["scores"])
        assert np.abs(differences / summed).max() < CLOSE
        order = np.argsort(ours["scores"])
        assert (np.diff(np.array(theirs["scores"])[order]) > -CLOSE).all()


def test_vllm_with_another_tokenizer_is_refused(vllm, tmp_path):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(GEOLM)
    tokenizer.add_tokens(["Москва"])
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(PolyprobeError, match="twelve scripts"):
        load_scorer("geolm", server=vllm, tokenizer=str(tmp_path))


def test_llama_gives_the_scores_of_its_own_plain_route():
    """Candidates share prompts and the prompt cache; each token alone, without a cache, agrees.

    Weights in Q4_1 are multiplied with activations in 8 bits, another precision than here.
    """
    facts = load_facts("geofacts", languages=["en", "hi"])
    rows = [(x["prompt"][0].as_py(), x["candidates"][0].as_py()[:3]) for x in facts.values()]
    model = servers.find_smollm2()
    with servers.serve_llama(model) as url:
        scorer = load_scorer(str(model), server=url, scoring="object")
        found = scorer.score(*zip(*rows, strict=True))
        for (prompt, row), ours in zip(rows, found, strict=True):
            before = prompt[: prompt.index("[Y]")]
            [start] = scorer.prefixes([before.rstrip()])
            ids = [object_pieces(scorer.tokenizer, before, candidate) for candidate in row]
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


def test_a_llama_server_that_ends_and_starts_again_gives_the_same_scores(gguf, tmp_path):
    command = [*POLYPROBE, "eval", "geolm", "--dataset", "geofacts", "--languages",
               ",".join(LANGUAGES), "--sample", "12", "--scoring", "object"]  # fmt: skip
    with servers.serve_llama(gguf, cache="float32") as url:
        run = [*command, "--no-cache", "--server", url, "--output"]
        subprocess.run([*run, tmp_path / "whole"], check=True, capture_output=True)
        started = subprocess.Popen([*run, tmp_path / "cut"], stderr=subprocess.PIPE, text=True)
        wait_until(lambda: [*tmp_path.glob("cut/scores/*.parquet")])
        psutil.Process(started.pid).suspend()  # until the server has ended: requests are left
    psutil.Process(started.pid).resume()
    with servers.serve_llama(gguf, urlsplit(url).port, "float32"):
        _, notices = started.communicate(timeout=300)
    assert started.returncode == 0, notices
    assert "answers again" in notices
    for whole, cut in zip(rows_of(tmp_path / "whole"), rows_of(tmp_path / "cut"), strict=True):
        assert np.abs(np.subtract(whole["scores"], cut["scores"])).max() < PLAIN
        assert [*np.argsort(whole["scores"])] == [*np.argsort(cut["scores"])]
