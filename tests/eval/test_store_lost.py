"""No rows of the score store are lost: kills, full disks, concurrent processes."""

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from polyprobe.eval.work.score_store import ScoreStore
from polyprobe.system.messages import PolyprobeError
from tests.making.stores import IDENTITY, names, queries, rows

ADD = """
import os, signal, sqlite3, sys
from pathlib import Path
from polyprobe.eval.work.score_store import ScoreStore
from tests.making.stores import IDENTITY, queries
"""
ROOT = Path(__file__).parents[2]
KILL = "os.kill(os.getpid(), signal.SIGKILL)"
DIE = f"""
def connect(*arguments, **options):
    database = real(*arguments, **options)
    database.execute("PRAGMA cache_size = 1")
    database.set_trace_callback(lambda sql: {{}} and {KILL})
    return database
real, sqlite3.connect = sqlite3.connect, connect
"""
MOMENTS = {
    "before the first row": DIE.format("'INSERT' in sql"),
    "before the commit": DIE.format("'COMMIT' in sql"),
}


def run(code, *arguments, **options):
    command = [sys.executable, "-c", ADD + code, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, **options)


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize(
    "last",
    [(4, 5), (1, 2), tuple(range(4, 500))],
    ids=["new rows", "rows that are there", "more than memory holds"],
)
def test_a_kill_in_the_middle_of_add_costs_that_call(moment, last, tmp_path, capsys):
    code = f"""
store = ScoreStore(Path(sys.argv[1]), IDENTITY)
store.add(*queries(1, 2))
store.add(*queries(3))
{MOMENTS[moment]}
store.add(*queries(*{last}))
"""
    killed = run(code, tmp_path)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    file = next((tmp_path / "scores").glob("*.sqlite"))
    half_written = len(last) > 2 and moment == "before the commit"
    assert (file.stat().st_size > 50_000) == half_written
    store = ScoreStore(tmp_path, IDENTITY)
    prompts, candidates, known = queries(1, 2, 3, 4, 5)
    assert store.find(prompts, candidates) == [*known[:3], None, None]
    store.add(*queries(4, 5))
    assert store.find(prompts, candidates) == known
    assert ScoreStore(tmp_path, IDENTITY).find(prompts, candidates) == known
    assert capsys.readouterr().err == ""
    assert names(store) == {store.file.name}


def test_a_full_disk_keeps_what_was_added(tmp_path):
    """A limit on file size simulates a full disk: writing fails in the same way."""
    code = """
from polyprobe import PolyprobeError
store = ScoreStore(Path(sys.argv[1]), IDENTITY)
store.add(*queries(1, 2))
try:
    store.add(*queries(*range(1000)))
except PolyprobeError as error:
    print(error)
prompts, candidates, known = queries(1, 2)
assert store.find(prompts, candidates) == known
"""

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))

    full = run(code, tmp_path, preexec_fn=limit)
    assert full.returncode == 0, full.stderr
    [line] = full.stdout.splitlines()
    store = ScoreStore(tmp_path, IDENTITY)
    assert line.startswith(f"cannot use {store.file}: ")
    for words in ("disk I/O error", "make room", "POLYPROBE_CACHE", "--no-cache"):
        assert words in line
    assert names(store) == {store.file.name}
    store.add(*queries(*range(1000)))
    prompts, candidates, known = queries(*range(1000))
    assert store.find(prompts, candidates) == known


def test_two_processes_that_add_at_once_lose_nothing(tmp_path, capsys):
    """Both open the same new store and add the same 400 rows, interleaved with 20 others."""
    code = """
print("ready", flush=True)
sys.stdin.readline()
store = ScoreStore(Path(sys.argv[1]), IDENTITY)
for n in range(40):
    store.add(*queries(*range(10 * n, 10 * n + 10)))
    if n % 2:
        store.add(*queries(int(sys.argv[2]) + n))
"""
    command = [sys.executable, "-c", ADD + code, str(tmp_path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    pair = [
        subprocess.Popen([*command, start], cwd=ROOT, text=True, **pipes)
        for start in ("1000", "2000")
    ]
    for process in pair:
        assert process.stdout.readline() == "ready\n"
    for process in pair:
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in pair:
        assert process.communicate() == ("", "")
        assert process.returncode == 0
    numbers = [*range(400), *range(1001, 1040, 2), *range(2001, 2040, 2)]
    prompts, candidates, known = queries(*numbers)
    store = ScoreStore(tmp_path, IDENTITY)
    assert store.find(prompts, candidates) == known
    assert names(store) == {store.file.name}
    assert len(rows(store.file)) == 440
    assert capsys.readouterr().err == ""


def test_a_store_that_is_cleared_under_a_run_serves_it_and_is_made_again(tmp_path):
    ScoreStore(tmp_path, IDENTITY).add(*queries(1))
    store = ScoreStore(tmp_path, IDENTITY)
    prompts, candidates, known = queries(1, 2, 3)
    assert store.find(prompts, candidates) == [known[0], None, None]
    store.add(*queries(2))
    shutil.rmtree(tmp_path / "scores")
    assert store.find(prompts, candidates) == [known[0], known[1], None]
    store.add(*queries(3))
    assert store.find(prompts, candidates) == known
    assert ScoreStore(tmp_path, IDENTITY).find(prompts, candidates) == [None, None, known[2]]


@pytest.mark.parametrize("place", [".", "scores", "scores/{}"])
def test_a_file_where_the_folder_should_be_is_one_line(place, tmp_path):
    name = ScoreStore(tmp_path / "other", IDENTITY).file.name
    file = tmp_path / "cache" / place.format(name)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("precious")
    with pytest.raises(PolyprobeError) as error:
        ScoreStore(tmp_path / "cache", IDENTITY)
    message = str(error.value)
    assert message.startswith(f"cannot use {tmp_path / 'cache' / 'scores' / name}: ")
    remedy = "set POLYPROBE_CACHE to another folder" if file.name != name else "move it away"
    assert remedy in message
    assert len(str(error.value).splitlines()) == 1
    assert file.read_text() == "precious"


@pytest.fixture
def open_place():
    with tempfile.TemporaryDirectory(prefix="polyprobe-tests-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)
        os.seteuid(os.getuid())
        for path in Path(folder).rglob("*"):
            path.chmod(0o755)


def become_nobody():
    """Drop root's rights, which ignore folder permissions; do nothing for other users."""
    if os.geteuid() == 0:
        os.seteuid(65534)


def test_without_rights_a_store_can_be_read_and_writing_is_one_line(open_place):
    prompts, candidates, known = queries(1)
    file = ScoreStore(open_place, IDENTITY).file
    ScoreStore(open_place, IDENTITY).add(prompts, candidates, known)
    for path in (file, file.parent):
        path.chmod(0o555)
    become_nobody()
    store = ScoreStore(open_place, IDENTITY)
    assert store.find(prompts, candidates) == known
    reason = rf"^cannot use {file}: attempt to write a readonly database; "
    refused = rf"{reason}.*\(--no-cache\); then run the same command again$"
    with pytest.raises(PolyprobeError, match=refused):
        store.add(*queries(2))
    with pytest.raises(
        PolyprobeError, match="^cannot use .*: unable to open database file; .*POLYPROBE_C"
    ):
        ScoreStore(open_place, IDENTITY | {"model": "other"})
