"""The score store returns the same bits, and never those of another model or query."""

import hashlib
import json
import shutil
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from polyprobe.eval.work import score_store as store_module
from polyprobe.eval.work.score_store import ScoreStore, hash_query
from polyprobe.scoring import QueryScores
from polyprobe.system.download import ContentStore, cache_folder
from polyprobe.system.messages import PolyprobeError
from tests.making.stores import IDENTITY, WARNING, execute, names, queries, rows


def test_scores_come_back_as_the_same_bits(tmp_path):
    bits = [
        0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x7F7FFFFF, 0x7F800000,
        0xFF800000, 0x7FC00000, 0xFFC01234, 0x3EAAAAAB, 0xC0490FDB,
    ]  # fmt: skip
    scores = np.array(bits, np.uint32).view(np.float32)
    asked = (["[Y]"], [[f"c{n}" for n in range(len(bits))]])
    known = QueryScores(scores.tolist(), list(range(len(bits))), [0, 11])
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


def test_the_file_has_the_documented_content(tmp_path):
    store = ScoreStore(tmp_path, IDENTITY, "owner/model")
    store.add(["in [Y]"], [["a", "b"]], [QueryScores([-1.5, 0.25], [1, 2], [1])])
    text = json.dumps(IDENTITY, sort_keys=True, separators=(",", ":"))
    stem = hashlib.sha256(text.encode()).hexdigest()[:16]
    assert store.file == tmp_path / "scores" / f"{stem}.sqlite"
    assert names(store) == {store.file.name}
    about = execute(store.file, "SELECT * FROM settings")
    assert sorted(about) == [(b"identity", text.encode()), (b"name", b"owner/model")]
    [(key, value)] = rows(store.file).items()
    assert key == hashlib.sha256(b'["in [Y]", "a", "b"]').digest()
    packed = struct.pack("<4i2f", 2, 1, 2, 1, -1.5, 0.25)
    assert value[16:] == packed
    assert value[:16] == hashlib.sha256(text.encode() + key + packed).digest()[:16]


def test_the_same_rows_are_the_same_bytes(tmp_path):
    stores = [ScoreStore(tmp_path / name, IDENTITY) for name in "ab"]
    stores[0].add(*queries(1, 2, 3))
    stores[1].add(*queries(3, 1, 2))
    stores[0].add(*queries(1, 2))
    assert rows(stores[0].file) == rows(stores[1].file)


def test_rows_that_others_add_are_found_and_each_row_is_read_once(tmp_path, monkeypatch):
    read = []
    find = ContentStore.find

    def find_and_note(store, keys):
        found = find(store, keys)
        read.extend(found if store.table == "scores" else ())
        return found

    monkeypatch.setattr(ContentStore, "find", find_and_note)
    here, there = ScoreStore(tmp_path, IDENTITY), ScoreStore(tmp_path, IDENTITY)
    for number in range(4):
        prompts, candidates, known = queries(*range(number + 1))
        assert here.find(prompts, candidates) == [*known[:-1], None]
        there.add(*queries(number))
        assert here.find(prompts, candidates) == known
        assert there.find(prompts, candidates) == known
    assert sorted(read) == sorted(rows(here.file))
    assert len(read) == 4


@pytest.mark.parametrize("name", IDENTITY)
def test_every_part_of_the_identity_separates(name, tmp_path):
    prompts, candidates, known = queries(1, 2)
    ScoreStore(tmp_path, IDENTITY).add(prompts, candidates, known)
    less = {key: value for key, value in IDENTITY.items() if key != name}
    for other in (IDENTITY | {name: IDENTITY[name] + "x"}, less, less | {f"{name}s": "x"}):
        assert ScoreStore(tmp_path, other).find(prompts, candidates) == [None, None]
    again = ScoreStore(tmp_path, dict(reversed(IDENTITY.items())))
    assert again.find(prompts, candidates) == known


# What separates texts in one way or another to write a list, letters, two of them surrogates.
TEXTS = st.text(st.sampled_from('ab,"\\[] \n\t\0\x1f:;|1é中\ud83d\ude00😀'), max_size=4)
LISTS = st.lists(TEXTS, min_size=1, max_size=4)


@st.composite
def cut_twice(draw):
    """Return two segmentations of one text, so that the joined pieces are equal."""
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
    assert (hash_query(one[0], one[1:]) == hash_query(two[0], two[1:])) == (one == two)


@pytest.mark.parametrize("text", ['{"model": "other"}', "[]", "{", "", b"\xff"])
def test_a_file_that_names_another_identity_is_refused(text, tmp_path):
    store = ScoreStore(tmp_path, IDENTITY)
    store.add(*queries(1))
    execute(store.file, "UPDATE settings SET value = ? WHERE key = ?", (text, b"identity"))
    with pytest.raises(PolyprobeError) as error:
        ScoreStore(tmp_path, IDENTITY)
    assert f"{store.file} belongs to another model or other settings" in str(error.value)
    with pytest.raises(PolyprobeError, match="belongs to another model or other settings"):
        store.add(*queries(2))
    assert len(rows(store.file)) == 1


def test_two_identities_of_one_hash_are_not_mixed_up(tmp_path, monkeypatch):
    monkeypatch.setattr(store_module, "file_stem", lambda identity: "0" * 16)
    ScoreStore(tmp_path, IDENTITY).add(*queries(1))
    with pytest.raises(PolyprobeError, match="or two share a hash"):
        ScoreStore(tmp_path, IDENTITY | {"model": "other"})


def test_rows_name_their_own_identity(tmp_path, capsys):
    """Rows copied into the store of another model are not used."""
    mine, other = ScoreStore(tmp_path, IDENTITY), ScoreStore(tmp_path, IDENTITY | {"bos": "never"})
    prompts, candidates, known = queries(1, 2)
    mine.add(prompts, candidates, known)
    execute(mine.file, "DELETE FROM settings")
    assert ScoreStore(tmp_path, IDENTITY).find(prompts, candidates) == known
    assert other.find(prompts, candidates) == [None, None]
    for row in rows(mine.file).items():
        execute(other.file, "INSERT INTO scores VALUES (?, ?)", row)
    assert other.find(prompts, candidates) == [None, None]
    assert capsys.readouterr().err == WARNING.format(2, other.file)
    shutil.copy(mine.file, other.file)
    with pytest.raises(PolyprobeError, match="belongs to another model or other settings"):
        ScoreStore(tmp_path, IDENTITY | {"bos": "never"})


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"POLYPROBE_CACHE": "/big/scores", "XDG_CACHE_HOME": "/caches"}, "/big/scores"),
        ({"POLYPROBE_CACHE": "~/kept"}, "/home/ada/kept"),
        ({"POLYPROBE_CACHE": "", "XDG_CACHE_HOME": "/caches"}, "/caches/polyprobe"),
        ({"XDG_CACHE_HOME": "caches"}, "/home/ada/.cache/polyprobe"),
        ({}, "/home/ada/.cache/polyprobe"),
    ],
)
def test_the_cache_folder_is_where_the_environment_says(variables, folder, monkeypatch):
    for name in ("POLYPROBE_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in (variables | {"HOME": "/home/ada"}).items():
        monkeypatch.setenv(name, value)
    assert cache_folder() == Path(folder)
