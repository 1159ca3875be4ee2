"""The figures of a run: figures.toml says what they are, `KERNELS` how they are computed.

To add a figure, add a table to figures.toml and its kernel here. results.json, the terminal table,
the report, every export, `compare` and the training callback iterate over `FIGURES`.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from polyprobe.metrics.accuracy_at_1.formulas import find_accuracy
from polyprobe.metrics.answer_agreement.formulas import find_agreement, find_kappa
from polyprobe.metrics.coverlap.formulas import find_coverlap
from polyprobe.metrics.joint import HEADLINES, measures
from polyprobe.metrics.joint.split import find_centred, find_disattenuated
from polyprobe.metrics.rank_overlap.formulas import find_kendall
from polyprobe.metrics.rankc.formulas import find_rankc, find_rankc_adjusted, rankc_chance
from polyprobe.metrics.rankc_subject.formulas import MEANS, RATIOS, find_terms
from polyprobe.metrics.shared.intervals import Figure, mean_of, name_pairs
from polyprobe.system.files import read_toml
from polyprobe.system.messages import check_option

from .facts import ScoredFacts, SecondQuestions
from .options import EVERY

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


class RunFigure(NamedTuple):
    """One figure of a run."""

    name: str  # key in results.json; `MODULE.FIGURE` of a metric module
    title: str
    definition: str  # one sentence for the report and archives
    per: str  # `way`: each ordered pair; `all`: all languages together
    input: FigureInput  # unused for a module's figure, see `modules.MODULES`
    sums: Callable[[Any], Figure] | None  # the kernel; None for a module's figure
    lower_is_better: bool | None  # None: neither is better
    # of a random ranking; of a kernel it is stored
    chance: float | Callable[[ScoredFacts], float] | None
    lowest: float = 0.0
    highest: float = 1.0
    left_out: str = ""  # cases without a value, behind their number (`COUNTS`); empty: not counted
    short: str = ""  # column heading where the title is too wide
    noted: bool = False  # printed below the terminal table
    training: str = ""  # logged during training: `each` value or only its `mean`
    conditional: bool = False  # over fewer facts than the run has; their number is not stored
    compared: bool = False  # tested by `compare`
    on_request: bool = False  # computed only if it is named (`metrics --figures`)
    count_key: str = "n_queries"  # key of a module's number of facts

    @property
    def heading(self) -> str:
        """Return the heading of a column."""
        return self.short or self.title

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


def _count_undefined(facts: ScoredFacts, values: Values) -> int:
    return list(values.values()).count(None)


def _count_unmatched(facts: ScoredFacts, values: Values) -> int:
    terms = facts.second and facts.second.terms
    return int((terms.counted & ~terms.matched).sum()) if terms and values else 0


def _find_terms(name: str, second: SecondQuestions) -> Figure:
    return find_terms(name, second.terms)


def _condition(outcome: str, facts: ScoredFacts) -> Figure:
    return measures.condition_rankc(facts.right, facts.rankc, outcome)


# The kernels that count cases without a value.
COUNTS: Mapping[str, Callable[[ScoredFacts, Values], int]] = {
    "rankc_subject": lambda facts, values: (
        int((~facts.second.terms.counted).sum()) if facts.second else 0
    ),
    "rankc_adjusted": lambda facts, values: int((facts.sizes == 1).sum()),
    "coverlap": _count_undefined,
    "rankc_independent": _count_unmatched,
    "rankc_templates": lambda facts, values: (
        int((~facts.other_templates.counted).sum()) if facts.other_templates else 0
    ),
    "right_given_right": _count_undefined,
}
KERNELS = {
    "accuracy": Kernel(FACTS, lambda facts: find_accuracy(facts.right), lambda facts: facts.chance),
    "accuracy_gain": Kernel(
        SECOND,
        lambda second: mean_of(second.terms.languages, second.accuracy_gain, second.terms.counted),
    ),
    "accuracy_donor": Kernel(
        SECOND,
        lambda second: mean_of(
            second.terms.languages, second.donor_right, second.terms.counted, share=True
        ),
    ),
    "rankc": Kernel(
        RANKINGS,
        lambda facts: find_rankc(facts.languages, facts.rankc),
        lambda facts: float(rankc_chance(facts.sizes, facts.options.weights).mean()),
    ),
    "rankc_adjusted": Kernel(
        RANKINGS,
        lambda facts: find_rankc_adjusted(
            facts.languages, facts.rankc, facts.sizes, facts.options.weights
        ),
    ),
    "coverlap": Kernel(FACTS, lambda facts: find_coverlap(facts.right)),
    **{name: Kernel(SECOND_RANKINGS, partial(_find_terms, name)) for name in (*RATIOS, *MEANS)},
    "rankc_templates": Kernel(
        TEMPLATE_RANKINGS, lambda terms: find_centred(terms.languages, terms.within, terms.counted)
    ),
    "rankc_other_template": Kernel(
        TEMPLATE_RANKINGS,
        lambda terms: find_centred(name_pairs(terms.languages), terms.between, terms.counted),
    ),
    "rankc_disattenuated": Kernel(TEMPLATE_RANKINGS, find_disattenuated),
    "agreement": Kernel(
        CHOICES, lambda facts: find_agreement(facts.scores, facts.protocol.choices)
    ),
    "kappa": Kernel(CHOICES, lambda facts: find_kappa(facts.scores, facts.protocol.choices)),
    **{
        f"rankc_{outcome}": Kernel(RANKINGS, partial(_condition, outcome))
        for outcome in ("right_right", "right_wrong", "wrong_wrong")
    },
    "rbo": Kernel(RANKINGS, lambda facts: measures.find_rbo(facts.raw_scores)),
    "kendall_tau_b": Kernel(RANKINGS, lambda facts: find_kendall(facts.raw_scores)),
    "right_in_both": Kernel(FACTS, lambda facts: measures.find_right_in_both(facts.right)),
    "right_given_right": Kernel(FACTS, lambda facts: measures.find_right_given_right(facts.right)),
    "right_alone": Kernel(FACTS, lambda facts: measures.find_right_alone(facts.right)),
    **dict.fromkeys(
        ("right_in_all", "right_in_any", "right_in_none"),
        Kernel(FACTS, lambda facts: measures.find_right_counts(facts.right)),  # called once
    ),
}
_BETTER = {"lower": True, "higher": False, "neither": None}


def _declare(
    name: str, better: str = "higher", chance: float | None = None, **fields: Any
) -> RunFigure:
    """Make a figure of its table in figures.toml and its kernel; those of modules have none."""
    kernel = KERNELS.get(name, Kernel(FACTS, None))
    return RunFigure(
        name,
        input=kernel.input,
        sums=kernel.sums,
        lower_is_better=_BETTER[better],
        chance=kernel.chance or chance,
        **fields,
    )


FIGURES = tuple(_declare(x, **table) for x, table in read_toml(__package__, "figures.toml").items())
BY_NAME = {figure.name: figure for figure in FIGURES}
# One value for each language or pair, with a mean, from sums over facts.
SEPARATE = tuple(figure for figure in FIGURES if figure.sums and figure.per != ALL)
NAMES_OF_PAIRS = tuple(figure.name for figure in SEPARATE if figure.per == PAIR)
JOINT = tuple(figure for figure in FIGURES if figure.per == ALL)
HEADLINE = tuple(BY_NAME[name] for name in HEADLINES)
HEADLINE_PAIRS = tuple(figure for figure in HEADLINE if figure.per == PAIR)
OF_MODULES: dict[str, dict[str, RunFigure]] = {}  # by module, then by the figure's name there
for _figure in FIGURES:
    _module, _, _key = _figure.name.rpartition(".")
    if _module:
        OF_MODULES.setdefault(_module, {})[_key] = _figure


def expand_names(names: Sequence[str]) -> dict[str, set[str]]:
    """List the figures that each name means: a figure, the figures of a module, or `default`."""
    default = {figure.name for figure in FIGURES if not figure.on_request}
    meanings = {EVERY: default, **{figure.name: {figure.name} for figure in FIGURES}}
    for module, figures in OF_MODULES.items():
        meanings[module] = {figure.name for figure in figures.values()}
    for name in names:
        check_option("--figures", name, meanings)
    return {name: meanings[name] for name in names}


def choose_figures(names: Sequence[str]) -> set[str]:
    """List the names of the figures to compute, those of `default` without a name."""
    return set().union(*expand_names(names or (EVERY,)).values())


def find_figure(name: str, kind: str) -> RunFigure:
    """Find the figure of that name; `accuracy` of free predictions is X-FACTR's."""
    free = (name, kind) == ("accuracy", "predictions")
    return BY_NAME["factual_accuracy.all" if free else name]
