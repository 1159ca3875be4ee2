"""The content of pictures, independent of the drawing."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from types import MappingProxyType
from typing import NamedTuple

import numpy as np


class Heat(NamedTuple):
    """A heat map."""

    title: str  # line above the picture
    rows: Sequence[str]  # languages or other labels
    columns: Sequence[str]
    values: np.ndarray  # [rows, columns]; NaN: no value, an empty cell
    measure: str  # name of the values, below the colour scale
    low: float | None = None  # ends of the scale; None: those of the values
    high: float | None = None
    diverging: bool = False  # two colours from the middle of the scale, whose ends are opposite
    mark: tuple[str, float] | None = None  # (name, value) of a line on the scale, such as chance
    # name → (row, column) of framed cells
    squares: Mapping[str, Sequence[tuple[int, int]]] = MappingProxyType({})
    # similarities [rows, rows], for the order of languages; None: the values
    similar: np.ndarray | None = None
    # (row, column) → text after the value of a cell at the pointer, as its interval
    details: Mapping[tuple[int, int], str] = MappingProxyType({})


class Quartiles(NamedTuple):
    """The distribution of a box plot: ends of the whiskers, quartiles, median and mean."""

    low: float
    q1: float
    median: float
    q3: float
    high: float
    mean: float


class Series(NamedTuple):
    """Values of a chart, one for each label; None: undefined."""

    name: str
    values: Sequence[float | None]
    bounds: Sequence[Sequence[float] | None] = ()  # [low, high] of each value
    marks: Sequence[float | None] = ()  # a second value at each label, such as chance, as a line
    tips: Sequence[str] = ()  # for the pointer; by default label, series, value and bounds
    boxes: Sequence[Quartiles] = ()  # box plots in place of the bars; the values are medians


class Bars(NamedTuple):
    """A bar chart; each series has one bar at each label: a language, a group or a number."""

    title: str
    labels: Sequence[str]
    series: Sequence[Series]
    measure: str  # name of the axis of values
    levels: Sequence[tuple[str, float]] = ()  # (name, value) of lines across all bars
    ends: tuple[float, float] = (0.0, 0.0)  # least extent of the axis, which always has 0


class Point(NamedTuple):
    """A point, labelled by a language, a pair such as `en-fr`, or a run; the group has a colour."""

    label: str
    x: float
    y: float
    group: str = ""
    x_bounds: Sequence[float] = ()  # [low, high] of x and of y, drawn as lines
    y_bounds: Sequence[float] = ()


class Points(NamedTuple):
    """A scatter plot, or curves."""

    title: str  # such as the correlation
    points: Sequence[Point]  # the labels of many points are not drawn
    x: str  # names of the axes
    y: str
    # (slope, intercept) of a line in the units of the axes, or in log2 of x with `log2`
    line: tuple[float, float] | None = None
    log2: bool = False  # a logarithmic x axis
    ends: tuple[float, float] | None = None  # of both axes; None: those of the points
    curves: bool = False  # a curve through the points of each group, which have no labels


def join_points(title: str, series: Sequence[Series], x: str, y: str) -> Points:
    """Make the curves of series, whose values are at x = 1, 2, …; an undefined one is left out."""
    points = [
        Point(of.name, place, value, of.name, y_bounds=bounds or ())
        for of in series
        for place, (value, bounds) in enumerate(zip_longest(of.values, of.bounds), start=1)
        if value is not None
    ]
    return Points(title, points, x, y, curves=True)


Picture = Heat | Bars | Points
