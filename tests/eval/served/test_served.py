"""Scores through servers equal those of the model in this process; servers that lie are refused."""

import numpy as np
import pytest

from polyprobe.eval import evaluate_model, load_scorer
from polyprobe.eval.run.folder import Run
from polyprobe.system.errors import PolyprobeError

from .stand_in import DIALECTS, serving

PROMPTS = ["Country: Andorra. Continent: [Y].", "Столица Франции — [Y]", "[Y] is in 日本."]
CANDIDATES = [
    ["Europe", "South America", "Asia"],
    ["Париж", "Берлин", "Лондон", "北京"],
    ["Tokyo", "Kyoto", "Tokyo Tower"],
]
# What each lie is, by dialect, as a part of the refusal; a dialect that cannot tell it has none.
LIES = {
    "no echo": {
        "vllm": "0 log-probabilities for the",
        "completions": "echo is ignored",
    },
    "bos": {
        "vllm": "of tokens that were not sent",
        "llama.cpp": "tokens in a prompt of",
        "completions": "tokens in a prompt of",
    },
    "tokenizer": dict.fromkeys(DIALECTS, "tokens of a text in twelve scripts"),
    "truncated": {
        "vllm": "tokens in a prompt of",
        "llama.cpp": "tokens in a prompt of",
        "completions": "tokens in a prompt of",
    },
    "nan": dict.fromkeys(DIALECTS, "not finite"),
    "swapped": {
        "vllm": "of tokens that were not sent",
        "llama.cpp": "probabilities above one",
        "completions": "alone than among others",
    },
    "top": {"vllm": "which was named", "llama.cpp": "which was named"},
    "other model": dict.fromkeys(("vllm", "completions"), "the answer is of model 'another'"),
}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("scoring", ["bmlama", "object", "object-bytes", "contrastive"])
def test_a_server_gives_the_scores_of_the_model(dialect, scoring):
    own = load_scorer("geolm", scoring=scoring).score(PROMPTS, CANDIDATES)
    with serving(dialect) as server:
        served = load_scorer("geolm", server=server.url, scoring=scoring)
        found = served.score(PROMPTS, CANDIDATES)
    for ours, theirs in zip(own, found, strict=True):
        assert np.abs(np.subtract(ours, theirs)).max() < 2e-5
        assert np.argsort(ours).tolist() == np.argsort(theirs).tolist()


@pytest.mark.parametrize(
    ("lie", "dialect", "words"),
    [(lie, dialect, words) for lie, by in LIES.items() for dialect, words in by.items()],
)
def test_a_server_that_lies_is_refused_in_one_sentence(lie, dialect, words):
    with serving(dialect, {lie}) as server:
        with pytest.raises(PolyprobeError, match=words) as caught:
            load_scorer("geolm", server=server.url)
        assert server.url in str(caught.value)
        assert "\n" not in str(caught.value)
        assert str(caught.value).startswith("the server ")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_honest_server_passes_with_its_checks_in_the_signature(dialect, tmp_path):
    with serving(dialect) as server:
        asked = {"languages": ["en", "es"], "sample": 5, "server": server.url, "cache": False}
        results = evaluate_model("geolm", "geofacts", output=tmp_path / "served", **asked)
    settings = Run(tmp_path / "served").settings()
    assert f"server:{dialect}" in settings.signature
    assert "handshake:tokens+counts+numbers+order+length+routes" in settings.signature
    assert settings.signature in str(results["signature"])
    own = evaluate_model("geolm", "geofacts", languages=["en", "es"], sample=5, cache=False)
    assert results["accuracy"] == own["accuracy"]
    assert results["rankc"] == pytest.approx(own["rankc"])
