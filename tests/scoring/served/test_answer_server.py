"""Servers of a chat alone that give texts and no log-probabilities: answers, or one line."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from polyprobe.eval import evaluate_model
from polyprobe.schema.load import load_facts
from polyprobe.schema.run.folder import Run
from polyprobe.system.messages import PolyprobeError
from tests.making.facts import CITIES, COUNTRIES, number_subjects, write_facts

REPLIES = {  # by what the server is like: the message of an answer
    "plain": lambda city: {"content": f"It is {city}."},
    "thinks aloud": lambda city: {"content": f"<think>Berlin? Rome?</think>\n\n{city}"},
    "thinks to the end": lambda city: {"content": None, "reasoning_content": city},
    "parts": lambda city: {"content": [{"type": "text", "text": city}]},
    "nothing": lambda city: None,
    "a text": lambda city: city,
}
REFUSALS = {
    "locked": (401, {"error": {"message": "Incorrect API key provided."}}),
    "absent": (404, {"error": {"message": "The model `m` does not exist."}}),
    "policy": (400, {"error": {"message": "This request violates our policy."}}),
}


@contextmanager
def chatting(kind):
    """Yield the address of a server that knows the capitals, and the bodies that it took."""
    bodies, lock = [], threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.reply(404, {})

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if not self.path.endswith("/chat/completions"):
                return self.reply(404, {"error": {"message": "not found"}})
            if kind in REFUSALS:
                return self.reply(*REFUSALS[kind])
            for name in ("max_tokens", "temperature", "logprobs", "repetition_penalty"):
                if name in body:
                    return self.reply(400, {"error": {"message": WORDS.get(name, name)}})
            with lock:
                bodies.append(body)
            text = body["messages"][-1]["content"]
            pairs = [
                (x, y) for z in COUNTRIES for x, y in zip(COUNTRIES[z], CITIES[z], strict=True)
            ]
            city = next((city for country, city in pairs if country in text), "?")
            behind = kind.removeprefix("later ")
            early = behind != kind and len(bodies) < 20  # with the handshake
            message = REPLIES["plain" if early else behind](city)
            choices = [{"index": 0, "message": message}] if message else []
            return self.reply(200, {"model": "m-2026", "choices": choices})

        def reply(self, status, value):
            content = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/chat/completions", bodies
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


WORDS = {"max_tokens": "Unsupported parameter: use 'max_completion_tokens' instead."}


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    return str(write_facts(tmp_path_factory.mktemp("facts"), number_subjects))


def run(facts, url, output, **options):
    asked = {"scoring": "answer", "server": url, "cache": False, "answer_tokens": 9}
    return evaluate_model("m", facts, output=output, **asked | options)


@pytest.mark.parametrize("kind", ["plain", "thinks aloud", "thinks to the end"])
def test_a_chat_without_log_probabilities_gives_answers(kind, facts, tmp_path):
    with chatting(kind) as (url, bodies):
        results = run(facts, url, tmp_path / "run", chat=True, system="Be short.")
    settings = Run(tmp_path / "run").settings()
    assert settings.scoring == "answer-9"
    assert "chat" in settings.further
    for language, table in load_facts(facts).items():
        rows = Run(tmp_path / "run").read(language).to_pylist()
        for row, fact in zip(rows, table.to_pylist(), strict=True):
            question = fact["prompt"].partition("[Y]")[0].rstrip()
            messages = [{"role": "system", "content": "Be short."}]
            messages += [{"role": "user", "content": question}]
            assert json.loads(row["asked"]) == messages
            assert any(body["messages"] == messages for body in bodies)
            city = fact["candidates"][fact["answers"][0]]
            content = REPLIES[kind](city)["content"]
            assert row["answer"] == (content or "")
            assert row["verdict"] == ("right" if content else "empty")
    assert results["accuracy"] == dict.fromkeys(CITIES, float(kind != "thinks to the end"))
    assert {*map(len, bodies)} == {3}  # model, messages, max_completion_tokens
    assert {body["max_completion_tokens"] for body in bodies[-9:]} == {9}


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("locked", "Incorrect API key provided"),
        ("absent", "does not exist"),
        ("policy", "violates our policy"),
        ("nothing", "no usable answer|an answer"),
        ("parts", "no usable answer|an answer"),
        ("later nothing", "no usable answer"),
        ("later a text", "no usable answer"),
    ],
)
def test_a_server_that_refuses_is_one_line(kind, message, facts, tmp_path):
    with chatting(kind) as (url, _), pytest.raises(PolyprobeError, match=message) as caught:
        run(facts, url, tmp_path / "run")
    assert "\n" not in str(caught.value)
    assert "127.0.0.1" in str(caught.value)
