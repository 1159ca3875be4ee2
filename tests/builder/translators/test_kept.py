"""What has come is on disk: after a kill, beside another process, in a file that is spoilt."""

import signal
import sqlite3
import subprocess
import sys

import pytest

from polyprobe.builder.translators.engines.openai import OpenAI
from polyprobe.system.errors import PolyprobeError
from polyprobe.system.store import Memory, cache_folder, key_of
from polyprobe.tests.builder.translators.server import serving

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
from polyprobe.system.store import Memory
first = int(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
with Memory(Path(sys.argv[1])) as memory:
    for number in range(first, first + 60):
        memory.add({b"%d" % number: str(number)})
"""


@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_stopped_goes_on_where_it_was(stop):
    with serving() as server:
        server.plan.extend(["fine"] * 11 + ["slow"])
        run = [sys.executable, "-c", TRANSLATE, server.openai, "1"]
        with subprocess.Popen(run, stderr=subprocess.PIPE) as process:
            server.wait_for(12)
            process.send_signal(stop)
            process.communicate(timeout=60)
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
    assert [process.communicate(timeout=60)[1] for process in processes] == ["", ""]
    with Memory(file) as memory:
        found = memory.find(b"%d" % number for number in range(100))
    assert found == {b"%d" % number: str(number) for number in range(90)}


def test_a_key_stands_for_all_that_a_text_depends_on():
    keys = {
        key_of("a b", "en", "es", "x", {}), key_of("a", "b en", "es", "x", {}),
        key_of("a", "en", "es", "x", {}), key_of("a", "es", "en", "x", {}),
        key_of("a", "en", "es", "y", {}), key_of("a", "en", "es", "x", {"x": "y"}),
        key_of("a", "en", "es", "x", {"y": "x"}),
    }  # fmt: skip
    assert len(keys) == 7
    assert key_of("", "", "", "", {"a": "1", "b": "2"}) == key_of(
        "", "", "", "", {"b": "2", "a": "1"}
    )


def test_a_damaged_file_is_told_and_left_as_it_is():
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


def test_a_page_damaged_within_is_told(tmp_path):
    file = tmp_path / "memory.sqlite"
    with Memory(file) as memory:
        memory.add({b"%d" % number: "text" * 100 for number in range(100)})
    content = bytearray(file.read_bytes())
    content[4096 * 3 :] = b"\xff" * (len(content) - 4096 * 3)
    file.write_bytes(content)
    with pytest.raises(PolyprobeError, match="damaged"), Memory(file) as memory:
        memory.find(b"%d" % number for number in range(100))


def test_a_folder_that_cannot_be_made_is_told(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("POLYPROBE_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(PolyprobeError, match="set POLYPROBE_CACHE to another folder"):
        OpenAI(model="m", base_url="http://127.0.0.1:1/v1").translate(["a"], "en", "es")


def test_a_full_disk_is_told_and_what_was_kept_stays(tmp_path):
    file = tmp_path / "memory.sqlite"
    with Memory(file) as memory:
        memory.add({b"first": "text"})
        [(pages,)] = memory._database.execute("PRAGMA page_count").fetchall()
        memory._database.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(PolyprobeError, match="full; what was translated before is kept: make"):
            memory.add({b"second": "text" * 5000})
    with Memory(file) as memory:
        assert memory.find([b"first", b"second"]) == {b"first": "text"}
    assert sqlite3.connect(file).execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_a_file_that_another_process_holds_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("polyprobe.system.store.PATIENCE", 0.01)
    file = tmp_path / "memory.sqlite"
    Memory(file).add({b"first": "text"})
    other = sqlite3.connect(file)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(PolyprobeError, match="locked; another process holds it"):
        Memory(file)
    other.rollback()
    with Memory(file) as memory:
        assert memory.find([b"first"]) == {b"first": "text"}


def test_more_keys_than_a_query_takes(tmp_path):
    with Memory(tmp_path / "deep" / "memory.sqlite") as memory:
        memory.add({b"%d" % number: str(number) for number in range(0, 2500, 2)})
        found = memory.find([b"%d" % number for number in range(2500)] * 2)
    assert found == {b"%d" % number: str(number) for number in range(0, 2500, 2)}
