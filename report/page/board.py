"""Write a board as a folder: the page, tables, and a card, which together are a static Space."""

import hashlib
import json
from os import environ
from pathlib import Path
from time import gmtime, strftime

from huggingface_hub.utils import yaml_dump

from polyprobe.analysis.board import CARD, JSON, LATEX, PAGE, REMEDY, SEALED, TABLE, check_output
from polyprobe.analysis.board.board import Board
from polyprobe.report.findings.board import make_board_finding, write_models
from polyprobe.report.show import to_markdown
from polyprobe.schema.run.folder import SEAL
from polyprobe.system.files import hash_json, read_toml, write_text
from polyprobe.system.text import escape_markdown

from .page import render_page


def write_board(board: Board, folder: Path) -> None:
    """Write a static Space: README.md, page, tables, and board.json with the hashes of these."""
    check_output(folder)
    moment = environ.get("SOURCE_DATE_EPOCH", "")  # of builds that give the same bytes again
    day = strftime("%Y-%m-%d", gmtime(int(moment) if moment.isdecimal() else None))
    finding = make_board_finding(board)
    finding = finding._replace(lead=f"{finding.lead} Written on {day}.")
    sealed = {
        PAGE: render_page(finding, (TABLE, LATEX)),
        TABLE: write_models(board, ".csv"),
        LATEX: write_models(board, ".tex"),
    }
    hashes = {x: hashlib.sha256(text.encode("utf-8")).hexdigest() for x, text in sealed.items()}
    numbers = {**board.as_json(), SEALED: hashes}
    numbers[SEAL] = hash_json(numbers)
    files = {JSON: json.dumps(numbers, indent=1, ensure_ascii=False, allow_nan=False) + "\n"}
    # the licence of the card is that of the page's script
    head = {"title": finding.title, **read_toml(__package__, "texts.toml")["card"]}
    models, *trends = (to_markdown(table) for table in finding.tables if table.limit != 0)
    parts = [
        f"---\n{yaml_dump(head, sort_keys=False)}---",
        f"# {escape_markdown(finding.title)}",
        models,
        "".join(f"- {escape_markdown(line)}.\n" for line in (*finding.notes, *finding.cautions)),
        *trends,
        f"Made by `polyprobe board` on {day}. `board.csv` and `board.json` have all figures.",
    ]
    card = "\n".join(f"{part.rstrip()}\n" for part in parts)
    for name, content in (files | sealed | {CARD: card}).items():
        write_text(folder / name, content, REMEDY)
