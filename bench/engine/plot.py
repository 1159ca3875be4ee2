"""Draw growth as an SVG: one panel for what grows, logarithmic axes, one line a model."""

from typing import Any
from xml.sax.saxutils import escape

import numpy as np

WIDTH, HEIGHT, MARGIN, GAP = 300, 260, 56, 24
WHAT = ("candidates", "queries", "languages")
# Okabe and Ito's blue, vermilion and bluish green: told apart by the colour-blind too.
COLOURS = {"decoder": "#0072b2", "encoder": "#d55e00", "encoder-decoder": "#009e73"}
STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#333}.axis{stroke:#999}.grid{stroke:#ddd}"
    ".linear{stroke:#999;stroke-dasharray:4 4}.sheet{fill:#fff}"
)


def draw_growth(curves: list[dict[str, Any]]) -> str:
    """Return the plot; dashed is the linear course through the first point of the first line."""
    width = len(WHAT) * (WIDTH + GAP) + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT + 96}" '
        f'role="img" aria-label="seconds against candidates, queries and languages">',
        f"<style>{STYLE}</style>",
        f'<rect class="sheet" width="{width}" height="{HEIGHT + 96}"/>',
    ]
    for k, what in enumerate(WHAT):
        shown = [curve for curve in curves if curve["what"] == what]
        if shown:
            place = f'<g transform="translate({MARGIN + k * (WIDTH + GAP)},24)">'
            parts += [place, *_panel(what, shown), "</g>"]
    return "\n".join([*parts, *_legend(), "</svg>"]) + "\n"


def _panel(what: str, curves: list[dict[str, Any]]) -> list[str]:
    sizes = np.array(curves[0]["sizes"], dtype=float)
    seconds = np.array([curve["seconds"] for curve in curves])
    low, high = np.floor(np.log10(seconds.min())), np.ceil(np.log10(seconds.max()))
    right = WIDTH - MARGIN / 2

    def x(size: float) -> float:
        return float(right * np.log(size / sizes[0]) / np.log(sizes[-1] / sizes[0]))

    def y(value: float) -> float:
        return float(HEIGHT * (high - np.log10(value)) / (high - low))

    parts = [f'<text x="{right / 2:.0f}" y="{HEIGHT + 36}" text-anchor="middle">{what}</text>']
    for power in range(int(low), int(high) + 1):
        at = y(10.0**power)
        parts.append(f'<path class="grid" d="M0 {at:.1f}H{right:.1f}"/>')
        parts.append(f'<text x="-6" y="{at + 4:.1f}" text-anchor="end">{10.0**power:g} s</text>')
    for size in sizes:
        parts.append(
            f'<text x="{x(size):.1f}" y="{HEIGHT + 18}" text-anchor="middle">{size:g}</text>'
        )
    parts.append(f'<path class="axis" fill="none" d="M0 0V{HEIGHT}H{right:.1f}"/>')
    parts.append(_linear(sizes, seconds[0], x, y, 10.0**high))
    for curve in curves:
        points = [(x(s), y(t), s, t) for s, t in zip(curve["sizes"], curve["seconds"], strict=True)]
        parts += _line(curve, points)
    return parts


def _linear(sizes: np.ndarray, seconds: np.ndarray, x: Any, y: Any, top: float) -> str:
    """Return the dashed line of linear growth, cut at the panel's upper edge."""
    last = min(float(sizes[-1]), float(sizes[0] * top / seconds[0]))
    end = float(seconds[0] * last / sizes[0])
    return (
        f'<path class="linear" d="M{x(sizes[0]):.1f} {y(seconds[0]):.1f}L{x(last):.1f} '
        f'{y(end):.1f}"/>'
    )


def _line(curve: dict[str, Any], points: list[tuple[float, float, float, float]]) -> list[str]:
    name = curve["model"].removeprefix("growth-")
    colour = COLOURS[name]
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b, _, _ in points)
    dots = [
        f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3.5" fill="{colour}">'
        f"<title>{escape(name)}, {size:g}: {seconds:.2f} s</title></circle>"
        for a, b, size, seconds in points
    ]
    return [f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{path}"/>', *dots]


def _legend() -> list[str]:
    parts = []
    for k, (name, colour) in enumerate(COLOURS.items()):
        at = MARGIN + 150 * k
        parts.append(f'<circle cx="{at}" cy="{HEIGHT + 80}" r="4" fill="{colour}"/>')
        parts.append(f'<text x="{at + 10}" y="{HEIGHT + 84}">{name}</text>')
    at = MARGIN + 150 * len(COLOURS)
    parts.append(f'<path class="linear" d="M{at} {HEIGHT + 80}h24"/>')
    parts.append(f'<text x="{at + 30}" y="{HEIGHT + 84}">linear</text>')
    return parts
