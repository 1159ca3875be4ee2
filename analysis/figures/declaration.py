"""What is declared of each figure of a run in figures.py."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from polyprobe.metrics.shared.intervals import Figure

from .facts import ScoredFacts

LANGUAGE, PAIR, ALL = "language", "pair", "all"
INFINITE = float("inf")
ALL_SCORES = "scores of all candidates, not choices alone"
SEVERAL = "a dataset with several templates of a fact"
Values = Mapping[str, float | None]


class FigureInput(NamedTuple):
    """What the kernel of a figure takes."""

    take: Callable[[ScoredFacts], Any]  # None if a run does not have it
    needs: str = ""  # what a run without it lacks, in words
    matched: bool = False  # compares candidates, which must be the same in all languages
    ranked: bool = False  # compares the scores of all candidates

    def find_lack(self, facts: ScoredFacts) -> str:
        """Find what the facts lack, in words; empty if they have the input."""
        if self.matched and not facts.matched:
            return "the same candidates in every language"
        if self.ranked and facts.protocol.choices:
            return ALL_SCORES
        return self.needs if self.take(facts) is None else ""


FACTS = FigureInput(lambda facts: facts)
CHOICES = FACTS._replace(matched=True)
RANKINGS = CHOICES._replace(ranked=True)
SECOND = FigureInput(lambda facts: facts.second, "a question about another subject (--donor)")
SECOND_RANKINGS = SECOND._replace(matched=True)
TEMPLATE_RANKINGS = RANKINGS._replace(
    take=lambda facts: facts.other_templates, needs=f"{SEVERAL}, and {SECOND.needs}"
)


class Kernel(NamedTuple):
    """How a figure is computed."""

    input: FigureInput
    sums: Callable[[Any], Figure] | None  # None for a module's figure
    chance: Callable[[ScoredFacts], float] | None = None  # of a random ranking


class Scale(NamedTuple):
    """The range of a figure and its direction (None: neither is better)."""

    lowest: float
    highest: float
    lower_is_better: bool | None


class Presentation(NamedTuple):
    """How a figure is shown."""

    short: str = ""  # column heading where the title is too wide
    noted: bool = False  # printed below the terminal table
    training: str = ""  # logged during training: `each` value or only its `mean`


class LeftOut(NamedTuple):
    """Cases without a value: a text to print behind their number, and the kernel that counts."""

    text: str
    find: Callable[[ScoredFacts, Values], int]


class RunFigure(NamedTuple):
    """One figure of a run."""

    name: str  # key in results.json; `MODULE.FIGURE` of a metric module
    title: str
    definition: str  # one sentence for the report and archives
    per: str  # `way`: each ordered pair; `all`: all languages together
    input: FigureInput  # unused for a module's figure, see `modules.MODULES`
    sums: Callable[[Any], Figure] | None  # the kernel; None for a module's figure
    scale: Scale
    # of a random ranking; of a kernel it is stored
    chance: float | Callable[[ScoredFacts], float] | None
    left_out: LeftOut | None  # counted in results.json
    display: Presentation
    conditional: bool = False  # over fewer facts than the run has; their number is not stored
    compared: bool = False  # tested by `compare`
    on_request: bool = False  # computed only if it is named (`metrics --figures`)
    count_key: str = "n_queries"  # key of a module's number of facts

    @property
    def heading(self) -> str:
        """Return the heading of a column."""
        return self.display.short or self.title

    @property
    def of_second(self) -> bool:
        """Tell whether it is a figure of second questions, whose facts share donors."""
        return self.input in (SECOND, SECOND_RANKINGS)

    def measure(self, facts: ScoredFacts) -> Figure:
        """Compute the sums of the facts, of a figure with a kernel."""
        assert self.sums, self.name
        return self.sums(self.input.take(facts))

    def applies(self, facts: ScoredFacts) -> bool:
        """Tell whether the facts have what the figure is computed from."""
        return not self.input.find_lack(facts)
