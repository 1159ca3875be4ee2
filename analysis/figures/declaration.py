"""What is declared of each figure of a run in figures.py."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from polyprobe.metrics.shared.intervals import Figure

from .facts import ScoredFacts

LANGUAGE, PAIR, WAY, ALL = "language", "pair", "way", "all"
INFINITE = float("inf")
SEVERAL = "a dataset with several templates of a fact"
Values = Mapping[str, float | None]


class FigureInput(NamedTuple):
    """What the kernel of a figure takes.

    Attributes:
        take: the input in the facts of a run; None if the run does not have it.
        needs: what a run without it lacks, in words.
        ranked: compares rankings of languages, which then need the same candidates.
    """

    take: Callable[[ScoredFacts], Any]
    needs: str = ""
    ranked: bool = False

    def find_lack(self, facts: ScoredFacts) -> str:
        """Find what the facts lack, in words; empty if they have the input."""
        if self.ranked and not facts.matched:
            return "the same candidates in every language"
        return self.needs if self.take(facts) is None else ""


FACTS = FigureInput(lambda facts: facts)
RANKINGS = FACTS._replace(ranked=True)
SECOND = FigureInput(lambda facts: facts.second, "a question about another subject (--donor)")
SECOND_RANKINGS = SECOND._replace(ranked=True)
TEMPLATES = FigureInput(lambda facts: facts.other_templates, SEVERAL)
TEMPLATE_RANKINGS = TEMPLATES._replace(ranked=True)


class Scale(NamedTuple):
    """The range of a figure and its direction (None: neither is better)."""

    lowest: float = 0.0
    highest: float = 1.0
    lower_is_better: bool | None = False


class Presentation(NamedTuple):
    """How a figure is shown.

    Attributes:
        short: column heading where the title is too wide.
        noted: printed below the terminal table.
        training: logged during training: `each` value or only its `mean`.
        paper: heading and description in the LaTeX table.
    """

    short: str = ""
    noted: bool = False
    training: str = ""
    paper: tuple[str, str] = ("", "")


class LeftOut(NamedTuple):
    """Cases without a value: a text to print behind their number, and the kernel that counts."""

    text: str
    find: Callable[[ScoredFacts, Values], int]


class RunFigure(NamedTuple):
    """One figure of a run.

    Attributes:
        name: key in results.json; `MODULE.FIGURE` for a figure that a metric module gives.
        title: printed name.
        definition: one sentence for the report and for archives.
        per: `language`, `pair`, `way` (each ordered pair), or `all` languages together.
        input: what the kernel takes; unused for a module's figure (see `modules.MODULES`).
        sums: kernel; None for a module's figure.
        scale: range and direction of the value.
        chance: value of a random ranking: a constant, or a kernel whose result is stored.
        floor: name of the floor in `floors.FLOORS` that the value should exceed.
        left_out: cases without a value, counted in results.json.
        conditional: averaged over fewer facts than the run has; their number is not stored.
        compared: tested by `compare`.
        on_request: computed only if it is named (`metrics --figures`).
        count_key: key of a module's number of facts.
        display: how it is shown.
    """

    name: str
    title: str
    definition: str
    per: str
    input: FigureInput = FACTS
    sums: Callable[[Any], Figure] | None = None
    scale: Scale = Scale()
    chance: float | Callable[[ScoredFacts], float] | None = None
    floor: str = ""
    left_out: LeftOut | None = None
    conditional: bool = False
    compared: bool = False
    on_request: bool = False
    count_key: str = "n_queries"
    display: Presentation = Presentation()

    @property
    def heading(self) -> str:
        """Return the heading of a column."""
        return self.display.short or self.title

    def measure(self, facts: ScoredFacts) -> Figure:
        """Compute the sums of the facts, of a figure with a kernel."""
        assert self.sums, self.name
        return self.sums(self.input.take(facts))

    def applies(self, facts: ScoredFacts) -> bool:
        """Tell whether the facts have what the figure is computed from."""
        return not self.input.find_lack(facts)
