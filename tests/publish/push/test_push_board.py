"""A board as a static Space: its files, its checks, pushes to the stand-in Hub."""

import pytest

from polyprobe.analysis.board.board import make_board
from polyprobe.cli.publish import find_kind
from polyprobe.publish.install import install_folder
from polyprobe.report.page.runs import write_board
from polyprobe.system.messages import PolyprobeError
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


def test_a_board_is_no_dataset(folder):
    assert find_kind(folder) == "board"
    with pytest.raises(PolyprobeError, match="is a board, which cannot be installed"):
        install_folder(folder)
