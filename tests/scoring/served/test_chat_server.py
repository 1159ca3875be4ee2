"""Servers of a chat alone: letters equal those of the model here; servers that lie are refused."""

import re
from functools import partial

import numpy as np
import pytest
import torch

from polyprobe.eval import evaluate_model, load_scorer
from polyprobe.eval.evaluate import forecast_work
from polyprobe.eval.options import EvaluationOptions, EvaluationRequest
from polyprobe.schema.run.folder import Run, split_signature
from polyprobe.scoring import load
from polyprobe.scoring.served.openai import SYSTEM, join_spellings
from polyprobe.system.messages import PolyprobeError

from .stand_in import serving, sure, tokenizer

PROMPTS = ["Country: Andorra. Continent: [Y].", "Столица Франции — [Y]", "[Y] is in 日本."]
CANDIDATES = [
    ["Europe", "South America", "Asia"],
    ["Париж", "Берлин", "Лондон", "北京"],
    ["Tokyo", "Kyoto", "Tokyo Tower"],
]
KEY = "sk-proj-0123456789-abcdefgh"
ASKED = {"languages": ["en", "ru"], "sample": 3, "scoring": "letters", "cache": False}
ASKED |= {"donor": False, "permutations": 2}


def serve_chat(*lies):
    return serving("chat", lies, model=sure())


def load_chat(server, **options):
    return load_scorer("geolm", server=server.url, **{"scoring": "letters", **options})


@torch.inference_mode()
def score_here(prompt, candidates, front):
    """Return the scores by the documented formula, with all orders, from the whole softmax."""
    n, logs = len(candidates), []
    for shift in range(n):
        lines = [f"{'ABCD'[(j + shift) % n]}. {x}" for j, x in enumerate(candidates)]
        text = "\n".join([prompt.replace("[Y]", "___"), *sorted(lines), "Answer:"])
        ids = [0, *tokenizer()(f"{front}{text}\nAnswer:", add_special_tokens=False)["input_ids"]]
        row = sure()(torch.tensor([ids])).logits[0, -1].log_softmax(0)
        best = row.topk(20).indices.tolist()
        shares = np.zeros(n)
        for token in best:
            place = "ABCD".find(tokenizer().decode([token]).strip() or "-")
            if 0 <= place < n:
                shares[(place - shift) % n] += row[token].exp().item()
        logs.append(np.log(shares / shares.sum()))
    return np.mean(logs, axis=0)


@pytest.mark.parametrize(
    ("options", "front"),
    [
        ({}, f"system: {SYSTEM}\nuser: "),
        ({"chat": True, "system": "Geo."}, "system: Geo.\nuser: "),
        ({"chat": True, "system": "", "user": 'Say "A"\\.'}, 'user: Say "A"\\.\n\n'),
    ],
)
def test_a_chat_server_gives_the_letters_of_the_model(options, front):
    with serve_chat() as server:
        scored = load_chat(server, **options).score_counted(PROMPTS, CANDIDATES)
    # Every letter was shown
    assert [row.n_tokens for row in scored] == [[3] * 3, [4] * 4, [3] * 3]
    for prompt, candidates, found in zip(PROMPTS, CANDIDATES, scored, strict=True):
        assert np.abs(found.scores - score_here(prompt, candidates, front)).max() < 2e-5


def test_spellings_of_a_letter_are_added_and_lower_case_is_a_word():
    half, quarter, eighth = np.log([1 / 2, 1 / 4, 1 / 8])
    found = join_spellings([(half, "B"), (quarter, " B"), (eighth, "a"), (-3.0, "\n")])
    assert found == pytest.approx({"B": np.log(3 / 4), "a": eighth, "\n": -3.0})


@pytest.mark.parametrize(
    ("lie", "end"),
    [("none", ""), ("no list", "/v1"), ("max_tokens", "/v1/chat/completions"),
     ("temperature", "/v1/chat/completions"), ("five", ""), ("no usage", "/v1")],
)  # fmt: skip
def test_a_chat_server_is_found_in_each_form(lie, end, tmp_path):
    with serve_chat(lie, *(["max_tokens"] * (lie == "temperature"))) as server:
        url = f"{server.url}{end}"
        evaluate_model("geolm", "geofacts", server=url, output=tmp_path / "run", **ASKED)
        before = server.posts
        evaluate_model("geolm", "geofacts", server=url, output=tmp_path / "run", **ASKED)
        assert server.posts - before < 30  # it resumes: the checks alone
    settings = Run(tmp_path / "run").settings()
    parts = split_signature(settings.signature)
    top = 5 if lie == "five" else 20
    assert parts["server"] == f"chat-top{top}-geolm-2026-11-27"
    assert parts["handshake"] == "numbers+order+values+letters"
    assert (parts["path"], parts["tokenizer"]) == ("chat", "server")
    assert settings.chat["system"] == SYSTEM
    assert parts["chat"] in settings.scoring_name


REFUSED = {
    "silent": "an answer has no log-probabilities; only --scoring answer is left",
    "logprobs": r"no log-probabilities \(You are not allowed to request logprobs from this model\)"
    ".*; only --scoring answer is left",
    "wild": "alone than among others",
    "deaf": "the least log-probabilities are all .*: unlikely tokens have one floor",
    "thinks": "its answers begin with '<think>', .*, not a letter; switch thinking off",
    "nan": "not finite",
    "other model": "the name of another model, 'geolm-",
    "other scale": "another scale",
}


@pytest.mark.parametrize("lie", REFUSED)
def test_a_chat_server_that_lies_is_refused_in_one_sentence(lie):
    with serve_chat(lie) as server, pytest.raises(PolyprobeError, match=REFUSED[lie]) as caught:
        load_chat(server)
    assert f"the server {server.url}/v1/chat/completions (chat)" in str(caught.value)
    assert str(caught.value).isprintable()


def test_base_two_is_noticed_where_all_tokens_are_shown(monkeypatch):
    engine = partial(load.ServedEngine, vocabulary=100)
    monkeypatch.setattr(load, "ServedEngine", lambda server, vocabulary: engine(server))
    with serve_chat("base 2") as server, pytest.raises(PolyprobeError, match="add up to"):
        load_chat(server)


@pytest.mark.parametrize("dialect", ["chat", "completions", "vllm"])
def test_the_words_of_a_server_are_repeated_without_the_key(dialect, monkeypatch, capfd, tmp_path):
    monkeypatch.setenv("POLYPROBE_API_KEY", KEY)
    words = "Incorrect API key provided: Bearer …"
    refused = pytest.raises(PolyprobeError, match=words)
    with serving(dialect, {"locked"}) as server, refused as caught:
        evaluate_model("geolm", "geofacts", server=server.url, output=tmp_path / "run", **ASKED)
    assert "POLYPROBE_API_KEY" in str(caught.value)
    assert KEY not in "".join([str(caught.value), *capfd.readouterr()])


def test_an_unknown_model_is_refused_with_the_words_of_the_server():
    words = "The model `nope` does not exist; check the model's name and the address"
    with serve_chat() as server, pytest.raises(PolyprobeError, match=words):
        load_scorer("nope", server=f"{server.url}/v1/chat/completions", scoring="letters")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"scoring": "bmlama"}, "gives only the first token's values; use --scoring letters"),
        ({"bos": "never"}, "--bos is not for the server .* leave it out"),
        ({"tokenizer": "geolm"}, "--tokenizer is not for"),
        ({"revision": "main"}, "--revision is not for"),
        ({"chat": True, "chat_options": {"a": 1}}, "--chat-option is not for"),
    ],
)
def test_options_of_other_servers_are_refused(options, words):
    options = {"scoring": "letters", **options}
    with serve_chat() as server, pytest.raises(PolyprobeError, match=words):
        load_scorer("a/b", server=f"{server.url}/v1/chat/completions", **options)


def test_a_list_with_more_candidates_than_letters_is_refused():
    with serve_chat() as server:
        scorer = load_chat(server)
        with pytest.raises(PolyprobeError, match="26 letters, a list has 27 candidates"):
            scorer.score(["[Y]."], [[f"x{k}" for k in range(27)]])


def test_answers_without_values_in_a_run_are_prompts_without_letters():
    """llama.cpp has none where its token ends inside a character."""
    with serve_chat() as server:
        scorer = load_chat(server)
        server.lies.add("silent rows")  # those of the first prompt
        scored = scorer.score_counted(PROMPTS, CANDIDATES)
        assert [row.n_tokens for row in scored] == [[0] * 3, [4] * 4, [3] * 3]
        assert len({*scored[0].scores}) == 1
        with pytest.raises(PolyprobeError, match=r"\d+ of 40 prompts have no letter among their"):
            scorer.score([f"{k}. {PROMPTS[0]}" for k in range(10)], CANDIDATES[:1] * 10)


def test_another_model_in_the_middle_ends_the_run():
    with serve_chat() as server:
        scorer = load_chat(server)
        server.lies.add("other model")
        with pytest.raises(PolyprobeError, match="another model, 'geolm-.*scores so far are kept"):
            scorer.score(PROMPTS, CANDIDATES)


@pytest.mark.parametrize("usage", [True, False])
def test_a_dry_run_counts_requests_tokens_and_cost(usage, tmp_path):
    asked = {**ASKED, "sample": 20, "price": "2,10.5"}
    with serve_chat(*([] if usage else ["no usage"])) as server:
        options = EvaluationOptions(server=server.url, **asked)
        request = EvaluationRequest.of("geolm", "geofacts", None, options)
        line = forecast_work(request, tmp_path / "run")
        assert not (tmp_path / "run").exists()
        before = server.prompts, server.tokens
        evaluate_model("geolm", "geofacts", server=server.url, output=tmp_path / "run", **asked)
        sent = server.prompts - before[0], server.tokens - before[1]
    pattern = (
        r"([\d,]+) requests with ([\d,]+) prompts, ([\d,]+) tokens; ([\d.]+) at --price 2,10.5"
    )
    [(posts, prompts, tokens, cost)] = re.findall(pattern, line)
    posts, prompts, tokens = (int(x.replace(",", "")) for x in (posts, prompts, tokens))
    checks = sent[0] - prompts  # questions of the handshake, of the forecast, of the probe
    assert posts == prompts
    assert 20 < checks < 45
    assert float(cost) == pytest.approx((tokens * 2 + prompts * 10.5) / 1e6, abs=6e-5)
    assert not usage or tokens == pytest.approx(sent[1] * prompts / sent[0], rel=0.1)


@pytest.mark.parametrize("price", ["0.15", "a,b", "1,2,3", "-1,2", "1,nan", ""])
def test_a_price_is_two_numbers(price):
    with pytest.raises(PolyprobeError, match=r"--price .*: expected two prices IN,OUT"):
        EvaluationOptions(server="http://127.0.0.1:9", price=price)


def test_completions_without_values_name_the_chat_route():
    """`transformers serve` has both routes, and log-probabilities in neither."""
    with serving("completions", {"no echo"}) as server:
        server.shown = 0
        with pytest.raises(
            PolyprobeError, match="try its chat route: end the address in /v1/chat/"
        ):
            load_chat(server)
