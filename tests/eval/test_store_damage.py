"""Damage to a file of the score store: missing rows or a one-line error, never a wrong score."""

import pytest

from polyprobe.eval.work.score_store import ScoreStore
from polyprobe.system.messages import PolyprobeError
from tests.making.stores import IDENTITY, WARNING, execute, names, queries, rows

SET = "UPDATE scores SET value = ? WHERE key = ?"


def other_score(file):
    for key, value in rows(file).items():
        execute(file, SET, (value[:-1] + bytes([value[-1] ^ 1]), key))


def other_length(file):
    for key, value in rows(file).items():
        execute(file, SET, (value[:-4], key))


def other_type(file):
    for key in rows(file):
        execute(file, SET, ("scores", key))


def other_row(file):
    found = rows(file)
    for key, value in zip(found, [*found.values()][1:] + [*found.values()][:1], strict=True):
        execute(file, SET, (value, key))


DAMAGED_ROWS = {
    "another score": other_score,
    "another length": other_length,
    "another type": other_type,
    "another query's row": other_row,
    "empty": lambda file: file.write_bytes(b""),
    "deleted": lambda file: file.unlink(),
}


@pytest.mark.parametrize("damage", DAMAGED_ROWS)
@pytest.mark.parametrize("again", [(1, 2, 4), (1, 4)], ids=["all again", "some again"])
def test_damaged_rows_are_absent_and_replaced(damage, again, tmp_path, capsys):
    store = ScoreStore(tmp_path, IDENTITY)
    store.add(*queries(1, 2, 4))
    DAMAGED_ROWS[damage](store.file)
    store = ScoreStore(tmp_path, IDENTITY)
    store.add(*queries(5, 6))
    prompts, candidates, known = queries(1, 2, 4, 5, 6)
    want = [None, None, None, *known[3:]]
    assert store.find(prompts, candidates) == want
    said = capsys.readouterr().err
    assert said == (WARNING.format(3, store.file) if damage not in ("empty", "deleted") else "")
    store.add(*queries(*again))
    want = [k if n in {5, 6, *again} else None for n, k in zip((1, 2, 4, 5, 6), known, strict=True)]
    assert store.find(prompts, candidates) == want
    assert ScoreStore(tmp_path, IDENTITY).find(prompts, candidates) == want
    assert names(store) == {store.file.name}


DAMAGED_FILES = {
    "cut in the middle": lambda file: file.write_bytes(file.read_bytes()[:5000]),
    "text": lambda file: file.write_text("scores\n" * 1000),
    "other columns": lambda file: execute(file, "ALTER TABLE scores ADD COLUMN more"),
}


def use(folder):
    store = ScoreStore(folder, IDENTITY)
    store.find(*queries(*range(50))[:2])
    store.add(*queries(*range(50)))


@pytest.mark.parametrize("damage", DAMAGED_FILES)
def test_a_damaged_file_is_one_line_and_stays(damage, tmp_path):
    store = ScoreStore(tmp_path, IDENTITY)
    store.add(*queries(*range(50)))
    DAMAGED_FILES[damage](store.file)
    content = store.file.read_bytes()
    with pytest.raises(
        PolyprobeError, match="damaged: move it away and run again to recreate"
    ) as e:
        use(tmp_path)
    assert str(e.value).startswith(f"cannot use {store.file}: ")
    assert len(str(e.value).splitlines()) == 1
    assert store.file.read_bytes() == content


def test_no_flipped_bit_and_no_cut_gives_a_wrong_score(tmp_path, capsys):
    """Flip a bit of each byte in turn (of every 16th in unused space): no score changes."""
    store = ScoreStore(tmp_path, IDENTITY)
    prompts, candidates, known = queries(0, 1, 2)
    store.add(prompts, candidates, known)
    data = store.file.read_bytes()
    used = [n for n, byte in enumerate(data) if byte or not n % 16]
    changed = (data[:n] + bytes([data[n] ^ 1 << n % 8]) + data[n + 1 :] for n in used)
    served = refused = 0
    for spoiled in [*changed, *(data[:n] for n in range(0, len(data), 512))]:
        store.file.write_bytes(spoiled)
        try:
            found = ScoreStore(tmp_path, IDENTITY).find(prompts, candidates)
        except PolyprobeError:
            refused += 1
        else:
            assert all(one in (None, right) for one, right in zip(found, known, strict=True))
            served += found == known
    assert served > 0
    assert refused > 0
    capsys.readouterr()
