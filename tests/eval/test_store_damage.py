"""Files of the score store that cannot be believed are absent, and no wrong score comes of them."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from polyprobe.eval.work.known_scores import Known, ScoreStore
from polyprobe.eval.work.store_file import DamagedFileError, key_of, make_file, read_rows
from tests.eval.kept import IDENTITY, WARNING, parts, queries


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
    ScoreStore(tmp_path, IDENTITY).add(*queries(1, 2))
    ours, theirs = ScoreStore(tmp_path, IDENTITY), ScoreStore(tmp_path, IDENTITY)
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
