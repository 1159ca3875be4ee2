"""Draw pictures as SVG, PDF and PNG files; the same picture gives the same bytes."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, simplefilter

import numpy as np

from polyprobe.system.errors import check_ending
from polyprobe.system.extras import require
from polyprobe.system.files import write_whole
from polyprobe.system.progress import report

from .order import name_labels, shorten
from .picture import Bars, Heat, Picture, Point, Points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

ENDINGS = (".svg", ".pdf", ".png")
# The colours of the pages: chart.js and report.css.
RAMP = ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369",
        "#e1cc55", "#fee838"]  # fmt: skip
DIVERGING = ["#2166ac", "#92c5de", "#f7f7f7", "#f4a582", "#b35806"]
BARS = ["#0072b2", "#c98500", "#009e73", "#b3589a", "#6b7280"]
FRAMES = ["#2f7bff", "#ff3b30"]
SMALL = 6  # points, of many labels
INK, LINE, EMPTY = "#1b1f24", "#d0d7de", "#f5f6f8"
WRITTEN = 16  # at most, languages of a heat map with values in its cells
NAMED, CROWD = 60, 200  # at most, points with labels, and points of full size
_DISTANCES, _APART = (4, 14, 28), 9  # points of a label from its point, pixels from others
SCALE, ROW = 2.2, 0.135  # inches, of the colour scale, and of one of many rows
_MARKERS, _HATCHES = "osD^vPX", ("", "////", "....", "xxxx", "----", "oooo")
_STYLE = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib
    "font.size": 8,
    "text.color": INK,
    "text.parse_math": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.axisbelow": True,
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 9,
    "axes.unicode_minus": False,
    "hatch.color": "white",
    "legend.frameon": False,
    "pdf.fonttype": 42,  # text stays text
    "svg.fonttype": "none",
    "svg.hashsalt": "polyprobe",
    "xtick.color": INK,
    "xtick.major.width": 0.6,
    "ytick.color": INK,
    "ytick.major.width": 0.6,
}
_METADATA: dict[str, dict[str, Any]] = {
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
    ".png": {},
}


def check_figure(file: Path) -> None:
    """Refuse a file name with another ending, and any file if matplotlib is missing.

    Raises:
        PolyprobeError: another ending than .svg, .pdf or .png, or no matplotlib.
    """
    check_ending("--figure", file, ENDINGS)
    require("--figure", "matplotlib")


def save_picture(picture: Picture, path: Path, names: bool = False) -> None:
    """Save a picture as SVG, PDF or PNG, by the ending of the file's name.

    Args:
        picture: the picture to draw.
        path: the file; an older one is replaced.
        names: write the names of languages instead of their codes.

    Raises:
        PolyprobeError: another ending, no matplotlib, or the file cannot be written.
    """
    check_figure(path)
    from matplotlib import rc_context

    ending = path.suffix.lower()

    def write(part: Path) -> None:
        make_figure(picture, names).savefig(
            part,
            format=ending[1:],
            dpi=300,
            bbox_inches="tight",
            pad_inches=0.05,
            metadata=_METADATA[ending],
        )

    with rc_context(_STYLE), catch_warnings(record=True) as warned:
        simplefilter("always")
        write_whole(path, write, "choose another --figure")
    if ending != ".svg" and any("missing from font" in str(warning.message) for warning in warned):
        report(f"{path}: DejaVu Sans lacks some letters, shown as boxes; SVG keeps them as text")


def make_figure(picture: Picture, names: bool = False) -> "Figure":
    """Return a picture drawn by matplotlib, see `save_picture`."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    label = name_labels if names else list
    with rc_context(_STYLE):
        figure = Figure()
        if isinstance(picture, Heat):
            _draw_heat(figure, picture, label(picture.rows), label(picture.columns))
        elif isinstance(picture, Bars):
            _draw_bars(figure, picture, label(picture.labels))
        else:
            _draw_points(figure, picture, label([point.label for point in picture.points]))
    return figure


def _draw_heat(figure: "Figure", heat: Heat, rows: Sequence[str], columns: Sequence[str]) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    colours = LinearSegmentedColormap.from_list("ramp", DIVERGING if heat.diverging else RAMP)
    norm = Normalize(*_find_ends(heat))
    scale = ScalarMappable(norm, colours.with_extremes(bad=EMPTY))
    many = max(len(rows), len(columns)) > WRITTEN
    size, thin = (ROW, 0.4) if many else (0.38, 0.8)  # inches, points
    width, height = size * len(columns), size * len(rows)
    axes = _add_axes(figure, width, height, heat.title)
    axes.pcolormesh(
        np.ma.masked_invalid(heat.values),
        cmap=scale.cmap,
        norm=norm,
        edgecolors="white",
        linewidth=thin,
    )
    axes.invert_yaxis()
    font = SMALL if many else 8
    axes.set_yticks(np.arange(len(rows)) + 0.5, rows, fontsize=font)
    axes.set_xticks(np.arange(len(columns)) + 0.5, columns, fontsize=font)
    axes.tick_params(length=0, pad=2, top=False, bottom=False, labeltop=True, labelbottom=False)
    if many or max(map(len, columns), default=0) > 4:
        axes.tick_params(axis="x", rotation=90)
    axes.spines[:].set_visible(False)
    if not many:
        for (i, j), value in np.ndenumerate(heat.values):
            if not np.isnan(value):
                red, green, blue, _ = scale.to_rgba(value)
                ink = "#111111" if 0.3 * red + 0.59 * green + 0.11 * blue > 0.49 else "white"
                text = f"{value:z.2f}"
                axes.text(j + 0.5, i + 0.5, text, color=ink, ha="center", va="center", fontsize=7)
    _draw_scale(axes, heat, scale, width, height)
    if heat.squares:
        beside = ((SCALE + 0.3) / width, -0.14 / height)
        frames = _draw_frames(axes, heat, 1.5 * thin)
        axes.legend(handles=frames, loc="upper left", bbox_to_anchor=beside, borderpad=0)


def _draw_scale(
    axes: "Axes", heat: Heat, scale: "ScalarMappable", width: float, height: float
) -> None:
    """Draw the colour scale below a heat map of a size in inches."""
    bar = axes.inset_axes((0, -0.34 / height, SCALE / width, 0.1 / height))
    axes.figure.colorbar(scale, cax=bar, orientation="horizontal", label=heat.measure)
    if heat.mark:
        name, value = heat.mark
        bar.plot([value] * 2, [-0.3, 1.3], color=INK, transform=bar.get_xaxis_transform(),
                 clip_on=False)  # fmt: skip
        bar.text(value, 1.5, name, transform=bar.get_xaxis_transform(), ha="center")


def _draw_frames(axes: "Axes", heat: Heat, width: float) -> "list[Rectangle]":
    """Draw the frames of all squares, lines of a width in points; return one of each for a legend.

    Raises:
        ValueError: more squares than colours of `FRAMES`.
    """
    from matplotlib.patches import Rectangle

    frames = []
    colours = FRAMES[: len(heat.squares)]
    for colour, (name, cells) in zip(colours, heat.squares.items(), strict=True):
        edge = INK if heat.diverging else colour
        style: dict[str, Any] = {"fill": False, "edgecolor": edge, "linewidth": width}
        frames.append(Rectangle((0, 0), 1, 1, label=name, **style))
        for i, j in cells:
            axes.add_patch(Rectangle((j + 0.06, i + 0.06), 0.88, 0.88, **style))
    return frames


def _find_ends(heat: Heat) -> tuple[float, float]:
    """Return the ends of the scale, which always differ."""
    known = heat.values[~np.isnan(heat.values)]
    low = heat.low if heat.low is not None else min(known, default=0.0)
    high = heat.high if heat.high is not None else max(known, default=1.0)
    if heat.diverging:
        low, high = -max(-low, high), max(-low, high)
    return (low, high) if low < high else (low - 0.05, high + 0.05)


def _add_axes(figure: "Figure", width: float, height: float, title: str) -> "Axes":
    """Return axes of a size in inches that fill the figure; text outside them is saved too."""
    figure.set_size_inches(width, height)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_title(fill(title, int(14 * max(width, 1.5 * SCALE))), loc="left")
    return axes


def _draw_bars(figure: "Figure", bars: Bars, labels: Sequence[str]) -> None:
    many, count = len(labels) > WRITTEN, len(bars.series)
    thick = 0.15 if count == 1 and not many else 0.11  # inches
    step = thick * count + (ROW - thick if many else 0.07)
    axes = _add_axes(figure, 4, step * len(labels), bars.title)
    starts = np.arange(len(labels)) - thick * (count - 1) / 2 / step
    handles: list[Any] = []
    for index, one in enumerate(bars.series):
        heights = starts + index * thick / step
        drawn = axes.barh(
            heights,
            np.array(one.values, dtype=float),
            0.92 * thick / step,
            color=BARS[index % len(BARS)],
            hatch=_HATCHES[index // len(BARS) % len(_HATCHES)],
            label=one.name,
        )
        handles += [drawn] if count > 1 else []
        for height, bound in zip(heights, one.bounds or [None] * len(labels), strict=True):
            if bound is not None:
                axes.plot(bound, [height] * 2, color=INK, lw=0.8, marker="|", ms=3)
    for index, (name, value) in enumerate(bars.levels):
        style = ("--", ":", "-.")[index % 3]
        handles.append(axes.axvline(value, color=INK, lw=1, ls=style, label=name))
    axes.set_yticks(range(len(labels)), labels, fontsize=SMALL if many else 8)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=LINE, lw=0.6)
    axes.set_xlabel(bars.measure)
    _add_legend(axes, handles)


def _draw_points(figure: "Figure", points: Points, labels: Sequence[str]) -> None:
    axes = _add_axes(figure, 3 if points.ends else 4, 3, points.title)
    groups, handles = list(dict.fromkeys(point.group for point in points.points)), []
    for index, group in enumerate(groups):
        of_group = [point for point in points.points if point.group == group]
        drawn = axes.scatter(
            [point.x for point in of_group],
            [point.y for point in of_group],
            s=16 if len(labels) <= CROWD else 6,
            alpha=1 if len(labels) <= CROWD else 0.5,
            linewidth=0,
            color=BARS[index % len(BARS)],
            marker=_MARKERS[index // len(BARS) % len(_MARKERS)],
            label=group,
            clip_on=False,
            zorder=3,
        )
        handles += [drawn] if len(groups) > 1 else []
    if points.log2:
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(lambda value, _: shorten(value))
        axes.xaxis.set_minor_formatter("")
    if points.ends:
        axes.set(xlim=points.ends, ylim=points.ends)
    if points.line:
        (low, high), (slope, intercept) = axes.get_xlim(), points.line
        across = np.geomspace(low, high) if points.log2 else np.array([low, high])
        up = slope * (np.log2(across) if points.log2 else across) + intercept
        axes.set(xlim=(low, high), ylim=axes.get_ylim())
        axes.plot(across, up, color=INK, lw=1, ls="--", zorder=4)
    axes.grid(color=LINE, lw=0.6)
    axes.set_xlabel(points.x)
    axes.set_ylabel(points.y)
    _add_legend(axes, handles)
    if len(labels) <= NAMED:
        _name_points(axes, points.points, labels)


def _name_points(axes: "Axes", points: Sequence[Point], labels: Sequence[str]) -> None:
    """Write the labels inside the axes: beside their points, or farther away with a line.

    A label without a line is near no other point. A label without room is left out.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

    canvas = FigureCanvasAgg(axes.figure)
    places = axes.transData.transform([(point.x, point.y) for point in points])
    taken = [Bbox.from_bounds(x - 3, y - 3, 6, 6) for x, y in places]
    near = [Bbox.from_bounds(x - _APART, y - _APART, 2 * _APART, 2 * _APART) for x, y in places]
    for place, (text, point) in enumerate(zip(labels, points, strict=True)):
        for distance, x, y in product(_DISTANCES, (1, -1, 0), (1, -1, 0)):
            if not (x or y):
                continue
            beside = distance == _DISTANCES[0]
            named = axes.annotate(
                text,
                (point.x, point.y),
                (distance * x, distance * y),
                textcoords="offset points",
                ha={1: "left", 0: "center", -1: "right"}[x],
                va={1: "bottom", 0: "center", -1: "top"}[y],
                fontsize=7,
                arrowprops=None if beside else {"arrowstyle": "-", "lw": 0.5, "color": INK},
            )
            named.update_positions(canvas.get_renderer())
            box = Text.get_window_extent(named, canvas.get_renderer())  # without the line
            inside = np.all(axes.bbox.min <= box.min) and np.all(box.max <= axes.bbox.max)
            others = [*(near if beside else taken)[: len(places)], *taken[len(places) :]]
            del others[place]
            if inside and not box.count_overlaps(others):
                taken.append(box)
                break
            named.remove()


def _add_legend(axes: "Axes", handles: Sequence[Any]) -> None:
    if handles:
        axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.02, 1), borderpad=0)
