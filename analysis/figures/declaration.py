"""What is declared of each figure of a run in figures.py."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from polyprobe.metrics.shared.intervals import Figure

from .facts import ScoredFacts

LANGUAGE, PAIR, WAY, ALL = "language", "pair", "way", "all"
INFINITE = float("inf")
Values = Mapping[str, float | None]


class LeftOut(NamedTuple):
    """Cases without a value: a text to print behind their number, and the kernel that counts."""

    text: str
    find: Callable[[ScoredFacts, Values], int]


class RunFigure(NamedTuple):
    """One figure of a run.

    Attributes:
        name: key in results.json; `MODULE.FIGURE` for a figure that a metric module gives.
        title: printed name.
        says: one sentence for the report and for archives.
        per: `language`, `pair`, `way` (each ordered pair), or `all` languages together.
        sums: kernel of `ScoredFacts`, with `twice` of their `SecondQuestions`, with `templated` of
            their `OtherTemplates`; None for a module's figure (see `compute.MODULES`).
        short: column heading in the terminal, where the title is too wide.
        lowest, highest: range of the value.
        lower_is_better: direction; None: neither is better.
        chance: value of a random ranking: a constant, or a kernel whose result is stored.
        floor: name of the floor in `floors.FLOORS` that the value should exceed.
        left_out: cases without a value, counted in results.json.
        conditional: averaged over fewer facts than the run has; their number is not stored.
        compared: tested by `compare`.
        training: logged during training: `each` value or only its `mean`.
        noted: printed below the terminal table.
        counted: key of a module's number of facts.
        paper: heading and description in the LaTeX table.
        twice: needs the second questions of the facts; a run without them has no such figure.
        asked: computed only if it is named (`metrics --figures`).
        matched: needs the same candidates in every language.
        templated: needs several templates of a fact, with the same candidates.
    """

    name: str
    title: str
    says: str
    per: str
    sums: Callable[[Any], Figure] | None = None
    short: str = ""
    lowest: float = 0.0
    highest: float = 1.0
    lower_is_better: bool | None = False
    chance: float | Callable[[ScoredFacts], float] | None = None
    floor: str = ""
    left_out: LeftOut | None = None
    conditional: bool = False
    compared: bool = False
    training: str = ""
    noted: bool = False
    counted: str = "n_queries"
    paper: tuple[str, str] = ("", "")
    twice: bool = False
    asked: bool = False
    matched: bool = False
    templated: bool = False

    def measure(self, facts: ScoredFacts) -> Figure:
        """Return the sums of the facts, of a figure with a kernel."""
        assert self.sums, self.name
        if self.templated:
            return self.sums(facts.other_templates)
        return self.sums(facts.second if self.twice else facts)

    def applies(self, facts: ScoredFacts) -> bool:
        """Return whether the facts have what the figure is computed from."""
        if self.matched and not facts.matched:
            return False
        if self.templated:
            return facts.other_templates is not None
        return not self.twice or facts.second is not None
