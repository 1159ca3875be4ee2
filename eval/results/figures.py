"""The figures of a run: from score tables, one a language, to sums over facts."""

from collections.abc import Callable, Iterable

from polyprobe.metrics.joint.all_languages import find_agreement, find_kappa, find_right_counts
from polyprobe.metrics.joint.figures import (
    Figure,
    find_accuracy,
    find_coverlap,
    find_rankc,
)
from polyprobe.metrics.joint.outcomes import OUTCOMES, condition_rankc, find_excess
from polyprobe.metrics.joint.rankings import find_kendall, find_rankc_adjusted, find_rbo

from .facts import Facts


def find_figures(facts: Facts, names: Iterable[str]) -> dict[str, Figure]:
    """Return figures of languages and pairs by their names in results.json."""
    return {name: FIGURES[name](facts) for name in names}


def find_joint(facts: Facts) -> list[Figure]:
    """Return the figures that several languages have together, each named by itself."""
    if len(facts.scores) < 2:
        return []
    return [find_kappa(facts.scores), find_right_counts(facts.right)]


def _of_outcome(outcome: str) -> Callable[[Facts], Figure]:
    return lambda facts: condition_rankc(facts.right, facts.rankc, outcome)


FIGURES: dict[str, Callable[[Facts], Figure]] = {
    "accuracy": lambda facts: find_accuracy(facts.right),
    "rankc": lambda facts: find_rankc(facts.pairs, facts.rankc),
    "rankc_adjusted": lambda facts: find_rankc_adjusted(facts.pairs, facts.rankc, facts.sizes),
    "coverlap": lambda facts: find_coverlap(facts.right),
    "agreement": lambda facts: find_agreement(facts.scores),
    "rankc_excess": lambda facts: find_excess(facts.right, facts.rankc, facts.kinds),
    **{f"rankc_{outcome}": _of_outcome(outcome) for outcome in OUTCOMES},
    "rbo": lambda facts: find_rbo(facts.scores),
    "kendall_tau_b": lambda facts: find_kendall(facts.scores),
}
