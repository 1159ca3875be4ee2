"""`polyprobe cache`: what it shows, removes and keeps."""

import os
import sys
from datetime import datetime
from pathlib import Path

import pytest

from polyprobe.cli import main
from polyprobe.eval.work.score_store import ScoreStore
from polyprobe.scoring import QueryScores
from polyprobe.system.download import ContentStore

GPT2 = {
    "model": "openai-community/gpt2",
    "revision": "607a30d783dfa663caf39e06633721c8d4cfcd7e",
    "scoring": "bmlama-eq10",
    "dtype": "float32",
}
BERT = {
    "model": "google-bert/bert-base-cased",
    "revision": "sha256-0123456789ab",
    "scoring": "pll",
    "dtype": "bfloat16",
}
MOMENT = datetime(2026, 7, 14, 9, 30).timestamp()
DAY = 86400.0


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("POLYPROBE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path / "cache"


@pytest.fixture
def polyprobe(monkeypatch, capsys):
    """Run `polyprobe cache …` in this process; return status, standard output and error."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["polyprobe", "cache", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        return end.value.code, said.out.splitlines(), said.err.splitlines()

    return run


def fill(cache, identity, *sizes, used=MOMENT):
    store = ScoreStore(cache, identity)
    for number, size in enumerate(sizes):
        prompts = [f"{number} {row} [Y]" for row in range(size)]
        store.add(prompts, [["a"]] * size, [QueryScores([-1.0], [1], [])] * size)
    os.utime(store.file, (used, used))
    return store.file


def weigh(*files):
    return sum(file.stat().st_size for file in files)


def amount(rows, size):
    shown = f"{size / 1000:.1f} kB" if size >= 1000 else f"{size} bytes"
    return f"{rows:,} rows, {shown}"


def test_info_shows_a_row_for_each_identity(cache, polyprobe):
    gpt2 = fill(cache, GPT2, 1000, 234)
    bert = fill(cache, BERT, 7, used=MOMENT + DAY)
    later = fill(cache, GPT2 | {"bos": "always"}, used=MOMENT + 2 * DAY)
    sizes = [amount(0, weigh(x)).removeprefix("0 rows, ") for x in (bert, later, gpt2)]
    total = weigh(gpt2, bert, later)
    status, lines, errors = polyprobe("info")
    assert (status, errors) == (0, [])
    head = ["model", "revision", "scoring", "dtype", "other", "settings"]
    assert lines[0].split() == [*head, "rows", "size", "last", "used"]
    short = [GPT2 | {"revision": "607a30d783df"}, BERT | {"revision": "sha256-01234"}]
    known = [[*identity.values()] for identity in short]
    assert [line.split() for line in lines[2:5]] == [
        [*known[1], "7", *sizes[0].split(), "2026-07-15"],
        [*known[0], "bos", "always", "0", *sizes[1].split(), "2026-07-16"],
        [*known[0], "1,234", *sizes[2].split(), "2026-07-14"],
    ]
    assert lines[5:] == [f"{amount(1241, total)} in {cache}"]


def test_second_moments_of_edits_are_listed_and_deleted(cache, polyprobe):
    file = cache / "moments.sqlite"
    ContentStore(file, "moments", seal=b"").add({b"a:0": b"1" * 5000, b"a:1024": b"2"})
    os.utime(file, (MOMENT, MOMENT))
    score = fill(cache, GPT2, 1)
    status, lines, errors = polyprobe("info")
    assert (status, errors) == (0, [])
    size = amount(2, weigh(file)).removeprefix("2 rows, ").split()
    assert lines[3].split() == ["second", "moments", "–", "–", "–", "2", *size, "2026-07-14"]
    assert lines[4] == f"{amount(3, weigh(file, score))} in {cache}"
    assert polyprobe("clear", "--model", "gpt2")[0] == 0
    assert file.exists()
    assert polyprobe("clear")[0] == 0
    assert not file.exists()


def test_a_store_that_is_opened_is_one_that_is_used(cache, polyprobe):
    file = fill(cache, GPT2, 1)
    ScoreStore(cache, GPT2)
    shown = polyprobe("info")[1][2].split()[-1]
    used = datetime.fromtimestamp(file.stat().st_mtime)
    assert shown == used.strftime("%Y-%m-%d")
    assert used.timestamp() > MOMENT


def test_a_damaged_file_is_listed_and_deleted(cache, polyprobe):
    file = fill(cache, GPT2, 5, 6)
    file.write_bytes(file.read_bytes()[:5000])
    row = polyprobe("info")[1][2]
    today = datetime.fromtimestamp(file.stat().st_mtime).strftime("%Y-%m-%d")
    assert row.split() == ["(damaged", "file)", "–", "–", "–", "0", "5.0", "kB", today]
    assert polyprobe("clear")[0] == 0
    assert not file.exists()


@pytest.mark.parametrize("command", [["info"], ["clear", "--model", "gpt2"]])
@pytest.mark.parametrize("made", [[], ["scores", "scores/notes"]])
def test_an_empty_cache_is_one_line(command, made, cache, polyprobe):
    for folder in made:
        (cache / folder).mkdir(parents=True)
    assert polyprobe(*command) == (0, [f"no scores are stored in {cache}"], [])


def test_clear_removes_everything_that_it_made(cache, polyprobe):
    gpt2, bert = fill(cache, GPT2, 3, 4), fill(cache, BERT, 5)
    Path(f"{gpt2}-journal").write_text("rest")
    sizes = weigh(gpt2), weigh(bert)
    status, lines, errors = polyprobe("clear")
    assert (status, errors) == (0, [])
    assert lines == [
        "deleted google-bert/bert-base-cased (sha256-0123456789ab, pll, bfloat16): "
        f"{amount(5, sizes[1])}, {bert.name}",
        f"deleted openai-community/gpt2 ({GPT2['revision']}, bmlama-eq10, float32): "
        f"{amount(7, sizes[0])}, {gpt2.name}",
        f"deleted {amount(12, sum(sizes))} from {cache}",
    ]
    assert list(cache.rglob("*")) == [cache / "scores"]
    assert polyprobe("info")[1] == [f"no scores are stored in {cache}"]


def test_clear_of_one_model_keeps_the_others(cache, polyprobe):
    fill(cache, GPT2, 3)
    fill(cache, GPT2 | {"dtype": "bfloat16"}, 3)
    bert = fill(cache, BERT, 5)
    status, lines, _ = polyprobe("clear", "--model", "community/gpt")
    assert status == 0
    assert len(lines) == 3
    assert list((cache / "scores").iterdir()) == [bert]
    assert ScoreStore(cache, BERT).find(["0 0 [Y]"], [["a"]]) == [QueryScores([-1.0], [1], [])]


def test_a_dry_run_says_the_same_and_removes_nothing(cache, polyprobe):
    fill(cache, GPT2, 3)
    fill(cache, BERT, 5)
    before = {file: file.stat().st_mtime for file in cache.rglob("*")}
    _, dry, _ = polyprobe("clear", "--dry-run")
    assert {file: file.stat().st_mtime for file in cache.rglob("*")} == before
    _, done, _ = polyprobe("clear")
    assert dry == [line.replace("deleted", "would delete", 1) for line in done]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("", "error: --model is empty; leave it out to delete the scores of all models"),
        (
            "GPT3",
            "error: no scores are stored for a model like 'GPT3'; available: "
            "google-bert/bert-base-cased, openai-community/gpt2",
        ),
    ],
)
def test_a_model_that_is_not_there_is_one_line(model, message, cache, polyprobe):
    files = {fill(cache, GPT2, 1), fill(cache, GPT2 | {"bos": "x"}, 1), fill(cache, BERT, 1)}
    assert polyprobe("clear", "--model", model) == (1, [], [message])
    assert set((cache / "scores").iterdir()) == files


def test_clear_touches_nothing_that_no_store_made(cache, polyprobe, tmp_path):
    precious = tmp_path / "precious"
    elsewhere = fill(precious, GPT2, 3)
    thesis = precious / "thesis.sqlite"
    thesis.write_text("mine")
    store = fill(cache, BERT, 2)
    scores = cache / "scores"
    (scores / elsewhere.name).symlink_to(elsewhere)
    (scores / f"{'0' * 16}.sqlite").symlink_to(thesis)
    (scores / f"{'1' * 16}.sqlite").mkdir()
    for name in ("my.sqlite", f"{'2' * 15}.sqlite", f"{'3' * 16}.sqlite3", "4" * 16, "notes.txt"):
        (scores / name).write_text("mine")
    (scores / ("5" * 16)).mkdir()
    (scores / ("5" * 16) / "table.parquet").write_text("mine")
    others = {file for file in scores.rglob("*") if file != store}
    before = {file: file.read_bytes() for file in [*others, thesis, elsewhere] if file.is_file()}
    status, lines, _ = polyprobe("clear")
    assert status == 0
    assert len(lines) == 2
    assert set(scores.rglob("*")) == others
    assert {file: file.read_bytes() for file in before} == before


def test_rows_that_differ_in_a_setting_not_shown_show_it(cache, polyprobe):
    for identity in (GPT2 | {"torch": "2.13.0"}, GPT2 | {"torch": "2.12.1"}, BERT | {"torch": "2"}):
        fill(cache, identity, 1)
    lines = [line for line in polyprobe("info")[1] if "torch" in line]
    assert sorted(line.split("torch ")[1].split()[0] for line in lines) == ["2.12.1", "2.13.0"]
    assert all("gpt2" in line for line in lines)
