"""The pairs of languages in results.json: consistent ones, and each language's best partner."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from polyprobe.analysis.figures.declaration import PAIR, WAY
from polyprobe.analysis.figures.figures import BY_NAME, SEPARATE
from polyprobe.system.errors import PolyprobeError, check_option

Pairs = list[str]
ROUNDING = 1e-12  # of a mean of equal values


class HighPairs(NamedTuple):
    """Pairs whose value is at least the mean of all pairs, by two figures or one of them alone."""

    common: Pairs
    first: Pairs
    second: Pairs


class Partner(NamedTuple):
    """The language with the highest value of a figure of pairs, in a language's pairs."""

    language: str
    partner: str
    value: float
    interval: list[float] | None


def find_high_pairs(results: Mapping[str, Any], first: str, second: str) -> HighPairs:
    """Find the high-consistency pairs by two figures (Qi et al. 2023, appendix F and figure 7).

    A pair is one if its value is greater than or equal to the mean of all pairs with a value.
    """
    high = [set(_list_high(results, name)) for name in (first, second)]
    names = ["-".join(pair) for pair in combinations(results["languages"], 2)]
    parts = (high[0] & high[1], high[0] - high[1], high[1] - high[0])
    return HighPairs(*([pair for pair in names if pair in part] for part in parts))


def _list_high(results: Mapping[str, Any], name: str) -> Iterator[str]:
    mean = results["mean"][name]
    return (pair for pair, x in results[name].items() if x is not None and x >= mean - ROUNDING)


def find_partners(results: Mapping[str, Any], name: str) -> list[Partner]:
    """Find the best partner of each language, the first in the run's order of equal ones.

    Of an ordered figure the language comes first: P(language | partner). A language without a value
    has no partner.
    """
    values, bounds = results[name], results["intervals"].get(name, {})
    directed, partners = BY_NAME[name].per == WAY, []
    for language in results["languages"]:
        keys = {}
        for second in results["languages"]:
            key = f"{language}-{second}"
            keys[second] = key if directed or key in values else f"{second}-{language}"
        defined = [second for second, key in keys.items() if values.get(key) is not None]
        if defined:
            best = max(defined, key=lambda second: values[keys[second]])
            partners.append(Partner(language, best, values[keys[best]], bounds.get(keys[best])))
    return partners


def check_pair_figures(names: Sequence[str], computed: Collection[str]) -> None:
    """Refuse names that are no figures of unordered pairs, or are not computed."""
    for name in names:
        check_option("--pairs", name, [figure.name for figure in SEPARATE if figure.per == PAIR])
        if name not in computed:
            raise PolyprobeError(
                f"--pairs: {name} is not among the figures to compute; add --figures default,{name}"
            )
