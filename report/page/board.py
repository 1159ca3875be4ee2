"""Write a board as a folder: the page, tables, and a card, which together are a static Space."""

import json
from collections.abc import Iterator
from pathlib import Path

from huggingface_hub.utils import yaml_dump

from polyprobe.analysis.board import CARD, JSON, LATEX, PAGE, REMEDY, TABLE, check_folder
from polyprobe.analysis.board.board import Board
from polyprobe.metrics.shared.rows import mean_known
from polyprobe.report.finding import Column, Finding, Part, Role, Table
from polyprobe.report.findings.board import (
    list_models,
    list_trends,
    make_board_finding,
    write_csv,
    write_latex,
    write_markdown,
)
from polyprobe.report.page.page import write_finding
from polyprobe.report.show import to_markdown
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
    page = finding._replace(
        parts=[*_list_parts(board, finding)],
        lead=_describe(board),
        settings=[results["signature"] for entry in board.entries for results in entry.results],
        cautions=[_describe_differing(board)] if board.differing else [],
    )
    write_finding(page, folder / PAGE, files=[*tables], seal=hash_json(figures))


def _describe(board: Board) -> str:
    n, languages = len(board.entries), len(board.languages)
    return (
        f"{n} model{'s' if n > 1 else ''} on {board.data}, {languages} "
        f"language{'s' if languages > 1 else ''}. Means are unweighted, over languages or pairs of "
        "languages."
    )


def _describe_differing(board: Board) -> str:
    names = ", ".join(board.differing)
    return f"These runs differ in {names}: their means are not comparable."


def _list_parts(board: Board, finding: Finding) -> Iterator[Part]:
    """Yield the parts of the page: tables of all figures, and the pictures of the finding."""
    models = list_models(board, [*board.figures])
    titles = {figure.heading for figure in map(board.figures.get, board.columns) if figure}
    columns = [  # other figures are shown on request
        x._replace(width=None) if x.role is Role.ESTIMATE and x.head not in titles else x
        for x in models.columns
    ]
    yield Part("Models", [models._replace(columns=columns)])
    kinds = {"size": "Figure by size", "": "Figure by model", "accuracy": "Figure and accuracy"}
    for kind, title in kinds.items():
        if names := [name for name in finding.pictures if name.partition("-")[2] == kind]:
            yield Part(title, [], names)
    if tables := [*_list_languages(board)]:
        note = "For a figure of pairs, a language has the mean of its pairs."
        yield Part("Figure by language", [note, *tables])
    if (trends := list_trends(board)).rows:
        note = (
            "Slope: change per doubling of the parameters, in percentage points for shares, with "
            "an interval by Student's t. A regression over several model families confounds size "
            "and family."
        )
        yield Part("Trends over all models", [trends, note])


def _list_languages(board: Board) -> Iterator[Table]:
    """Yield the table of each figure that languages have: a row for each model."""
    columns = [Column("model", Role.LABEL), Column("mean"), *map(Column, board.languages)]
    for name, figure in board.figures.items():
        rows: list[list[object]] = []
        for entry in board.entries:
            if of_languages := entry.values[name].languages:
                values = [of_languages.get(language) for language in board.languages]
                rows.append([entry.name, mean_known(values), *values])
        if rows:
            yield Table(columns, rows, folded=figure.title)


def _make_card(board: Board, finding: Finding) -> str:
    """Write README.md of a static Space; its licence is that of the page's scripts."""
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
