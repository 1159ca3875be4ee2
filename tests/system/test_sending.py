"""Secrets are cut from what is shown and stored, and the answers of servers have limits."""

import asyncio
import gzip
import json
import logging
import threading
import tracemalloc
import zlib
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from polyprobe.system import sending
from polyprobe.system.download import Repository, read_files
from polyprobe.system.messages import PolyprobeError, hide_secrets_in_logs, one_line, report
from polyprobe.system.sending import (
    BrokenAnswerError,
    BusyError,
    NoAnswerError,
    Pace,
    Requests,
    check_address,
    extend,
    http_failures,
    open_client,
)
from polyprobe.system.text import clean, hide_secrets
from tests.making.serving import KeptConnection

HOST = "http://127.0.0.1:8000"
SECRETS = ("sekretUser1", "sekretWord2", "sekretQuery3", "sekretPart4")
USER, WORD, QUERY, PART = SECRETS
PLACES = {
    "a user and a password": f"http://{USER}:{WORD}@127.0.0.1:8000",
    "a token": f"http://{WORD}@127.0.0.1:8000",
    "a password with a slash": f"http://{USER}:a/{WORD}@127.0.0.1:8000",
    "a password with signs": f"http://{USER}:a'\"<>@{WORD}@127.0.0.1:8000",
    "a password in percent": f"http://{USER}%3A:%2f{WORD}%2F@127.0.0.1:8000",
    "a query": f"http://127.0.0.1:8000?key={QUERY}&b={WORD}",
    "a query without a name": f"http://127.0.0.1:8000?{QUERY}",
    "a fragment": f"http://127.0.0.1:8000#{PART}",
    "all": f"http://{USER}:{WORD}@127.0.0.1:8000?a={QUERY}#{PART}",
}


@pytest.mark.parametrize("address", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("text", ["{}", "no answer from {}; start it", "'{}' (of x), or\t{}\n"])
def test_an_address_loses_its_secrets_in_any_text(address, text):
    assert hide_secrets(text.replace("{}", address)) == text.replace("{}", HOST)
    assert str(PolyprobeError(text.replace("{}", address))) == clean(text.replace("{}", HOST))


@pytest.mark.parametrize(
    "text",
    [
        "https://huggingface.co/datasets/me/x@main, or http://[::1]:80/a@b",
        "me@example.org: 5 of 6? no # comment",
        "basis-key: geofacts; token 5 of [1, 2]; Paris ? Rome",
    ],
)
def test_other_texts_are_not_changed(text):
    assert hide_secrets(text) == text


def test_the_secrets_of_the_environment_are_found_wherever_a_server_repeats_them(monkeypatch):
    monkeypatch.setenv("POLYPROBE_API_KEY", WORD)
    monkeypatch.setenv("HTTPS_PROXY", f"http://me:{QUERY}@proxy:3128")
    monkeypatch.setenv("SOME_ADDRESS", f"https://{PART}@example.org")
    text = f"Bearer {WORD} is refused by {QUERY}, {PART}; hf_{'a' * 20} sk-{'1' * 20} api_key=abc"
    expected = "Bearer … is refused by …, …; … … api_key=…"
    assert hide_secrets(text) == expected
    assert one_line(ValueError(f"{'x' * 180} {WORD} {WORD}")) == f"{'x' * 180} … …"
    address = "http://us%65r:pass%20word9@h?a=que%2Fry7890"
    repeated = "dXNlcjpwYXNzIHdvcmQ5 pass word9 pass%20word9 que/ry7890 que%2Fry7890"
    assert hide_secrets(repeated, address) == "… … … … …"


def test_notices_and_logs_of_libraries_have_no_secrets(capsys, caplog):
    before = logging.getLogRecordFactory()
    try:
        hide_secrets_in_logs()
        logging.getLogger("huggingface_hub").warning("retrying %s", PLACES["all"])
        logging.getLogger("huggingface_hub").warning("two %s")
    finally:
        logging.setLogRecordFactory(before)
    report(f"waiting for {PLACES['all']}")
    assert caplog.messages == [f"retrying {HOST}", "two %s"]
    assert capsys.readouterr().err == f"waiting for {HOST}\n"


def test_an_address_keeps_its_query_for_requests():
    base = check_address("x", f"{HOST}/v1/?key={QUERY}#part")
    assert extend(base, "/models") == f"{HOST}/v1/models?key={QUERY}"
    assert extend(check_address("x", f"{HOST}/"), "/a/b") == f"{HOST}/a/b"


@pytest.mark.parametrize("address", PLACES.values(), ids=PLACES)
def test_downloads_do_not_show_the_secrets_of_their_server(address, monkeypatch, tmp_path):
    monkeypatch.setenv("POLYPROBE_GITHUB", address.replace("8000", "9"))
    monkeypatch.setenv("POLYPROBE_CACHE", str(tmp_path))
    with pytest.raises(PolyprobeError) as caught:
        list(read_files(Repository("me/x", "0" * 40, {}), ["a"]))
    check_shown(caught.value)


def check_shown(error):
    """Find no secret in an error and in the causes that a traceback shows."""
    assert not error.__cause__ or error.__suppress_context__
    while error:
        assert not [secret for secret in SECRETS if secret in f"{error!r}{error}"]
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


@pytest.mark.parametrize("begin", ["", "ftp://", "http://", "http://h:x/", "http://a b"])
@pytest.mark.parametrize("secret", ["u:{}@h", "u:a/{}@h", "?key=a {}", "#a@{}", "u:a#{}@h"])
def test_an_invalid_address_does_not_show_its_secrets(begin, secret):
    address = begin + secret.replace("{}", WORD)
    with suppress(PolyprobeError):
        address = hide_secrets(check_address("x", address))
        assert address.startswith("http://")
        assert WORD not in address
        return
    with pytest.raises(PolyprobeError, match="invalid address of x; expected") as caught:
        check_address("x", address)
    check_shown(caught.value)


# Limits: the answer is sent by a real server, as in an attack.


class Handler(KeptConnection, BaseHTTPRequestHandler):
    def do_GET(self):
        status, headers, parts = self.server.answers.pop(0)
        self.send_response(status)
        for name, value in {"Connection": "close", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            for part in parts:
                self.wfile.write(part)
                self.server.sent += len(part)
        except OSError:  # the client has enough
            pass
        self.close_connection = True

    def log_message(self, *_):
        pass


@contextmanager
def answering(*answers):
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.answers, server.sent = [*answers], 0
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


async def get(server):
    async with open_client(30) as client:
        with http_failures("x"):
            response = await client.get(f"http://127.0.0.1:{server.server_port}/")
            return response.raise_for_status().json()


LONG = [b" " * 2**20] * 500
BOMBS = {
    "gzip": ({"Content-Encoding": "gzip"}, [gzip.compress(b" " * 2**20 * 200)] , "more than 4 MB"),
    "plain": ({}, LONG, "more than 4 MB"),
    "values": ({}, [b"[" + b"1," * 2**21 + b"1]"], "more than 4 MB"),
    "twice": ({"Content-Encoding": "gzip, gzip"}, [b"x"], "a compression that was not requested"),
    "brotli": ({"Content-Encoding": "br"}, [b"x"], "a compression that was not requested"),
    "depth": ({}, [b"[" * 200_000], "no JSON"),
    "objects": ({}, [b'{"a":' * 200_000], "no JSON"),
}  # fmt: skip


@pytest.mark.parametrize(("headers", "parts", "words"), BOMBS.values(), ids=BOMBS)
def test_an_answer_that_takes_much_memory_is_refused(headers, parts, words):
    with answering((200, headers, parts)) as server:
        tracemalloc.start()
        try:
            with pytest.raises(BrokenAnswerError, match=words):
                asyncio.run(get(server))
            assert tracemalloc.get_traced_memory()[1] < 160 * 2**20
        finally:
            tracemalloc.stop()
        assert server.sent < 40 * 2**20


def test_answers_with_many_values_are_refused_before_they_are_read(monkeypatch):
    monkeypatch.setattr(sending, "VALUES", 1000)
    body = json.dumps([{}] * 1002).encode()
    refused = pytest.raises(BrokenAnswerError, match="1,000 values")
    with answering((200, {}, [body])) as server, refused:
        asyncio.run(get(server))


@pytest.mark.parametrize(
    ("name", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress), ("identity", bytes)]
)
def test_a_packed_answer_is_read(name, pack):
    value = {"a": ["ä"] * 1000}
    with answering((200, {"Content-Encoding": name}, [pack(json.dumps(value).encode())])) as server:
        assert asyncio.run(get(server)) == value


@pytest.mark.parametrize("key", ["sk-x ", " sk-x", "sk-x\n", "sk x", "sk-x\r\nA: b", "sk-é", "\0"])
def test_a_key_with_other_characters_is_refused_with_its_cause(key, monkeypatch):
    monkeypatch.setattr(sending.os, "environ", {"THE_KEY": key})
    with pytest.raises(PolyprobeError, match="THE_KEY has (a blank or|the character)") as caught:
        open_client(1, "THE_KEY")
    assert "sk" not in str(caught.value)


@pytest.mark.parametrize("proxy", ["socks9://me:sekretWord2@x", "http://x:port"])
def test_a_proxy_that_cannot_be_used_is_named(proxy, monkeypatch):
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(PolyprobeError, match="the proxy of the environment") as caught:
        open_client(1)
    check_shown(caught.value)


def test_failures_have_no_secrets_in_their_causes():
    async def fail(address):
        async with open_client(1) as client:
            with http_failures("x"):
                (await client.get(address)).raise_for_status()

    with answering((401, {}, [])) as server:
        url = PLACES["all"].replace("8000", str(server.server_port))
        for address in (url, PLACES["all"].replace("8000", "9")):
            with pytest.raises((PolyprobeError, NoAnswerError)) as caught:
                asyncio.run(fail(address))
            check_shown(caught.value)


@pytest.mark.parametrize("later", ["7", "Fri, 01 Jan 2100 00:00:07 GMT", "", "soon", "-1"])
def test_a_busy_server_is_waited_for_and_said_to_be_busy(later, monkeypatch):
    slept, sleep = [], asyncio.sleep

    async def note(seconds, *rest):
        slept.append(seconds)
        await sleep(0, *rest)

    read = sending.read_retry_after
    now = sending.datetime(2100, 1, 1, tzinfo=sending.UTC)
    monkeypatch.setattr(sending, "read_retry_after", lambda value: read(value, now))
    monkeypatch.setattr(asyncio, "sleep", note)
    busy = (429, {"Retry-After": later}, [])

    async def ask(server):
        pace = Pace(tries=2, first_wait=0.2, busy_tries=6)
        return await Requests(pace, None, 30).send(lambda: get(server))

    with answering(busy, busy, busy, busy, (200, {}, [b"[1]"])) as server:
        assert asyncio.run(ask(server)) == [1]
    assert (max(slept) >= 7) == ("7" in later)
    with answering(*[busy] * 6) as server, pytest.raises(BusyError, match="HTTP 429, 6 times"):
        asyncio.run(ask(server))
    busy[1]["Retry-After"] = "3600"
    with answering(busy) as server, pytest.raises(BusyError, match="HTTP 429, once") as caught:
        asyncio.run(ask(server))
    assert caught.value.retry_after == 3600
