"""The figures of second questions: each fact is also asked about another subject, its donor."""

from functools import partial
from typing import Any

from polyprobe.analysis.figures.declaration import (
    INFINITE,
    LANGUAGE,
    PAIR,
    SECOND,
    SECOND_RANKINGS,
    LeftOut,
    Presentation,
    RunFigure,
    Scale,
    Values,
)
from polyprobe.analysis.figures.facts import ScoredFacts
from polyprobe.metrics.rankc_subject.formulas import find_terms
from polyprobe.metrics.shared.intervals import mean_of

_of_second = partial(RunFigure, per=LANGUAGE, input=SECOND, conditional=True)


def _of_terms(name: str, title: str, definition: str, scale: Scale, **options: Any) -> RunFigure:
    """Declare a figure of `find_terms`."""
    options["sums"] = lambda second: find_terms(name, second.terms)
    figure = RunFigure(name, title, definition, PAIR, SECOND_RANKINGS, scale=scale, **options)
    return figure._replace(conditional=True)


def _count_unmatched(facts: ScoredFacts, values: Values) -> int:
    terms = facts.second and facts.second.terms
    return int((terms.counted & ~terms.matched).sum()) if terms and values else 0


HEADLINE_OF_SECOND = (
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
)
OF_SECOND = (
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
)
