"""A board as a static Space: its files, its checks, pushes to the stand-in Hub."""

import pytest

from polyprobe.analysis.board import FILES
from polyprobe.analysis.board.board import make_board
from polyprobe.cli.publish import find_kind
from polyprobe.publish.install import install_folder
from polyprobe.report.page.board import write_board
from polyprobe.system.errors import PolyprobeError
from tests.making.boards import write_table_5
from tests.publish.push.clients import api, contents, held, messages, run

__all__ = ["api"]


@pytest.fixture
def folder(tmp_path):
    write_board(make_board(write_table_5(tmp_path / "runs")), tmp_path / "leaderboard")
    return tmp_path / "leaderboard"


def test_a_push_and_the_same_again(api, hub, folder, capsys):
    """The Hub's own page of a new static Space is replaced; its style.css stays, without effect."""
    run(folder, "me/board")
    assert api.repo_info("me/board", repo_type="space").sdk == "static"
    assert held(api, "me/board", "space") == contents(folder) | {"style.css": b"style.css"}
    assert messages(api, "me/board", "space")[0].startswith("leaderboard of polyprobe ")
    assert f"use: {hub.url}/spaces/me/board" in capsys.readouterr().out
    hub.clear()
    run(folder, "me/board")
    assert hub.uploaded() == []
    assert "nothing to upload, all 5 files are there" in capsys.readouterr().out


def test_a_new_space_may_hold_what_the_hub_put_there(api, folder):
    api.create_repo("me/board", repo_type="space", space_sdk="static")
    run(folder, "me/board")
    assert {*held(api, "me/board", "space")} == {*FILES, "style.css"}


def test_the_space_of_another_is_not_overwritten(api, folder):
    api.create_repo("me/board", repo_type="space", space_sdk="static")
    page = {"path_or_fileobj": b"mine", "path_in_repo": "index.html"}
    api.upload_file(**page, repo_id="me/board", repo_type="space")
    with pytest.raises(PolyprobeError, match="has files that are not from a push"):
        run(folder, "me/board")


def test_a_dry_run_lists_the_files_and_what_is_left_out(api, hub, folder, capsys):
    (folder / "notes.txt").write_text("mine")
    run(folder, "me/board", dry_run=True)
    shown = capsys.readouterr().out
    for name in FILES:
        assert f"A {name}  {(folder / name).stat().st_size:,} bytes" in shown
    assert "note: not uploaded, not part of a board: notes.txt" in shown
    assert "me/board, a new repository: 5 files added" in shown
    assert {request.method for request in hub.requests} == {"GET"}


def test_a_board_is_no_dataset(folder):
    assert find_kind(folder) == "board"
    with pytest.raises(PolyprobeError, match="is a board, which cannot be installed"):
        install_folder(folder)
