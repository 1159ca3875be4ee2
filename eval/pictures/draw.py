"""Draw pictures as SVG, PDF and PNG files; the same picture gives the same bytes."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyprobe.system.errors import PolyprobeError
from polyprobe.system.extras import explain_missing_extras, require
from polyprobe.system.files import write_whole

from .order import name_labels
from .picture import Bars, Heat, Picture, Points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ENDINGS = (".svg", ".pdf", ".png")
# The colours of the pages: chart.js and report.css.
RAMP = ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369",
        "#e1cc55", "#fee838"]  # fmt: skip
DIVERGING = ["#2166ac", "#92c5de", "#f7f7f7", "#f4a582", "#b35806"]
BARS = ["#0072b2", "#c98500", "#009e73", "#b3589a", "#6b7280"]
FRAMES = ["#2f7bff", "#ff3b30"]
INK, LINE, EMPTY = "#1b1f24", "#d0d7de", "#f5f6f8"
WRITTEN = 16  # at most, languages of a heat map with values in its cells
NAMED = 40  # at most, points with labels
SCALE = 2.2  # inches
_WHOLE = (0, 0, 1, 1)  # of the figure; what is outside is saved too
_MARKERS, _HATCHES = "osD^vPX", ("", "////", "....", "xxxx", "----", "oooo")
_STYLE = {
    "font.family": "DejaVu Sans",  # comes with matplotlib
    "font.size": 8,
    "text.color": INK,
    "text.parse_math": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 9,
    "hatch.color": "white",
    "legend.frameon": False,
    "pdf.fonttype": 42,  # text stays text
    "svg.fonttype": "none",
    "svg.hashsalt": "polyprobe",
    "xtick.color": INK,
    "ytick.color": INK,
}
_METADATA: dict[str, dict[str, Any]] = {
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
    ".png": {},
}


def check_figure(file: Path) -> None:
    """Refuse a file that is no picture, and all if matplotlib is missing.

    Raises:
        PolyprobeError: another ending than .svg, .pdf or .png, or no matplotlib.
    """
    if file.suffix.lower() not in ENDINGS:
        raise PolyprobeError(
            f"--figure {file}: expected a name that ends in {', '.join(ENDINGS[:-1])} or "
            f"{ENDINGS[-1]}"
        )
    require("--figure", "matplotlib")


def save_picture(picture: Picture, path: Path, names: bool = False) -> None:
    """Save a picture as SVG, PDF or PNG, by the ending of the file's name.

    Args:
        picture: what to draw.
        path: the file; an older one is replaced.
        names: write the names of languages, not their codes.

    Raises:
        PolyprobeError: another ending, no matplotlib, or the file cannot be written.
    """
    check_figure(path)
    figure, ending = make_figure(picture, names), path.suffix.lower()

    def write(part: Path) -> None:
        figure.savefig(
            part,
            format=ending[1:],
            dpi=300,
            bbox_inches="tight",
            pad_inches=0.05,
            metadata=_METADATA[ending],
        )

    from matplotlib import rc_context

    with rc_context(_STYLE):
        write_whole(path, write, "choose another --figure")


def make_figure(picture: Picture, names: bool = False) -> "Figure":
    """Return a picture drawn by matplotlib, see `save_picture`."""
    with explain_missing_extras("--figure"):
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
    from matplotlib.patches import Rectangle

    axes = figure.add_axes(_WHOLE)
    known = heat.values[~np.isnan(heat.values)]
    low = heat.low if heat.low is not None else min(known, default=0.0)
    high = heat.high if heat.high is not None else max(known, default=1.0)
    if heat.diverging and heat.low is None:
        low, high = -max(-low, high), max(-low, high)
    if low == high:
        low, high = low - 0.05, high + 0.05
    colours = LinearSegmentedColormap.from_list("ramp", DIVERGING if heat.diverging else RAMP)
    norm = Normalize(low, high)
    scale = ScalarMappable(norm, colours.with_extremes(bad=EMPTY))
    many = max(len(rows), len(columns)) > WRITTEN
    size = 0.135 if many else 0.38  # inches
    width, height = size * len(columns), size * len(rows)
    figure.set_size_inches(width, height)
    axes.pcolormesh(
        np.ma.masked_invalid(heat.values),
        cmap=scale.cmap,
        norm=norm,
        edgecolors="white",
        linewidth=0.3 if many else 0.8,
    )
    axes.invert_yaxis()
    font = 6 if many else 8
    axes.set_yticks(np.arange(len(rows)) + 0.5, rows, fontsize=font)
    axes.set_xticks(np.arange(len(columns)) + 0.5, columns, fontsize=font)
    axes.tick_params(length=0, pad=2, top=False, bottom=False, labeltop=True, labelbottom=False)
    if max(map(len, columns), default=0) > 4 or many:
        axes.tick_params(axis="x", rotation=90)
    axes.spines[:].set_visible(False)
    if not many:
        for (i, j), value in np.ndenumerate(heat.values):
            if not np.isnan(value):
                red, green, blue, _ = scale.to_rgba(value)
                ink = "#111111" if 0.3 * red + 0.59 * green + 0.11 * blue > 0.49 else "white"
                text = f"{value:.2f}" if value else "0.00"
                axes.text(j + 0.5, i + 0.5, text, color=ink, ha="center", va="center", fontsize=7)
    frames = []
    for colour, (name, cells) in zip(FRAMES, heat.squares.items(), strict=False):
        style: dict[str, Any] = {"fill": False, "edgecolor": colour, "linewidth": 1.2}
        frames.append(Rectangle((0, 0), 1, 1, label=name, **style))
        for i, j in cells:
            axes.add_patch(Rectangle((j + 0.08, i + 0.08), 0.84, 0.84, **style))
    if frames:
        axes.legend(handles=frames, loc="upper left", bbox_to_anchor=(1.02, 1))
    axes.set_title(heat.title, loc="left")
    bar = axes.inset_axes((0, -0.22 / height, SCALE / width, 0.1 / height))
    figure.colorbar(scale, cax=bar, orientation="horizontal", label=heat.measure)
    if heat.mark:
        bar.axvline(heat.mark[1], color=INK)
        bar.text(heat.mark[1], 1.3, heat.mark[0], transform=bar.get_xaxis_transform(), ha="center")


def _draw_bars(figure: "Figure", bars: Bars, labels: Sequence[str]) -> None:
    axes = figure.add_axes(_WHOLE)
    thick = 0.11 if len(bars.series) > 1 else 0.15  # inches
    step = thick * len(bars.series) + 0.07
    figure.set_size_inches(4, max(0.6, step * len(labels)))
    starts = np.arange(len(labels)) - thick * (len(bars.series) - 1) / 2 / step
    for index, one in enumerate(bars.series):
        values = np.array(one.values, dtype=float)
        axes.barh(
            starts + index * thick / step,
            values,
            0.92 * thick / step,
            color=BARS[index % len(BARS)],
            hatch=_HATCHES[index // len(BARS) % len(_HATCHES)],
            label=one.name,
        )
        for i, bound in enumerate(one.bounds):
            if bound is not None:
                middle = starts[i] + index * thick / step
                axes.plot(bound, [middle] * 2, color=INK, lw=0.8, marker="|", ms=3)
    for index, (name, value) in enumerate(bars.levels):
        axes.axvline(value, color=INK, lw=1, ls=("--", ":", "-.")[index % 3], label=name)
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=LINE, lw=0.6)
    axes.set_axisbelow(True)
    axes.set_xlabel(bars.measure)
    _finish(axes, bars.title, len(bars.series) + len(bars.levels) > 1)


def _draw_points(figure: "Figure", points: Points, labels: Sequence[str]) -> None:
    axes = figure.add_axes(_WHOLE)
    figure.set_size_inches(4, 3)
    groups = list(dict.fromkeys(point.group for point in points.points))
    for index, group in enumerate(groups):
        of_group = [point for point in points.points if point.group == group]
        axes.scatter(
            [point.x for point in of_group],
            [point.y for point in of_group],
            s=16,
            color=BARS[index % len(BARS)],
            marker=_MARKERS[index // len(BARS) % len(_MARKERS)],
            label=group,
        )
    if points.log2:
        axes.set_xscale("log", base=2)
    if points.line:
        known = [point.x for point in points.points if np.isfinite(point.x)]
        ends = np.geomspace if points.log2 else np.linspace
        across = ends(min(known), max(known), 100)
        slope, intercept = points.line
        up = slope * (np.log2(across) if points.log2 else across) + intercept
        axes.plot(across, up, color=INK, lw=1, ls="--")
    if len(labels) <= NAMED:
        for text, point in zip(labels, points.points, strict=True):
            axes.annotate(
                text, (point.x, point.y), xytext=(3, 3), textcoords="offset points", fontsize=7
            )
    axes.grid(color=LINE, lw=0.6)
    axes.set_axisbelow(True)
    axes.set_xlabel(points.x)
    axes.set_ylabel(points.y)
    _finish(axes, points.title, len(groups) > 1)


def _finish(axes: "Axes", title: str, legend: bool) -> None:
    axes.set_title(title, loc="left")
    if legend:
        axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1))
