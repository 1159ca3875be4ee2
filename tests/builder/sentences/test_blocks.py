"""A build whose translator is blocked, and resumed later, writes the bytes of one that was not."""

import re
import sys
from collections import Counter

import pytest

from polyprobe.builder.translators.engines.googletrans import Googletrans
from polyprobe.builder.translators.translator import PairTexts
from polyprobe.system.messages import PolyprobeError
from polyprobe.system.sending import Pace
from tests.builder.sentences import phrases
from tests.builder.sentences.phrases import build, snapshot
from tests.builder.translators.conftest import server

__all__ = ["server"]
TARGETS = re.findall("..", "frnlesrujazhkovielhuhetrcaarukfa")
N_ROWS, FINE = 24, ["fine"] * 7


@pytest.fixture
def rows(tiny, monkeypatch):
    """The folder of `tiny` with one sentence for each of 24 states."""
    base = {
        language: [
            row._replace(fact_id=f"f{number}", prompt=f"The seat of state {number} is [Y].")
            for number in range(N_ROWS)
            for row in phrases.make_rows(language)[number % 4 :][:1]
        ]
        for language in ("en", "hu")
    }
    monkeypatch.setattr(sys.modules[phrases.TINY], "build", lambda *_: base)
    return tiny


def translate(folder, server):
    engine = Googletrans(base_url=server.google)
    engine.pace = Pace(tries=3, first_wait=0.001, longest_wait=0.01, give_up=4)
    engine.per_second, engine.timeout, engine.concurrency = None, 30, 1
    return build(folder, engine)


def translate_at_once(folder, server, cache):
    (cache / "translations.sqlite").unlink()
    server.plan.clear()
    server.always = "fine"
    translate(folder, server)
    return snapshot(folder)


@pytest.mark.parametrize(
    ("plan", "kind", "reason"),
    [
        (FINE, "429", "refuses this machine (HTTP 429, 3 times); 7 of 24"),
        (FINE, "429 7200", "refuses this machine (HTTP 429, once); 7 of 24"),
        (FINE, "unchanged", "refuses this machine (sentences come back unchanged); 7 of 24"),
        ([], "unchanged", "refuses this machine (sentences come back unchanged); 0 of 24"),
        (FINE * 3, "unchanged", "refuses this machine (sentences come back unchanged); 21 of 24"),
        (FINE, "302", "failed 4 batches in a row (no answer: HTTP 302, 3 times); 7 of 24"),
    ],
)
def test_a_block_stops_the_build_and_the_next_day_ends_in_the_same_bytes(
    rows, server, cache, plan, kind, reason
):
    server.plan.extend(plan)
    server.always = kind
    with pytest.raises(PolyprobeError) as caught:
        translate(rows, server)
    assert str(caught.value).startswith(f"googletrans {reason} sentences are translated and stored")
    assert "run the same command again to resume (Google limits requests" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (rows / "sentences").exists()
    assert not (rows / "data" / "default-sentence").exists()
    server.sentences.clear()
    server.always = "fine"
    translate(rows, server)
    assert len(server.sentences) == N_ROWS - len(plan)
    assert snapshot(rows) == translate_at_once(rows.with_name("at_once"), server, cache)


@pytest.mark.parametrize(
    "plan", [["429"] * 2, ["unchanged"] * 9, ["302"] * 9, ["page"] * 6, ["empty"], ["500"] * 3]
)
def test_a_short_block_leaves_no_trace_in_the_bytes(rows, server, cache, plan):
    server.plan.extend(FINE + plan)
    translate(rows, server)
    assert snapshot(rows) == translate_at_once(rows.with_name("at_once"), server, cache)


def test_what_is_unchanged_twice_while_the_service_works_is_an_outcome(rows, server):
    """Sixteen in a row, more than make the service suspect, also where no others are missing."""
    source = phrases.make_rows("en")
    sentences = [
        f"The seat of state {number} is {source[number % 4].answer_forms[0]}."
        for number in range(N_ROWS)
    ]
    server.texts = {sentence: sentence for sentence in sentences[8:]}
    _, notes = translate(rows, server)
    assert ("hu", "unchanged", 16) in notes.lost.rows()
    before = snapshot(rows)
    server.sentences.clear()
    translate(rows, server)
    assert snapshot(rows) == before
    # each twice; a sentence with a text after ten of a round, and before and after the second round
    assert Counter(server.sentences) == Counter(sentences[8:] * 2 + sentences[:1] * 4)


def test_the_forecast_counts_what_no_text_is_stored_for(rows, server, capsys):
    server.plan.extend([*FINE, "429 7200"])
    with pytest.raises(PolyprobeError):
        translate(rows, server)
    assert "googletrans: 24 sentences to translate, 24 requests\n" in capsys.readouterr().err
    translate(rows, server)
    assert "googletrans: 17 sentences to translate, 17 requests\n" in capsys.readouterr().err
    translate(rows, server)
    assert "to translate" not in capsys.readouterr().err


def test_the_forecast_of_bmlama_17_is_four_days():
    """6,792 sentences into 16 languages; at 4 a second it would be 7.5 hours."""
    engine, sentences = Googletrans(), [f"sentence {number}" for number in range(6792)]
    pairs = [PairTexts([*sentences, "", sentences[0]], "en", x) for x in TARGETS]
    assert engine.forecast(pairs) == (
        "googletrans: 108,672 sentences to translate, 108,672 requests, 90.6 hours at 20 a minute "
        "(per_second)"
    )
    engine.per_second, engine.batch_size = 4.0, 5
    assert engine.forecast(pairs[:1]) == (
        "googletrans: 6,792 sentences to translate, 1,359 requests, 0.1 hours at 240 a minute "
        "(per_second)"
    )
