"""Elements of SVG pictures: tags, texts, labels, tips, legends and axes.

Colours are CSS variables, such as `var(--ink)`, which a page, a Space or a file gives values.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from unicodedata import east_asian_width

N_COLOURS = 5
SIZE = 12  # pixels of letters
LABEL = 32  # at most, characters of a label; the pointer shows the whole
PLOT = (480, 300)  # pixels of the plot of curves and points
DASHES = ("6 4", "2 3", "8 3 2 3")
Drawing = tuple[float, float, list[str]]  # width, height, elements


def measure_text(text: str) -> float:
    """Estimate the width of a text in pixels; East Asian letters are square."""
    return SIZE * sum(1.0 if east_asian_width(letter) in "WF" else 0.6 for letter in text)


def shorten(value: float) -> str:
    """Format a number with three digits and its unit; it is rounded before the unit is chosen.

    >>> [shorten(x) for x in (559_214_592, 7.1e9, 999_700_000, 2e12, 5_000, 0.25)]
    ['559M', '7.1B', '1B', '2T', '5k', '0.25']
    """
    rounded = float(f"{value:.3g}")
    for unit, name in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if rounded >= unit:
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


def describe_value(
    label: str, series: str, value: float | None, bounds: Sequence[float] | None
) -> str:
    """Write label, series, value and interval as one line."""
    text = f"{label}, {series}: {format_number(value)}"
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


class Axis:
    """An axis from one value to another, on a line of pixels; `log2`: logarithmic."""

    def __init__(
        self, ends: tuple[float, float], pixels: tuple[float, float], log2: bool = False
    ) -> None:
        self.ends, self.pixels, self.log2 = ends, pixels, log2

    def place(self, value: float) -> float:
        """Compute the place of a value in pixels."""
        (low, high), (start, end) = self.ends, self.pixels
        if self.log2:
            low, high, value = math.log2(low), math.log2(high), math.log2(value)
        return start + (value - low) / (high - low) * (end - start)

    def ticks(self) -> list[float]:
        """List round values on the axis, two or more; powers of two on a long logarithmic one."""
        low, high = self.ends
        if self.log2:
            powers = range(math.ceil(math.log2(low)), math.floor(math.log2(high)) + 1)
            if len(powers) < 3:  # a short axis, as of one model
                return [low * (high / low) ** share for share in (0.0, 0.5, 1.0)]
            return [2.0**power for power in powers[:: len(powers) // 6 + 1]]
        rough = (high - low) / 6
        unit = 10 ** math.floor(math.log10(rough))
        step = next(step * unit for step in (1, 2, 5, 10) if step * unit >= rough)
        first = math.ceil(low / step - 1e-9)
        return [round(i * step, 12) for i in range(first, math.floor(high / step + 1e-9) + 1)]

    def draw_x(self, top: float, bottom: float, name: str) -> Iterator[str]:
        """Draw a horizontal axis below a plot, its grid and its name."""
        places = [self.place(value) for value in self.ticks()]
        grid = "".join(f"M{short(x)} {short(top)}V{short(bottom)}" for x in places)
        yield tag("path", d=grid, stroke="var(--line)")
        ticks = [write_text(x, bottom + 12, shorten_signed(value))
                 for x, value in zip(places, self.ticks(), strict=True)]  # fmt: skip
        middle = sum(self.pixels) / 2
        yield tag("g", *ticks, write_text(middle, bottom + 30, name), text_anchor="middle")

    def draw_y(self, start: float, end: float, name: str) -> Iterator[str]:
        """Draw a vertical axis left of a plot, its grid and its name."""
        places = [self.place(value) for value in self.ticks()]
        grid = "".join(f"M{short(start)} {short(y)}H{short(end)}" for y in places)
        yield tag("path", d=grid, stroke="var(--line)")
        ticks = [write_text(start - 8, y, shorten_signed(value))
                 for y, value in zip(places, self.ticks(), strict=True)]  # fmt: skip
        yield tag("g", *ticks, text_anchor="end")
        turn = f"translate(10 {short(sum(self.pixels) / 2)}) rotate(-90)"
        yield write_text(0, 0, name, transform=turn, text_anchor="middle")


def shorten_signed(value: float) -> str:
    """Format a number of an axis, with four digits below a thousand.

    >>> shorten_signed(-5_000), shorten_signed(0.2), shorten_signed(0.5325)
    ('-5k', '0.2', '0.5325')
    """
    if abs(value) < 1_000:
        return f"{value:.4g}"
    return f"-{shorten(-value)}" if value < 0 else shorten(value)
