"""How much of a gap between languages belongs to the protocol: two runs that differ in it alone."""

from collections.abc import Iterator, Sequence
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np
from rich.table import Table
from rich.text import Text

from polyprobe.analysis.figures.facts import ScoredFacts
from polyprobe.analysis.figures.figures import BY_NAME
from polyprobe.metrics.joint.significance import Difference, compare_figures
from polyprobe.metrics.shared.intervals import Figure, Figures, add_mean, divide, estimate_figure
from polyprobe.report.format import NARROW, NO_WIDTH, format_interval, has_no_width, number
from polyprobe.schema.run.folder import Run
from polyprobe.schema.run.naming import list_differing

# Parts of the signature that belong to the protocol, and those that may differ beside it: of two
# runs the common rows are compared, and the product changes scores by rounding only.
PROTOCOL = {"scoring", "chat"}
BESIDE = {"other languages", "rows", "relations", "exclude", "product"}


class Gap(NamedTuple):
    """The gap of a language to the best one in both runs, or `mean`, of all these gaps.

    Attributes:
        gap: the values of both runs, their difference and its test.
        first_ci, second_ci: 95% intervals of the two gaps.
        share: difference / first, the part of the first gap that changes with the protocol: 1 if
            the second run has no gap, below 0 if it has a larger one. None if `first_ci` includes
            0: there is no gap to explain.
        share_ci: its 95% interval.
    """

    gap: Difference
    first_ci: list[float] | None
    second_ci: list[float] | None
    share: float | None
    share_ci: list[float] | None


class Gaps(NamedTuple):
    """The gaps of accuracy of two runs.

    Attributes:
        best: the language with the highest mean of both runs' accuracies; the first one of equals.
        rows: a row for each other language, `mean` last.
        above_floor: whether the interval of the best language's accuracy is above the most frequent
            answers (above chance in runs of older versions), in each run; None without an interval.
            A run that is not has small gaps, whatever the model knows.
    """

    best: str
    rows: list[Gap]
    above_floor: tuple[bool | None, bool | None]

    def as_json(self) -> dict[str, Any]:
        """Return the best language, and the values of the others by name."""
        rows = [{**row.gap._asdict(), **row._asdict()} for row in self.rows]
        left = ("name", "gap")
        by_name = {
            row["name"]: {key: value for key, value in row.items() if key not in left}
            for row in rows
        }
        return {"best": self.best, "above_floor": self.above_floor, "gaps": by_name}


def differ_in_protocol(runs: Sequence[Run]) -> bool:
    """Return whether runs differ in their protocol, and otherwise at most in rows or product."""
    names = list_differing(runs).keys() - BESIDE
    return bool(names) and names <= PROTOCOL


def compare_gaps(
    facts: tuple[ScoredFacts, ScoredFacts], units: Sequence[object] | None, **options: Any
) -> Gaps:
    """Return the gaps of accuracy between the best language and the others.

    Facts or units are drawn for both runs and all languages at once. The best language is chosen by
    the mean of both runs, so that the choice favours neither. `options` are those of
    `significance.compare_figures`.
    """
    accuracy = [BY_NAME["accuracy"].measure(one) for one in facts]
    values = sum(figure.statistic(figure.table.sum(axis=0))[:-1] for figure in accuracy)
    best = int(np.argmax(values))
    one, other = (find_gaps(figure, best) for figure in accuracy)
    rows = compare_figures(one, other, clusters=units, **options)
    drawn: dict[str, Any] = {"n_resamples": 10_000, "clusters": units}
    drawn |= {name: options[name] for name in ("n_resamples", "seed") if name in options}
    figures = (one, other, find_share(one, other), *accuracy)
    *found, first, second = (estimate_figure(figure, **drawn) for figure in figures)
    name = accuracy[0].names[best]
    bounds = [own.get(f"{name}_ci") for own in (first, second)]
    above = [
        None if ends is None else bool(ends[0] > _find_floor(of, name))
        for ends, of in zip(bounds, facts, strict=True)
    ]
    return Gaps(name, [_join(row, *found) for row in rows], (above[0], above[1]))


def _find_floor(facts: ScoredFacts, language: str) -> float:
    """Return the accuracy of the most frequent answers, of chance where that is unknown."""
    known = facts.baseline
    return float(known[language].mean()) if known else facts.chance_of(language)


def find_gaps(figure: Figure, best: int) -> Figure:
    """Return the value of one language less that of each other one, and the mean of these."""
    others = [place for place in range(len(figure.names) - 1) if place != best]

    def statistic(sums: np.ndarray) -> np.ndarray:
        values = figure.statistic(sums)
        return add_mean(values[..., [best]] - values[..., others])

    return Figure([*(figure.names[place] for place in others), "mean"], figure.table, statistic)


def find_share(first: Figure, second: Figure) -> Figure:
    """Return (first - second) / first of each name; NaN where first is 0."""
    width = first.table.shape[1]

    def statistic(sums: np.ndarray) -> np.ndarray:
        one, other = first.statistic(sums[..., :width]), second.statistic(sums[..., width:])
        sign = np.sign(one)
        return divide(np.concatenate([(one - other) * sign, one * sign], axis=-1))

    return Figure(first.names, np.concatenate([first.table, second.table], axis=1), statistic)


def _join(row: Difference, one: Figures, other: Figures, share: Figures) -> Gap:
    """Return a gap with its share, unless the first gap's interval includes 0."""
    ends = f"{row.name}_ci"
    bounds = one.get(ends)
    if bounds is None or bounds[0] <= 0 <= bounds[1]:
        return Gap(row, bounds, other.get(ends), None, None)
    return Gap(row, bounds, other.get(ends), share[row.name], share[ends])


def gaps_table(found: Gaps, sides: Sequence[str]) -> Table:
    """Return the table of both gaps, their difference (Δ), and its share of the first gap."""
    table = Table(header_style="bold", highlight=False)
    rows = found.rows if len(found.rows) > 2 else found.rows[:1]  # of one gap no mean
    longest = max(len(row.gap.name) for row in rows)
    table.add_column(Text(f"{found.best} −"), no_wrap=True, min_width=longest)
    for side in sides:
        table.add_column(Text(fill(side, NARROW)), justify="right", overflow="fold")
    for head in ("Δ", "95%", "share"):
        table.add_column(head, justify="right", no_wrap=True)
    for row in rows:
        values = map(number, (row.gap.first, row.gap.second, row.gap.difference))
        table.add_row(Text(row.gap.name), *values, format_interval(row.gap.ci), _percent(row))
    return table


def _percent(row: Gap) -> str:
    if row.share is None or row.share_ci is None:
        return "–"
    low, high = row.share_ci
    return f"{row.share:.0%} ({100 * low:.0f} to {100 * high:.0f})"


def list_notes(found: Gaps, sides: Sequence[str]) -> Iterator[str]:
    """Yield the notes below the table, one line each."""
    yield (
        f"{found.best} −: accuracy of {found.best}, the best by the mean of both runs, less "
        "that of the language"
    )
    yield "share: Δ / the first run's gap, the part of it that changes with the protocol"
    for side, above in zip(sides, found.above_floor, strict=True):
        if above is False:
            yield (
                f"{side} is not above its floor in {found.best}: its gaps are small, whatever the "
                "model knows"
            )
    if any(has_no_width(row.gap.ci) for row in found.rows):
        yield NO_WIDTH
    if any(row.share is None for row in found.rows):
        yield "share –: no gap to explain; the 95% interval of the first run's includes 0"
