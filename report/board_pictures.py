"""The pictures of a board."""

from polyprobe.analysis.board.board import PARAMETERS, Board
from polyprobe.report.board import is_share
from polyprobe.report.pictures.picture import Bars, Picture, Point, Points, Series


def list_pictures(board: Board) -> dict[str, Picture]:
    """Return the pictures by name.

    For each shown figure: `FIGURE-size`, the figure over the parameter count with its regression
    line (figure 4 of Qi et al. 2023), if a count is known; `FIGURE`, bars with intervals;
    `FIGURE-accuracy`, the figure over accuracy.
    """
    sizes = {f"{name}-size": _over_size(board, name) for name in board.shown}
    bars = {name: _bars(board, name) for name in board.shown}
    others = [x for x in board.shown if x != "accuracy" and "accuracy" in board.figures]
    pairs = {f"{name}-accuracy": _over(board, name, "accuracy") for name in others}
    known = any(x is not None for x in board.column(PARAMETERS))
    return {**(sizes if known else {}), **bars, **pairs}


def _over_size(board: Board, name: str) -> Points:
    slope, figure = board.slope(name), board.figures[name]
    title = figure.title
    if slope:
        scale, unit = (100, " points") if is_share(figure) else (1, "")
        low, change, high = (f"{scale * x:+z.2f}" for x in (slope.low, slope.slope, slope.high))
        title += f": {change}{unit} per doubling ({low} to {high}), {slope.n} models"
    line = (slope.slope, slope.intercept) if slope else None
    return Points(title, _points(board, PARAMETERS, name), PARAMETERS, figure.title, line, True)


def _over(board: Board, name: str, other: str) -> Points:
    found, (x, y) = board.correlation(name), (board.figures[other].title, board.figures[name].title)
    title = f"{y} and {x}"
    if found:
        title += f": r = {found.r:z.3f} ({found.low:z.3f} to {found.high:z.3f}), {found.n} models"
    return Points(title, _points(board, other, name), x, y)


def _points(board: Board, x: str, y: str) -> list[Point]:
    values = zip(board.entries, board.column(x), board.column(y), strict=True)
    return [
        Point(entry.name, one, other)
        for entry, one, other in values
        if one is not None and other is not None
    ]


def _bars(board: Board, name: str) -> Bars:
    figure = board.figures[name]
    found = [entry.values[name] for entry in board.entries]
    series = Series(figure.title, board.column(name), [value.interval for value in found])
    labels = [entry.name for entry in board.entries]
    return Bars(f"{figure.title} on {board.data}", labels, [series], figure.title)
