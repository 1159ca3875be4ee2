"""The finding of every analysis in every writer."""

import csv
from importlib import import_module
from inspect import getmembers, isfunction
from io import StringIO
from json import loads
from pathlib import Path
from re import findall, fullmatch

import numpy as np
import pytest
from rich.console import Console

from polyprobe.analysis.board.board import make_board
from polyprobe.analysis.compare.folders import compare_folders
from polyprobe.analysis.compare.options import ComparisonOptions
from polyprobe.analysis.edits import summarize_edits
from polyprobe.analysis.groups import GroupOptions
from polyprobe.analysis.groups.groups import group_run
from polyprobe.analysis.relate import RelateOptions
from polyprobe.analysis.relate.relate import relate_run
from polyprobe.analysis.tokens import count_tokens
from polyprobe.metrics.pictures.picture import Bars, Heat, Series
from polyprobe.report import findings
from polyprobe.report.finding import Column, Drawing, Finding, Part, Role, Table
from polyprobe.report.findings.board import make_board_finding
from polyprobe.report.findings.comparison import make_comparison_finding, make_several_finding
from polyprobe.report.findings.edits import make_edits_finding
from polyprobe.report.findings.groups import make_groups_finding
from polyprobe.report.findings.relate import make_relate_finding
from polyprobe.report.findings.run import make_run_finding
from polyprobe.report.findings.tokens import make_tokens_finding
from polyprobe.report.findings.versions import make_versions_finding
from polyprobe.report.page.page import write_finding
from polyprobe.report.show import format_cell, format_table, render, to_csv, to_latex, to_markdown
from polyprobe.schema.load import load_facts
from polyprobe.scoring.weights.places import find_tokenizer, load_tokenizer
from tests.making.edits import make_edits
from tests.making.facts import write_facts
from tests.making.reader import Reader
from tests.making.runs import SCORES, write_run
from tests.making.versions import write_wordings


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("findings")
    facts = write_facts(folder / "facts")
    pair = [write_run(folder / name, facts, SCORES, model=name) for name in ("one_a", "two_b")]
    return pair, write_wordings(folder / "wordings")


def compare(*folders):
    return compare_folders(folders, ComparisonOptions(by_relation=True, n_resamples=99))


def count():
    tables = load_facts("geofacts", languages=["en", "ru"])
    return count_tokens(load_tokenizer(find_tokenizer("geolm")), tables)


MAKERS = {
    make_run_finding: lambda pair, _: pair[0].read_results(),
    make_groups_finding: lambda pair, _: group_run(
        pair[0], "relation", GroupOptions(n_resamples=99)
    ),
    make_relate_finding: lambda pair, _: relate_run(
        pair[0], ["script", "accuracy"], RelateOptions(control="family", n_resamples=99)
    ),
    make_board_finding: lambda pair, _: make_board([run.folder for run in pair]),
    make_comparison_finding: lambda _, wordings: compare(*wordings[:2])[0],
    make_versions_finding: lambda _, wordings: compare(*wordings[:2])[0],
    make_several_finding: lambda _, wordings: compare(*wordings),
    make_tokens_finding: lambda *_: count(),
    make_edits_finding: lambda *_: make_edits(),
}
FURTHER = {make_tokens_finding: lambda _: "answers", make_edits_finding: summarize_edits}


@pytest.fixture(scope="module", params=MAKERS, ids=lambda make: make.__name__)
def finding(request, runs):
    numbers = MAKERS[request.param](*runs)
    further = [FURTHER[request.param](numbers)] if request.param in FURTHER else []
    return request.param(numbers, *further)


def test_every_finding_is_made_here():
    modules = (import_module(f"{findings.__name__}.{file.stem}") for file in list_modules())
    makers = {f for module in modules for name, f in getmembers(module, isfunction)
              if fullmatch("make_[a-z]+_finding", name)}  # fmt: skip
    assert makers == {*MAKERS}


def list_modules():
    return Path(findings.__path__[0]).glob("[!_]*.py")


@pytest.mark.parametrize("width", [60, 200])
def test_the_terminal_shows_every_line_and_name(finding, width):
    console = Console(file=StringIO(), width=width)
    for part in render(finding, width):
        console.print(part, markup=False, highlight=False, soft_wrap=isinstance(part, str))
    text = console.file.getvalue()
    lines = [block for part in finding.parts for block in part.blocks if isinstance(block, str)]
    for line in [*lines, *finding.notes, *finding.cautions]:
        assert line in text
    for table in finding.tables if width == 200 else ():
        for row in table.rows[: table.limit]:
            assert format_cell(row[0], table.columns[0].role) in text


def test_csv_has_every_number_with_all_digits(finding):
    for table in finding.tables:
        head, *rows = csv.reader(StringIO(to_csv(table)))
        assert len(rows) == len(table.rows)
        assert {len(row) for row in rows} <= {len(head)}
        for values, row in zip(table.rows, rows, strict=True):
            for value in values:
                if isinstance(value, float):
                    assert repr(value) in row


def test_markdown_and_latex_have_every_cell(finding):
    for table in finding.tables:
        head, rows = format_table(table)
        lines = to_markdown(table).splitlines()
        assert len(lines) == len(rows) + 2
        assert {len(findall(r"(?<!\\)\|", line)) for line in lines} == {len(head) + 1}
        text = to_latex([table], "caption")
        assert not {*"±–…Δρ"} & {*text}
        cells = [line for line in text.splitlines() if line.endswith(r"\\")]
        assert {len(findall(r"(?<!\\)&", line)) for line in cells} == {len(head) - 1}
        assert len(cells) >= len(rows) + 1


def test_a_page_has_every_line_cell_and_picture(finding, tmp_path):
    write_finding(finding, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    reader = Reader(page)
    assert reader.loaded == []
    assert reader.addresses == [address for _, address in finding.links]
    assert "default-src 'none'" in page[:400]
    lines = [block for part in finding.parts for block in part.blocks if isinstance(block, str)]
    header = finding.lead.splitlines()
    for line in [*header, *lines, *finding.notes, *finding.cautions, *finding.settings]:
        assert " ".join(line.split()) in " ".join(reader.text.split())
    cells = {text for _, tag, text in reader.texts if tag == "td"}
    for table in finding.tables:
        assert {cell.strip() for row in format_table(table)[1] for cell in row} - {""} <= cells
    heats = loads(reader.scripts[0])["heats"].values()
    n_views = sum(len(heat["views"]) - 1 for heat in heats)  # they share an element
    assert page.count("<svg ") == len(finding.pictures) - n_views


def test_a_page_escapes_every_text(tmp_path):
    evil = "</script><script>alert(1)</script>&_"
    table = Table([Column(evil, Role.NAME)], [[evil]], title=evil)
    heat = Heat(evil, ["en", evil], ["en", evil], np.eye(2), evil, details={(0, 1): evil})
    bars = Bars(evil, [evil], [Series(evil, [0.5])], evil)
    pictures = [Drawing("bars", bars, {evil: evil}), Drawing("heat", heat)]
    finding = Finding(
        evil, [Part(evil, [table, evil], pictures)], lead=evil, settings=[evil], notes=[evil],
        cautions=[evil], terms=[(evil, evil)],
    )  # fmt: skip
    write_finding(finding, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert Reader(page).text.count(evil) >= 12
