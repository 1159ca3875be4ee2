"""Apertium, through Debian's apertium-apy, and a stand-in for errors."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

import httpx
import pytest

from polyprobe.builder.translators import Translation, load_translator
from polyprobe.builder.translators.engines.apertium import clean_text
from polyprobe.system.messages import PolyprobeError
from polyprobe.system.sending import Pace
from tests.builder.translators.apy import find_port, needs_apertium, start_apy

COUNTRIES = ("Norway", "Italy", "Portugal", "Chile")
SENTENCES = [f"The capital of {one} is not {two}." for one in COUNTRIES for two in COUNTRIES]
QUICK = Pace(tries=2, first_wait=0.001, longest_wait=0.01, give_up=2)


@pytest.fixture(scope="module")
def apy():
    with start_apy() as address:
        yield address


def ask_apy(address, sentence, pair, mark="no"):
    """The translation of one sentence by the service, without our code."""
    fields = {"langpair": pair, "q": sentence, "format": "txt", "markUnknown": mark}
    answer = httpx.post(f"{address}/translate", data=fields).json()
    return answer["responseData"]["translatedText"]


@needs_apertium
@pytest.mark.parametrize(("target", "code"), [("es", "spa"), ("ca", "cat"), ("gl", "glg")])
def test_texts_are_what_the_service_says_of_each_sentence(target, code, apy):
    without_stop = [sentence.rstrip(".") for sentence in SENTENCES[:4]]
    mixed = [
        *SENTENCES,
        *without_stop,
        "The mayor of Oslo's bridge is old.",
        "It rained. It snowed! Did it?",
        "[X] was born in [Y].",
    ]
    found = load_translator("apertium", url=apy).translate_each(mixed, "en", target)
    alone = [ask_apy(apy, sentence, f"eng|{code}") for sentence in mixed]
    assert [one.text.replace(" ", "") for one in found] == [one.replace(" ", "") for one in alone]
    assert not [one for one in found if one.problem]


@needs_apertium
def test_unknown_words_are_left(apy):
    translator = load_translator("apertium", url=apy)
    sentence = "Zorvatia and Quelmiria are old countries."
    [text] = translator.translate([sentence], "en", "es")
    marked = ask_apy(apy, sentence, "eng|spa", "yes")
    assert marked.count("*") == 2
    assert text == marked.replace("*", "") == ask_apy(apy, sentence, "eng|spa", "no")


@needs_apertium
def test_marks_of_missing_forms_go_and_a_sentences_own_stay(apy):
    translator = load_translator("apertium", url=apy)
    plain, own = "[X] has the position of [Y].", "The sign # is old."
    assert "#" in ask_apy(apy, plain, "eng|spa", "no")  # unchanged by the service
    texts = translator.translate([plain, own], "en", "es")
    assert "#" not in texts[0]
    assert "#" in texts[1]


@needs_apertium
def test_a_pair_that_is_not_there_is_answered_with_those_that_are(apy):
    translator = load_translator("apertium", url=apy)
    for pair in (("en", "de"), ("es", "ca"), ("xx", "es")):
        with pytest.raises(PolyprobeError, match=f"from {pair[0]} to {pair[1]}; avail") as raised:
            translator.translate(["a"], *pair)
        assert "eng-cat" in str(raised.value)
        assert "eng-spa" in str(raised.value)
        assert "apertium-SOURCE-TARGET" in str(raised.value)
        assert "\n" not in str(raised.value)


def test_no_service_is_one_line_that_says_how_to_start_it():
    translator = load_translator("apertium", url=f"http://127.0.0.1:{find_port()}")
    with pytest.raises(PolyprobeError, match="no apertium-apy answers at http://127.0.0.1:") as no:
        translator.translate(["a"], "en", "es")
    assert "start it with `apertium-apy -p 2737 /usr/share/apertium`" in str(no.value)
    assert "\n" not in str(no.value)


def test_the_address_is_the_option_or_the_variable_or_debians(monkeypatch):
    monkeypatch.setenv("APERTIUM_APY", "http://apy.example:80/")
    assert load_translator("apertium").url == "http://apy.example:80"
    assert load_translator("apertium", url="http://other:1").url == "http://other:1"
    monkeypatch.delenv("APERTIUM_APY")
    assert load_translator("apertium").url == "http://127.0.0.1:2737"
    with pytest.raises(PolyprobeError, match="invalid address of apertium: 'localhost'"):
        load_translator("apertium", url="localhost")


def test_another_machine_is_known_by_its_address_and_this_one_by_its_packages():
    far = load_translator("apertium", url="http://apy.example").signature
    assert far == "apertium|versions unknown, at http://apy.example"
    near = load_translator("apertium", url="http://127.0.0.1:1").signature
    assert near == load_translator("apertium", url="http://localhost:2").signature
    assert near != far


@needs_apertium
def test_the_signature_states_engine_and_data():
    signature = load_translator("apertium", url="http://127.0.0.1:2737").signature
    for package in ("apertium", "apertium-eng-spa", "apertium-en-gl", "lttoolbox"):
        assert f"{package} " in signature


class Service(BaseHTTPRequestHandler):
    """Has one language pair; translates with `server.say`."""

    def do_GET(self):
        pairs = [{"sourceLanguage": "eng", "targetLanguage": "spa"}]
        self.answer(self.server.pairs or json.dumps({"responseData": pairs}))

    def do_POST(self):
        length = int(self.headers["Content-Length"])
        text = parse_qs(self.rfile.read(length).decode())["q"][0]
        self.server.asked.append(text)
        self.answer(self.server.say(text))

    def answer(self, text):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def service():
    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        server.asked, server.pairs = [], ""
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


def say(text):
    return json.dumps({"responseData": {"translatedText": text}})


def translate(service, sentences):
    translator = load_translator("apertium", url=f"http://127.0.0.1:{service.server_port}")
    translator.pace = QUICK
    return translator.translate_each(sentences, "en", "es")


def test_blanks_within_a_sentence_do_not_cut_it(service):
    service.say = lambda text: say(text.upper())
    assert translate(service, ["a\n\nb", "c"]) == [Translation("A B", ""), Translation("C", "")]
    assert sorted(service.asked) == ["a b", "c"]


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("<html>", "broken answer: no JSON, 2 times"),
        ('{"responseData": null}', "broken answer: no translatedText, 2 times"),
        (say(""), "empty"),
        (say("a"), "unchanged"),
    ],
)
def test_an_answer_that_is_none_is_explained(answer, problem, service):
    service.say = lambda text: answer
    assert translate(service, ["a"])[0].problem == problem


@pytest.mark.parametrize("pairs", ["<html>", "{}", "[]", '{"responseData": [1]}'])
def test_something_else_at_the_address_is_one_line(pairs, service):
    service.pairs = pairs
    with pytest.raises(PolyprobeError, match="no apertium-apy answers at") as raised:
        translate(service, ["a"])
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("sentence", "text", "fixed"),
    [
        ("Oslo is old.", "Oslo es  viejo .", "Oslo es viejo."),
        ("It rained. Did it?", " Llovió.  Él ?", "Llovió. Él?"),
        ("Is it old ?", "Es viejo ?", "Es viejo ?"),
    ],
)
def test_blanks_that_the_engine_moved(sentence, text, fixed):
    assert clean_text(sentence, text) == fixed
