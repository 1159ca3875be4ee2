"""Compute how much of a gap between languages belongs to the protocol, of two runs."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from polyprobe.analysis.figures.facts import ScoredFacts
from polyprobe.analysis.figures.figures import BY_NAME
from polyprobe.metrics.accuracy_at_1.formulas import chance_accuracy
from polyprobe.metrics.joint.significance import Difference, compare_figures
from polyprobe.metrics.shared.intervals import Figure, add_mean, divide, estimate_figure

# Parts of the signature that belong to the protocol, and those that may differ beside it: of two
# runs the common rows are compared, and the product changes scores by rounding only.
PROTOCOL = {"scoring", "chat"}
BESIDE = {"other languages", "rows", "relations", "exclude", "product"}


class Gap(NamedTuple):
    """The gap of a language to the best one in both runs, or `mean`, of all these gaps."""

    gap: Difference
    first_ci: list[float] | None  # 95% intervals of the two gaps
    second_ci: list[float] | None
    # difference / first, the part of the first gap that changes with the protocol: 1 if the second
    # run has no gap, below 0 if it has a larger one. None if `first_ci` includes 0: there is no gap
    # to explain
    share: float | None
    share_ci: list[float] | None


class Gaps(NamedTuple):
    """The gaps of accuracy of two runs."""

    best: str  # with the highest mean of both runs' accuracies; the first of equals
    rows: list[Gap]  # `mean` last
    # Whether the best language's interval of accuracy is above the most frequent answers (chance,
    # if unknown) in each run; None without an interval. Else gaps are small, whatever the model
    # knows
    above_floor: tuple[bool | None, bool | None]

    def as_json(self) -> dict[str, Any]:
        """Name the best language, and list the values of each language by name."""
        by_name = {}
        for (name, *values), *bounds in self.rows:
            names = (*Difference._fields[1:], *Gap._fields[1:])
            by_name[name] = dict(zip(names, [*values, *bounds], strict=True))
        return {"best": self.best, "above_floor": self.above_floor, "gaps": by_name}


def differ_in_protocol(differing: Mapping[str, Sequence[str]]) -> bool:
    """Check that runs differ in their protocol, and otherwise at most in rows or product."""
    names = differing.keys() - BESIDE
    return bool(names) and names <= PROTOCOL


def compare_gaps(
    facts: tuple[ScoredFacts, ScoredFacts], units: Sequence[object] | None, **options: Any
) -> Gaps:
    """Compare the gaps of accuracy between the best language and each of the others."""
    accuracy = [BY_NAME["accuracy"].measure(scores) for scores in facts]
    # The best language by both runs: the choice favours neither.
    values = sum(figure.statistic(figure.table.sum(axis=0))[:-1] for figure in accuracy)
    best = int(np.argmax(values))
    first, second = (find_gaps(figure, best) for figure in accuracy)
    rows = compare_figures(first, second, clusters=units, **options)
    resampling: dict[str, Any] = {"n_resamples": 10_000, "clusters": units}
    resampling |= {name: options[name] for name in ("n_resamples", "seed") if name in options}
    # One seed draws the same units for all figures.
    figures = (first, second, find_share(first, second), *accuracy)
    of_first, of_second, share, *levels = (estimate_figure(x, **resampling) for x in figures)
    gaps = []
    for row in rows:
        key = f"{row.name}_ci"
        interval = of_first.get(key)
        # Without a gap in the first run there is none to explain.
        open_gap = interval is not None and not interval[0] <= 0 <= interval[1]
        values_of_share = (share[row.name], share[key]) if open_gap else (None, None)
        gaps.append(Gap(row, interval, of_second.get(key), *values_of_share))
    name, above_floor = accuracy[0].names[best], []
    for scores, level in zip(facts, levels, strict=True):
        interval = level.get(f"{name}_ci")
        if scores.baseline:
            floor = scores.baseline[name]
        else:
            floor = chance_accuracy(scores.scores[name], scores.answers)
        above_floor.append(None if interval is None else bool(interval[0] > floor.mean()))
    return Gaps(name, gaps, (above_floor[0], above_floor[1]))


def find_gaps(figure: Figure, best: int) -> Figure:
    """Make the figure of one language's value less that of each other one, and their mean."""
    places = [place for place in range(len(figure.names) - 1) if place != best]

    def statistic(sums: np.ndarray) -> np.ndarray:
        values = figure.statistic(sums)
        return add_mean(values[..., [best]] - values[..., places])

    return Figure([*(figure.names[place] for place in places), "mean"], figure.table, statistic)


def find_share(first: Figure, second: Figure) -> Figure:
    """Make the figure of (first - second) / first of each name; NaN where first is 0."""
    width = first.table.shape[1]

    def statistic(sums: np.ndarray) -> np.ndarray:
        before, after = first.statistic(sums[..., :width]), second.statistic(sums[..., width:])
        sign = np.sign(before)  # `divide` is defined above 0, and a gap may be below
        return divide(np.concatenate([(before - after) * sign, before * sign], axis=-1))

    return Figure(first.names, np.concatenate([first.table, second.table], axis=1), statistic)
