"""Draw entries: bars with intervals and chance, or a heat map of pairs of languages.

Colours have a contrast of at least 3 to a white and to a black page; the page's CSS (page.py) sets
those of texts and intervals.
"""

from collections.abc import Sequence

import plotly.graph_objects as go

from polyprobe.metrics.space.entries import Entry, show_interval, show_number

_COLOURS = ["#2f86c9", "#c77700", "#159570", "#b3589a"]
_CHANCE = "#d9480f"
_MOST_BARS = 40
_MOST_TEXTS = 12  # languages, for whose pairs there is room to write


def draw_pairs(figures: Sequence[Entry], low: float | None = None) -> go.Figure:
    """Draw the first measure's pairs as a lower triangle, coloured from `low` to 1.

    Without `low` it is chance, or the lowest value if that is below chance. For many languages the
    colours end at the highest value, for contrast. A single pair is a bar. The page's CSS (page.py)
    hides numbers that are too small to read.
    """
    pairs = [f for f in figures if len(f.of) == 2 and f.name == figures[0].name]
    if len(pairs) == 1:
        return draw_bars(pairs, share=all((f.value or 0) >= 0 for f in pairs))
    names = list(dict.fromkeys(name for f in pairs for name in f.of))
    values: list[list[float | None]] = [[None] * (len(names) - 1) for _ in names[1:]]
    hover = [[""] * (len(names) - 1) for _ in names[1:]]
    for f in pairs:
        column, row = names.index(f.of[0]), names.index(f.of[1]) - 1
        values[row][column], hover[row][column] = f.value, _describe(f)
    known = [f.value for f in pairs if f.value is not None]
    if low is None:
        low = min([f.chance for f in pairs if f.chance is not None] + known)
    few = len(names) <= _MOST_TEXTS
    high = 1 if few else max(known, default=1)
    trace = go.Heatmap(
        x=names[:-1], y=names[1:], z=values, zmin=low, zmax=high, colorscale="Cividis",
        customdata=hover, hovertemplate="%{customdata}<extra></extra>", hoverongaps=False,
        texttemplate="%{z:.4f}" if few else None, xgap=1, ygap=1,
        colorbar={"title": {"text": pairs[0].name}, "thickness": 14, "outlinewidth": 0},
    )  # fmt: skip
    figure = go.Figure(trace, _lay_out(max(300, 120 + 44 * len(names) if few else 640)))
    ticks = {"tickfont_size": 12} if few else {"tickfont_size": 9, "dtick": 1}
    axis = {"type": "category", "showgrid": False, **ticks}
    figure.update_xaxes(axis, side="bottom", tickangle=None if few else -90)
    figure.update_yaxes(axis, autorange="reversed", automargin=True)
    return figure


def draw_bars(
    figures: Sequence[Entry],
    names: Sequence[str] = (),
    reference: str = "chance",
    share: bool = True,
) -> go.Figure:
    """Draw measures (default: all) of every language or relation as bars with their intervals.

    All share one axis, so they must be of one unit. Of many bars the first measure's are drawn
    alone. Chance, called `reference`, is a line where it is the same for all, else a mark a bar.
    A `share` has an axis from 0 to 1.
    """
    names = names or list(dict.fromkeys(f.name for f in figures))
    drawn = [f for f in figures if f.name in names and f.value is not None]
    if len(drawn) > _MOST_BARS:
        names = names[:1]
        drawn = [f for f in drawn if f.name in names]
    several = len(names) > 1
    traces = [
        _make_bars([f for f in drawn if f.name == name], name, colour, several)
        for name, colour in zip(names, _COLOURS, strict=False)
    ]
    step = 26 if len(drawn) <= _MOST_BARS else 16
    figure = go.Figure(traces, _lay_out(130 + step * max(4, len(drawn))))
    order = [_label(f, several) for f in drawn]
    figure.update_yaxes(
        categoryorder="array", categoryarray=order[::-1], automargin=True, dtick=1, showgrid=False
    )
    title = None if several else names[0]
    figure.update_xaxes(title_text=title, range=[0, 1.02] if share else None)
    figure.update_layout(showlegend=several, bargap=0.3, barmode="overlay")
    _mark_chance(figure, [f for f in drawn if f.chance is not None], several, reference)
    return figure


def _make_bars(figures: Sequence[Entry], name: str, colour: str, several: bool) -> go.Bar:
    bounds = [(f.value, f.interval or (None, None)) for f in figures]
    return go.Bar(
        y=[_label(f, several) for f in figures], x=[f.value for f in figures], name=name,
        orientation="h", marker_color=colour, marker_line_width=0,
        customdata=[_describe(f) for f in figures],
        hovertemplate="%{customdata}<extra></extra>",
        error_x={
            "array": [_subtract(high, value) for value, (_, high) in bounds],
            "arrayminus": [_subtract(value, low) for value, (low, _) in bounds],
            "thickness": 2, "width": 0,
        },
    )  # fmt: skip


def _subtract(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


def _mark_chance(
    figure: go.Figure, figures: Sequence[Entry], several: bool, reference: str
) -> None:
    levels = {round(f.chance, 9) for f in figures if f.chance is not None}
    if len(levels) == 1:
        text = f"{reference} {show_number(levels.pop())}" if reference == "chance" else reference
        line = {"color": _CHANCE, "width": 2, "dash": "dash"}
        figure.add_vline(
            figures[0].chance, line=line, annotation_text=text, annotation_position="top"
        )
    elif levels:
        marks = {"symbol": "line-ns", "size": 18, "line": {"color": _CHANCE, "width": 3}}
        figure.add_scatter(
            x=[f.chance for f in figures], y=[_label(f, several) for f in figures],
            mode="markers", marker=marks, name=reference, hoverinfo="skip", showlegend=True,
        )  # fmt: skip
        figure.update_layout(showlegend=True)


def _label(figure: Entry, several: bool) -> str:
    return f"{figure.label}, {figure.name}" if several else figure.label


def _describe(figure: Entry) -> str:
    lines = [f"{figure.name} {show_number(figure.value)}", f"95% {show_interval(figure.interval)}"]
    if figure.chance is not None:
        lines.append(f"chance {show_number(figure.chance)}")
    return "<br>".join([f"<b>{figure.label}</b>", *lines, f"n = {figure.n:,}"])


def _lay_out(height: int) -> go.Layout:
    clear = "rgba(0,0,0,0)"
    grid = {"gridcolor": "rgba(128,128,128,.3)", "zerolinecolor": "rgba(128,128,128,.6)"}
    return go.Layout(
        template="none", height=height, paper_bgcolor=clear, plot_bgcolor=clear, dragmode=False,
        margin={"l": 10, "r": 20, "t": 36, "b": 40}, font={"family": "system-ui, sans-serif"},
        xaxis={**grid, "automargin": True, "fixedrange": True},
        yaxis={
            **grid, "fixedrange": True, "ticks": "outside", "ticklen": 6, "tickcolor": clear,
        }, hoverlabel={"bgcolor": "#222", "font_color": "#fff"},
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "traceorder": "normal"},
        modebar={"remove": ["select", "lasso", "zoom", "pan", "zoomIn", "zoomOut", "autoScale",
                            "resetScale"]},
    )  # fmt: skip
