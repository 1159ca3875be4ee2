"""Write findings as HTML files that open without a network: template, style and scripts."""

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from math import isnan
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from polyprobe.metrics.pictures.picture import Heat
from polyprobe.metrics.pictures.svg import draw_svg
from polyprobe.report.finding import N_BESIDE, Cell, Drawing, Finding, Part, Role, Table
from polyprobe.report.pictures import ORDERS
from polyprobe.report.pictures.order import arrange, name_picture
from polyprobe.report.show import mark_cell
from polyprobe.system.files import write_text
from polyprobe.system.messages import check_ending

HERE = Path(__file__).parent
ENDINGS = (".html",)
DIGITS = 5  # significant ones of the values of a heat map


class Element(NamedTuple):
    """An SVG element of a page; heat maps of the same languages share one."""

    id: str  # also the name of the file that the page saves
    svg: str  # the first picture
    pictures: list[tuple[str, Mapping[str, str]]]  # name and choice of each
    heats: dict[str, Any] | None = None  # what the script needs to draw these heat maps


class Block(NamedTuple):
    """The pictures of a part: selects by label with their options, and the figures."""

    selects: dict[str, list[str]]
    figures: list[Element]
    is_wide: bool  # takes the width of the page: of heat maps, or a table of many columns


def write_finding(finding: Finding, output: Path, **data: Any) -> None:
    """Write a finding as a page, see `render_page`."""
    check_ending("--output", output, ENDINGS)
    write_text(output, render_page(finding, **data), "choose another --output")


def render_page(finding: Finding, files: Sequence[str] = (), **data: Any) -> str:
    """Render a finding as a page.

    Args:
        finding: its parts without a title are left out.
        files: names of files beside the page, to download.
        data: further values for the page's script; `runs` are those with examples.
    """
    parts = [(part, _make_block(part)) for part in finding.parts if part.title]
    figures = [figure for _, block in parts for figure in block.figures]
    heats = {figure.id: figure.heats for figure in figures if figure.heats}
    names = {code: name for view in heats.values() for code, name in view["names"].items()}
    name = "report" if "runs" in data else "finding"
    # inside the page, so that it is one file that a browser may open without a network
    scripts = dict.fromkeys(("finding.js", f"{name}.js"))
    environment = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    compact = {"ensure_ascii": False, "separators": (",", ":"), "allow_nan": False}
    environment.policies["json.dumps_kwargs"] = compact
    environment.filters["cells"] = list_cells
    return environment.get_template(f"{name}.html").render(
        title=f"polyprobe: {finding.title}",
        finding=finding,
        parts=parts,
        files=files,
        data={"heats": heats, "names": names, **data},
        style=(HERE / "report.css").read_text(encoding="utf-8"),
        script="\n".join((HERE / x).read_text(encoding="utf-8") for x in scripts),
    )


def _make_block(part: Part) -> Block:
    """Draw the pictures of a part; heat maps of the same languages are one element."""
    selects: dict[str, dict[str, None]] = {}
    # an SVG of 51 languages has 130 kB, its values 10 kB: the script draws them into the first
    groups: dict[Any, list[Drawing]] = {}
    for drawing in part.pictures:
        for label, option in drawing.choice.items():
            selects.setdefault(label, {})[option] = None
        picture = drawing.picture
        key = tuple(picture.rows) if isinstance(picture, Heat) else drawing.name
        groups.setdefault(key, []).append(drawing)
    figures = [*map(_make_figure, groups.values())]
    options = {label: [*of_label] for label, of_label in selects.items()}
    has_heat = any(figure.heats for figure in figures)
    if has_heat:
        options["order"] = ["similarity", "family", "script", "given"]
    widths = (
        sum(column.width is not None for column in table.columns) - 2 * bool(table.folded)
        for table in part.blocks
        if isinstance(table, Table)
    )
    return Block(options, figures, has_heat or max(widths, default=0) > N_BESIDE + 1)


def _make_figure(group: Sequence[Drawing]) -> Element:
    heats: list[Any] = [drawing.picture for drawing in group]
    names = name_picture(heats[0])
    pictures = [(drawing.name, drawing.choice) for drawing in group]
    figure = Element(group[0].name, draw_svg(heats[0], names), pictures)
    if not isinstance(heats[0], Heat):
        return figure
    bare: dict[tuple[float, ...], int] = {}  # values → place of the first view that has them
    views = [_make_view(heat, place, bare) for place, heat in enumerate(heats)]
    orders = {x: _find_order(heats[0], x) for x in ORDERS if x != "similarity"}
    return figure._replace(heats={"names": names, "orders": orders, "views": views})


def _find_order(heat: Heat, order: str) -> list[int]:
    places = {code: place for place, code in enumerate(heat.rows)}
    arranged = arrange(heat, order)
    assert isinstance(arranged, Heat)
    return [places[code] for code in arranged.rows]


def _make_view(heat: Heat, place: int, bare: dict[tuple[float, ...], int]) -> dict[str, Any]:
    """Select what the script draws of a heat map; equal values refer to their first view."""
    matrix, n = heat.values, len(heat.rows)
    # values above the diagonal are enough if both triangles are equal
    is_equal = np.array_equal(matrix, matrix.T, equal_nan=True)
    half = bool(is_equal and np.isnan(np.diagonal(matrix)).all())
    cells = [*(combinations(range(n), 2) if half else product(range(n), repeat=2))]
    # maps with other squares have the same values, which a page of 51 languages has once
    source = bare.setdefault(tuple(np.nan_to_num(matrix, nan=-9e9).ravel().tolist()), place)
    squares = {cell: k for k, framed in enumerate(heat.squares.values(), 1) for cell in framed}
    view: dict[str, Any] = {
        "measure": heat.measure,
        "low": heat.low,
        "high": heat.high,
        "diverging": heat.diverging,
        "mark": heat.mark,
        "squares": [*heat.squares],
        "framed": "".join(str(squares.get(cell, 0)) for cell in cells) if squares else "",
        "similarity": _find_order(heat, "similarity"),
    }
    if source != place:
        return view | {"source": source}
    numbers = (matrix[cell] for cell in cells)  # JSON lacks NaN
    values = [None if isnan(x) else float(f"{x:.{DIGITS}g}") for x in numbers]
    details = [heat.details.get(cell, "") for cell in cells] if heat.details else []
    return view | {"half": half, "values": values, "details": details}


def list_cells(table: Table) -> list[list[tuple[str, Any, Cell]]]:
    """List rows of (text, value, cell); the page sorts by a value, else by the text."""
    rows: list[list[tuple[str, Any, Cell]]] = []
    for row in table.rows:
        rows.append([])
        for raw, column in zip(row, table.columns, strict=True):
            cell = raw if isinstance(raw, Cell) else Cell(raw)
            # the text of a size or p-value does not sort: `1.2B`, `1e-05`
            of_text = (cell.role or column.role) not in (Role.SIZE, Role.P)
            number = None if of_text or not isinstance(cell.value, int | float) else cell.value
            rows[-1].append((mark_cell(cell, column.role), number, cell))
    return rows
