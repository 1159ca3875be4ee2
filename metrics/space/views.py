"""Make the pictures of entries: bars with intervals and chance, or a heat map of pairs."""

from collections.abc import Collection, Sequence

import numpy as np

from polyprobe.metrics.pictures.picture import Bars, Heat, Picture, Series
from polyprobe.metrics.space.entries import Entry, show_interval, show_number

_MOST_BARS = 40
_MOST_WRITTEN = 12  # languages, for whose pairs the colours end at 1


def view_pairs(entries: Sequence[Entry], low: float | None = None) -> Picture:
    """Make the heat map of the first measure's pairs, coloured from `low` to 1."""
    # Without `low` it is chance, or the lowest value if that is lower. For many languages the
    # colours end at the highest value, for contrast.
    pairs = [x for x in entries if len(x.of) == 2 and x.name == entries[0].name]
    if len(pairs) == 1:
        return view_bars(pairs, share=all((x.value or 0) >= 0 for x in pairs))
    names = list(dict.fromkeys(name for x in pairs for name in x.of))
    values = np.full((len(names), len(names)), np.nan)
    details = {}
    for entry in pairs:
        # both triangles: a reader looks for a language in a row or a column
        for cell in (entry.of, entry.of[::-1]):
            row, column = map(names.index, cell)
            values[row, column] = np.nan if entry.value is None else entry.value
            details[row, column] = _describe(entry)
    defined = [x.value for x in pairs if x.value is not None]
    if low is None:
        low = min([x.chance for x in pairs if x.chance is not None] + defined)
    high = 1.0 if len(names) <= _MOST_WRITTEN else max(defined, default=1.0)
    return Heat("", names, names, values, pairs[0].name, low, high, details=details)


def view_bars(
    entries: Sequence[Entry],
    omit: Collection[str] = (),
    reference: str = "chance",
    share: bool = True,
) -> Bars:
    """Make the bars of all measures but those to `omit` of every language or relation."""
    # All share one axis, so they must be of one unit. Of many bars the first measure's are shown
    # alone. Chance, called `reference`, is a line where it is the same for all, else a mark of each
    # bar. A `share` has an axis from 0 to 1.
    names = [name for name in dict.fromkeys(x.name for x in entries) if name not in omit]
    bars = [x for x in entries if x.name in names and x.value is not None]
    if len(bars) > _MOST_BARS:
        names = names[:1]
        bars = [x for x in bars if x.name in names]
    labels = list(dict.fromkeys(x.label for x in bars))
    levels = {round(x.chance, 9) for x in bars if x.chance is not None}
    series = []
    for name in names:
        of_label = {x.label: x for x in bars if x.name == name}
        rows = [of_label.get(label) for label in labels]
        values, bounds = [x and x.value for x in rows], [x and x.interval for x in rows]
        marks = [x and x.chance for x in rows] if len(levels) > 1 else ()
        tips = [
            f"{x.label}\n{name} {show_number(x.value)}{_describe(x)}" if x else "" for x in rows
        ]
        series.append(Series(name, values, bounds, marks, tips))
    lines = []
    if len(levels) == 1:
        [level] = levels
        lines = [(f"chance {level:.4f}" if reference == "chance" else reference, level)]
    measure = names[0] if len(names) == 1 else ""
    return Bars("", labels, series, measure, lines, (0.0, 1.0) if share else (0.0, 0.0))


def _describe(entry: Entry) -> str:
    """Describe interval, chance and number of queries of an entry, each on a new line."""
    chance = "" if entry.chance is None else f"\nchance {show_number(entry.chance)}"
    return f"\n95% {show_interval(entry.interval)}{chance}\nn = {entry.n:,}"
