"""Write a board as a folder: the page, tables, and a card, which together are a static Space."""

import json
from pathlib import Path

from huggingface_hub.utils import yaml_dump

from polyprobe.analysis.board import CARD, JSON, LATEX, PAGE, REMEDY, TABLE, check_folder
from polyprobe.analysis.board.board import Board
from polyprobe.report.finding import Finding
from polyprobe.report.findings.board import make_board_finding, write_models
from polyprobe.report.show import to_markdown
from polyprobe.system.files import write_text
from polyprobe.system.hashing import hash_json
from polyprobe.system.text import escape_markdown

from .page import write_finding


def write_board(board: Board, folder: Path) -> None:
    """Write the page, README.md for a static Space, board.csv, board.tex and board.json."""
    check_folder(folder)
    finding, numbers = make_board_finding(board), board.as_json()
    files = {
        JSON: json.dumps(numbers, indent=1, ensure_ascii=False, allow_nan=False) + "\n",
        TABLE: write_models(board, ".csv"),
        LATEX: write_models(board, ".tex"),
        CARD: _make_card(finding),
    }
    for name, content in files.items():
        write_text(folder / name, content, REMEDY)
    # publish/checks.py compares the seal with board.json
    write_finding(finding, folder / PAGE, (TABLE, LATEX), seal=hash_json(numbers))


def _make_card(finding: Finding) -> str:
    """Make README.md of a static Space; its licence is that of the page's script."""
    head = {
        "title": finding.title,
        "emoji": "📊",
        "colorFrom": "blue",
        "colorTo": "green",
        "sdk": "static",
        "app_file": PAGE,
        "pinned": False,
        "license": "apache-2.0",
        "tags": ["leaderboard", "polyprobe"],
    }
    models, *trends = (to_markdown(table) for table in finding.tables if table.limit != 0)
    parts = [
        f"---\n{yaml_dump(head, sort_keys=False)}---",
        f"# {escape_markdown(finding.title)}",
        models,
        "".join(f"- {escape_markdown(line)}.\n" for line in (*finding.notes, *finding.cautions)),
        *trends,
        "Made by `polyprobe board`. `board.csv` and `board.json` have all figures.",
    ]
    return "\n".join(f"{part.rstrip()}\n" for part in parts)
