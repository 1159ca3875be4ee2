"""Write a board as a folder: the page, tables, and a card, which together are a static Space."""

import json
from pathlib import Path
from typing import Any

from huggingface_hub.utils import yaml_dump
from scipy.stats import t

from polyprobe.analysis.board import CARD, JSON, LATEX, PAGE, REMEDY, TABLE, check_folder
from polyprobe.analysis.board.board import Board
from polyprobe.analysis.board.entries import Entry
from polyprobe.report.finding import Finding
from polyprobe.report.findings.board import (
    is_share,
    list_trends,
    make_board_finding,
    write_csv,
    write_latex,
    write_markdown,
)
from polyprobe.report.page.drawing import round_drawn
from polyprobe.report.page.page import write_page
from polyprobe.report.show import format_table, to_markdown
from polyprobe.system.files import write_text
from polyprobe.system.hashing import hash_json


def write_board(board: Board, folder: Path) -> None:
    """Write the page, README.md for a static Space, board.csv, board.tex and board.json.

    Raises:
        PolyprobeError: see `check_folder`; or a file cannot be written.
    """
    check_folder(folder)
    finding, figures = make_board_finding(board), board.as_json()
    tables = {TABLE: write_csv(board), LATEX: write_latex(board)}
    text = json.dumps(figures, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    for name, content in {JSON: text, **tables, CARD: _make_card(board, finding)}.items():
        write_text(folder / name, content, REMEDY)
    of_languages = {
        x for entry in board.entries for x in board.figures if entry.values[x].languages
    }
    models, trends = map(format_table, finding.tables)
    write_page(
        folder / PAGE,
        "board",
        title=f"polyprobe: {finding.title}",
        data={**_select_data(board), "files": tables, "seal": hash_json(figures)},
        board=board,
        cells=models,
        trends=trends,
        shares={x: figure for x, figure in board.figures.items() if is_share(figure)},
        of_languages={x: figure for x, figure in board.figures.items() if x in of_languages},
        terms=finding.terms,
    )


def _select_data(board: Board) -> dict[str, Any]:
    """Return what the page's script draws."""
    return {
        "figures": {
            name: {
                "title": figure.title,
                "says": figure.says,
                "share": is_share(figure),
                "lower": figure.scale.lower_is_better,
            }
            for name, figure in board.figures.items()
        },
        "models": [_select(board, place) for place in range(len(board.entries))],
        "languages": board.languages,
        "differing": [*board.differing],
        "quantiles": [float(t.ppf(0.975, n)) for n in range(1, len(board.entries) - 1)],
        "sort": board.sort,
    }


def _select(board: Board, place: int) -> dict[str, Any]:
    """Return the values of a model that the page draws."""
    entry: Entry = board.entries[place]
    values, by = {}, {}
    for name in board.figures:
        value = entry.values[name]
        numbers = [value.mean, *(value.interval or (None, None)), value.plus_minus]
        values[name] = [*map(round_drawn, numbers)]
        if value.languages:
            by[name] = [round_drawn(value.languages.get(x)) for x in board.languages]
    return {
        "name": entry.name,
        "parameters": entry.parameters,
        "languages": len(entry.settings.languages),
        "differing": [of_all[place] for of_all in board.differing.values()],
        "values": values,
        "by": by,
    }


def _make_card(board: Board, finding: Finding) -> str:
    """Return README.md of a static Space; its licence is that of the page's scripts."""
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
    trends = list_trends(board)
    parts = [
        f"---\n{yaml_dump(head, sort_keys=False)}---",
        f"# {finding.title}",
        write_markdown(board),
        "".join(f"- {line}.\n" for line in finding.notes),
        *([to_markdown(trends)] if trends.rows else []),
        "Made by `polyprobe board`. `board.csv` and `board.json` have all figures.",
    ]
    return "\n".join(f"{part.rstrip()}\n" for part in parts)
