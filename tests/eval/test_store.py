"""The score store: the same bits again, never another's, and nothing lost that was added."""

import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from polyprobe import PolyprobeError
from polyprobe.eval import store as store_module
from polyprobe.eval.store import Known, ScoreStore, cache_folder
from polyprobe.eval.store_file import DamagedFileError, key_of, make_file, read_rows

IDENTITY = {
    "model": "owner/model",
    "revision": "0123abc",
    "tokenizer": "sha256-77",
    "dtype": "float32",
    "scoring": "bmlama-eq10",
    "bos": "auto",
    "path": "tree",
    "device": "cpu",
    "torch": "2.13.0",
}
WARNING = "warning: {} {}; its rows are scored again\n"


def queries(*numbers):
    """Return prompts, candidates and what is known of them; all of it follows from the numbers."""
    prompts = [f"The capital of {n} is [Y]." for n in numbers]
    candidates = [[f"c{n}-{k}" for k in range(1 + n % 3)] for n in numbers]
    known = [
        Known(
            [float(np.float32(-n - k / 7)) for k in range(len(row))],
            [1 + (n + k) % 4 for k in range(len(row))],
            [0] if n % 5 == 0 else [],
        )
        for n, row in zip(numbers, candidates, strict=True)
    ]
    return prompts, candidates, known


def parts(store):
    return sorted(store.folder.glob("*.parquet"))


def names(store):
    return {file.name for file in store.folder.iterdir()}


# 1. the same again


def test_scores_come_back_as_the_same_bits(tmp_path):
    bits = [
        0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x7F7FFFFF, 0x7F800000,
        0xFF800000, 0x7FC00000, 0xFFC01234, 0x3EAAAAAB, 0xC0490FDB,
    ]  # fmt: skip
    scores = np.array(bits, np.uint32).view(np.float32)
    asked = (["[Y]"], [[f"c{n}" for n in range(len(bits))]])
    known = Known(scores.tolist(), list(range(len(bits))), [0, 11])
    ScoreStore(tmp_path, IDENTITY).add(*asked, [known])
    [found] = ScoreStore(tmp_path, IDENTITY).find(*asked)
    assert np.array(found.scores, np.float32).view(np.uint32).tolist() == bits
    assert found[1:] == known[1:]


def test_find_serves_what_was_added_in_whatever_order_it_is_asked(tmp_path):
    store = ScoreStore(tmp_path, IDENTITY)
    for numbers in ((4, 2, 9), (7,), (5, 10)):
        store.add(*queries(*numbers))
    prompts, candidates, known = queries(10, 3, 7, 4, 7, 2)
    want = [known[0], None, *known[2:]]
    assert store.find(prompts, candidates) == want
    assert ScoreStore(tmp_path, IDENTITY).find(prompts, candidates) == want
    assert store.find([], []) == []


def test_a_query_given_twice_is_kept_once(tmp_path):
    store = ScoreStore(tmp_path, IDENTITY)
    prompts, candidates, known = queries(3, 3)
    store.add(prompts, candidates, known)
    [part] = parts(store)
    assert pq.read_metadata(part).num_rows == 1
    assert store.find(prompts, candidates) == known


def test_nothing_to_add_makes_no_file(tmp_path):
    store = ScoreStore(tmp_path, IDENTITY)
    store.add([], [], [])
    assert names(store) == {"identity.json"}


def test_the_folder_is_laid_out_as_told(tmp_path):
    store = ScoreStore(tmp_path, IDENTITY)
    store.add(*queries(1, 5))
    text = json.dumps(IDENTITY, sort_keys=True, separators=(",", ":"))
    folder = tmp_path / "scores" / hashlib.sha256(text.encode()).hexdigest()[:16]
    assert json.loads((folder / "identity.json").read_text()) == IDENTITY
    [part] = folder.glob("*.parquet")
    assert names(store) == {"identity.json", part.name}
    table = pq.read_table(part)
    assert [(field.name, str(field.type), field.nullable) for field in table.schema] == [
        ("key", "fixed_size_binary[32]", False),
        ("scores", "list<element: float not null>", False),
        ("n_tokens", "list<element: int32 not null>", False),
        ("unknown", "list<element: int32 not null>", False),
    ]


def test_the_same_rows_are_the_same_file(tmp_path):
    stores = [ScoreStore(tmp_path / name, IDENTITY) for name in "ab"]
    stores[0].add(*queries(1, 2, 3))
    stores[1].add(*queries(3, 1, 2))
    stores[0].add(*queries(1, 2))
    [one] = parts(stores[1])
    assert one.name in names(stores[0])
    assert (stores[0].folder / one.name).read_bytes() == one.read_bytes()
    assert len(parts(stores[0])) == 2


def test_what_others_add_is_noticed_and_each_file_is_read_once(tmp_path, monkeypatch):
    read = []
    whole = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda file: read.append(file.name) or whole(file))
    here, there = ScoreStore(tmp_path, IDENTITY), ScoreStore(tmp_path, IDENTITY)
    for number in range(4):
        prompts, candidates, known = queries(*range(number + 1))
        assert here.find(prompts, candidates) == [*known[:-1], None]
        there.add(*queries(number))
        assert here.find(prompts, candidates) == known
    assert sorted(read) == [part.name for part in parts(here)]
    assert len(read) == 4


# 2. never another's


@pytest.mark.parametrize("name", IDENTITY)
def test_every_part_of_the_identity_separates(name, tmp_path):
    prompts, candidates, known = queries(1, 2)
    ScoreStore(tmp_path, IDENTITY).add(prompts, candidates, known)
    less = {key: value for key, value in IDENTITY.items() if key != name}
    for other in (IDENTITY | {name: IDENTITY[name] + "x"}, less, less | {f"{name}s": "x"}):
        assert ScoreStore(tmp_path, other).find(prompts, candidates) == [None, None]
    again = ScoreStore(tmp_path, dict(reversed(IDENTITY.items())))
    assert again.find(prompts, candidates) == known


@pytest.mark.parametrize(
    ("prompt", "candidates"),
    [
        ("in [Y]", ["b", "a", "cd"]),
        ("in [Y]", ["a", "b", "c", "d"]),
        ("in [Y]", ["a", "bc", "d"]),
        ("in [Y]", ["ab", "cd"]),
        ("in [Y]", ["a", "b"]),
        ("in [Y]", ["a", "b", "cd", ""]),
        ("in [Y]", ['a", "b', "cd"]),
        ("in [Y]a", ["b", "cd"]),
        ("in [Y] ", ["a", "b", "cd"]),
        ("In [Y]", ["a", "b", "cd"]),
    ],
)
def test_another_query_is_another_query(prompt, candidates, tmp_path):
    store = ScoreStore(tmp_path, IDENTITY)
    known = Known([-1.0, -2.0, -3.0], [1, 1, 1], [])
    store.add(["in [Y]"], [["a", "b", "cd"]], [known])
    assert store.find(["in [Y]", prompt], [["a", "b", "cd"], candidates]) == [known, None]


# What separates texts in one way or another to write a list, letters, two of them surrogates.
TEXTS = st.text(st.sampled_from('ab,"\\[] \n\t\0\x1f:;|1é中\ud83d\ude00😀'), max_size=4)
LISTS = st.lists(TEXTS, min_size=1, max_size=4)


@st.composite
def cut_twice(draw):
    """Return one text cut into pieces in two ways, so that the joined pieces are equal."""
    text = draw(st.text(st.sampled_from('ab,"\0'), max_size=6))
    ways = [sorted(draw(st.lists(st.integers(0, len(text)), max_size=3))) for _ in range(2)]
    return [
        [text[i:j] for i, j in zip([0, *cuts], [*cuts, len(text)], strict=True)] for cuts in ways
    ]


@given(st.one_of(st.tuples(LISTS, LISTS), cut_twice()))
@example((["a", "b,c"], ["a,b", "c"]))
@example((["a", "b\0c"], ["a\0b", "c"]))
@example((["a", 'b","c'], ["a", "b", "c"]))
@example((["\ud83d\ude00"], ["😀"]))
def test_distinct_queries_never_share_a_key(pair):
    one, two = pair
    assert (key_of(one[0], one[1:]) == key_of(two[0], two[1:])) == (one == two)


@pytest.mark.parametrize("text", ['{"model": "other"}', "[]", "{", "", "\udcff"])
def test_a_folder_that_names_another_identity_is_refused(text, tmp_path):
    store = ScoreStore(tmp_path, IDENTITY)
    store.add(*queries(1))
    (store.folder / "identity.json").write_text(text, errors="surrogateescape")
    with pytest.raises(PolyprobeError) as error:
        ScoreStore(tmp_path, IDENTITY)
    assert f"{store.folder}/identity.json does not name this run's model" in str(error.value)
    with pytest.raises(PolyprobeError, match="does not name this run's model"):
        store.add(*queries(2))
    assert len(parts(store)) == 1


def test_two_identities_of_one_hash_are_not_mixed_up(tmp_path, monkeypatch):
    monkeypatch.setattr(store_module, "folder_name", lambda identity: "0" * 16)
    ScoreStore(tmp_path, IDENTITY).add(*queries(1))
    with pytest.raises(PolyprobeError, match="or two share a hash"):
        ScoreStore(tmp_path, IDENTITY | {"model": "other"})


def test_files_say_themselves_whose_scores_they_hold(tmp_path, capsys):
    """Where identity.json is lost, or a file is carried into another store."""
    mine, other = ScoreStore(tmp_path, IDENTITY), ScoreStore(tmp_path, IDENTITY | {"bos": "never"})
    prompts, candidates, known = queries(1, 2)
    mine.add(prompts, candidates, known)
    (mine.folder / "identity.json").unlink()
    assert ScoreStore(tmp_path, IDENTITY).find(prompts, candidates) == known
    [part] = parts(mine)
    copy = shutil.copy(part, other.folder)
    assert other.find(prompts, candidates) == [None, None]
    reason = "holds scores of another model or another way to score"
    assert capsys.readouterr().err == WARNING.format(copy, reason)


# 3. files that cannot be believed


def other_column(file):
    table = pq.read_table(file)
    pq.write_table(table.rename_columns(["key", "score", "n_tokens", "unknown"]), file)


def other_type(file):
    table = pq.read_table(file)
    doubles = table["scores"].cast(pa.list_(pa.float64()))
    pq.write_table(table.set_column(1, "scores", doubles), file)


def other_score(file):
    table = pq.read_table(file)
    scores = [[value + 1 for value in row] for row in table["scores"].to_pylist()]
    field = table.schema.field("scores")
    pq.write_table(table.set_column(1, field, pa.array(scores, field.type)), file)


def other_lengths(file):
    """Move the ends of the lists, which are of 2, 3 and 2 values in one order or another."""
    table = pq.read_table(file)
    lengths = np.roll(table["scores"].combine_chunks().value_lengths(), 1)
    for column, name in ((1, "scores"), (2, "n_tokens")):
        field = table.schema.field(name)
        ends = np.cumsum([0, *lengths]).astype(np.int32)
        values = table[name].combine_chunks().flatten()
        lists = pa.ListArray.from_arrays(ends, values, type=field.type)
        table = table.set_column(column, field, lists)
    pq.write_table(table, file)


def fewer_scores(file):
    """Write rows that are whole and of this identity, and hold one score for every query."""
    keys = pq.read_table(file)["key"].to_pylist()
    file.write_bytes(make_file({key: Known([-1.0], [1], []) for key in keys}, IDENTITY))


def flip_bit(file):
    """Flip a bit of the third key, which lies some 100 bytes behind the file's beginning."""
    data = bytearray(file.read_bytes())
    data[data.index(sorted(pq.read_table(file)["key"].to_pylist())[2])] ^= 0x10
    file.write_bytes(data)


WHOLE, WRITTEN = "is no whole Parquet file", "does not hold what was written into it"
DAMAGE = {
    "cut short": (lambda f: f.write_bytes(f.read_bytes()[:-20]), WHOLE),
    "cut in the middle": (lambda f: f.write_bytes(f.read_bytes()[:300]), WHOLE),
    "empty": (lambda f: f.write_bytes(b""), WHOLE),
    "text": (lambda f: f.write_text("scores\n" * 100), WHOLE),
    "another column": (other_column, "has other columns than a part of the score store"),
    "another type": (other_type, "has other columns than a part of the score store"),
    "another score": (other_score, WRITTEN),
    "another length": (other_lengths, WRITTEN),
    "fewer scores": (fewer_scores, "has other numbers of scores than candidates"),
    "a flipped bit": (flip_bit, WRITTEN),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("again", [(1, 2, 4), (1, 4)], ids=["all again", "some again"])
def test_a_damaged_file_is_absent_and_gives_way(damage, again, tmp_path, capsys):
    store = ScoreStore(tmp_path, IDENTITY)
    store.add(*queries(1, 2, 4))
    [part] = parts(store)
    store.add(*queries(5, 6))
    spoil, reason = DAMAGE[damage]
    spoil(part)
    store = ScoreStore(tmp_path, IDENTITY)
    prompts, candidates, known = queries(1, 2, 4, 5, 6)
    want = [None, None, None, *known[3:]]
    assert store.find(prompts, candidates) == want
    assert store.find(prompts, candidates) == want
    said = capsys.readouterr().err
    assert said == WARNING.format(part, reason)
    store.add(*queries(*again))
    want = [k if n in {5, 6, *again} else None for n, k in zip((1, 2, 4, 5, 6), known, strict=True)]
    assert store.find(prompts, candidates) == want
    assert ScoreStore(tmp_path, IDENTITY).find(prompts, candidates) == want
    assert capsys.readouterr().err == ""
    assert len(parts(store)) == 2


def test_a_damaged_file_that_another_process_has_replaced_is_kept(tmp_path, capsys):
    ours, theirs = ScoreStore(tmp_path, IDENTITY), ScoreStore(tmp_path, IDENTITY)
    ours.add(*queries(1, 2))
    [part] = parts(ours)
    good = part.read_bytes()
    part.write_bytes(good[:-1])
    prompts, candidates, known = queries(1, 2)
    assert ours.find(prompts, candidates) == [None, None]
    assert theirs.find(prompts, candidates) == [None, None]
    theirs.add(prompts, candidates, known)
    ours.add(*queries(3))
    assert part.read_bytes() == good
    assert len(parts(ours)) == 2


def test_no_flipped_bit_and_no_cut_gives_a_wrong_score():
    """Every byte in turn has a bit flipped: rows are as they were, or the file is refused."""
    prompts, candidates, known = queries(0, 1, 2)
    rows = {key_of(p, c): k for p, c, k in zip(prompts, candidates, known, strict=True)}
    data = make_file(rows, IDENTITY)
    refused = 0
    changed = [data[:n] + bytes([data[n] ^ 1 << n % 8]) + data[n + 1 :] for n in range(len(data))]
    for spoiled in [*changed, *(data[:n] for n in range(0, len(data), 16))]:
        try:
            found = read_rows(spoiled, IDENTITY)
        except DamagedFileError:
            refused += 1
        else:
            assert {key: found.known(n) for n, key in enumerate(found.keys)} == rows
    assert refused > len(data) / 2


# 4. nothing is lost

ADD = """
import os, signal, sys
from pathlib import Path
from polyprobe.eval.store import ScoreStore
from tests.eval.test_store import IDENTITY, queries
"""
ROOT = Path(__file__).parents[2]
KILL = "os.kill(os.getpid(), signal.SIGKILL)"
MOMENTS = {
    "half written": f"""
def write(part, data):
    real(part, data[:len(data) // 2])
    {KILL}
real, Path.write_bytes = Path.write_bytes, write
""",
    "not yet synced": f"os.fsync = lambda handle: {KILL}",
    "not yet whole": f"Path.replace = lambda file, target: {KILL}",
    "not yet in its place": f"""
def replace(file, target):
    {KILL} if str(target).endswith(".parquet") else real(file, target)
real, Path.replace = Path.replace, replace
""",
}


def run(code, *arguments, **options):
    command = [sys.executable, "-c", ADD + code, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, **options)


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("last", [(4, 5), (1, 2)], ids=["new rows", "rows that are there"])
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
    store = ScoreStore(tmp_path, IDENTITY)
    prompts, candidates, known = queries(1, 2, 3, 4, 5)
    assert store.find(prompts, candidates) == [*known[:3], None, None]
    store.add(*queries(4, 5))
    assert store.find(prompts, candidates) == known
    assert capsys.readouterr().err == ""
    kept = {"identity.json", *(part.name for part in parts(store))}
    [rest] = names(store) - kept  # it may be another's who is still writing: an hour decides
    os.utime(store.folder / rest, (0, 0))
    assert ScoreStore(tmp_path, IDENTITY).find(prompts, candidates) == known
    assert names(store) == kept


def test_a_full_disk_keeps_what_was_added(tmp_path):
    """A limit on the size of files stands for the full disk: writing fails in the same way."""
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
        resource.setrlimit(resource.RLIMIT_FSIZE, (8000, 8000))

    full = run(code, tmp_path, preexec_fn=limit)
    assert full.returncode == 0, full.stderr
    [line] = full.stdout.splitlines()
    store = ScoreStore(tmp_path, IDENTITY)
    assert line.startswith(f"cannot write {store.folder}/")
    for words in ("File too large", "make room", "POLYPROBE_CACHE", "--no-cache"):
        assert words in line
    assert names(store) == {"identity.json", parts(store)[0].name}
    store.add(*queries(*range(1000)))
    prompts, candidates, known = queries(*range(1000))
    assert store.find(prompts, candidates) == known


def test_two_who_write_the_same_file_at_once_both_succeed(tmp_path, monkeypatch, capsys):
    """The second begins and ends when the first has written and not yet put in place."""
    first, second = ScoreStore(tmp_path, IDENTITY), ScoreStore(tmp_path, IDENTITY)
    rows = queries(1, 2, 3)
    real = Path.write_bytes

    def write_and_let_the_other(part, data):
        real(part, data)
        monkeypatch.setattr(Path, "write_bytes", real)
        second.add(*rows)

    monkeypatch.setattr(Path, "write_bytes", write_and_let_the_other)
    first.add(*rows)
    for store in (first, second, ScoreStore(tmp_path, IDENTITY)):
        assert store.find(*rows[:2]) == rows[2]
    assert names(first) == {"identity.json", parts(first)[0].name}
    assert capsys.readouterr().err == ""


def test_two_processes_that_add_at_once_lose_nothing(tmp_path, capsys):
    """Both open the same new store and add the same 40 files, each 20 of its own between them."""
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
    assert names(store) == {"identity.json", *(part.name for part in parts(store))}
    assert len(parts(store)) == 80
    assert capsys.readouterr().err == ""


def test_a_store_that_is_cleared_under_a_run_is_made_again(tmp_path):
    store = ScoreStore(tmp_path, IDENTITY)
    store.add(*queries(1))
    prompts, candidates, known = queries(1, 2)
    assert store.find(prompts, candidates) == [known[0], None]
    shutil.rmtree(tmp_path / "scores")
    assert store.find(prompts, candidates) == [known[0], None]
    store.add(*queries(2))
    assert store.find(prompts, candidates) == known
    assert ScoreStore(tmp_path, IDENTITY).find(prompts, candidates) == [None, known[1]]


def test_a_file_that_is_cleared_while_files_are_read_is_absent(tmp_path, monkeypatch):
    store = ScoreStore(tmp_path, IDENTITY)
    prompts, candidates, known = queries(1)
    store.add(prompts, candidates, known)
    listed = ["0.parquet", *os.listdir(store.folder)]
    monkeypatch.setattr(os, "listdir", lambda folder: listed)
    assert store.find(prompts, candidates) == known


@pytest.mark.parametrize("place", [".", "scores", "scores/{}"])
def test_a_file_where_the_folder_should_be_is_one_line(place, tmp_path):
    folder = ScoreStore(tmp_path / "other", IDENTITY).folder.name
    file = tmp_path / "cache" / place.format(folder)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("precious")
    with pytest.raises(PolyprobeError) as error:
        ScoreStore(tmp_path / "cache", IDENTITY)
    assert str(error.value).startswith(f"cannot write {tmp_path / 'cache' / 'scores' / folder}/")
    assert "set POLYPROBE_CACHE to another folder" in str(error.value)
    assert len(str(error.value).splitlines()) == 1
    assert file.read_text() == "precious"


@pytest.fixture
def open_place():
    """Return a folder that everyone may enter: pytest's own are closed to all but their maker."""
    with tempfile.TemporaryDirectory(prefix="polyprobe-tests-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)
        os.seteuid(os.getuid())
        for path in Path(folder).rglob("*"):
            path.chmod(0o755)


def become_nobody():
    """Give up root's rights, which no folder is closed to; others have no such rights."""
    if os.geteuid() == 0:
        os.seteuid(65534)


def test_without_rights_a_store_can_be_read_and_writing_is_one_line(open_place):
    prompts, candidates, known = queries(1)
    folder = ScoreStore(open_place, IDENTITY).folder
    ScoreStore(open_place, IDENTITY).add(prompts, candidates, known)
    for path in (folder, folder.parent):
        path.chmod(0o555)
    become_nobody()
    store = ScoreStore(open_place, IDENTITY)
    assert store.find(prompts, candidates) == known
    refused = f"^cannot write {folder}/.*: Permission denied; .* --no-cache$"
    with pytest.raises(PolyprobeError, match=refused):
        store.add(*queries(2))
    with pytest.raises(PolyprobeError, match="^cannot write .*: Permission denied; .*POLYPROBE_C"):
        ScoreStore(open_place, IDENTITY | {"model": "other"})


@pytest.mark.parametrize("what", ["identity.json", "*.parquet", "."])
def test_what_may_not_be_read_is_one_line_and_stays(what, open_place):
    store = ScoreStore(open_place, IDENTITY)
    prompts, candidates, known = queries(1)
    store.add(prompts, candidates, known)
    [closed] = store.folder.glob(what) if what != "." else [store.folder]
    closed.chmod(0)
    become_nobody()
    with pytest.raises(PolyprobeError, match="^cannot read .*: Permission denied; set POLYPROBE_C"):
        ScoreStore(open_place, IDENTITY).find(prompts, candidates)
    os.seteuid(os.getuid())
    closed.chmod(0o755)
    assert ScoreStore(open_place, IDENTITY).find(prompts, candidates) == known


def test_a_new_file_is_synced_and_so_is_its_name(tmp_path, monkeypatch):
    store = ScoreStore(tmp_path, IDENTITY)
    synced = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(os.fstat(handle).st_ino))
    store.add(*queries(1))
    assert synced == [parts(store)[0].stat().st_ino, store.folder.stat().st_ino]


# 5. the place


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"POLYPROBE_CACHE": "/big/scores", "XDG_CACHE_HOME": "/caches"}, "/big/scores"),
        ({"POLYPROBE_CACHE": "here", "XDG_CACHE_HOME": "/caches"}, "here"),
        ({"POLYPROBE_CACHE": "~/kept"}, "/home/ada/kept"),
        ({"POLYPROBE_CACHE": "", "XDG_CACHE_HOME": "/caches"}, "/caches/polyprobe"),
        ({"XDG_CACHE_HOME": "caches"}, "/home/ada/.cache/polyprobe"),
        ({"XDG_CACHE_HOME": ""}, "/home/ada/.cache/polyprobe"),
        ({}, "/home/ada/.cache/polyprobe"),
    ],
)
def test_the_cache_folder_is_where_the_environment_says(variables, folder, monkeypatch):
    for name in ("POLYPROBE_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in (variables | {"HOME": "/home/ada"}).items():
        monkeypatch.setenv(name, value)
    assert cache_folder() == Path(folder)
