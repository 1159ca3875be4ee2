"""Write findings as HTML files that open without a network: template, style and scripts."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from polyprobe.report.finding import Cell, Finding, Part, Role, Table
from polyprobe.report.show import format_cell
from polyprobe.system.errors import check_ending
from polyprobe.system.files import write_text

from .drawing import Block, Drawing, choose_by_name, make_block

HERE = Path(__file__).parent
_WORDS = (Role.NAME, Role.LABEL)


class Section(NamedTuple):
    """A part of a page: its title, tables and lines, and drawn pictures."""

    title: str
    blocks: Sequence[Table | str]
    drawings: Block


class Head(NamedTuple):
    """The heading of a column; a hidden one is shown on request."""

    head: str
    is_figure: bool
    is_hidden: bool
    help: str


def check_output(output: Path) -> None:
    """Refuse a file that is not named like a page.

    Raises:
        PolyprobeError: another ending than .html.
    """
    check_ending("--output", output, (".html",))


def write_finding(
    finding: Finding,
    output: Path,
    files: Sequence[str] = (),
    drawings: Mapping[str, Sequence[Drawing]] | None = None,
    **data: Any,
) -> None:
    """Write a finding as a page.

    Args:
        finding: its parts, pictures and notes.
        output: the HTML file.
        files: names of files beside the page, to download.
        drawings: title of a part → its pictures with choices of another kind than their names.
        data: further values for the page's script; `runs` are those with examples.

    Raises:
        PolyprobeError: the file cannot be written, or has another ending than .html.
    """
    check_output(output)
    parts = [
        _make_section(finding, part, (drawings or {}).get(part.title)) for part in finding.parts
    ]
    heats = {id: heats for part in parts for id, heats in part.drawings.data.items()}
    names = {code: name for view in heats.values() for code, name in view["names"].items()}
    name = "report" if "runs" in data else "finding"
    # inside the page, so that it is one file that a browser may open without a network
    scripts = dict.fromkeys(("finding.js", f"{name}.js"))
    text = (
        make_environment()
        .get_template(f"{name}.html")
        .render(
            title=f"polyprobe: {finding.title}",
            finding=finding,
            parts=parts,
            files=files,
            data={"heats": heats, "names": names, **data},
            style=(HERE / "report.css").read_text(encoding="utf-8"),
            script="\n".join((HERE / x).read_text(encoding="utf-8") for x in scripts),
        )
    )
    write_text(output, text, "choose another --output")


def _make_section(finding: Finding, part: Part, drawings: Sequence[Drawing] | None) -> Section:
    if drawings is None:
        drawings = choose_by_name({name: finding.pictures[name] for name in part.pictures})
    return Section(part.title, part.blocks, make_block(drawings))


def list_cells(table: Table) -> tuple[list[Head], list[list[tuple[str, Any]]]]:
    """List headings, and rows of (text, value); the page sorts by a value, else by the text."""
    heads = [
        Head(column.head, column.role not in _WORDS, column.width is None, column.help)
        for column in table.columns
    ]
    roles = [column.role for column in table.columns]
    rows = [
        [
            (format_cell(cell, role), _find_value(cell, role))
            for cell, role in zip(row, roles, strict=True)
        ]
        for row in table.rows
    ]
    return heads, rows


def _find_value(cell: Any, role: Role) -> float | None:
    """Find the value of a number whose text does not sort: `1.2B`, `1e-05`."""
    if isinstance(cell, Cell):
        cell, role = cell.value, cell.role or role
    sorts = role not in (Role.SIZE, Role.P) or not isinstance(cell, int | float)
    return None if sorts else cell


def make_environment() -> Environment:
    """Make a Jinja2 environment with autoescape, our templates, and the filter for tables."""
    environment = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {
        "ensure_ascii": False,
        "separators": (",", ":"),
        "allow_nan": False,
    }
    environment.filters["cells"] = list_cells
    return environment
