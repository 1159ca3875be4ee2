"""Whatever a server answers: one line, or the scores of the model; never a traceback."""

import asyncio
import gzip
import json
import random
from functools import lru_cache

import numpy as np
import pytest

from polyprobe.eval import load_scorer
from polyprobe.scoring.served import handshake
from polyprobe.system.messages import PolyprobeError

from .stand_in import DIALECTS, Handler, serving, sure

PROMPTS, CANDIDATES = ["Country: Andorra. Continent: [Y]."], [["Europe", "South America"]]
ENDPOINTS = {
    "vllm": ("/version", "/v1/models", "/tokenize", "/v1/completions"),
    "llama.cpp": ("/props", "/v1/models", "/tokenize", "/completion"),
    "completions": ("/v1/models", "/v1/completions"),
    "chat": ("/v1/models", "/v1/completions", "/v1/chat/completions"),
}
GZIP = {"Content-Encoding": "gzip"}
DEEP = b"[" * 100_000
BODIES = {
    "nothing": b"",
    "null": b"null",
    "list": b"[]",
    "object": b"{}",
    "text": b'"data"',
    "number": b"5",
    "deep": DEEP,
    "deep field": b'{"data": ' + DEEP,
    "cut": b'{"data": [{"id": "geo',
    "utf-16": '{"data": []}'.encode("utf-16"),
    "latin-1": '{"é": 1}'.encode("latin-1"),
    "large number": b"1" + b"0" * 5000,
    "terminal": b"\x1b]0;pwned\x07\x1b[31m\n\nerror: \xff",
}
HEADERS = {
    "no gzip": GZIP,
    "brotli": {"Content-Encoding": "br"},
    "gzip bomb": GZIP,
    "retry": {"Retry-After": "9" * 400},
}
STATUSES = (204, 301, 308, 400, 401, 403, 404, 413, 418, 422, 429, 500, 503)
# In the place of a part of a right answer.
VALUES = (None, True, 5, "512", "text", [], {}, [[]], {"a": 1}, 1e308, 10**400, "\x1b[31m\n")


@pytest.fixture(autouse=True)
def no_waits(monkeypatch):
    sleep = asyncio.sleep
    monkeypatch.setattr(asyncio, "sleep", lambda seconds, *rest: sleep(0, *rest))


@pytest.fixture(scope="module", params=DIALECTS)
def server(request):
    with serving(request.param) as server:
        yield server


@pytest.fixture
def spoil(monkeypatch):
    """Let a function change (value, status) of the answers at an endpoint to (body, …, headers)."""
    send, spoils = Handler.send, {}

    def send_spoilt(handler, value, status=200):
        change = spoils.get(handler.path)
        if change is None or spoils.get("from", 0) > handler.server.posts - start[0]:
            return send(handler, value, status)
        body, status, headers = change(value)
        handler.send_response(status)
        for name, content in {"Content-Length": str(len(body)), **headers}.items():
            handler.send_header(name, content)
        handler.end_headers()
        handler.wfile.write(body)
        return None

    start = [0]
    monkeypatch.setattr(Handler, "send", send_spoilt)

    def set_spoil(server, path, change, since=0):
        start[0] = server.posts
        spoils.update({path: change, "from": since})

    return set_spoil


@lru_cache(2)
def score_here(is_chat):
    if not is_chat:
        return load_scorer("geolm").score(PROMPTS, CANDIDATES)
    with serving("chat", model=sure()) as server:
        return load_scorer("geolm", server=server.url, scoring="letters").score(PROMPTS, CANDIDATES)


def check(server):
    """Score; return the line of a refusal, "" for the right scores."""
    is_chat = server.dialect == "chat"
    options = {"server": server.url, "scoring": "letters" if is_chat else "bmlama"}
    try:
        scores = load_scorer("geolm", **options).score(PROMPTS, CANDIDATES)
    except PolyprobeError as error:
        line = str(error)
        assert len(line.splitlines()) == 1
        assert line.isprintable()
        assert len(line) < 700
        return line
    assert np.abs(np.subtract(scores[0], score_here(is_chat)[0])).max() < 1e-4
    return ""


def make_pages():
    """List whole answers by a name: (body, status, headers)."""
    pages = {name: (body, 200, {}) for name, body in BODIES.items()}
    pages |= {f"{n}": (BODIES["terminal"] if n > 204 else b"", n, {}) for n in STATUSES}
    bomb = gzip.compress(b" " * 2**24)
    pages |= {name: (bomb if "bomb" in name else b"x", 200, HEADERS[name]) for name in HEADERS}
    return pages | {"busy": (b"", 429, HEADERS["retry"])}


PAGES = make_pages()
N_ENDPOINTS = 4


@pytest.mark.parametrize("number", range(N_ENDPOINTS))
@pytest.mark.parametrize("page", PAGES)
@pytest.mark.acceptance
def test_any_page_in_the_place_of_an_answer(page, number, server, spoil):
    path = (ENDPOINTS[server.dialect] * 4)[number]
    since = 0 if number < len(ENDPOINTS[server.dialect]) else 9  # or in the middle of the checks
    spoil(server, path, lambda value: PAGES[page], since)
    line = check(server)
    if page == "429":
        assert "is busy (HTTP 429" in line or (since and not line)  # a page that is read once


def list_places(value, place=()):
    """Yield the places of the parts of a JSON value; of a list, its first and last."""
    yield place
    if isinstance(value, dict):
        keys = [*value][:12]
    else:
        keys = sorted({0, len(value) - 1}) if isinstance(value, list) and value else []
    for key in keys:
        yield from list_places(value[key], (*place, key))


def replace(value, place, new):
    if not place:
        return new
    copy = value.copy()
    copy[place[0]] = replace(copy[place[0]], place[1:], new)
    return copy


def check_part(server, spoil, path, seed, since=0):
    chance = random.Random(f"{server.dialect} {path} {seed}")

    def change(value):
        value = json.loads(json.dumps(value))
        place = chance.choice([*list_places(value)])
        return json.dumps(replace(value, place, chance.choice(VALUES))).encode(), 200, {}

    spoil(server, path, change, since)
    return check(server)


@pytest.mark.parametrize("seed", range(3))
def test_a_part_of_another_type(seed, server, spoil):
    for path in ENDPOINTS[server.dialect][:: 2 - seed % 2]:
        check_part(server, spoil, path, seed)


@pytest.mark.acceptance
@pytest.mark.parametrize("seed", range(3, 9))
def test_any_part_of_another_type(seed, server, spoil):
    for path in ENDPOINTS[server.dialect]:
        check_part(server, spoil, path, seed, since=seed % 3 * 5)


@pytest.fixture(scope="module")
def chat():
    with serving("chat", model=sure()) as server:
        yield server


@pytest.mark.parametrize("seed", range(6))
def test_a_part_of_another_type_of_a_chat(seed, chat, spoil):
    for path in ENDPOINTS["chat"]:
        check_part(chat, spoil, path, seed, since=seed % 3 * 4)


@pytest.mark.acceptance
@pytest.mark.parametrize("page", PAGES)
def test_any_page_in_the_place_of_an_answer_of_a_chat(page, chat, spoil):
    score_here(True)
    for path in ENDPOINTS["chat"]:
        for since in (0, 9):
            spoil(chat, path, lambda value: PAGES[page], since)
            assert check(chat) or since or path != "/v1/chat/completions", (path, since)
            spoil(chat, path, lambda value: (json.dumps(value).encode(), 200, {}), 0)


WINDOWS = (7, 8, 9, 10, 17, "512", "9", True, 0, -5, 2.5, None, [512], {}, 10**30)


@pytest.mark.parametrize("window", WINDOWS)
def test_a_window_of_any_size_and_type(window, server, spoil):
    def change(value):
        text = json.dumps(value)
        assert "512" in text
        return text.replace("512", json.dumps(window)).encode(), 200, {}

    spoil(server, "/props" if server.dialect == "llama.cpp" else "/v1/models", change)
    line = check(server)
    if window == 7:
        assert "the checks need 8" in line
    elif window in (8, 9, 10):
        assert "the model reads" in line
    else:
        assert line == ""


def test_a_list_of_many_names_is_cut(spoil):
    names = [{"id": f"model-{k}\x1b[31m\n"} for k in range(5000)]
    with serving("completions") as server:
        spoil(server, "/v1/models", lambda value: (json.dumps({"data": names}).encode(), 200, {}))
        assert "has no model 'geolm'" in check_long(server)


def check_long(server):
    with pytest.raises(PolyprobeError) as caught:
        load_scorer("geolm", server=server.url)
    assert len(str(caught.value)) < 2000
    assert str(caught.value).isprintable()
    return str(caught.value)


def test_a_silent_server_is_named_at_first_contact(monkeypatch, spoil, capfd):
    monkeypatch.setattr(handshake, "SILENCE", 0.0)
    with serving("vllm") as server:
        url = server.url.replace("//", "//me:sekretWord@")
        load_scorer("geolm", server=f"{url}/v1?key=sekretQuery#sekretPart")
        assert server.queries == {"key=sekretQuery"}
    assert f"waiting for an answer of {server.url}\n" in (shown := capfd.readouterr().err)
    assert "sekret" not in shown


@pytest.mark.parametrize("later", ["0", "1", None])
def test_a_server_that_is_busy_at_times_is_waited_for(later, server, spoil):
    headers = {"Retry-After": later} if later else {}
    for path in ENDPOINTS[server.dialect]:
        answers = iter([(b"", 429, headers)] * 3)
        spoil(server, path, lambda value, a=answers: next(a, (json.dumps(value).encode(), 200, {})))
    assert check(server) == ""


def test_a_server_says_why_it_is_busy(server, spoil):
    words = json.dumps({"error": {"message": "You exceeded your current quota"}}).encode()
    spoil(server, "/v1/models", lambda value: (words, 429, HEADERS["retry"]))
    assert "is busy (HTTP 429: You exceeded your current quota" in check(server)
