"""Every fenced block of README, pages and dataset cards runs, or the table gives a reason."""

import doctest
import re
import shlex
from collections.abc import Iterator
from functools import cache

import pytest
import typer

from polyprobe.cli import app
from tests.blocks import pages, run_page
from tests.blocks.pages import (
    ROOT,
    Step,
    UnknownBlockError,
    find_steps,
    list_pages,
    missing_line,
    read_blocks,
    read_table,
)
from tests.blocks.world import Readers
from tests.hub.server import serve_hub
from tests.making.tiny import save_model

ENTRIES = read_table()
PAGES = list_pages()


@cache
def steps_of(page: str) -> list[Step]:
    return find_steps(read_blocks(page), ENTRIES)


def known_steps(page: str) -> list[Step]:
    try:
        return steps_of(page)
    except UnknownBlockError:
        return []  # reported by test_every_block_is_run_or_named


RUN = [page for page in PAGES if any(step.is_run for step in known_steps(page))]


@pytest.fixture(scope="module")
def readers(tmp_path_factory) -> Iterator[Readers]:
    model = save_model("llama", tmp_path_factory.mktemp("model"))
    with serve_hub() as hub:
        readers = Readers(tmp_path_factory.mktemp("readers"), hub, model)
        yield readers
        readers.close()
    assert hub.unknown == []


@pytest.mark.parametrize("page", PAGES)
def test_every_block_is_run_or_named(page):
    steps_of(page)


@pytest.mark.slow
@pytest.mark.acceptance
@pytest.mark.parametrize("page", RUN)
def test_the_blocks_run_and_print_what_the_page_shows(page, readers):
    todo = [step for step in steps_of(page) if step.is_run]
    acts = [step for step in todo if step.kind != "output"]
    printed = iter(readers.run(page, acts))
    last, block = "", None
    for step in todo:
        if step.kind == "output":
            line = missing_line(step.text, last)
            assert line is None, f"{step.block.place}: {line!r} was not printed:\n{last}"
        else:  # the lines of one block print together
            last = (last if step.block == block else "") + next(printed)
            block = step.block


@pytest.mark.slow
@pytest.mark.acceptance
@pytest.mark.upstream
def test_the_lines_that_read_the_papers_data(upstream, readers):
    found = [s for p in PAGES for s in known_steps(p) if s.entry and s.entry.kind == "upstream"]
    unique = {step.text: step for step in found}
    todo = [s._replace(text=s.text.format(upstream=upstream)) for s in unique.values()]
    assert todo
    readers.run("README.md", todo)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.kind} {entry.text[:40]}")
def test_every_line_of_the_table_speaks_of_something(entry):
    used = {step.entry for page in PAGES for step in known_steps(page)}
    assert entry in used, "no block has this text any more: mend or remove the line of the table"


@pytest.mark.parametrize(
    "place", sorted({e.why for e in ENTRIES if e.kind == "elsewhere"}), ids=str
)
def test_what_runs_elsewhere_is_there(place):
    file, _, name = place.partition("::")
    text = (ROOT / file).read_text(encoding="utf-8")
    assert re.search(rf"^(def )?{re.escape(name)}\b", text, re.MULTILINE)


@pytest.mark.parametrize(
    "line",
    sorted({e.text for e in ENTRIES if e.kind != "shown" and e.text.startswith("polyprobe")}),
)
def test_commands_that_are_not_run_have_known_options(line):
    _, name, *arguments = shlex.split(line)
    command = typer.main.get_command(app).commands[name]
    assert command.make_context(name, arguments).command is command


@pytest.mark.parametrize("module", [pages, run_page], ids=lambda module: module.__name__)
def test_examples(module):
    assert doctest.testmod(module).failed == 0


BROKEN = {
    "command": ["polyprobe report nowhere --output page.html", "ended with status 1"],
    "python": ["1 / 3  # 0.3334…\n", "the page says '# 0.3334…'"],
    "doctest": [">>> 1 + 1\n3\n", "the examples give something else"],
}


@pytest.mark.acceptance
@pytest.mark.parametrize("kind", BROKEN)
def test_a_step_that_fails_is_reported_with_its_place(kind, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    text, message = BROKEN[kind]
    with pytest.raises(SystemExit):
        run_page.run_steps(
            [["python", "1 / 4  # 0.25, exactly\n1 < 2  # True\n", "p:1"], [kind, text, "p:7"]]
        )
    told = capsys.readouterr().err
    assert "p:7: " in told
    assert message in told
