"""Scores through servers equal those of the model in this process; servers that lie are refused."""

import asyncio
import json
import re
from unittest.mock import AsyncMock

import numpy as np
import pytest
from transformers import AutoTokenizer

from polyprobe.eval import evaluate_model, load_scorer
from polyprobe.eval.evaluate import forecast_work
from polyprobe.eval.options import EvaluationOptions, EvaluationRequest
from polyprobe.publish.export import export_run
from polyprobe.schema.run.folder import Run, split_signature
from polyprobe.scoring.served.openai import TopCompletions
from polyprobe.scoring.served.server import Prompt, ServedModel
from polyprobe.system.messages import PolyprobeError

from .stand_in import DIALECTS, GEOLM, Handler, load, serving, tokenizer, with_letters

PROMPTS = ["Country: Andorra. Continent: [Y].", "Столица Франции — [Y]", "[Y] is in 日本."]
CANDIDATES = [
    ["Europe", "South America", "Asia"],
    ["Париж", "Берлин", "Лондон", "北京"],
    ["Tokyo", "Kyoto", "Tokyo Tower"],
]
# What each lie is, by dialect, as a part of the refusal; a dialect that cannot tell it has none.
LIES = {
    "no echo": {"vllm": "0 log-probabilities for the", "completions": "echo is ignored"},
    "bos": {
        "vllm": "of tokens that were not sent",
        "llama.cpp": "tokens in a prompt of",
        "completions": "tokens in a prompt of",
    },
    "hidden bos": dict.fromkeys(DIALECTS, "it adds one"),
    "hidden cut": dict.fromkeys(DIALECTS, "the prompt is cut"),
    "other scale": dict.fromkeys(("vllm", "llama.cpp"), "another scale"),
    "tokenizer": dict.fromkeys(DIALECTS, "tokens of a text in twelve scripts"),
    "truncated": {
        "vllm": "of tokens that were not sent",
        "llama.cpp": "tokens in a prompt of",
        "completions": "tokens in a prompt of",
    },
    "nan": dict.fromkeys(DIALECTS, "not finite"),
    "swapped": {
        "vllm": "of tokens that were not sent",
        "llama.cpp": "probabilities above one",
        "completions": "alone than among others",
    },
    "crossed": {"llama.cpp": "probabilities above one"},
    "top": {"vllm": "which was named", "llama.cpp": "which was named"},
    "other model": dict.fromkeys(("vllm", "completions"), "the name of another model, 'another'"),
}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("scoring", ["bmlama", "object", "object-bytes", "contrastive", "letters"])
def test_a_server_gives_the_scores_of_the_model(dialect, scoring):
    own = load_scorer("geolm", scoring=scoring).score(PROMPTS, CANDIDATES)
    with serving(dialect) as server:
        served = load_scorer("geolm", server=server.url, scoring=scoring)
        found = served.score(PROMPTS, CANDIDATES)
    for ours, theirs in zip(own, found, strict=True):
        assert np.abs(np.subtract(ours, theirs)).max() < 2e-5
        assert np.argsort(ours).tolist() == np.argsort(theirs).tolist()


@pytest.mark.parametrize(
    ("lie", "dialect", "words", "noise"),
    [
        (lie, dialect, words, noise)
        for lie, by in LIES.items()
        for dialect, words in by.items()
        for noise in (("", "noise", "coarse") if lie.startswith("hidden") else ("",))
    ],
)
def test_a_server_that_lies_is_refused_in_one_sentence(lie, dialect, words, noise):
    with serving(dialect, {lie, noise}) as server:
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
    routes = "" if dialect == "completions" else "+routes"
    assert f"handshake:tokens+counts+numbers+order+length+bos{routes}+values" in settings.signature
    assert settings.signature in str(results["signature"])
    own = evaluate_model("geolm", "geofacts", languages=["en", "es"], sample=5, cache=False)
    assert results["accuracy"] == own["accuracy"]
    assert results["rankc"] == pytest.approx(own["rankc"])


@pytest.mark.acceptance
def test_letters_need_only_the_most_probable_tokens(tmp_path, capfd):
    """Without `echo`; a letter that is not among them gets a floor, and their share is stored."""
    asked = {"languages": ["en", "ru"], "sample": 12, "scoring": "letters", "cache": False}
    own = load_scorer(with_letters(), tokenizer=tokenizer(), scoring="letters")
    full = evaluate_model(own, "geofacts", languages=["en", "ru"], sample=12, cache=False)
    assert set(full["letters_read"].values()) == {1}
    with serving("completions", {"no echo"}, model=with_letters()) as server:
        with pytest.raises(PolyprobeError, match="only --scoring letters is left"):
            load_scorer("geolm", server=server.url)
        served = load_scorer("geolm", server=server.url, scoring="letters")
        assert served.path == "top"
        found, read = [], served.engine.run
        served.engine.run = lambda *args: found.append(read(*args)) or found[-1]
        scored = served.score_counted(PROMPTS, CANDIDATES)
        results = evaluate_model("geolm", "geofacts", server=server.url, output=tmp_path, **asked)
    own.engine.run, run = lambda *args: found.append(run(*args)) or found[-1], own.engine.run
    own.score(PROMPTS, CANDIDATES)
    theirs, ours = found
    given = np.isfinite(theirs)
    assert given.any()
    assert np.abs(theirs - ours)[given].max() < 2e-5
    assert np.isfinite(np.concatenate([row.scores for row in scored])).all()
    assert sum(sum(row.n_tokens) for row in scored) == given.sum()
    for language, share in results["letters_read"].items():
        tokens = Run(tmp_path).read(language)["n_tokens"].to_pylist()
        assert share == sum(map(sum, tokens)) / sum(len(row) ** 2 for row in tokens)
        assert 0.5 < share < 1
    assert "of the letters in ru were not among the most probable tokens" in capfd.readouterr().err


def test_a_model_that_does_not_answer_with_letters_has_no_scores():
    with serving("completions", {"no echo"}) as server:
        served = load_scorer("geolm", server=server.url, scoring="letters")
        served.score(PROMPTS, CANDIDATES)  # too few to judge
        with pytest.raises(PolyprobeError, match=r"\d+ of 50 prompts have no letter among their"):
            served.score([f"{k}. {p}" for k in range(4) for p in PROMPTS], CANDIDATES * 4)


@pytest.mark.parametrize(
    ("shown", "named"),
    [
        ({" A": -1.0, " B": -2.0, "A": -3.0}, {0: -1.0, 1: -2.0}),
        ({"A": -1.0, " B": -2.0}, {1: -2.0}),  # A is another token than the one with a blank
        ({"A": -1.0, "B": -2.0, "\n": -3.0}, {0: -1.0, 1: -2.0}),  # a server that removes blanks
    ],
)
def test_tokens_are_recognised_by_their_text_with_its_blank(shown, named, monkeypatch):
    kind = TopCompletions(ServedModel("http://127.0.0.1:9", "geolm", ""), [" A", " B"].__getitem__)
    whole = {"choices": [{"index": 0, "logprobs": {"top_logprobs": [shown]}}]}
    monkeypatch.setattr(kind, "post", AsyncMock(return_value=whole))
    [answer] = asyncio.run(kind.ask(None, [Prompt((5, 6), (0, 1))]))
    found = answer.children
    assert {token: value for token, value in found.items() if token >= 0} == named
    assert sorted(found.values()) == sorted(shown.values())


def test_a_chat_is_rendered_here_and_sent_as_ids(tmp_path):
    tokenizer = AutoTokenizer.from_pretrained(GEOLM)
    turns = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
    tokenizer.chat_template = "{{ bos_token }}" + turns
    tokenizer.save_pretrained(tmp_path)
    chat = {"chat": True, "system": "Country facts."}
    model = load()
    own = load_scorer(model, tokenizer=tokenizer, **chat).score(PROMPTS, CANDIDATES)
    with serving("vllm") as server:
        asked = {"server": server.url, "tokenizer": str(tmp_path), **chat}
        found = load_scorer("geolm", **asked).score(PROMPTS, CANDIDATES)
    for ours, theirs in zip(own, found, strict=True):
        assert np.abs(np.subtract(ours, theirs)).max() < 2e-5


@pytest.mark.parametrize(
    ("kind", "path", "status", "page", "words"),
    [
        # not vLLM, but a server all the same
        ("completions", "/version", 200, "<html>hello</html>", None),
        # a proxy's page must not hide the kind of the server behind it
        ("completions", "/v1/models", 200, "<html>wait</html>", "a web page for /v1/models"),
        ("vllm", "/version", 200, "<html>wait</html>", "a web page for /version"),
        ("llama.cpp", "/props", 200, "<html>wait</html>", "a web page for /props"),
        ("completions", "/v1/completions", 422, "prompt: ids refused", "request: prompt: ids ref"),
        ("completions", "/v1/completions", 413, "too large", "refuses the request: too large"),
        ("completions", "/v1/completions", 404, "gone", "not found; check the model's name"),
    ],
)
def test_pages_and_refusals_of_other_servers(kind, path, status, page, words, monkeypatch):
    known = Handler.do_GET, Handler.do_POST

    def answer(handler, method):
        if handler.path != path:
            method(handler)
            return
        handler.rfile.read(int(handler.headers["Content-Length"] or 0))
        handler.send_response(status)
        handler.send_header("Content-Type", "text/html")
        handler.send_header("Content-Length", str(len(page)))
        handler.end_headers()
        handler.wfile.write(page.encode())

    monkeypatch.setattr(Handler, "do_GET", lambda handler: answer(handler, known[0]))
    monkeypatch.setattr(Handler, "do_POST", lambda handler: answer(handler, known[1]))
    with serving(kind) as server:
        if words is None:
            assert load_scorer("geolm", server=server.url).path == kind
            return
        with pytest.raises(PolyprobeError, match=words):
            load_scorer("geolm", server=server.url)


HOSTILE = "1|path:tree|dtype:bfloat16\n\\input{/etc/passwd}\n% \x1b]0;pwned\x07\u202e"
PLAIN = "1/path:tree/dtype:bfloat16 \\input{/etc/passwd} % ]0;pwned"


def test_what_a_server_says_of_itself_is_one_field_on_one_line(tmp_path, monkeypatch, capfd):
    """It gets neither into the other fields of the signature nor behind a comment in LaTeX."""
    send = Handler.send

    def send_hostile(handler, value, status=200):
        if handler.path == "/version":
            value = {"version": HOSTILE}
        elif handler.path == "/v1/models":
            value["data"][0]["root"] = "/a/r\n\\write18{id}"
        send(handler, value, status)

    monkeypatch.setattr(Handler, "send", send_hostile)
    with serving("vllm") as server:
        asked = {"languages": ["en", "es"], "sample": 5, "server": server.url, "cache": False}
        evaluate_model("geolm", "geofacts", output=tmp_path / "run", **asked)
    settings = Run(tmp_path / "run").settings()
    parts = split_signature(settings.signature)
    assert (parts["path"], parts["dtype"]) == ("vllm", settings.dtype)
    assert parts["server"] == f"vllm-{PLAIN}-r \\write18{{id}}"
    latex = export_run(tmp_path / "run", "latex").read_text("utf-8").splitlines()
    live = [line for line in latex if "\\input{" in line or "\\write18" in line]
    assert [line[:2] for line in live] == ["% "]
    shown = capfd.readouterr()
    assert not {*"\x1b\x07\u202e"} & {*shown.out, *shown.err}


@pytest.mark.parametrize("path", ["/v1/models", "/v1/completions"])
def test_what_a_server_names_is_one_line_of_an_error(path, monkeypatch):
    send = Handler.send

    def send_hostile(handler, value, status=200):
        if handler.path == path == "/v1/completions":
            handler.send_response(400)
            handler.send_header("Content-Length", str(len(HOSTILE.encode())))
            handler.end_headers()
            handler.wfile.write(HOSTILE.encode())
            return
        names = {"data": [{"id": f"{HOSTILE}{k}"} for k in range(5000)]}
        send(handler, names if handler.path == path else value, status)

    monkeypatch.setattr(Handler, "send", send_hostile)
    with serving("completions") as server, pytest.raises(PolyprobeError) as caught:
        load_scorer("geolm", server=server.url)
    assert not {*"\n\x1b\x07\u202e"} & {*str(caught.value)}
    assert len(str(caught.value)) < 6000


def test_a_password_is_not_shown():
    with serving("completions") as server:
        url = server.url.replace("//", "//me:secret@")
        with pytest.raises(PolyprobeError, match="has no model 'gpt2'") as caught:
            load_scorer("gpt2", server=url, tokenizer="geolm")
    assert "secret" not in str(caught.value)


def test_the_configuration_of_a_tokenizer_runs_no_code(tmp_path, monkeypatch):
    tokenizer().save_pretrained(tmp_path)
    (tmp_path / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    classes = {"AutoConfig": "own.Config"}
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "own", "auto_map": classes}))
    monkeypatch.setattr("builtins.input", lambda *args: "y")
    with serving() as server:
        load_scorer("geolm", server=server.url, tokenizer=str(tmp_path))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_longest_input_fits_the_context_of_the_server(dialect):
    """A longer one is refused by its length, before any request."""
    word, limit = " a", 512

    with serving(dialect) as server:
        served = load_scorer("geolm", server=server.url, scoring="object")

        def score(n):
            """Send an input of n tokens: a BOS, words, all of the candidate's but the last."""
            own = served.tokenizer("Paris", add_special_tokens=False)["input_ids"]
            served.score([f"{word * (n - len(own))}[Y]"], [["Paris"]])

        most = limit - 1 - (dialect == "completions")
        score(most)
        assert max(server.lengths) == limit - 1  # and one token that the server generates
        before = server.posts
        with pytest.raises(PolyprobeError, match=f"{most + 1} tokens, the model reads {most}"):
            score(most + 1)
        assert server.posts == before


def test_a_scorer_of_a_served_model_is_no_model_of_a_run():
    with serving() as server:
        scorer = load_scorer("geolm", server=server.url)
        with pytest.raises(PolyprobeError, match="give the model's name with server="):
            evaluate_model(scorer, "geofacts", sample=2)
        with pytest.raises(PolyprobeError, match="give the name or folder of one"):
            load_scorer("geolm", server=server.url, tokenizer=scorer.tokenizer)


def test_a_dry_run_counts_what_is_then_sent(tmp_path):
    def forecast(**options):
        options = EvaluationOptions(languages=["en", "es", "ru"], server=server.url, **options)
        return forecast_work(
            EvaluationRequest.of("geolm", "geofacts", None, options), tmp_path / "run"
        )

    with serving() as server:
        line = forecast()
        assert not (tmp_path / "run").exists()
        before = server.posts, server.prompts, server.tokens
        small = forecast(limit=20)
        checks = server.posts - before[0], server.prompts - before[1], server.tokens - before[2]
        asked = {"languages": ["en", "es", "ru"], "limit": 20, "output": tmp_path / "run"}
        evaluate_model("geolm", "geofacts", server=server.url, cache=False, **asked)
        sent = server.posts, server.prompts, server.tokens
    shown = "2,700 queries to score, 0 known: 276 requests with 17,262 prompts, 215,270 tokens"
    assert shown in line
    numbers = [int(n.replace(",", "")) for n in re.findall(r"[0-9,]*[0-9]", small)]
    # One request behind the only task of each language, of the probe and of another prompt
    probes = [3, 3 + 3, 3 * 48 + 24 + 48 + 24]
    assert numbers[2:] == [
        s - b - 2 * c - p for s, b, c, p in zip(sent, before, checks, probes, strict=True)
    ]
