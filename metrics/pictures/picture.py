"""The content of pictures, independent of the drawing."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np


class Heat(NamedTuple):
    """A heat map.

    Attributes:
        title: line above the picture.
        rows, columns: languages or other labels.
        values: [rows, columns]; NaN: no value, an empty cell.
        measure: name of the values, below the colour scale.
        low, high: ends of the scale; None: those of the values.
        diverging: two colours from the middle of the scale, whose ends are then opposite.
        mark: (name, value) of a line on the scale, such as chance.
        squares: name → (row, column) of framed cells.
        similar: [rows, rows], similarities of languages, for the order by similarity; None: the
            values.
        details: (row, column) → text after the value of a cell at the pointer, as its interval.
    """

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: np.ndarray
    measure: str
    low: float | None = None
    high: float | None = None
    diverging: bool = False
    mark: tuple[str, float] | None = None
    squares: Mapping[str, Sequence[tuple[int, int]]] = MappingProxyType({})
    similar: np.ndarray | None = None
    details: Mapping[tuple[int, int], str] = MappingProxyType({})


class Series(NamedTuple):
    """Values of a chart, one for each label; None: undefined.

    Attributes:
        bounds: [low, high] of each value, or None.
        marks: a second value at each label, such as chance, as a line.
        tips: text of each value for the pointer; by default its label, series, value and bounds.
    """

    name: str
    values: Sequence[float | None]
    bounds: Sequence[Sequence[float] | None] = ()
    marks: Sequence[float | None] = ()
    tips: Sequence[str] = ()


class Bars(NamedTuple):
    """A bar chart.

    Attributes:
        title: line above the picture.
        labels: labels of the bars: languages, groups or numbers.
        series: each has one bar at each label.
        measure: name of the axis of values.
        levels: (name, value) of lines across all bars, such as chance.
        ends: least extent of the axis of values, which always has 0.
    """

    title: str
    labels: Sequence[str]
    series: Sequence[Series]
    measure: str
    levels: Sequence[tuple[str, float]] = ()
    ends: tuple[float, float] = (0.0, 0.0)


class Curves(NamedTuple):
    """Curves over ordered labels, with their bounds as bands; the axis of values begins at 0."""

    title: str
    labels: Sequence[str]
    series: Sequence[Series]
    x: str
    y: str


class Quartiles(NamedTuple):
    """The distribution of a box plot: ends of the whiskers, quartiles, median and mean."""

    low: float
    q1: float
    median: float
    q3: float
    high: float
    mean: float


class Boxes(NamedTuple):
    """Box plots, `series` by name with one box at each label; values grow downwards, as ranks."""

    title: str
    labels: Sequence[str]
    series: Mapping[str, Sequence[Quartiles]]
    measure: str


class Point(NamedTuple):
    """A point, labelled by a language, a pair such as `en-fr`, or a run; the group has a colour."""

    label: str
    x: float
    y: float
    group: str = ""


class Points(NamedTuple):
    """A scatter plot.

    Attributes:
        title: line above the picture, such as the correlation.
        points: labelled points; the labels of many points are not drawn.
        x, y: names of the axes.
        line: (slope, intercept) of a line in the units of the axes, or in log2 of x with `log2`.
        log2: the x axis is logarithmic.
        ends: limits of both axes; None: those of the points.
    """

    title: str
    points: Sequence[Point]
    x: str
    y: str
    line: tuple[float, float] | None = None
    log2: bool = False
    ends: tuple[float, float] | None = None


Picture = Heat | Bars | Curves | Boxes | Points
