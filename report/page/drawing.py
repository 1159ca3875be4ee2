"""The pictures of a page: what the page draws of them, and what its reader chooses."""

import re
from collections.abc import Mapping, Sequence
from itertools import combinations, product
from math import isnan
from typing import Any, NamedTuple

import numpy as np

from polyprobe.metrics.pictures.picture import Heat, Picture
from polyprobe.metrics.pictures.svg import draw_svg
from polyprobe.report.pictures import ORDERS
from polyprobe.report.pictures.order import arrange, list_labels, name_labels
from polyprobe.schema.languages import find_language

DIGITS = 5  # significant ones of the values of a heat map


class Drawing(NamedTuple):
    """A picture of a page with its choice: label of a select → its option."""

    name: str
    picture: Picture
    choice: Mapping[str, str]


class Figure(NamedTuple):
    """An SVG element of a page.

    Attributes:
        id: of the element; also the name of the file that the page saves.
        svg: the first picture.
        pictures: name and choice of each; heat maps of the same languages share an element.
        heats: what the script needs to draw these heat maps; None: another picture.
    """

    id: str
    svg: str
    pictures: list[tuple[str, Mapping[str, str]]]
    heats: dict[str, Any] | None = None


class Block(NamedTuple):
    """The pictures of a part: selects by label with their options, and the figures."""

    selects: dict[str, list[str]]
    figures: list[Figure]
    is_ordered: bool

    @property
    def data(self) -> dict[str, Any]:
        """Collect what the script needs, by figure."""
        return {figure.id: figure.heats for figure in self.figures if figure.heats}


def choose_by_name(pictures: Mapping[str, Picture]) -> list[Drawing]:
    """Make drawings whose choices are the parts of their names that differ.

    `recall-en` and `recall-ru` have a select of languages; `chrF` and `QE` one of figures. Selects
    with the same options are the same one.
    """
    kinds: dict[type, list[str]] = {}
    for name, picture in pictures.items():
        kinds.setdefault(type(picture), []).append(name)
    labels: dict[tuple[str, ...], str] = {}
    choices: dict[str, dict[str, str]] = {name: {} for name in pictures}
    for names in kinds.values():
        for values in zip(*_split_names(names), strict=True):
            options = tuple(dict.fromkeys(values))
            if len(options) > 1:
                label = labels.setdefault(options, _name_select(options, labels))
                for name, value in zip(names, values, strict=True):
                    choices[name][label] = value
    return [Drawing(name, picture, choices[name]) for name, picture in pictures.items()]


def _split_names(names: Sequence[str]) -> list[list[str]]:
    """Split names at `-` and `+`; if they have other numbers of parts, cut their common end only.

    >>> _split_names(["recall-en", "recall-ru"]), _split_names(["a-map", "a-b-map"])
    ([['recall', 'en'], ['recall', 'ru']], [['a'], ['a-b']])
    """
    parts = [re.split(r"[-+]", name) for name in names]
    if len({*map(len, parts)}) == 1:
        return parts
    ends = {row[-1] for row in parts}
    end = f"-{ends.pop()}" if len(ends) == 1 else ""
    return [[name.removesuffix(end)] for name in names]


def _name_select(options: Sequence[str], labels: Mapping[Any, str]) -> str:
    is_languages = any(map(find_language, options))
    label = "language" if is_languages else "figure"
    count = sum(of_options.startswith(label) for of_options in labels.values())
    return f"{label} {count + 1}" if count else label


def make_block(drawings: Sequence[Drawing], prefix: str = "") -> Block:
    """Draw the pictures of a part; heat maps of the same languages are one element."""
    selects: dict[str, list[str]] = {}
    for drawing in drawings:
        for label, option in drawing.choice.items():
            options = selects.setdefault(label, [])
            if option not in options:
                options.append(option)
    # an SVG of 51 languages has 130 kB, its values 10 kB: the script draws them into the first
    heats: dict[tuple[str, ...], list[Drawing]] = {}
    figures = []
    for drawing in drawings:
        if isinstance(drawing.picture, Heat):
            rows = tuple(drawing.picture.rows)
            if rows not in heats:
                figures.append((drawing, heats.setdefault(rows, [])))
            heats[rows].append(drawing)
        else:
            figures.append((drawing, []))
    made = [_make_figure(prefix + first.name, first, group) for first, group in figures]
    return Block(selects, made, bool(heats))


def _make_figure(name: str, first: Drawing, heats: Sequence[Drawing]) -> Figure:
    labels = list_labels(first.picture)
    names = dict(zip(labels, name_labels(labels), strict=True))
    svg = draw_svg(first.picture, names)
    if not heats:
        return Figure(name, svg, [(first.name, first.choice)])
    pictures: list[Any] = [drawing.picture for drawing in heats]
    bare: dict[tuple[float, ...], int] = {}  # values → place of the first view that has them
    views = [_make_view(heat, place, bare) for place, heat in enumerate(pictures)]
    orders = {x: _find_order(pictures[0], x) for x in ORDERS if x != "similarity"}
    data = {"names": names, "orders": orders, "views": views}
    return Figure(name, svg, [(drawing.name, drawing.choice) for drawing in heats], data)


def _find_order(heat: Heat, order: str) -> list[int]:
    places = {code: place for place, code in enumerate(heat.rows)}
    arranged = arrange(heat, order)
    assert isinstance(arranged, Heat)
    return [places[code] for code in arranged.rows]


def _make_view(heat: Heat, place: int, bare: dict[tuple[float, ...], int]) -> dict[str, Any]:
    """Select what the script draws of a heat map; equal values refer to the first view with them.

    `values` are those above the diagonal if both triangles are equal, else all, by rows.
    """
    matrix, n = heat.values, len(heat.rows)
    is_equal = np.array_equal(matrix, matrix.T, equal_nan=True)
    half = bool(is_equal and np.isnan(np.diagonal(matrix)).all())
    cells = [*(combinations(range(n), 2) if half else product(range(n), repeat=2))]
    values = [round_drawn(matrix[cell]) for cell in cells]
    # maps with other squares have the same values, which a page of 51 languages has once
    key = tuple(np.nan_to_num(matrix, nan=-9e9).ravel().tolist())
    source = bare.setdefault(key, place)
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
    details = [heat.details.get(cell, "") for cell in cells] if heat.details else []
    return view | {"half": half, "values": values, "details": details}


def round_drawn(value: float | None) -> float | None:
    """Round a value to `DIGITS` digits; None for NaN, which JSON lacks."""
    return None if value is None or isnan(value) else float(f"{value:.{DIGITS}g}")
