"""The figures of a run, each declared once.

To add a figure, add an entry to `FIGURES` and its kernel. results.json, the terminal table, the
report, every export, `compare` and the training callback iterate over these entries.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from polyprobe.analysis.errors.types import RULES
from polyprobe.metrics.accuracy_at_1.formulas import find_accuracy
from polyprobe.metrics.answer_agreement.formulas import find_agreement, find_kappa
from polyprobe.metrics.coverlap.formulas import find_coverlap
from polyprobe.metrics.joint import HEADLINES, measures
from polyprobe.metrics.joint.templates import find_centred, find_disattenuated
from polyprobe.metrics.rank_overlap.formulas import find_kendall
from polyprobe.metrics.rankc.formulas import find_rankc, find_rankc_adjusted, rankc_chance
from polyprobe.metrics.rankc_subject.formulas import find_terms
from polyprobe.metrics.shared.intervals import Figure, mean_of, name_pairs
from polyprobe.system.messages import check_option

from .declaration import (
    ALL,
    CHOICES,
    FACTS,
    INFINITE,
    LANGUAGE,
    PAIR,
    RANKINGS,
    SECOND,
    SECOND_RANKINGS,
    TEMPLATE_RANKINGS,
    WAY,
    LeftOut,
    Presentation,
    RunFigure,
    Scale,
    Values,
)
from .facts import ScoredFacts
from .options import EVERY

NOTED = Presentation(noted=True)
_of_language = partial(RunFigure, per=LANGUAGE)
_noted = partial(_of_language, display=NOTED)
_of_pair = partial(RunFigure, per=PAIR)
_of_rankings = partial(_of_pair, input=RANKINGS)
_of_choices = partial(_of_pair, input=CHOICES)
_of_templates = partial(_of_pair, input=TEMPLATE_RANKINGS, conditional=True, display=NOTED)
_of_second = partial(_of_language, input=SECOND, conditional=True)
_of_way = partial(RunFigure, per=WAY, on_request=True)
# Parts of the facts by the tokens of the answer: key, end of the title, key of their number.
NUMBERS_OF_TOKENS = (
    ("all", "", "n_queries"),
    ("single", ", one token", "n_single"),
    ("multi", ", more tokens", "n_multi"),
)


def _count_undefined(facts: ScoredFacts, values: Values) -> int:
    return list(values.values()).count(None)


def _of_terms(name: str, title: str, definition: str, scale: Scale, **options: Any) -> RunFigure:
    """Declare a figure of `find_terms`."""
    options["sums"] = lambda second: find_terms(name, second.terms)
    figure = RunFigure(name, title, definition, PAIR, SECOND_RANKINGS, scale=scale, **options)
    return figure._replace(conditional=True)


def _count_unmatched(facts: ScoredFacts, values: Values) -> int:
    terms = facts.second and facts.second.terms
    return int((terms.counted & ~terms.matched).sum()) if terms and values else 0


def _condition(outcome: str, facts: ScoredFacts) -> Figure:
    return measures.condition_rankc(facts.right, facts.rankc, outcome)


FIGURES = (
    _of_language(
        "accuracy",
        "accuracy",
        "Share of facts whose right answer comes first; ties in expectation.",
        sums=lambda facts: find_accuracy(facts.right),
        chance=lambda facts: facts.chance,
        compared=True,
        display=Presentation(training="each"),
    ),
    _of_second(
        "accuracy_gain",
        "accuracy gain",
        "Accuracy less accuracy in another subject's sentence, over the same facts and candidates.",
        sums=lambda second: mean_of(
            second.terms.languages, second.accuracy_gain, second.terms.counted
        ),
        scale=Scale(lowest=-1.0),
        compared=True,
        display=Presentation(short="gain", training="mean"),
    ),
    _of_terms(
        "rankc_subject",
        "centred RankC",
        "(R - 2P + Q) / (1 - 2P + Q): R is RankC, P that with another subject of the relation in "
        "one of the two languages, Q in both. How alike two languages react to the subject.",
        Scale(lowest=-INFINITE),
        chance=0.0,
        left_out=LeftOut(
            "facts without a donor, or with one candidate left: not in centred RankC and gain",
            lambda facts, values: int((~facts.second.terms.counted).sum()) if facts.second else 0,
        ),
        compared=True,
        display=Presentation(short="centred", training="each"),
    ),
    _of_rankings(
        "rankc",
        "RankC",
        "Similarity of the rankings of the same candidates in two languages (Qi 2023).",
        sums=lambda facts: find_rankc(facts.languages, facts.rankc),
        chance=lambda facts: float(rankc_chance(facts.sizes, facts.options.weights).mean()),
        compared=True,
        display=Presentation(training="each"),
    ),
    _of_rankings(
        "rankc_adjusted",
        "adjusted RankC",
        "(RankC - chance) / (1 - chance), over facts with several candidates.",
        sums=lambda facts: find_rankc_adjusted(
            facts.languages, facts.rankc, facts.sizes, facts.options.weights
        ),
        scale=Scale(lowest=-INFINITE),
        chance=0.0,
        left_out=LeftOut(
            "facts with one candidate: no adjusted RankC, no kappa",
            lambda facts, values: int((facts.sizes == 1).sum()),
        ),
        compared=True,
        display=Presentation(short="adjusted", training="mean"),
    ),
    _of_pair(
        "coverlap",
        "COverlap",
        "Facts right in both languages among those right in either (Jiang 2020).",
        sums=lambda facts: find_coverlap(facts.right),
        left_out=LeftOut("pairs without COverlap: nothing right in either", _count_undefined),
        conditional=True,
        compared=True,
    ),
    _of_terms(
        "rankc_independent",
        "centred RankC, independent",
        "Centred RankC of languages with the same knowledge of other facts: the right answer has "
        "the rank that another fact of the relation has.",
        Scale(lowest=-INFINITE, lower_is_better=None),
        left_out=LeftOut(
            "facts with several right answers, or of fewer than ten in their relation with as many "
            "candidates: not in independent and beyond",
            _count_unmatched,
        ),
    ),
    _of_terms(
        "rankc_right",
        "centred RankC, right answer",
        "The part of centred RankC that is the right answers': agreement in knowledge.",
        Scale(-INFINITE, INFINITE),
    ),
    _of_terms(
        "rankc_rest",
        "centred RankC, the rest",
        "The part of centred RankC that is the other candidates': agreement in error.",
        Scale(-INFINITE, INFINITE, lower_is_better=None),
    ),
    _of_terms(
        "rankc_beyond",
        "centred RankC, beyond independence",
        "Centred RankC less that of independent knowledge: whether it is the same facts.",
        Scale(-INFINITE, INFINITE),
    ),
    _of_terms(
        "rankc_donor",
        "RankC, another subject",
        "P: RankC with the right subject in one language and another one in the second.",
        Scale(lower_is_better=None),
    ),
    _of_terms(
        "rankc_difference",
        "RankC, R - P",
        "RankC less RankC with another subject, over the same facts and candidates.",
        Scale(-1.0, 1.0),
    ),
    _of_terms(
        "rankc_interaction",
        "RankC, R - 2P + Q",
        "The numerator of centred RankC.",
        Scale(-2.0, 2.0),
    ),
    _of_terms(
        "rankc_room",
        "RankC, 1 - 2P + Q",
        "The denominator of centred RankC, which must be above .005.",
        Scale(-1.0, 2.0, lower_is_better=None),
    ),
    _of_second(
        "accuracy_donor",
        "accuracy, another subject",
        "Share of facts whose right answer comes first in another subject's sentence.",
        sums=lambda second: mean_of(
            second.terms.languages, second.donor_right, second.terms.counted, share=True
        ),
        scale=Scale(lower_is_better=None),
    ),
    _of_templates(
        "rankc_templates",
        "centred RankC within a language",
        "Centred RankC of two templates of a fact in one language: how alike they react to the "
        "subject.",
        per=LANGUAGE,
        sums=lambda terms: find_centred(terms.languages, terms.within, terms.counted),
        scale=Scale(lowest=-INFINITE),
        chance=0.0,
        left_out=LeftOut(
            "rows without another template that has the same donor: not in RankC within a language",
            lambda facts, values: (
                int((~facts.other_templates.counted).sum()) if facts.other_templates else 0
            ),
        ),
    ),
    _of_templates(
        "rankc_other_template",
        "centred RankC, another template",
        "Centred RankC of two languages in different templates.",
        sums=lambda terms: find_centred(name_pairs(terms.languages), terms.between, terms.counted),
        scale=Scale(lowest=-INFINITE),
        chance=0.0,
    ),
    _of_templates(
        "rankc_disattenuated",
        "disattenuated RankC",
        "Centred RankC in different templates, over the geometric mean of that within both "
        "languages (Spearman 1904): 1 if languages differ no more than templates.",
        sums=find_disattenuated,
        scale=Scale(lowest=-INFINITE, highest=INFINITE),
        chance=0.0,
    ),
    _of_choices(
        "agreement",
        "agreement",
        "Share of facts with the same first candidate.",
        sums=lambda facts: find_agreement(facts.scores, facts.protocol.choices),
        compared=True,
    ),
    *(
        _of_rankings(
            f"rankc_{outcome}",
            f"RankC, {part} right",
            f"RankC over facts right in {place}.",
            sums=partial(_condition, outcome),
            conditional=True,
        )
        for outcome, part, place in (
            ("right_right", "both", "both"),
            ("right_wrong", "one", "one of two"),
            ("wrong_wrong", "none", "neither"),
        )
    ),
    _of_rankings(
        "rbo",
        "rank-biased overlap",
        "Rank-biased overlap of two languages' rankings.",
        sums=lambda facts: measures.find_rbo(facts.raw_scores),
    ),
    _of_rankings(
        "kendall_tau_b",
        "Kendall's tau-b",
        "Rank correlation of two languages' scores, comparable between pools of different size.",
        sums=lambda facts: find_kendall(facts.raw_scores),
        scale=Scale(lowest=-1.0),
    ),
    _of_pair(
        "right_in_both",
        "right in both",
        "P(a and b): share of facts right in both languages.",
        sums=lambda facts: measures.find_right_in_both(facts.right),
        on_request=True,
        display=Presentation(short="both"),
    ),
    _of_way(
        "right_given_right",
        "right where another is",
        "P(a | b): share of the facts right in language b that are right in a, for each pair a-b.",
        sums=lambda facts: measures.find_right_given_right(facts.right),
        left_out=LeftOut("ordered pairs without P(a | b): nothing right in b", _count_undefined),
        conditional=True,
        display=Presentation(short="given"),
    ),
    _of_way(
        "right_alone",
        "right where another is not",
        "P(a and not b): share of facts right in language a and not in b, for each pair a-b.",
        sums=lambda facts: measures.find_right_alone(facts.right),
        display=Presentation(short="alone"),
    ),
    _of_choices(
        "kappa",
        "kappa (free-marginal)",
        "Agreement of all languages on the first candidate, 0 for uniform random choices.",
        per=ALL,
        sums=lambda facts: find_kappa(facts.scores, facts.protocol.choices),
        scale=Scale(lowest=-1.0),
    ),
    *(
        RunFigure(
            f"right_in_{part}",
            f"right in {part}",
            f"Share of facts right in {place}.",
            ALL,
            FACTS,
            count,
            scale=Scale(lower_is_better=part == "none"),
        )
        # one kernel, called once
        for count in [lambda facts: measures.find_right_counts(facts.right)]
        for part, place in (
            ("all", "every language"),
            ("any", "one language at least"),
            ("none", "no language"),
        )
    ),
    *(
        _of_language(
            f"recall_at_k.recall@{k}",
            f"recall@{k}",
            f"Share of facts with a right answer among the first {k}; macro.",
        )
        for k in (1, 5, 10)
    ),
    _of_language(
        "recall_at_k.mean_rank",
        "mean rank",
        "Mean rank of the right answer, from 1; macro.",
        scale=Scale(lowest=1.0, highest=INFINITE, lower_is_better=True),
    ),
    _noted(
        "contrastive_knowledge.accuracy",
        "contrastive knowledge",
        "Share of facts more probable than the mean of their counterfacts.",
    ),
    _of_language(
        "contrastive_knowledge.tie_share",
        "ties",
        "Share of facts as probable as their counterfacts.",
        scale=Scale(lower_is_better=True),
    ),
    *(
        _noted(f"paraphrase_consistency.{key}", title, f"Share of {definition}; macro.")
        for key, title, definition in (
            ("consistency", "consistency", "pairs of a fact's templates with the same answer"),
            ("accuracy", "accuracy of templates", "a fact's templates with the right answer"),
            (
                "consistency_accuracy",
                "consistency and accuracy",
                "pairs of templates that agree and are right",
            ),
        )
    ),
    _noted(
        "position_bias.range",
        "position bias",
        "Largest less smallest mean effect of a letter in nats, which the scores are free of.",
        scale=Scale(highest=INFINITE, lower_is_better=True),
    ),
    _noted(
        "factual_accuracy.all",
        "factual accuracy",
        "Share of facts whose free prediction is an accepted form; macro.",
    ),
    _noted(
        "factual_accuracy.single",
        "factual accuracy, one token",
        "The same over answers of a single token.",
        count_key="n_single",
    ),
    _noted(
        "factual_accuracy.multi",
        "factual accuracy, more tokens",
        "The same over answers of several tokens.",
        count_key="n_multi",
    ),
    *(
        _of_language(
            f"calibration.ece{'' if part == 'all' else f'_{part}'}",
            f"calibration error{of}",
            "Mean distance between confidence and accuracy over ten bins of confidence (ECE).",
            scale=Scale(lower_is_better=True),
            count_key=count,
        )
        for part, of, count in NUMBERS_OF_TOKENS
    ),
    *(
        _noted(f"{module}.{part}", f"{title}{of}", definition, count_key=count)
        for module, title, definition in (
            (
                "oracle_length",
                "factual accuracy, known length",
                "The same if each accepted form is compared with the filling of its length.",
            ),
            (
                "single_mask",
                "factual accuracy, one mask",
                "The same if the slot has a single mask, as in earlier work.",
            ),
        )
        for part, of, count in NUMBERS_OF_TOKENS
    ),
    *(
        _of_language(
            f"error_types.{name}",
            f"errors: {name.replace('_', ' ')}",
            f"Share of errors of this type: {definition[0].lower()}{definition[1:]}",
            scale=Scale(lower_is_better=None),
        )
        for name, (definition, _) in RULES.items()
    ),
)
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
