"""googletrans and openai with a failing server: every row has a reason."""

import asyncio

import pytest

from polyprobe.builder.translators import load_translator
from polyprobe.builder.translators.engines.googletrans import Googletrans, read_answer_text
from polyprobe.builder.translators.engines.openai import OpenAI
from polyprobe.system.messages import PolyprobeError
from polyprobe.system.sending import Pace

FAST = Pace(tries=3, first_wait=0.001, longest_wait=0.01, give_up=4)
SENTENCE = "Oslo lies in Norway."
FINE = SENTENCE.upper()


@pytest.fixture(params=["googletrans", "openai"])
def engine(request, server):
    return make(request.param, server)


def make(name, server, **options):
    if name == "googletrans":
        engine = Googletrans(base_url=server.google)
    else:
        engine = OpenAI(base_url=server.openai, model="m", **options)
    engine.pace, engine.per_second, engine.timeout = FAST, None, 30
    return engine


@pytest.mark.parametrize("kind", ["429", "500", "503", "302", "cut", "broken", "page", "error"])
def test_a_failure_that_passes_is_not_seen(engine, server, kind):
    server.plan.extend([kind, kind])
    assert engine.translate_each([SENTENCE], "en", "es") == [(FINE, "")]
    assert server.sentences == [SENTENCE] * 3


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        ("429", "no answer: HTTP 429, 3 times"),
        ("500", "no answer: HTTP 500, 3 times"),
        ("cut", "no answer: connection cut, 3 times"),
        ("broken", "broken answer: no JSON, 3 times"),
        ("page", "broken answer: no JSON, 3 times"),
    ],
)
def test_a_failure_that_stays_is_explained(engine, server, kind, problem):
    server.always = kind
    if engine.can_block and kind == "429":
        with pytest.raises(PolyprobeError, match=r"refuses this machine \(HTTP 429, 3 times\)"):
            engine.translate([SENTENCE], "en", "es")
    else:
        assert engine.translate_each([SENTENCE], "en", "es") == [("", problem)]
    assert server.sentences == [SENTENCE] * 3


def test_an_object_in_the_place_of_a_text_is_not_a_translation(engine, server):
    """googletrans 4.0.2 alone returns "e" for {"error": …}: a letter of the key."""
    server.always = "error"
    [(text, problem)] = engine.translate_each([SENTENCE], "en", "es")
    assert text == ""
    assert problem.startswith("broken answer: no ")
    assert problem.endswith("in it, 3 times")


@pytest.mark.parametrize("kind", ["slow", "drip"])
def test_a_slow_answer_is_a_timeout(engine, server, kind):
    engine.timeout, server.always = 0.8, kind
    [found] = engine.translate_each([SENTENCE], "en", "es")
    assert found == ("", "no answer: timeout, 3 times")
    assert len(server.sentences) <= 3  # a busy machine sends none in time


def test_no_server_at_all(engine, server):
    server.shutdown()
    server.server_close()
    assert engine.translate_each([SENTENCE], "en", "es") == [
        ("", "no answer: no connection, 3 times")
    ]


@pytest.mark.parametrize(("kind", "text"), [("empty", ""), ("unchanged", SENTENCE)])
def test_an_empty_or_unchanged_text_is_reported_and_asked_for_again(engine, server, kind, text):
    server.plan.append(kind)
    assert engine.translate_each([SENTENCE], "en", "es") == [(text, kind)]
    assert engine.translate_each([SENTENCE], "en", "es") == [(FINE, "")]
    assert len(server.sentences) == 2


def test_retry_after_is_obeyed_by_all_requests_of_the_run(engine, server, monkeypatch):
    slept, sleep = [], asyncio.sleep

    async def note(seconds, *rest):
        slept.append(seconds)
        await sleep(0, *rest)

    monkeypatch.setattr(asyncio, "sleep", note)
    engine.pace, engine.concurrency = FAST._replace(longest_wait=60), 1
    server.plan.append("429 7")
    assert engine.translate(["one", "two"], "en", "es") == ["ONE", "TWO"]
    assert max(slept) >= 7
    assert len([seconds for seconds in slept if seconds > 6]) == 3  # its own, and what follows


def test_a_retry_after_beyond_the_longest_wait_is_not_waited_for(engine, server):
    server.plan.append("429 3600")
    if engine.can_block:
        with pytest.raises(PolyprobeError, match=r"refuses this machine \(HTTP 429, once\)"):
            engine.translate([SENTENCE], "en", "es")
    else:
        assert engine.translate_each([SENTENCE], "en", "es") == [("", "no answer: HTTP 429, once")]
    assert len(server.sentences) == 1


@pytest.mark.parametrize(
    ("status", "remedies"),
    [
        ("400", ("languages", "temperature=default")),
        ("401", ("key", "OPENAI_API_KEY")),
        ("403", ("another translator", "OPENAI_API_KEY")),
        ("404", ("base_url", "OPENAI_BASE_URL")),
    ],
)
def test_what_asking_again_does_not_mend_stops_with_the_remedy(engine, server, status, remedies):
    server.always, engine.concurrency = status, 1
    with pytest.raises(PolyprobeError, match=f"HTTP {status}; ") as caught:
        engine.translate([SENTENCE, "more"], "en", "es")
    assert remedies[engine.name == "openai"] in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(server.sentences) == 1


def test_googles_codes_are_sent_and_checked(server):
    engine = make("googletrans", server)
    for target in ("zh-hant", "br"):
        assert engine.translate([SENTENCE], "en", target) == [FINE]
    assert server.pairs == [("en", "zh-tw"), ("en", "br")]
    with pytest.raises(PolyprobeError, match="from en to vo: it has no 'vo'; available: aa, ab"):
        engine.translate([SENTENCE], "en", "vo")


@pytest.mark.parametrize(
    "answer", [[], {}, "abc", None, ["abc"], [{"a": 1}], [None, None, "en"], [[[1]]], [[[]]]]
)
def test_googles_json_without_a_text(answer):
    with pytest.raises((TypeError, LookupError)):
        read_answer_text(answer)


def test_googles_json_with_a_text_in_parts():
    assert (
        read_answer_text([[["Oslo ", "a"], [None, "b"], ["liegt."]], None, "en"]) == "Oslo liegt."
    )
    assert read_answer_text([[], None, "en"]) == ""


def test_translators_are_made_from_the_text_of_options(server, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", server.openai)
    engine = load_translator("openai", model="m", max_tokens="9", per_second="2.5", concurrency="3")
    assert (engine.per_second, engine.concurrency) == (2.5, 3)
    assert engine.translate([SENTENCE], "en", "es") == [FINE]
    assert (server.bodies[0]["max_tokens"], server.bodies[0]["temperature"]) == (9, 0)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("openai", {}, "the translator openai needs the option model=…"),
        ("openai", {"modell": "m"}, "unknown option 'modell' in translator openai; did you mean"),
        ("openai", {"model": "m", "temperature": "hot"}, "'hot' for temperature"),
        ("openai", {"model": "m", "temperature": "nan"}, "'nan' for temperature .* expected"),
        ("apertium", {"timeout": "inf"}, "'inf' for timeout .* expected"),
        ("openai", {"model": "m", "base_url": "localhost:1"}, "invalid address of openai"),
        ("openai", {"model": "m", "examples": "file"}, "cannot read examples file: No such file"),
        ("googletrans", {"per_second": "many"}, "'many' for per_second .* a number above 0"),
        ("googletrans", {"concurrency": "0"}, "'0' for concurrency .* whole number above 0"),
        (
            "googletrans",
            {"base_url": "ftp://u:secret@h"},
            "invalid address of googletrans;",
        ),
    ],
)
def test_wrong_options_are_reported_in_a_line(name, options, message):
    with pytest.raises(PolyprobeError, match=message):
        load_translator(name, **options)


def test_openai_itself_is_not_asked_without_a_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(PolyprobeError, match="api.openai.com/v1: set the variable OPENAI_API_KEY"):
        OpenAI(model="m").translate([SENTENCE], "en", "es")
