"""Draw bars, curves and box plots."""

import math
from collections.abc import Iterator, Mapping, Sequence

from polyprobe.metrics.pictures.elements import (
    DASHES,
    LABEL,
    PLOT,
    Axis,
    Drawing,
    colour_bar,
    describe_value,
    draw_key,
    draw_line,
    draw_swatch,
    find_end_of_key,
    measure_text,
    short,
    tag,
    write_label,
    write_text,
    write_tip,
)
from polyprobe.metrics.pictures.picture import Bars, Boxes, Curves, Quartiles, Series


def draw_bars(bars: Bars, names: Mapping[str, str], top: float) -> Drawing:
    """Draw bars with whiskers, marks and levels."""
    thick = 11 if len(bars.series) > 1 else 15
    step = thick * len(bars.series) + 8
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
    width = max(x_start + PLOT[0] + 24, find_end_of_key(key, x_start))
    numbers = [bars.ends[0], bars.ends[1], *(value for _, value in bars.levels)]
    for series in bars.series:
        ends = [end for bound in series.bounds if bound for end in bound]
        numbers += [value for value in (*series.values, *series.marks, *ends) if value is not None]
    low, high = min(0.0, *numbers), max(0.0, *numbers)  # the length of a bar is its value
    axis = Axis((low, high if high > low else 1.0), (x_start, x_start + PLOT[0]))
    parts = draw_key(key, x_start, top + 8)
    parts += axis.draw_x(start, bottom, bars.measure)
    heights = [start + step * i for i in range(len(labels))]
    rows = zip(heights, bars.labels, strict=True)
    texts = [write_label(x_start - 8, y + step / 2, label, names) for y, label in rows]
    parts.append(tag("g", *texts, text_anchor="end"))
    for i, series in enumerate(bars.series):
        places = [y + 4 + thick * i for y in heights]
        parts += _draw_series(series, bars.labels, names, axis, places, thick - 1, i)
    for i, (_, value) in enumerate(bars.levels):
        x, dash = axis.place(value), DASHES[i % 3]
        parts.append(draw_line(x, start - 4, x, bottom, stroke_dasharray=dash, stroke_width=1.5))
    return width, bottom + 42, parts


def _draw_series(
    series: Series,
    labels: Sequence[str],
    names: Mapping[str, str],
    axis: Axis,
    places: Sequence[float],
    thick: float,
    colour: int,
) -> Iterator[str]:
    """Draw the bars of a series at their places from above, with whiskers and marks."""
    zero, bars, whiskers, marks = axis.place(0.0), [], "", ""
    bounds = series.bounds or [None] * len(labels)
    rows = zip(labels, series.values, bounds, places, strict=True)
    for i, (label, value, bound, y) in enumerate(rows):
        if value is None:
            continue
        x, middle = axis.place(value), short(y + thick / 2)
        tip = describe_value(names.get(label, label), series.name, value, bound)
        tip = write_tip(series.tips[i] if series.tips else tip)
        bars.append(tag("rect", tip, x=min(x, zero), y=y, width=abs(x - zero), height=thick))
        if bound is not None:
            low, high = (short(axis.place(end)) for end in bound)
            whiskers += f"M{low} {middle}H{high}M{low} {short(y + 2)}v6M{high} {short(y + 2)}v6"
        if series.marks and series.marks[i] is not None:
            marks += f"M{short(axis.place(series.marks[i] or 0.0))} {short(y - 1)}v{thick + 2}"
    yield tag("g", *bars, fill=colour_bar(colour), class_="bars")
    if whiskers:
        yield tag("path", d=whiskers, stroke="var(--ink)", fill="none", class_="whiskers")
    if marks:
        yield tag("path", d=marks, stroke="var(--ink)", stroke_width=3)


def draw_curves(curves: Curves, names: Mapping[str, str], top: float) -> Drawing:
    """Draw curves with bands; their labels are numbers, which have no names."""
    key = [(draw_swatch(i), series.name) for i, series in enumerate(curves.series)]
    start, x_start = top + 18 * len(key) + 8, 56.0
    right, bottom, count = x_start + PLOT[0], start + PLOT[1], len(curves.labels)
    numbers = [
        value
        for series in curves.series
        for value in (*series.values, *(end for bound in series.bounds if bound for end in bound))
        if value is not None
    ]
    y = Axis((min(0.0, *numbers, 0.0), max([*numbers, 0.0]) or 1.0), (bottom, start))
    x = Axis((0.5, count + 0.5), (x_start, right))
    parts = draw_key(key, x_start, top + 8)
    parts += y.draw_y(x_start, right, curves.y)
    ticks = [write_text(x.place(i), bottom + 12, label) for i, label in enumerate(curves.labels, 1)]
    name = write_text((x_start + right) / 2, bottom + 30, curves.x)
    parts.append(tag("g", *ticks, name, text_anchor="middle"))
    for place, series in enumerate(curves.series):
        parts += _draw_curve(series, place, curves.labels, x, y)
    return max(right + 24, find_end_of_key(key, x_start)), bottom + 42, parts


def _draw_curve(
    series: Series, place: int, labels: Sequence[str], x: Axis, y: Axis
) -> Iterator[str]:
    rows = zip(labels, series.values, series.bounds or [None] * len(labels), strict=True)
    at = [(x.place(i), v, b, label) for i, (label, v, b) in enumerate(rows, 1) if v is not None]
    if any(bounds for _, _, bounds, _ in at):
        ends = [(across, bounds or (value, value)) for across, value, bounds, _ in at]
        edge = [(a, b[1]) for a, b in ends] + [(a, b[0]) for a, b in reversed(ends)]
        band = "L".join(f"{short(a)} {short(y.place(value))}" for a, value in edge)
        yield tag("path", d=f"M{band}Z", fill=colour_bar(place), opacity="0.2")
    if at:
        way = "L".join(f"{short(across)} {short(y.place(value))}" for across, value, *_ in at)
        style = {"stroke_width": 2, "stroke_dasharray": DASHES[0] if place % 2 else None}
        yield tag("path", d=f"M{way}", fill="none", stroke=colour_bar(place), **style)
    dots = []
    for across, value, bounds, label in at:
        tip = write_tip(describe_value(label, series.name, value, bounds))
        dots.append(tag("circle", tip, cx=across, cy=y.place(value), r=4))
    yield tag("g", *dots, fill=colour_bar(place))


def draw_boxes(boxes: Boxes, names: Mapping[str, str], top: float) -> Drawing:
    """Draw box plots."""
    key = [(draw_swatch(i), name) for i, name in enumerate(boxes.series)]
    start, x_start, thick = top + 18 * len(key) + 8, 56.0, 24
    step = thick * len(key) + 6 * len(key) + 14
    right, bottom = x_start + max(step * len(boxes.labels), 120), start + PLOT[1]
    every = [box for row in boxes.series.values() for box in row]
    worst = max([2.0, *(max(box.high, box.mean) for box in every)])
    y = Axis((min([1.0, *(box.low for box in every)]), worst), (start, bottom))
    parts = draw_key(key, x_start, top + 8)
    parts += y.draw_y(x_start, right, boxes.measure)
    for i, label in enumerate(boxes.labels):
        x = x_start + step * i + 7
        middle = x - 7 + step / 2
        parts.append(write_label(middle, bottom + 12, label, names, text_anchor="middle"))
        for place, (name, row) in enumerate(boxes.series.items()):
            x_box, tip = x + place * (thick + 6), f"{names.get(label, label)}, {name}"
            parts.append(_draw_box(row[i], x_box, thick, y, colour_bar(place), tip))
    return max(right + 8, find_end_of_key(key, x_start)), bottom + 28, parts


def _draw_box(box: Quartiles, x: float, thick: float, y: Axis, colour: str, tip: str) -> str:
    """Draw quartiles, median, whiskers and, as a broken line, the mean."""
    low, q1, median, q3, high, mean = (y.place(value) for value in box)
    middle = short(x + thick / 2)
    whiskers = f"M{middle} {short(low)}V{short(q1)}M{middle} {short(q3)}V{short(high)}"
    lines = "\n".join(f"{name} {value:.2f}" for name, value in box._asdict().items())
    return tag(
        "g",
        write_tip(f"{tip}\n{lines}"),
        tag("path", d=whiskers),
        tag("rect", x=x, y=q1, width=thick, height=max(1, q3 - q1), fill_opacity="0.25"),
        tag("path", d=f"M{short(x)} {short(median)}h{thick}", stroke_width=2),
        tag("path", d=f"M{short(x)} {short(mean)}h{thick}", stroke_width=2,
             stroke_dasharray="3 3"),
        stroke=colour,
        fill=colour,
        class_="box",
    )  # fmt: skip
