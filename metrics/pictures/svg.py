"""Draw pictures as SVG for pages, Spaces and files; the same picture gives the same text."""

import re
from collections.abc import Callable, Mapping
from textwrap import wrap

from polyprobe.metrics.pictures.charts import (
    SIZE,
    Drawing,
    draw_bars,
    draw_boxes,
    draw_curves,
    draw_points,
    measure_text,
    short,
    tag,
    write_text,
)
from polyprobe.metrics.pictures.heat import draw_heat
from polyprobe.metrics.pictures.picture import Bars, Boxes, Curves, Heat, Picture, Points

# The light colours of the pages, see report.css.
COLOURS = {
    "back": "#ffffff",
    "ink": "#1b1f24",
    "line": "#d0d7de",
    "card": "#f5f6f8",
    "bar-0": "#0072b2",
    "bar-1": "#c98500",
    "bar-2": "#009e73",
    "bar-3": "#b3589a",
    "bar-4": "#6b7280",
}
DRAW: Mapping[type, Callable[..., Drawing]] = {
    Heat: draw_heat,
    Bars: draw_bars,
    Curves: draw_curves,
    Boxes: draw_boxes,
    Points: draw_points,
}
FONT = "system-ui, 'DejaVu Sans', 'Noto Sans', sans-serif"


def draw_svg(picture: Picture, names: Mapping[str, str] | None = None, title: bool = True) -> str:
    """Draw a picture as an SVG element, with `names` in place of its labels, as of languages."""
    lines = wrap(picture.title, 88) if title else []
    top = 18 * len(lines) + 6 * bool(lines)
    names = names or {}
    width, height, parts = DRAW[type(picture)](picture, names, top)
    # a long title may be wider than the picture of two languages
    width = max(width, max(map(measure_text, lines), default=0) + 8)
    titles = [write_text(4, 10 + 18 * i, line, font_size=13) for i, line in enumerate(lines)]
    return tag(
        "svg",
        *titles,
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        width=width,
        height=height,
        viewBox=f"0 0 {short(width)} {short(height)}",
        font_family=FONT,
        font_size=SIZE,
        fill="var(--ink)",
        role="img",
    )


def set_colours(svg: str) -> str:
    """Put the light colours in place of the variables, and a background, for a file."""
    svg = re.sub(r"var\(--([\w-]+)\)", lambda name: COLOURS[name[1]], svg)
    head, end, rest = svg.partition(">")
    return f'{head}{end}<rect width="100%" height="100%" fill="{COLOURS["back"]}"/>{rest}'
