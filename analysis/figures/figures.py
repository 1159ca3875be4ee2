"""The figures of a run: figures.toml says what they are, `KERNELS` how they are computed.

To add a figure, add a table to figures.toml and its kernel here. results.json, the terminal table,
the report, every export, `compare` and the training callback iterate over `FIGURES`.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from polyprobe.metrics.accuracy_at_1.formulas import find_accuracy
from polyprobe.metrics.answer_agreement.formulas import find_agreement, find_kappa
from polyprobe.metrics.coverlap.formulas import find_coverlap
from polyprobe.metrics.joint import HEADLINES, measures
from polyprobe.metrics.joint.templates import find_centred, find_disattenuated
from polyprobe.metrics.rank_overlap.formulas import find_kendall
from polyprobe.metrics.rankc.formulas import find_rankc, find_rankc_adjusted, rankc_chance
from polyprobe.metrics.rankc_subject.formulas import MEANS, RATIOS, find_terms
from polyprobe.metrics.shared.intervals import Figure, mean_of, name_pairs
from polyprobe.system.files import read_toml
from polyprobe.system.messages import check_option

from .declaration import (
    ALL,
    CHOICES,
    FACTS,
    PAIR,
    RANKINGS,
    SECOND,
    SECOND_RANKINGS,
    TEMPLATE_RANKINGS,
    Kernel,
    LeftOut,
    Presentation,
    RunFigure,
    Scale,
    Values,
)
from .facts import ScoredFacts, SecondQuestions
from .options import EVERY


def _count_undefined(facts: ScoredFacts, values: Values) -> int:
    return list(values.values()).count(None)


def _count_unmatched(facts: ScoredFacts, values: Values) -> int:
    terms = facts.second and facts.second.terms
    return int((terms.counted & ~terms.matched).sum()) if terms and values else 0


def _find_terms(name: str, second: SecondQuestions) -> Figure:
    return find_terms(name, second.terms)


def _condition(outcome: str, facts: ScoredFacts) -> Figure:
    return measures.condition_rankc(facts.right, facts.rankc, outcome)


def _count_right(facts: ScoredFacts) -> Figure:
    return measures.find_right_counts(facts.right)


_LEFT_OUT: Mapping[str, Callable[[ScoredFacts, Values], int]] = {
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
        TEMPLATE_RANKINGS,
        lambda terms: find_centred(terms.languages, terms.within, terms.counted),
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
    # one kernel, called once
    **dict.fromkeys(("right_in_all", "right_in_any", "right_in_none"), Kernel(FACTS, _count_right)),
}
_BETTER = {"lower": True, "higher": False, "neither": None}


def _declare(
    name: str,
    lowest: float = 0.0,
    highest: float = 1.0,
    better: str = "higher",
    chance: float | None = None,
    left_out: str = "",
    **fields: Any,
) -> RunFigure:
    """Make a figure of its table in figures.toml and its kernel; those of modules have none."""
    display = {key: fields.pop(key) for key in Presentation._fields if key in fields}
    kernel = KERNELS.get(name, Kernel(FACTS, None))
    return RunFigure(
        name,
        input=kernel.input,
        sums=kernel.sums,
        scale=Scale(lowest, highest, _BETTER[better]),
        chance=kernel.chance or chance,
        left_out=LeftOut(left_out, _LEFT_OUT[name]) if left_out else None,
        display=Presentation(**display),
        **fields,
    )


FIGURES = tuple(_declare(x, **table) for x, table in read_toml(__package__, "figures.toml").items())
BY_NAME = {figure.name: figure for figure in FIGURES}
# One value for each language or pair, with a mean, from sums over facts.
SEPARATE = tuple(figure for figure in FIGURES if figure.sums and figure.per != ALL)
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
