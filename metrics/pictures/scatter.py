"""Draw scatter plots."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from polyprobe.metrics.pictures.charts import (
    LABEL,
    PLOT,
    Axis,
    Drawing,
    colour_bar,
    draw_key,
    draw_line,
    find_end_of_key,
    format_number,
    measure_text,
    shorten_signed,
    tag,
    write_label,
    write_text,
    write_tip,
)
from polyprobe.metrics.pictures.picture import Point, Points

NAMED, CROWD = 40, 200  # at most, points with labels, and points of full size with a tip


def draw_points(points: Points, names: Mapping[str, str], top: float) -> Drawing:
    """Draw points."""
    groups = list(dict.fromkeys(point.group for point in points.points))
    circles = [tag("circle", cx=6, cy=0, r=4, fill=colour_bar(i)) for i in range(len(groups))]
    key = [*zip(circles, groups, strict=True)] if len(groups) > 1 else []
    start, x_start = top + 18 * len(key) + 8, 56.0
    across, up = (PLOT[1], PLOT[1]) if points.ends else PLOT
    right, bottom = x_start + across, start + up
    x_ends = points.ends or _find_ends([point.x for point in points.points], points.log2)
    y_ends = points.ends or _find_ends([point.y for point in points.points], False)
    x = Axis(x_ends, (x_start, right), points.log2)
    y = Axis(y_ends, (bottom, start))
    parts = draw_key(key, x_start, top + 8)
    parts += x.draw_x(start, bottom, points.x)
    parts += y.draw_y(x_start, right, points.y)
    if not points.points:
        parts.append(write_text(x_start + 8, start + 16, "no values"))
    if points.line and points.points:
        ends = _clip_line(points.line, x, y)
        parts.append(draw_line(*ends, stroke_dasharray="6 4", stroke_width=1.5, class_="fitted"))
    crowd = len(points.points) > CROWD
    for i, group in enumerate(groups):
        members = [point for point in points.points if point.group == group]
        dots = [_draw_dot(point, names, x, y, points, crowd) for point in members]
        opacity = "0.5" if crowd else None
        parts.append(tag("g", *dots, fill=colour_bar(i), class_="points", fill_opacity=opacity))
    if len(points.points) <= NAMED:
        parts += _name_points(points.points, names, x, y)
    return max(right + 24, find_end_of_key(key, x_start)), bottom + 42, parts


def _draw_dot(
    point: Point, names: Mapping[str, str], x: Axis, y: Axis, points: Points, crowd: bool
) -> str:
    place = {"cx": x.place(point.x), "cy": y.place(point.y)}
    if crowd:
        return tag("circle", r=2.5, **place)
    values = f"{points.x} {shorten_signed(point.x)}\n{points.y} {format_number(point.y)}"
    tip = write_tip(f"{names.get(point.label, point.label)}\n{values}")
    return tag("circle", tip, r=4, **place)


def _find_ends(values: Sequence[float], log2: bool) -> tuple[float, float]:
    """Compute the ends of an axis, with some room around the values."""
    if log2:
        low, high = min(values, default=1.0), max(values, default=2.0)
        room = (high / low) ** 0.08 if high > low else 1.2
        return low / room, high * room
    low, high = min(values, default=0.0), max(values, default=1.0)
    room = (high - low) * 0.08 or abs(high) * 0.1 or 0.1
    return low - room, high + room


def _clip_line(line: tuple[float, float], x: Axis, y: Axis) -> tuple[float, float, float, float]:
    """Compute the ends in pixels of the part of a line inside the plot."""
    slope, intercept = line
    along = [math.log2(end) if x.log2 else end for end in x.ends]
    if slope:
        inside = sorted((end - intercept) / slope for end in y.ends)
        along = [min(max(end, inside[0]), inside[1]) for end in along]
    ends = [(x.place(2**end if x.log2 else end), y.place(slope * end + intercept)) for end in along]
    return (*ends[0], *ends[1])


def _name_points(
    points: Sequence[Point], names: Mapping[str, str], x: Axis, y: Axis
) -> Iterator[str]:
    """Write labels beside their points; one without room, over a point or a label, is left out."""
    places = [(x.place(point.x), y.place(point.y)) for point in points]
    boxes = [(across - 4, up - 4, across + 4, up + 4) for across, up in places]
    (start, end), (bottom, top) = x.pixels, y.pixels
    for (across, up), point in zip(places, points, strict=True):
        width = measure_text(names.get(point.label, point.label)[:LABEL])
        # beside the point first, above before below, then straight above or below
        for side, height in product((1, -1, 0), (-11, 11, 0)):
            middle = across + side * (7 + width / 2)
            if not (side or height):
                continue
            a = (middle - width / 2, up + height - 7, middle + width / 2, up + height + 7)
            inside = start <= a[0] and a[2] <= end + 24 and top <= a[1] and a[3] <= bottom
            # two boxes are apart if one ends before the other starts, across or up
            apart = (b[2] < a[0] or a[2] < b[0] or b[3] < a[1] or a[3] < b[1] for b in boxes)
            if inside and all(apart):
                boxes.append(a)
                yield write_label(middle, up + height, point.label, names, text_anchor="middle")
                break
