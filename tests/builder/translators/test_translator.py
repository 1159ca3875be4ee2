"""Behaviour common to all engines, tested with one that its input sentences control."""

import asyncio
import signal
import threading
from datetime import UTC, datetime

import pytest

from polyprobe.builder.translators import TRANSLATORS, Translator
from polyprobe.builder.translators.engines import __path__ as folder
from polyprobe.system.messages import PolyprobeError
from polyprobe.system.sending import (
    BrokenAnswerError,
    NoAnswerError,
    Pace,
    read_retry_after,
    run_async,
)


class Engine(Translator):
    """Returns capitals; `lost`: no answer, `odd`: broken, `two`: an extra text, `own`: stop."""

    name, signature, batch_size, concurrency = "engine", "engine 1", 3, 2
    pace = Pace(tries=2, first_wait=0.001, longest_wait=0.01, give_up=3)

    def __init__(self):
        self.batches, self.terms = [], []
        self.open = self.under_way = self.most = 0

    async def ask(self, batch, source, target):
        texts = [job.sentence for job in batch]
        self.batches.append(texts)
        self.terms.append([job.terms for job in batch])
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(0)
        self.under_way -= 1
        words = " ".join(texts).split()
        if "lost" in words:
            raise NoAnswerError("HTTP 503")
        if "odd" in words:
            raise BrokenAnswerError("no JSON")
        if "own" in words:
            raise PolyprobeError("the user's")
        return [text.upper() for text in texts] + ["more"] * ("two" in words)


def test_texts_come_in_the_order_of_the_sentences_and_equal_ones_are_asked_once():
    engine = Engine()
    sentences = ["c", "a", "c", " ", "b", "a", "d", ""]
    assert engine.translate(sentences, "en", "es") == ["C", "A", "C", "", "B", "A", "D", ""]
    assert sorted(engine.batches) == [["c", "a", "b"], ["d"]]
    assert [each.problem for each in engine.translate_each([" ", ""], "en", "es")] == ["empty"] * 2
    assert len(engine.batches) == 2
    assert engine.translate([], "en", "es") == []


def test_no_more_requests_are_under_way_than_said():
    engine = Engine()
    engine.translate([str(number) + "x" for number in range(60)], "en", "es")
    assert (engine.most, len(engine.batches)) == (2, 20)


def test_a_batch_with_another_number_of_texts_is_asked_one_by_one():
    engine = Engine()
    found = engine.translate_each(["a", "two", "b"], "en", "es")
    assert found == [("A", ""), ("", "broken answer: 2 texts for 1 sentences"), ("B", "")]
    assert engine.batches == [["a", "two", "b"], ["a"], ["two"], ["b"]]


def test_a_batch_with_a_broken_answer_is_asked_again_and_then_one_by_one():
    engine = Engine()
    found = engine.translate_each(["a", "odd", "b"], "en", "es")
    assert found == [("A", ""), ("", "broken answer: no JSON, 2 times"), ("B", "")]
    assert engine.batches == [["a", "odd", "b"]] * 2 + [["a"], ["odd"], ["odd"], ["b"]]


def test_a_batch_with_one_answer_is_not_a_failed_batch():
    engine = Engine()
    engine.pace = engine.pace._replace(give_up=1)
    assert engine.translate(["a", "b", "odd"], "en", "es") == ["A", "B", ""]
    with pytest.raises(PolyprobeError, match="0 of 2 sentences"):
        engine.translate(["1 odd", "2 odd"], "en", "es")


def test_a_batch_without_an_answer_fails_as_one_and_is_asked_again_by_the_next_run():
    engine = Engine()
    found = engine.translate_each(["a", "lost", "b", "c"], "en", "es")
    assert found == [("", "no answer: HTTP 503, 2 times")] * 3 + [("C", "")]
    engine.batches.clear()
    assert engine.translate(["a", "b", "c"], "en", "es") == ["A", "B", "C"]
    assert engine.batches == [["a", "b"]]


def test_it_gives_up_after_failed_batches_in_a_row_alone():
    engine = Engine()
    engine.batch_size = engine.concurrency = 1
    mixed = [f"{number} {word}" for number in range(4) for word in ("lost", "odd", "fine")]
    texts = engine.translate(mixed, "en", "es")
    assert texts == ["", "", "0 FINE", "", "", "1 FINE", "", "", "2 FINE", "", "", "3 FINE"]
    engine.advice = "look at it"
    failing = [f"lost {number}" for number in range(9)]
    with pytest.raises(PolyprobeError) as caught:
        engine.translate(["more", *failing], "en", "es")
    assert str(caught.value).startswith(
        "engine failed 3 batches in a row (no answer: HTTP 503, 2 times); "
        "1 of 10 sentences are translated and stored in "
    )
    assert str(caught.value).endswith(
        "translations.sqlite; run the same command again to resume (look at it)"
    )


def test_a_mistake_of_the_users_stops_and_keeps_what_came():
    engine = Engine()
    engine.concurrency = 1
    with pytest.raises(PolyprobeError, match="the user's"):
        engine.translate(["a", "b", "c", "own", "d"], "en", "es")
    engine.batches.clear()
    assert engine.translate(["a", "b", "c", "d"], "en", "es") == ["A", "B", "C", "D"]
    assert engine.batches == [["d"]]


def test_terms_count_where_they_are_used():
    engine = Engine()
    engine.translate(["a", "b"], "en", "es", [{"x": "y"}, {}])
    assert engine.translate(["a"], "en", "es", [{"x": "z"}]) == ["A"]
    assert engine.terms == [[{}, {}]]
    engine.uses_terms = True
    engine.translate(["a", "b"], "en", "es", [{"x": "y"}, {}])
    assert engine.terms[1:] == [[{"x": "y"}]]
    with pytest.raises(ValueError, match="shorter"):
        engine.translate(["a", "b"], "en", "es", [{}])


def test_it_works_where_a_loop_runs_already():
    engine, before = Engine(), threading.active_count()

    async def call():
        return engine.translate(["a", "b"], "en", "es"), engine.translate(["own"], "en", "es")

    with pytest.raises(PolyprobeError, match="the user's"):
        asyncio.run(call())
    assert engine.translate(["a", "b"], "en", "es") == ["A", "B"]
    assert engine.batches == [["a", "b"], ["own"]]
    assert threading.active_count() == before


@pytest.fixture
def interrupts():
    """Raise KeyboardInterrupt at SIGINT, which a shell's background jobs ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts")
def test_an_interrupt_cancels_the_work_of_the_other_thread():
    """As in Jupyter, where Python handles Ctrl-C: it is raised in the waiting thread."""
    ended, before = [], threading.active_count()

    async def work():
        try:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            await asyncio.sleep(3600)
        finally:
            ended.append("cancelled")

    async def call():
        return run_async(work())

    with asyncio.Runner() as runner, pytest.raises(KeyboardInterrupt):
        runner.get_loop().run_until_complete(call())
    assert ended == ["cancelled"]
    assert threading.active_count() == before


def test_requests_are_spread_by_the_rate(monkeypatch):
    """Ten requests at five a second: nine waits, each until the next fifth of a second."""
    from aiolimiter import AsyncLimiter

    made, taken = [], []

    class Noted(AsyncLimiter):
        def __init__(self, *args):
            made.append(args)
            super().__init__(*args)

        async def acquire(self, *_):
            taken.append(1)

    monkeypatch.setattr("aiolimiter.AsyncLimiter", Noted)
    engine = Engine()
    engine.batch_size, engine.per_second = 1, 5.0
    engine.translate(["lost", *"abcdefgh"], "en", "es")
    assert made == [(1, 1 / 5)]
    assert len(taken) == 10  # one of them a second try


def test_a_terminal_sees_a_bar(capfd, monkeypatch):
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    Engine().translate([*"abcdefgh"], "en", "es")
    out, err = capfd.readouterr()
    assert out == ""
    assert "engine en-es" in err
    assert "100%" in err


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        ("0", 0.0),
        ("Sat, 21 Nov 2026 10:00:30 GMT", 30.0),
        ("Sat, 21 Nov 2026 09:00:00 GMT", 0.0),
        ("soon", None),
        ("", None),
        (None, None),
    ],
)
def test_retry_after(value, seconds):
    assert read_retry_after(value, datetime(2026, 11, 21, 10, tzinfo=UTC)) == seconds


def test_the_table_names_every_engine():
    from pathlib import Path

    files = {
        file.stem for file in Path(folder[0]).glob("*.py") if "(Translator):" in file.read_text()
    }
    assert set(TRANSLATORS) == files
