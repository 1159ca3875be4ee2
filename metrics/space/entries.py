"""The figures of a Space: entries from the results of a metric, their headline, file and pictures.

>>> values = np.array([[1, 1], [0, np.nan]])
>>> found = list_means([("en",), ("es",)], "accuracy", values, [0.5, 0.5], share=True)
>>> [(entry.label, entry.value, entry.n) for entry in found]
[('all languages', 0.75, 2), ('en', 0.5, 2), ('es', 1.0, 1)]
"""

import csv
from collections.abc import Collection, Mapping, Sequence
from io import StringIO
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from polyprobe.metrics.pictures.picture import Bars, Heat, Picture, Series
from polyprobe.metrics.shared.intervals import Figure, Labels, estimate_figure, mean_of

Of = tuple[str, ...]
_COLUMNS = ["of", "figure", "value", "low", "high", "chance", "n"]
_MOST_BARS = 40
_MOST_WRITTEN = 12  # languages, for whose pairs the colours end at 1


class Entry(NamedTuple):
    """One number of a language, a pair of languages, a relation, or of all of these."""

    of: Of
    name: str
    value: float | None  # None for 0/0
    interval: Sequence[float] | None  # None if a single query defines the value
    chance: float | None  # of random rankings; 0 for a difference, None if undefined or unknown
    n: int

    @property
    def label(self) -> str:
        """Write `of` as text: `English – Spanish`."""
        return " – ".join(self.of)


class Output(NamedTuple):
    """Entries, the headline first, and notes for the reader, one sentence each."""

    entries: list[Entry]
    notes: Sequence[str] = ()


class Measure(NamedTuple):
    """A figure in the result of a metric: its key, and that of its number of queries, there."""

    key: str
    name: str | None = None  # on the page; None: the key
    n: str = "n_queries"
    chance: float | None = None


def pick(
    result: Mapping[str, Any], of: Of, name: str, n: int, chance: float | None = None
) -> Entry:
    """Take the figure `name` of a result, with its interval `NAME_ci` if any."""
    return Entry(of, name, result[name], result.get(f"{name}_ci"), chance, n)


def list_groups(result: Mapping[str, Any], title: str, measures: Sequence[Measure]) -> list[Entry]:
    """List the entries of all queries, named `title`, and of each group."""
    return [
        pick(part, (name,), m.key, part[m.n], m.chance)._replace(name=m.name or m.key)
        for name, part in [(title, result), *result["by_group"].items()]
        for m in measures
    ]


def list_means(
    of: Sequence[Of],
    name: str,
    values: np.ndarray,
    chances: Sequence[float | None],
    *,
    share: bool,
    **options: Any,
) -> list[Entry]:
    """Compute the mean of each column of values [queries, of]; NaN is left out."""
    defined = ~np.isnan(values)
    # A run has one column of counts where all are equal; the same table gives the same draws.
    counts = defined if (defined != defined[:, :1]).any() else defined[:, 0]
    figure = mean_of([*map(str, range(len(of)))], np.where(defined, values, 0), counts, share)
    return list_figure(figure, of, name, defined, chances, **options)


def list_figure(
    figure: Figure,
    of: Sequence[Of],
    name: str,
    defined: np.ndarray,
    chances: Sequence[float | None],
    **options: Any,
) -> list[Entry]:
    """Compute the entries of a joint figure of languages or pairs; of several, their mean first."""
    # `defined` [queries, of] marks the queries that define a value, `options` are groups and
    # clusters of `intervals.Resampling`.
    names = [*map(str, range(len(of)))]
    result = estimate_figure(figure._replace(names=[*names, "mean"]), **options)
    rows = [*zip(names, of, defined.sum(axis=0).tolist(), chances, strict=True)]
    if len(of) > 1:
        levels = [level for level in chances if level is not None]
        chance = float(np.mean(levels)) if levels else None
        title = "all pairs" if len(of[0]) > 1 else "all languages"
        rows.insert(0, ("mean", (title,), int(defined.any(axis=1).sum()), chance))
    bounds = [result.get(f"{key}_ci") if n > 1 else None for key, _, n, _ in rows]
    return [
        Entry(place, name, result[key], interval, chance, n)
        for (key, place, n, chance), interval in zip(rows, bounds, strict=True)
    ]


def list_pairs(
    languages: Sequence[str],
    measures: Sequence[tuple[str, np.ndarray, float | None, bool]],
    clusters: Labels,
) -> list[Entry]:
    """Compute the entries of `list_means` by pair, those of a pair together."""
    # A measure is its name, values [queries, pairs], chance level and whether it is a share.
    pairs = [*combinations(languages, 2)]
    means = [
        list_means(pairs, name, values, [chance] * len(pairs), share=share, clusters=clusters)
        for name, values, chance, share in measures
    ]
    return [entry for entries in zip(*means, strict=True) for entry in entries]


def note_ties(results: Mapping[str, Mapping[str, Any]], event: str) -> list[str]:
    """Note in how many queries of each language an `event` of ties happens."""
    counts = {x: (result["n_tied"], result["n_queries"]) for x, result in results.items()}
    return [f"{x}: {event} in {n:,} of {of:,} queries." for x, (n, of) in counts.items() if n]


def show_interval(bounds: Sequence[float] | None) -> str:
    """Format an interval with four decimals.

    >>> show_interval([0.25, 1])
    '0.2500 – 1.0000'
    """
    return "–" if bounds is None else " – ".join(f"{bound:.4f}" for bound in bounds)


def show_number(value: float | None) -> str:
    """Format a number with four decimals; a dash for None."""
    return "–" if value is None else f"{value:.4f}"


def write_headline(output: Output) -> str:
    """Format the first entry and the notes as Markdown."""
    first = output.entries[0]
    bounds = f"95% interval {show_interval(first.interval)}"
    if first.interval is None:
        bounds = "no interval: fewer than two queries define it"
    chance = "" if first.chance is None else f"chance {show_number(first.chance)}; "
    head = f"### {first.name} of {first.label}: {show_number(first.value)}"
    return "\n\n".join([head, f"{bounds}; {chance}n = {first.n:,}.", *output.notes])


def write_csv(entries: Sequence[Entry]) -> str:
    """Format all entries, with all decimals, as CSV."""
    text = StringIO()
    rows = [(e.label, e.name, e.value, *(e.interval or ("", "")), e.chance, e.n) for e in entries]
    csv.writer(text, lineterminator="\n").writerows([_COLUMNS, *rows])
    return text.getvalue()


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
    entries: Sequence[Entry], omit: Collection[str] = (), mark: str = "chance", share: bool = True
) -> Bars:
    """Make the bars of all measures but those to `omit` of every language or relation."""
    # All share one axis, so they must be of one unit. Of many bars the first measure's are shown
    # alone. Chance, called `mark`, is a line where it is the same for all, else a mark of each
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
        lines = [(f"chance {level:.4f}" if mark == "chance" else mark, level)]
    measure = names[0] if len(names) == 1 else ""
    return Bars("", labels, series, measure, lines, (0.0, 1.0) if share else (0.0, 0.0))


def _describe(entry: Entry) -> str:
    """Describe interval, chance and number of queries of an entry, each on a new line."""
    chance = "" if entry.chance is None else f"\nchance {show_number(entry.chance)}"
    return f"\n95% {show_interval(entry.interval)}{chance}\nn = {entry.n:,}"
