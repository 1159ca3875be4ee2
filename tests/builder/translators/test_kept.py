"""Received translations are on disk after a kill; their keys; a locked file.

Damage, a full disk and several writers: tests/eval/test_store_damage.py, test_store_lost.py.
"""

import signal
import sqlite3
import subprocess
import sys

import pytest

from polyprobe.builder.translators.engines.openai import OpenAI
from polyprobe.builder.translators.translator import hash_job
from polyprobe.system.download import ContentStore
from polyprobe.system.messages import PolyprobeError
from tests.builder.translators.server import serving
from tests.making.waiting import PATIENCE

SENTENCES = [f"sentence {number}" for number in range(30)]
TRANSLATE = """
import sys
from polyprobe.builder.translators import load_translator
engine = load_translator("openai", model="m", base_url=sys.argv[1], concurrency=sys.argv[2])
engine.translate([f"sentence {number}" for number in range(30)], "en", "es")
"""


def store_in(file):
    return ContentStore(file, "translations")


@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_stopped_goes_on_where_it_was(stop):
    with serving() as server:
        server.plan.extend(["fine"] * 11 + ["slow"])
        run = [sys.executable, "-c", TRANSLATE, server.openai, "1"]
        with subprocess.Popen(run, stderr=subprocess.PIPE) as process:
            server.wait_for(12)
            process.send_signal(stop)
            process.communicate(timeout=PATIENCE)
        assert process.returncode != 0
        assert server.sentences == SENTENCES[:12]
        server.sentences.clear()
        engine = OpenAI(model="m", base_url=server.openai)
        assert engine.translate(SENTENCES, "en", "es") == [text.upper() for text in SENTENCES]
        assert sorted(server.sentences) == sorted(SENTENCES[11:])
        assert engine.translate(SENTENCES, "en", "es") == [text.upper() for text in SENTENCES]
        assert len(server.sentences) == 30 - 11


def test_a_key_covers_all_that_a_text_depends_on():
    keys = {
        hash_job("a b", "en", "es", "x", {}), hash_job("a", "b en", "es", "x", {}),
        hash_job("a", "en", "es", "x", {}), hash_job("a", "es", "en", "x", {}),
        hash_job("a", "en", "es", "y", {}), hash_job("a", "en", "es", "x", {"x": "y"}),
        hash_job("a", "en", "es", "x", {"y": "x"}),
    }  # fmt: skip
    assert len(keys) == 7
    assert hash_job("", "", "", "", {"a": "1", "b": "2"}) == hash_job(
        "", "", "", "", {"b": "2", "a": "1"}
    )


def test_a_file_that_another_process_holds_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr("polyprobe.system.download.PATIENCE", 0.01)
    file = tmp_path / "memory.sqlite"
    store_in(file).add({b"first": "text"})
    other = sqlite3.connect(file)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(PolyprobeError, match="locked; another process uses it"):
        store_in(file).find([b"first"])
    other.rollback()
    assert store_in(file).find([b"first"]) == {b"first": "text"}


def test_more_keys_than_a_query_takes(tmp_path):
    store = store_in(tmp_path / "deep" / "memory.sqlite")
    store.add({b"%d" % number: str(number) for number in range(0, 2500, 2)})
    found = store.find([b"%d" % number for number in range(2500)] * 2)
    assert found == {b"%d" % number: str(number) for number in range(0, 2500, 2)}
    assert store.count() == 1250
