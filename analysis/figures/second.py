"""The figures of second questions: each fact is also asked about another subject, its donor."""

from functools import partial

import numpy as np

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
)
from polyprobe.analysis.figures.facts import SecondQuestions
from polyprobe.metrics.rankc_subject.formulas import find_terms
from polyprobe.metrics.shared.intervals import Figure, mean_of

_of_second = partial(RunFigure, per=LANGUAGE, input=SECOND, conditional=True)
_of_second_pair = partial(RunFigure, per=PAIR, input=SECOND_RANKINGS, conditional=True)


def _find_terms(name: str, second: SecondQuestions) -> Figure:
    return find_terms(name, second.terms)


def _count_unmatched(second: SecondQuestions) -> int:
    several = len(second.terms.languages) > 1
    return int((second.terms.counted & ~second.terms.matched).sum()) if several else 0


def _average_rates(second: SecondQuestions, rates: np.ndarray, share: bool = False) -> Figure:
    return mean_of(second.terms.languages, rates, second.terms.counted, share=share)


HEADLINE_OF_SECOND = (
    _of_second(
        "accuracy_gain",
        "accuracy gain",
        "Accuracy less accuracy in another subject's sentence, over the same facts and candidates.",
        sums=lambda second: _average_rates(second, second.accuracy_gain),
        scale=Scale(lowest=-1.0),
        compared=True,
        display=Presentation(short="gain", training="mean", paper=("Gain", "accuracy gain (Gain)")),
    ),
    _of_second_pair(
        "rankc_subject",
        "centred RankC",
        "(R - 2P + Q) / (1 - 2P + Q): R is RankC, P that with another subject of the relation in "
        "one of the two languages, Q in both. How alike two languages react to the subject.",
        sums=partial(_find_terms, "rankc_subject"),
        scale=Scale(lowest=-INFINITE),
        chance=0.0,
        left_out=LeftOut(
            "facts without a donor, or with one candidate left: not in centred RankC and gain",
            lambda facts, values: int((~facts.second.terms.counted).sum()) if facts.second else 0,
        ),
        compared=True,
        display=Presentation(
            short="centred", training="each", paper=("Cen", "centred RankC (Cen)")
        ),
    ),
)
OF_SECOND = (
    _of_second_pair(
        "rankc_independent",
        "centred RankC, independent",
        "Centred RankC of languages with the same knowledge of other facts: the right answer has "
        "the rank that another fact of the relation has.",
        sums=partial(_find_terms, "rankc_independent"),
        scale=Scale(lowest=-INFINITE, lower_is_better=None),
        left_out=LeftOut(
            "facts with several right answers, or of fewer than ten in their relation with as many "
            "candidates: not in independent and beyond",
            lambda facts, values: _count_unmatched(facts.second) if facts.second and values else 0,
        ),
    ),
    *(
        _of_second_pair(
            f"rankc_{name}",
            title,
            definition,
            sums=partial(_find_terms, f"rankc_{name}"),
            scale=Scale(*ends, lower_is_better=better),
        )
        for name, title, definition, ends, better in (
            (
                "right",
                "centred RankC, right answer",
                "The part of centred RankC that is the right answers': agreement in knowledge.",
                (-INFINITE, INFINITE),
                False,
            ),
            (
                "rest",
                "centred RankC, the rest",
                "The part of centred RankC that is the other candidates': agreement in error.",
                (-INFINITE, INFINITE),
                None,
            ),
            (
                "beyond",
                "centred RankC, beyond independence",
                "Centred RankC less that of independent knowledge: whether it is the same facts.",
                (-INFINITE, INFINITE),
                False,
            ),
            (
                "donor",
                "RankC, another subject",
                "P: RankC with the right subject in one language and another one in the second.",
                (0.0, 1.0),
                None,
            ),
            (
                "difference",
                "RankC, R - P",
                "RankC less RankC with another subject, over the same facts and candidates.",
                (-1.0, 1.0),
                False,
            ),
            (
                "interaction",
                "RankC, R - 2P + Q",
                "The numerator of centred RankC.",
                (-2.0, 2.0),
                False,
            ),
            (
                "room",
                "RankC, 1 - 2P + Q",
                "The denominator of centred RankC, which must be above .005.",
                (-1.0, 2.0),
                None,
            ),
        )
    ),
    _of_second(
        "accuracy_donor",
        "accuracy, another subject",
        "Share of facts whose right answer comes first in another subject's sentence.",
        sums=lambda second: _average_rates(second, second.donor_right, share=True),
        scale=Scale(lower_is_better=None),
    ),
)
