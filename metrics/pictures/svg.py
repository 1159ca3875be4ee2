"""Draw heat maps, and every picture as SVG for pages, Spaces and files.

The same picture gives the same text.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from textwrap import wrap

import numpy as np

from polyprobe.metrics.pictures.charts import (
    LABEL,
    SIZE,
    Drawing,
    draw_bars,
    draw_key,
    draw_line,
    draw_points,
    find_end_of_key,
    format_number,
    measure_text,
    short,
    tag,
    write_label,
    write_text,
    write_tip,
)
from polyprobe.metrics.pictures.picture import Bars, Heat, Picture, Points

# The light colours of the pages, see report.css.
COLOURS = {"back": "#ffffff", "ink": "#1b1f24", "line": "#d0d7de", "card": "#f5f6f8"}
BARS = ("#0072b2", "#c98500", "#009e73", "#b3589a", "#6b7280")
COLOURS |= {f"bar-{place}": colour for place, colour in enumerate(BARS)}
FONT = "system-ui, 'DejaVu Sans', 'Noto Sans', sans-serif"
# Cividis: made to be read alike with and without colour blindness; lighter is higher.
RAMP = ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369",
        "#e1cc55", "#fee838"]  # fmt: skip
# Of differences: blue is below zero, orange above.
DIVERGING = ["#2166ac", "#92c5de", "#f7f7f7", "#f4a582", "#b35806"]
FRAMES = ["#2f7bff", "#ff3b30"]
WRITTEN = 16  # at most, rows of a heat map with values in its cells
SCALE, STEPS = 220, 22  # pixels and rectangles of a colour scale


def draw_heat(heat: Heat, names: Mapping[str, str], top: float) -> Drawing:
    """Draw a heat map."""
    is_small = max(len(heat.rows), len(heat.columns)) <= WRITTEN
    rows = [names.get(code, code)[:LABEL] for code in heat.rows]
    columns = [names.get(code, code)[:LABEL] for code in heat.columns]
    x_start = math.ceil(max(map(measure_text, rows), default=0)) + 10
    size = 32 if is_small else 15
    highest = math.ceil(max(map(measure_text, columns), default=0))
    upright = highest > size - 2
    start = top + (highest + 12 if upright else 24)
    right, bottom = x_start + size * len(columns), start + size * len(rows)
    key = [
        (tag("path", d="M1-5h10v10h-10z", fill="none", stroke_width=2, stroke=colour), name)
        for name, colour in zip(heat.squares, FRAMES[: len(heat.squares)], strict=True)
    ]
    labels = []
    for i, code in enumerate(heat.rows):
        labels.append(write_label(x_start - 6, start + size * (i + 0.5), code, names))
    parts = [tag("g", *labels, text_anchor="end", class_="rows")]
    turn, labels = ") rotate(-90" if upright else "", []
    for i, code in enumerate(heat.columns):
        move = f"translate({short(x_start + size * (i + 0.5))} {short(start - 8)}{turn})"
        labels.append(write_label(0, 0, code, names, transform=move))
    parts.append(tag("g", *labels, text_anchor="start" if upright else "middle", class_="columns"))
    parts += _draw_cells(heat, names, x_start, start, size, is_small)
    parts += _draw_scale(heat, x_start, bottom + 14)
    parts += draw_key(key, x_start, bottom + 66)
    ends = (right + 8, x_start + SCALE + 24, x_start + measure_text(heat.measure) + 8)
    return max(*ends, find_end_of_key(key, x_start)), bottom + 60 + 18 * len(key), parts


def _draw_cells(
    heat: Heat, names: Mapping[str, str], x_start: float, top: float, size: int, is_small: bool
) -> Iterator[str]:
    """Draw the cells by rows, their values if few, and the frames."""
    (low, high), ramp = find_scale_ends(heat), DIVERGING if heat.diverging else RAMP
    cells, texts = [], []
    for (i, j), value in np.ndenumerate(heat.values):
        x, y = x_start + size * j, top + size * i
        defined = not np.isnan(value)
        colour = colour_value(ramp, (value - low) / (high - low)) if defined else None
        tip = []
        # of many cells the page's script writes the tips: they are half of the bytes of a picture
        if is_small:
            red, green, blue = bytes.fromhex(colour[1:]) if colour else (0, 0, 0)
            ink = "#111" if red * 0.3 + green * 0.59 + blue * 0.11 > 125 else "#fff"
            label = f"{value:z.2f}" if defined else ""
            texts.append(
                write_text(x + size / 2, y + size / 2, label, fill=ink if colour else None)
            )
            first, second = (names.get(code, code) for code in (heat.rows[i], heat.columns[j]))
            text = f"{first} – {second}\n{heat.measure} {format_number(value if defined else None)}"
            tip = [write_tip(text + heat.details.get((i, j), ""))]
        way = f"M{short(x)} {short(y)}h{size - 1}v{size - 1}h-{size - 1}z"
        cells.append(tag("path", *tip, d=way, fill=colour or "var(--card)"))
    # The page's script colours, orders and names the cells again, by these places.
    place = {"data_left": x_start, "data_top": top, "data_size": size}
    yield tag("g", *cells, class_="cells", **place)
    frames = []
    for colour, places in zip(FRAMES, heat.squares.values(), strict=False):
        for i, j in places:
            way = f"M{short(x_start + size * j + 1)} {short(top + size * i + 1)}"
            way += f"h{size - 3}v{size - 3}h-{size - 3}z"
            frames.append(tag("path", d=way, stroke=colour))
    yield tag("g", *frames, "", class_="frames", fill="none", stroke_width=2, pointer_events="none")
    if texts:
        anchor = {"text_anchor": "middle", "pointer_events": "none"}
        yield tag("g", *texts, class_="texts", **anchor, font_size=10)


def _draw_scale(heat: Heat, x_start: float, y: float) -> Iterator[str]:
    """Draw the colour scale with its ends, its mark and the measure."""
    (low, high), ramp = find_scale_ends(heat), DIVERGING if heat.diverging else RAMP
    wide, colours = SCALE / STEPS, [colour_value(ramp, (i + 0.5) / STEPS) for i in range(STEPS)]
    size = {"y": y, "width": wide + 0.5, "height": 10}
    steps = [tag("rect", x=x_start + wide * i, **size, fill=x) for i, x in enumerate(colours)]
    start = write_text(x_start, y + 20, f"{low:z.2f}", class_="low")
    end = write_text(x_start + SCALE, y + 20, f"{high:z.2f}", class_="high", text_anchor="end")
    name, value = heat.mark or ("", low)
    x = x_start + SCALE * (min(high, max(low, value)) - low) / (high - low)
    half = measure_text(name) / 2  # the name keeps off the numbers at both ends
    middle = max(x_start + 36 + half, min(x, x_start + SCALE - 36 - half))
    visible = None if heat.mark else "hidden"
    mark = draw_line(x, y - 3, x, y + 13, stroke_width=2, class_="mark", visibility=visible)
    title = write_text(middle, y + 20, name, class_="named", text_anchor="middle")
    measure = write_text(x_start, y + 38, heat.measure, class_="measure")
    yield tag("g", *steps, start, end, mark, title, measure, class_="scale")


def find_scale_ends(heat: Heat) -> tuple[float, float]:
    """Compute the ends of the colour scale, which always differ."""
    values = heat.values[~np.isnan(heat.values)]
    low = heat.low if heat.low is not None else min(values, default=0.0)
    high = heat.high if heat.high is not None else max(values, default=1.0)
    if heat.diverging:
        low, high = -max(-low, high), max(-low, high)
    return (float(low), float(high)) if low < high else (float(low) - 0.05, float(high) + 0.05)


def colour_value(ramp: Sequence[str], share: float) -> str:
    """Compute the colour at a share of a ramp.

    >>> colour_value(["#000000", "#0000ff"], 0.5)
    '#000080'
    """
    place = min(1.0, max(0.0, share)) * (len(ramp) - 1)
    first = min(len(ramp) - 2, int(place))
    pairs = [[int(colour[i : i + 2], 16) for colour in ramp[first : first + 2]] for i in (1, 3, 5)]
    return "#" + "".join(f"{round(a + (b - a) * (place - first)):02x}" for a, b in pairs)


DRAW: Mapping[type, Callable[..., Drawing]] = {
    Heat: draw_heat,
    Bars: draw_bars,
    Points: draw_points,
}


def draw_svg(picture: Picture, names: Mapping[str, str] | None = None, title: bool = True) -> str:
    """Draw a picture as an SVG element, with `names` in place of its labels, as of languages."""
    lines = wrap(picture.title, 88) if title else []
    top = 18 * len(lines) + 6 * bool(lines)
    names = names or {}
    width, height, parts = DRAW[type(picture)](picture, names, top)
    # a long title may be wider than the picture of two languages
    width = max(width, max(map(measure_text, lines), default=0) + 8)
    titles = [write_text(4, 10 + 18 * i, line, font_size=13) for i, line in enumerate(lines)]
    box = f"0 0 {short(width)} {short(height)}"
    head: dict[str, str | float | None] = {"xmlns": "http://www.w3.org/2000/svg"}
    head |= {"width": width, "height": height, "viewBox": box, "font_family": FONT}
    head |= {"font_size": SIZE, "fill": "var(--ink)", "role": "img"}
    return tag("svg", *titles, *parts, **head)


def set_colours(svg: str) -> str:
    """Put the light colours in place of the variables, and a background, for a file."""
    svg = re.sub(r"var\(--([\w-]+)\)", lambda name: COLOURS[name[1]], svg)
    head, end, rest = svg.partition(">")
    return f'{head}{end}<rect width="100%" height="100%" fill="{COLOURS["back"]}"/>{rest}'
