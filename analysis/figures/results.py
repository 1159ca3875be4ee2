"""Read results.json: values of languages, chance levels, floors, and every figure as a row."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations, permutations
from statistics import fmean
from typing import Any, NamedTuple

from polyprobe.schema.languages import order_pair
from polyprobe.schema.run.folder import Run, split_signature
from polyprobe.system.messages import PolyprobeError, check_option, refuse_unknown

from . import figures as catalogue
from .figures import ALL, BY_NAME, JOINT, LANGUAGE, SEPARATE, RunFigure
from .floors import FLOORS
from .options import EVERY, MetricOptions

ROUNDING = 1e-12  # of a mean of equal values
KNOWLEDGE = ("accuracy", "accuracy_gain")  # what centred RankC must be read with
CENTRED = "rankc_subject"
MEAN = "mean"  # in place of a language: the mean over languages or pairs


class FigureRow(NamedTuple):
    """One value of a figure."""

    figure: str
    language: str  # a split, MEAN or ALL
    other_language: str = ""  # the second language of a pair, else ""
    value: float | None = None  # None: undefined
    low: float | None = None  # of the 95% bootstrap interval
    high: float | None = None
    chance: float | None = None  # None if unknown, as n and floor
    n: int | None = None  # number of facts
    floor: float | None = None  # the highest, to be exceeded, see `floors.py`
    floor_name: str = ""
    relation: str = ""  # empty for figures of all rows


class Partner(NamedTuple):
    """The language with the highest value of a figure of pairs, in a language's pairs."""

    language: str
    value: float
    interval: list[float] | None


def read_results(run: Run) -> dict[str, Any]:
    """Read results.json of a run; refuse names of figures and floors that are not ours."""
    results, file = run.read_results(), f"{run.folder}/results.json"
    of_relations = [part["mean"] for part in results.get("by_relation", {}).values()]
    refuse_unknown("figure", chain(results["mean"], *of_relations), file, BY_NAME)
    floors = [results.get("floors", {}), results.get("floors_by_place", {})]
    refuse_unknown("floor", chain(*floors), file, {floor.name for floor in FLOORS})
    return results


def list_rows_of_run(results: Mapping[str, Any]) -> list[FigureRow]:
    """List the figures of all rows: languages, pairs and means, modules, then joint figures."""
    return [*_list_means(results), *_list_modules(results), *_list_joint(results)]


def list_rows_of_relations(results: Mapping[str, Any]) -> list[FigureRow]:
    """List the figures of each relation: accuracy by language, then the means."""
    rows = []
    for relation, part in results["by_relation"].items():
        n = part["n_queries"]
        for language, value in part["accuracy"].items():
            rows.append(FigureRow("accuracy", language, value=value, n=n, relation=relation))
        for name, mean in part["mean"].items():
            low, high = part["intervals"].get(name) or (None, None)
            count = None if BY_NAME[name].left_out or BY_NAME[name].conditional else n
            floor = find_highest_floor(part, name)
            rows.append(FigureRow(name, MEAN, "", mean, low, high, None, count, *floor, relation))
    return rows


def _list_means(results: Mapping[str, Any]) -> Iterator[FigureRow]:
    languages, intervals = results["languages"], results["intervals"]
    singles = {language: (language, "") for language in languages}
    places = singles | {"-".join(pair): pair for pair in permutations(languages, 2)}
    for name, mean in results["mean"].items():
        values, bounds = results[name], intervals.get(name, {})
        chance, n = find_chance(results, name), None
        # free predictions may skip facts
        if not BY_NAME[name].conditional and "factual_accuracy" not in results:
            n = results["n_queries"] - results["left_out"].get(name, 0)
        # Languages with other candidates have other chance levels.
        level = None if results.get("own_candidates") else chance
        for key in filter(values.__contains__, places):
            low, high = bounds.get(key) or (None, None)
            value_chance = None if values[key] is None else level
            first, second = places[key]
            floor = find_highest_floor(results, name, key)
            yield FigureRow(name, first, second, values[key], low, high, value_chance, n, *floor)
        low, high = intervals.get(MEAN, {}).get(name) or (None, None)
        floor = find_highest_floor(results, name)
        yield FigureRow(name, MEAN, "", mean, low, high, chance, n, *floor)


def _list_modules(results: Mapping[str, Any]) -> Iterator[FigureRow]:
    for module, figures in catalogue.OF_MODULES.items():
        for language, values in results.get(module, {}).items():
            for key, figure in figures.items():
                if key in values:
                    low, high = values.get(f"{key}_ci") or (None, None)
                    chance, n = values.get(f"{key}_chance"), values.get(figure.count_key)
                    yield FigureRow(figure.name, language, "", values[key], low, high, chance, n)
    for language, shares in results.get("verdicts", {}).items():
        for kind, share in shares.items():
            yield FigureRow(f"verdicts.{kind}", language, value=share, n=results["n_queries"])


def _list_joint(results: Mapping[str, Any]) -> Iterator[FigureRow]:
    n = results["n_queries"]
    for name in (figure.name for figure in JOINT if figure.name in results):
        low, high = results.get(f"{name}_ci") or (None, None)
        yield FigureRow(name, ALL, "", results[name], low, high, None, n)
    for k, facts in enumerate(results["k_correct"]):
        yield FigureRow(f"right_in_exactly_{k}", ALL, value=facts, n=n)
    for k, share in enumerate(results["k_share"] or (), start=1):
        yield FigureRow(f"k_share.{k}", ALL, value=share, n=n)


def list_by_language(results: Mapping[str, Any], figure: RunFigure) -> dict[str, float | None]:
    """List each language's value, for a pair figure its mean with the other languages."""
    values, languages = results[figure.name], results["languages"]
    if figure.per == LANGUAGE:
        return {language: values[language] for language in languages}
    of_pairs: dict[str, list[float | None]] = {language: [] for language in languages}
    for first, second in combinations(languages, 2):
        for language in (first, second):
            of_pairs[language].append(values.get(f"{first}-{second}"))
    return {language: mean_known(values) for language, values in of_pairs.items()}


def list_columns(results: Mapping[str, Any]) -> list[RunFigure]:
    """List the columns of a table of languages: headline figures, and named ones of some only."""
    names = MetricOptions.read(results).figures or ()
    extra = ("agreement",) if not names and "rankc" not in results else names  # of choices
    extra = () if EVERY in names else extra
    figures = (*catalogue.HEADLINE, *(f for f in SEPARATE if f.name in extra))
    return [f for f in dict.fromkeys(figures) if f.name in results]


def list_named(results: Mapping[str, Any]) -> set[str]:
    """List the figures that were named (`--figures`), themselves or by their module."""
    expanded = catalogue.expand_names(MetricOptions.read(results).figures or ())
    return set().union(*(figures for name, figures in expanded.items() if name != EVERY))


def find_chance(results: Mapping[str, Any], name: str) -> float | None:
    """Find a figure's chance level in a run; None where unknown, as for free predictions."""
    levels = results.get("chance", {})
    level = BY_NAME[name].chance
    return level if levels and isinstance(level, float) else levels.get(name)


def list_floors(results: Mapping[str, Any]) -> list[tuple[str, dict[str, float | None]]]:
    """List chance, if known, and each floor of a run: name of the row, figure to value."""
    rows = []
    if results.get("chance"):
        rows.append(("chance", {name: find_chance(results, name) for name in BY_NAME}))
    floors = results.get("floors", {})
    return [*rows, *((floor.title, floors[floor.name]) for floor in FLOORS if floor.name in floors)]


def find_highest_floor(
    results: Mapping[str, Any], name: str, place: str = MEAN
) -> tuple[float | None, str]:
    """Find the highest floor of a figure in a language or pair, and its name; None if unknown."""
    if place == MEAN:
        levels = {x: values.get(name) for x, values in results.get("floors", {}).items()}
    else:
        floors = results.get("floors_by_place", {}).items()
        levels = {x: values.get(name, {}).get(place) for x, values in floors}
    if name == CENTRED:  # what exceeds it is tested by `rankc_beyond`
        levels.pop("independence", None)
    return max(((y, x) for x, y in levels.items() if y is not None), default=(None, ""))


def is_above_floor(results: Mapping[str, Any], name: str, place: str) -> bool | None:
    """Tell whether a figure of a language, a pair or MEAN exceeds its floor with its interval.

    Centred RankC is not above its floor where accuracy or gain is not: it is no knowledge.
    """
    floor, (figure, key) = find_highest_floor(results, name, place)[0], (name, place)
    if place == MEAN:
        figure, key = MEAN, name
    bounds = results.get("intervals", {}).get(figure, {}).get(key)
    if floor is None or bounds is None:
        return None
    if name == CENTRED:
        of_languages = [MEAN] if place == MEAN else place.split("-")
        conditions = [is_above_floor(results, x, y) for x in KNOWLEDGE for y in of_languages]
        return bool(bounds[0] > floor) and False not in conditions
    return bool(bounds[0] > floor)


def find_high_pairs(results: Mapping[str, Any], first: str, second: str) -> list[list[str]]:
    """Find the pairs at or above the mean of all by two figures, by the first and second alone.

    As the high-consistency pairs of Qi et al. (2023), appendix F and figure 7.
    """
    high = []
    for name in (first, second):
        values, mean = results[name], results["mean"][name]
        # Without a value in any pair there is no mean either.
        defined = {x: value for x, value in values.items() if value is not None}
        high.append({x for x, value in defined.items() if value >= mean - ROUNDING})
    names = ["-".join(pair) for pair in combinations(results["languages"], 2)]
    parts = (high[0] & high[1], high[0] - high[1], high[1] - high[0])
    return [[pair for pair in names if pair in part] for part in parts]


def find_partners(results: Mapping[str, Any], name: str) -> dict[str, Partner]:
    """Find each language's best partner, P(language | partner), if any; of equal ones the first."""
    values, bounds = results[name], results["intervals"].get(name, {})
    partners = {}
    for language in results["languages"]:
        keys = {x: order_pair(values, language, x) for x in results["languages"]}
        defined = [second for second, key in keys.items() if values.get(key) is not None]
        if defined:
            best = max(defined, key=lambda second: values[keys[second]])
            partners[language] = Partner(best, values[keys[best]], bounds.get(keys[best]))
    return partners


def check_pair_figures(names: Sequence[str], computed: Collection[str]) -> None:
    """Refuse names that are no figures of unordered pairs, or are not computed."""
    for name in names:
        check_option("--pairs", name, catalogue.NAMES_OF_PAIRS)
        if name not in computed:
            raise PolyprobeError(
                f"--pairs: {name} is not among the figures to compute; add --figures default,{name}"
            )


def explain_donors(n_without: int, n: int) -> str:
    """Say how many facts have no donor, and what would bring one."""
    return (
        f"no centred RankC and gain of {n_without:,} of {n:,} facts: no subject of their relation "
        "with another answer leaves them two candidates; add facts with other objects or candidates"
    )


def explain_missing(results: Mapping[str, Any]) -> str | None:
    """Say why a run has no centred RankC in any pair, and what would bring it; None if it has."""
    means, n = results["mean"], results["n_queries"]
    if "rankc" not in means or means.get(CENTRED) is not None or list_named(results):
        return None
    if len(results["languages"]) < 2:  # as of RankC
        return None
    if CENTRED not in means:
        remedy = "score again without --no-donor, with --scoring bmlama or object"
        if "imported" in split_signature(results["signature"]):
            remedy = "import scores with a donor too, as of the second task of `polyprobe export`"
        return f"no centred RankC and gain: no fact was asked about another subject; {remedy}"
    n_without = results.get("left_out", {}).get(CENTRED, 0)
    if n_without == n:
        return explain_donors(n_without, n)
    return (
        f"no centred RankC: of {n - n_without:,} facts with a donor too few change their rankings "
        "with the subject; add facts"
    )


def list_undefined(results: Mapping[str, Any]) -> dict[str, float | None]:
    """List R - 2P + Q of the pairs with donors whose centred RankC is not defined."""
    if not results.get("donors", {}).get("n_donors"):
        return {}
    centred, numerators = (results.get(x, {}) for x in (CENTRED, "rankc_interaction"))
    return {pair: numerators.get(pair) for pair, value in centred.items() if value is None}


def mean_known(values: Iterable[float | None]) -> float | None:
    """Compute the mean of the values that are not None; None without any."""
    numbers = [value for value in values if value is not None]
    return fmean(numbers) if numbers else None
