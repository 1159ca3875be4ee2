"""Received translations are on disk: after a kill, with a second process, in a damaged file."""

import signal
import sqlite3
import subprocess
import sys

import pytest

from polyprobe.builder.translators.engines.openai import OpenAI
from polyprobe.builder.translators.translator import hash_job
from polyprobe.system.errors import PolyprobeError
from polyprobe.system.store import ContentStore, cache_folder
from tests.builder.translators.server import serving
from tests.making.waiting import PATIENCE

SENTENCES = [f"sentence {number}" for number in range(30)]
TRANSLATE = """
import sys
from polyprobe.builder.translators import load_translator
engine = load_translator("openai", model="m", base_url=sys.argv[1], concurrency=sys.argv[2])
engine.translate([f"sentence {number}" for number in range(30)], "en", "es")
"""
WRITE = """
import sys
from pathlib import Path
from polyprobe.system.store import ContentStore
first = int(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
store = ContentStore(Path(sys.argv[1]), "translations")
for number in range(first, first + 60):
    store.add({b"%d" % number: str(number)})
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


def test_processes_share_the_file(tmp_path):
    file = tmp_path / "memory.sqlite"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WRITE, str(file), str(first)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for first in (0, 30)  # half of the keys are written by both
    ]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    assert [process.communicate(timeout=PATIENCE)[1] for process in processes] == ["", ""]
    found = store_in(file).find(b"%d" % number for number in range(100))
    assert found == {b"%d" % number: str(number) for number in range(90)}


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


def test_a_damaged_file_is_reported_and_left_as_it_is():
    file = cache_folder() / "translations.sqlite"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"no database " * 500)
    with serving() as server:
        with pytest.raises(PolyprobeError, match="it is damaged: move it away") as caught:
            OpenAI(model="m", base_url=server.openai).translate(SENTENCES, "en", "es")
        assert server.sentences == []
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert file.read_bytes() == b"no database " * 500


def test_a_page_damaged_within_is_reported(tmp_path):
    file = tmp_path / "memory.sqlite"
    store_in(file).add({b"%d" % number: "text" * 100 for number in range(100)})
    content = bytearray(file.read_bytes())
    content[4096 * 3 :] = b"\xff" * (len(content) - 4096 * 3)
    file.write_bytes(content)
    with pytest.raises(PolyprobeError, match="damaged"):
        store_in(file).find(b"%d" % number for number in range(100))


def test_a_folder_that_cannot_be_made_is_reported(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("POLYPROBE_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(PolyprobeError, match="set POLYPROBE_CACHE to another folder"):
        OpenAI(model="m", base_url="http://127.0.0.1:1/v1").translate(["a"], "en", "es")


def test_a_full_disk_is_reported_and_what_was_kept_stays(tmp_path, monkeypatch):
    file = tmp_path / "memory.sqlite"
    store_in(file).add({b"first": "text"})
    connect = sqlite3.connect

    def connect_full(*arguments, **options):
        database = connect(*arguments, **options)
        [(pages,)] = database.execute("PRAGMA page_count").fetchall()
        database.execute(f"PRAGMA max_page_count = {pages}")
        return database

    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", connect_full)
        with pytest.raises(PolyprobeError, match="full; stored translations are kept: make room"):
            store_in(file).add({b"second": "text" * 5000})
    assert store_in(file).find([b"first", b"second"]) == {b"first": "text"}
    assert sqlite3.connect(file).execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_a_file_that_another_process_holds_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr("polyprobe.system.store.PATIENCE", 0.01)
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


def test_translations_of_earlier_versions_are_found(tmp_path):
    file = tmp_path / "memory.sqlite"
    with sqlite3.connect(file) as old:
        old.execute("CREATE TABLE translations (key BLOB PRIMARY KEY, text TEXT NOT NULL)")
        old.execute("INSERT INTO translations VALUES (?, ?)", (b"first", "text"))
    old.close()
    store_in(file).add({b"second": "more"})
    assert store_in(file).find([b"first", b"second"]) == {b"first": "text", b"second": "more"}
