"""Draw all pictures but heat maps, from the elements of pictures: tags, texts, legends and axes."""

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import product
from typing import NamedTuple
from unicodedata import east_asian_width

from polyprobe.metrics.pictures.picture import Bars, Point, Points, Series

N_COLOURS = 5
SIZE = 12  # pixels of letters
LABEL = 32  # at most, characters of a label; the pointer shows the whole
PLOT = (380, 280)  # pixels of the plot of points
BAR = 300  # pixels of the axis of bars, so that a phone shows them whole with their labels
CLOSE = 24  # at most, labels of bars that stand far apart
DASHES = ("6 4", "2 3", "8 3 2 3")
# At most, points whose labels keep off intervals, points with labels, and points with tips.
LINED, NAMED, CROWD = 15, 40, 200
Drawing = tuple[float, float, list[str]]  # width, height, elements
Line = tuple[float, float, float, float]  # both ends in pixels: x, y, x, y


def measure_text(text: str) -> float:
    """Estimate the width of a text in pixels; East Asian letters are square."""
    wide = {letter: 0.76 if letter.isupper() else 0.6 for letter in text} | {"m": 0.98, "w": 0.82}
    return SIZE * sum(1.0 if east_asian_width(x) in "WF" else wide[x] for x in text)


def shorten(value: float) -> str:
    """Format a number with three digits and its unit; it is rounded before the unit is chosen.

    >>> [shorten(x) for x in (559_214_592, 7.1e9, 999_700_000, 2e12, 5_000, 0.25)]
    ['559M', '7.1B', '1B', '2T', '5k', '0.25']
    """
    rounded = float(f"{value:.3g}")
    for unit, name in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(rounded) >= unit:
            return f"{rounded / unit:g}{name}"
    return f"{rounded:g}"


def short(value: float) -> str:
    """Format a number of pixels with one decimal at most."""
    return f"{value:.1f}".removesuffix(".0")


def tag(name: str, *content: str, **attributes: str | float | None) -> str:
    """Write an element; `_` in the names of attributes is `-`, None omits one."""
    head = name
    for key, value in attributes.items():
        if value is not None:
            text = escape(value) if isinstance(value, str) else short(value)
            head += f' {key.rstrip("_").replace("_", "-")}="{text}"'
    return f"<{head}>{''.join(content)}</{name}>" if content else f"<{head}/>"


def write_text(x: float, y: float, text: str, **attributes: str | float | None) -> str:
    """Write a text whose middle has a height."""
    # dy in place of dominant-baseline, which programs for PDF do not know
    return tag("text", escape(text, quote=False), x=x, y=y, dy=".35em", **attributes)


def write_label(
    x: float, y: float, code: str, names: Mapping[str, str], **attributes: str | float | None
) -> str:
    """Write a label by its name, shortened; `data-code` lets a page write the code instead."""
    name = names.get(code, code)
    text = name if len(name) <= LABEL else f"{name[: LABEL - 1]}…"
    return write_text(x, y, text, data_code=code if name != code else None, **attributes)


def write_tip(text: str) -> str:
    """Write the text that a browser shows at the pointer."""
    return tag("title", escape(text, quote=False))


def draw_line(x1: float, y1: float, x2: float, y2: float, **attributes: str | float | None) -> str:
    """Draw a line between two places."""
    way = f"M{short(x1)} {short(y1)}L{short(x2)} {short(y2)}"
    return tag("path", d=way, **{"stroke": "var(--ink)", **attributes})


def format_number(value: float | None) -> str:
    """Format a value with three decimals; a dash for None."""
    return "–" if value is None else f"{value:z.3f}"


def format_estimate(value: float | None, bounds: Sequence[float] | None) -> str:
    """Format a value with three decimals, and its interval, if any, in brackets."""
    text = format_number(value)
    return f"{text} ({format_number(bounds[0])} to {format_number(bounds[1])})" if bounds else text


def colour_bar(place: int) -> str:
    """Name the colour of a series or a group by its place."""
    return f"var(--bar-{place % N_COLOURS})"


def draw_swatch(place: int) -> str:
    """Draw the mark of a series in a legend."""
    return tag("rect", x=0, y=-5, width=11, height=10, fill=colour_bar(place))


def draw_key(entries: Sequence[tuple[str, str]], x: float, y: float) -> list[str]:
    """Draw a legend of (mark at 0, 0; name), one line each."""
    places = [f"translate({short(x)} {short(y + 18 * i)})" for i in range(len(entries))]
    rows = zip(entries, places, strict=True)
    return [tag("g", mark, write_text(18, 0, name), transform=p) for (mark, name), p in rows]


def find_end_of_key(entries: Sequence[tuple[str, str]], x: float) -> float:
    """Compute where the longest line of a legend that starts at x ends, with a margin."""
    return max((x + 24 + measure_text(name) for _, name in entries), default=0.0)


class Axis(NamedTuple):
    """An axis from one value to another, on a line of pixels."""

    ends: tuple[float, float]
    pixels: tuple[float, float]
    log2: bool = False  # logarithmic

    def place(self, value: float) -> float:
        """Compute the place of a value in pixels."""
        (low, high), (start, end) = self.ends, self.pixels
        if self.log2:
            low, high, value = math.log2(low), math.log2(high), math.log2(value)
        return start + (value - low) / (high - low) * (end - start)

    def ticks(self) -> list[float]:
        """List round values on the axis, two or more: 1, 2, 5, 10, … on a long logarithmic one."""
        low, high = self.ends
        if self.log2:
            powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
            values = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
            values = [value for value in values if low <= value <= high]
            if len(values) >= 3:
                return values[:: len(values) // 8 + 1]
        rough = (high - low) / 6
        unit = 10 ** math.floor(math.log10(rough))
        step = next(step * unit for step in (1, 2, 5, 10) if step * unit >= rough)
        first = math.ceil(low / step - 1e-9)
        return [round(i * step, 12) for i in range(first, math.floor(high / step + 1e-9) + 1)]

    def draw_x(self, top: float, bottom: float, name: str) -> Iterator[str]:
        """Draw a horizontal axis below a plot, its grid and its name."""
        ticks = [(self.place(value), shorten_signed(value)) for value in self.ticks()]
        grid = "".join(f"M{short(x)} {short(top)}V{short(bottom)}" for x, _ in ticks)
        yield tag("path", d=grid, stroke="var(--line)")
        texts = [write_text(x, bottom + 12, text) for x, text in ticks]
        middle = max(sum(self.pixels) / 2, measure_text(name) / 2 + 4)
        yield tag("g", *texts, write_text(middle, bottom + 30, name), text_anchor="middle")

    def draw_y(self, start: float, end: float, name: str) -> Iterator[str]:
        """Draw a vertical axis left of a plot, its grid and its name."""
        ticks = [(self.place(value), shorten_signed(value)) for value in self.ticks()]
        grid = "".join(f"M{short(start)} {short(y)}H{short(end)}" for y, _ in ticks)
        yield tag("path", d=grid, stroke="var(--line)")
        texts = [write_text(start - 8, y, text) for y, text in ticks]
        yield tag("g", *texts, text_anchor="end")
        turn = f"translate(10 {short(sum(self.pixels) / 2)}) rotate(-90)"
        yield write_text(0, 0, name, transform=turn, text_anchor="middle")


def shorten_signed(value: float) -> str:
    """Format a number of an axis, with four digits below a thousand.

    >>> shorten_signed(-5_000), shorten_signed(0.2), shorten_signed(0.5325)
    ('-5k', '0.2', '0.5325')
    """
    return f"{value:.4g}" if abs(value) < 1_000 else shorten(value)


def draw_bars(bars: Bars, names: Mapping[str, str], top: float) -> Drawing:
    """Draw bars or box plots, with whiskers, marks and levels."""
    thick = 11 if len(bars.series) > 1 or len(bars.labels) > CLOSE else 15
    step = thick * len(bars.series) + (8 if len(bars.labels) <= CLOSE else 5)
    key = [(draw_swatch(i), series.name) for i, series in enumerate(bars.series)]
    key = key if len(key) > 1 else []
    for i, (name, _) in enumerate(bars.levels):
        key.append((draw_line(0, 0, 14, 0, stroke_dasharray=DASHES[i % 3], stroke_width=1.5), name))
    if any(series.marks for series in bars.series):
        key.append((draw_line(5, -6, 5, 6, stroke_width=3), "chance"))
    labels = [names.get(label, label)[:LABEL] for label in bars.labels]
    x_start = math.ceil(max(map(measure_text, labels), default=0)) + 12
    start = top + 18 * len(key) + (6 if key else 0)
    bottom = start + step * len(labels)
    width = max(x_start + BAR + 24, find_end_of_key(key, x_start), measure_text(bars.measure) + 8)
    numbers = [*bars.ends, *(value for _, value in bars.levels), *_list_numbers(bars.series)]
    low, high = min(0.0, *numbers), max(0.0, *numbers)  # the length of a bar is its value
    axis = Axis((low, high if high > low else 1.0), (x_start, x_start + BAR))
    parts = draw_key(key, x_start, top + 8)
    parts += axis.draw_x(start, bottom, bars.measure)
    heights = [start + step * i for i in range(len(labels))]
    rows = zip(heights, bars.labels, strict=True)
    texts = [write_label(x_start - 8, y + step / 2, label, names) for y, label in rows]
    parts.append(tag("g", *texts, text_anchor="end"))
    for i, series in enumerate(bars.series):
        places = [y + 4 + thick * i for y in heights]
        draw = _draw_boxes if series.boxes else _draw_series
        parts += draw(bars, i, names, axis, places, thick - 1)
    for i, (_, value) in enumerate(bars.levels):
        x, dash = axis.place(value), DASHES[i % 3]
        parts.append(draw_line(x, start - 4, x, bottom, stroke_dasharray=dash, stroke_width=1.5))
    return width, bottom + 42, parts


def _list_numbers(series: Sequence[Series]) -> list[float]:
    """List all values, marks and ends of intervals and boxes."""
    ends = [end for x in series for bounds in x.bounds for end in bounds or ()]
    ends += [end for x in series for box in x.boxes for end in box]
    values = [value for x in series for value in (*x.values, *x.marks)]
    return [*ends, *(value for value in values if value is not None)]


def _draw_series(
    bars: Bars, place: int, names: Mapping[str, str], axis: Axis, ys: Sequence[float], thick: float
) -> Iterator[str]:
    """Draw the bars of a series at their places from above, with whiskers and marks."""
    series, zero, rects, whiskers, marks = bars.series[place], axis.place(0.0), [], "", ""
    bounds = series.bounds or [None] * len(ys)
    rows = zip(bars.labels, series.values, bounds, ys, strict=True)
    for i, (label, value, bound, y) in enumerate(rows):
        if value is None:
            continue
        x, middle = axis.place(value), short(y + thick / 2)
        tip = f"{names.get(label, label)}, {series.name}: {format_estimate(value, bound)}"
        tip = write_tip(series.tips[i] if series.tips else tip)
        rects.append(tag("rect", tip, x=min(x, zero), y=y, width=abs(x - zero), height=thick))
        if bound is not None:
            low, high = (short(axis.place(end)) for end in bound)
            whiskers += f"M{low} {middle}H{high}M{low} {short(y + 2)}v6M{high} {short(y + 2)}v6"
        if series.marks and series.marks[i] is not None:
            marks += f"M{short(axis.place(series.marks[i] or 0.0))} {short(y - 1)}v{thick + 2}"
    yield tag("g", *rects, fill=colour_bar(place), class_="bars")
    if whiskers:
        yield tag("path", d=whiskers, stroke="var(--ink)", fill="none", class_="whiskers")
    if marks:
        yield tag("path", d=marks, stroke="var(--ink)", stroke_width=3)


def _draw_boxes(
    bars: Bars, place: int, names: Mapping[str, str], axis: Axis, ys: Sequence[float], thick: float
) -> Iterator[str]:
    """Draw quartiles, median, whiskers and, as a broken line, the mean at each label."""
    series, colour = bars.series[place], colour_bar(place)
    for label, box, y in zip(bars.labels, series.boxes, ys, strict=True):
        low, q1, median, q3, high, mean = (axis.place(value) for value in box)
        middle = short(y + thick / 2)
        whiskers = f"M{short(low)} {middle}H{short(q1)}M{short(q3)} {middle}H{short(high)}"
        lines = "\n".join(f"{name} {value:.2f}" for name, value in box._asdict().items())
        tip = write_tip(f"{names.get(label, label)}, {series.name}\n{lines}")
        size = {"x": q1, "y": y, "width": max(1, q3 - q1), "height": thick}
        parts = [tip, tag("path", d=whiskers), tag("rect", **size, fill_opacity="0.25")]
        for value, dash in ((median, None), (mean, "3 3")):
            way = f"M{short(value)} {short(y)}v{short(thick)}"
            parts.append(tag("path", d=way, stroke_width=2, stroke_dasharray=dash))
        yield tag("g", *parts, stroke=colour, fill=colour, class_="box")


def draw_points(points: Points, names: Mapping[str, str], top: float) -> Drawing:
    """Draw points, a curve through those of each group with `curves`."""
    groups = list(dict.fromkeys(point.group for point in points.points))
    circles = [tag("circle", cx=6, cy=0, r=4, fill=colour_bar(i)) for i in range(len(groups))]
    key = [*zip(circles, groups, strict=True)] if len(groups) > 1 else []
    start, x_start = top + 18 * len(key) + 8, 56.0
    across, up = (PLOT[1], PLOT[1]) if points.ends else PLOT
    right, bottom = x_start + across, start + up
    x_values = [end for point in points.points for end in (point.x, *point.x_bounds)]
    y_values = [end for point in points.points for end in (point.y, *point.y_bounds)]
    x_ends = points.ends or _find_ends(x_values, points.log2)
    x = Axis(x_ends, (x_start, right), points.log2)
    y = Axis(points.ends or _find_ends(y_values, False), (bottom, start))
    parts = draw_key(key, x_start, top + 8)
    parts += x.draw_x(start, bottom, points.x)
    parts += y.draw_y(x_start, right, points.y)
    if not points.points:
        parts.append(write_text(x_start + 8, start + 16, "no values"))
    whiskers = list(_list_whiskers(points.points, x, y))
    parts += [draw_line(*line, opacity="0.3", class_="whiskers") for line in whiskers]
    lines = whiskers if len(points.points) <= LINED else []
    if points.line and points.points:
        line = _clip_line(points.line, x, y)
        lines.append(line)
        parts.append(draw_line(*line, stroke_dasharray="6 4", stroke_width=1.5, class_="fitted"))
    for i, group in enumerate(groups):
        parts += _draw_group(points, group, i, names, x, y)
    if len(points.points) <= NAMED and not points.curves:
        parts += _name_points(points.points, names, x, y, lines)
    return max(right + 24, find_end_of_key(key, x_start)), bottom + 42, parts


def _draw_group(
    points: Points, group: str, place: int, names: Mapping[str, str], x: Axis, y: Axis
) -> Iterator[str]:
    """Draw the points of a group, and their curve if the picture has curves."""
    crowd, ways, dots = len(points.points) > CROWD, [], []
    for point in (point for point in points.points if point.group == group):
        tip = f"{names.get(point.label, point.label)}\n{points.x} {shorten_signed(point.x)}\n"
        tip += f"{points.y} {format_estimate(point.y, point.y_bounds)}"
        at = {"cx": x.place(point.x), "cy": y.place(point.y)}
        ways.append(" ".join(map(short, at.values())))
        tips = [] if crowd else [write_tip(tip)]
        dots.append(tag("circle", *tips, r=2.5 if crowd else 4, **at))
    if points.curves:
        style = {"stroke_width": 2, "stroke_dasharray": DASHES[0] if place % 2 else None}
        way = f"M{'L'.join(ways)}"
        yield tag("path", d=way, fill="none", stroke=colour_bar(place), **style, class_="curve")
    opacity = "0.5" if crowd else None
    yield tag("g", *dots, fill=colour_bar(place), class_="points", fill_opacity=opacity)


def _find_ends(values: Sequence[float], log2: bool) -> tuple[float, float]:
    """Compute the ends of an axis, with some room around the values."""
    if log2:
        low, high = min(values, default=1.0), max(values, default=2.0)
        room = (high / low) ** 0.08 if high > low else 1.2
        return low / room, high * room
    low, high = min(values, default=0.0), max(values, default=1.0)
    room = (high - low) * 0.08 or abs(high) * 0.1 or 0.1
    return low - room, high + room


def _list_whiskers(points: Sequence[Point], x: Axis, y: Axis) -> Iterator[Line]:
    """Yield the ends in pixels of the lines of the points' intervals."""
    for point in points:
        across, up = x.place(point.x), y.place(point.y)
        if point.x_bounds:
            yield (x.place(point.x_bounds[0]), up, x.place(point.x_bounds[1]), up)
        if point.y_bounds:
            yield (across, y.place(point.y_bounds[0]), across, y.place(point.y_bounds[1]))


def _clip_line(line: tuple[float, float], x: Axis, y: Axis) -> Line:
    """Compute the ends in pixels of the part of a line inside the plot."""
    slope, intercept = line
    along = [math.log2(end) if x.log2 else end for end in x.ends]
    if slope:
        inside = sorted((end - intercept) / slope for end in y.ends)
        along = [min(max(end, inside[0]), inside[1]) for end in along]
    ends = [(x.place(2**end if x.log2 else end), y.place(slope * end + intercept)) for end in along]
    return (*ends[0], *ends[1])


def _name_points(
    points: Sequence[Point], names: Mapping[str, str], x: Axis, y: Axis, lines: Sequence[Line]
) -> Iterator[str]:
    """Write labels beside their points, but those without room: over a point, line or label."""
    places = [(x.place(point.x), y.place(point.y)) for point in points]
    boxes = [(across - 4, up - 4, across + 4, up + 4) for across, up in places]
    for x1, y1, x2, y2 in lines:  # in pieces that are as small as points
        n = int(max(abs(x2 - x1), abs(y2 - y1)) / 3) + 1
        steps = [(x1 + (x2 - x1) * i / n, y1 + (y2 - y1) * i / n) for i in range(n + 1)]
        boxes += [(across - 1, up - 1, across + 1, up + 1) for across, up in steps]
    (start, end), (bottom, top) = x.pixels, y.pixels
    for (across, up), point in zip(places, points, strict=True):
        width = measure_text(names.get(point.label, point.label)[:LABEL])
        # beside the point first, above before below, then straight above or below
        for height, side in product((-11, 11, 0, -22, 22), (1, -1, 0)):
            middle = across + side * (7 + width / 2)
            if not (side or height):
                continue
            a = (middle - width / 2, up + height - 7, middle + width / 2, up + height + 7)
            inside = start <= a[0] and a[2] <= end + 24 and top <= a[1] and a[3] <= bottom
            # two boxes are apart if one ends before the other starts, across or up
            apart = (b[2] < a[0] or a[2] < b[0] or b[3] < a[1] or a[3] < b[1] for b in boxes)
            if inside and all(apart):
                boxes.append(a)
                # the margin keeps a label readable on the intervals of many points
                halo: dict[str, str | float | None] = {"stroke": "var(--back)", "stroke_width": 3}
                halo |= {"paint_order": "stroke", "text_anchor": "middle"}
                yield write_label(middle, up + height, point.label, names, **halo)
                break
