"""What a picture shows, apart from how it is drawn."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np


class Heat(NamedTuple):
    """A heat map.

    Attributes:
        title: a line above it.
        rows, columns: languages or other labels.
        values: [rows, columns]; NaN: no value, an empty cell.
        measure: name of the values, beside the colour scale.
        low, high: ends of the scale; None: those of the values.
        diverging: two colours from the middle of the scale; low and high are then opposite.
        mark: (name, value) of a line on the scale, such as chance.
        squares: name → (row, column) of the cells with a frame.
        similar: [rows, rows], higher for languages that are more alike, for their order by
            similarity; None: the values.
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


class Series(NamedTuple):
    """Values of a bar chart, one for each label; None: none; `bounds` are [low, high] or None."""

    name: str
    values: Sequence[float | None]
    bounds: Sequence[Sequence[float] | None] = ()


class Bars(NamedTuple):
    """A bar chart.

    Attributes:
        title: a line above it.
        labels: of the bars: languages, groups or numbers.
        series: one bar of each at a label.
        measure: name of the values' axis.
        levels: (name, value) of lines across all bars, such as chance.
    """

    title: str
    labels: Sequence[str]
    series: Sequence[Series]
    measure: str
    levels: Sequence[tuple[str, float]] = ()


class Point(NamedTuple):
    """A point; its label is a language, a pair such as `en-fr`, or a run; a group has a colour."""

    label: str
    x: float
    y: float
    group: str = ""


class Points(NamedTuple):
    """A scatter plot.

    Attributes:
        title: a line above it, such as the correlation.
        points: with labels, which are written where they are few.
        x, y: names of the axes.
        line: (slope, intercept) of a line in the units of the axes, or in log2 of x with `log2`.
        log2: the x axis is logarithmic.
        ends: of both axes; None: those of the points.
    """

    title: str
    points: Sequence[Point]
    x: str
    y: str
    line: tuple[float, float] | None = None
    log2: bool = False
    ends: tuple[float, float] | None = None


Picture = Heat | Bars | Points
