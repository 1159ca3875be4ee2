"""Compute results.json from the scores or predictions of a run, without the model."""

from collections import Counter
from collections.abc import Callable, Mapping, Set
from dataclasses import asdict
from time import monotonic
from typing import Any

import numpy as np

from polyprobe.analysis.options import Bootstrap
from polyprobe.metrics.joint.measures import count_correct
from polyprobe.metrics.rankc_subject.formulas import flip_signs
from polyprobe.metrics.shared.intervals import MIN_RESAMPLES, estimate, name_pairs
from polyprobe.metrics.shared.rows import take
from polyprobe.schema.run.folder import Run
from polyprobe.schema.run.rows import ALL_ROWS, Choice
from polyprobe.schema.run.settings import DEFINITION
from polyprobe.system.messages import PolyprobeError, report, track
from polyprobe.system.options import check_arguments

from . import parts
from .facts import DEFAULTS, ScoredFacts, SecondQuestions, read_chosen, read_scored
from .figures import COUNTS, JOINT, PAIR, SEPARATE, TEMPLATE_RANKINGS, choose_figures, expand_names
from .floors import find_floors
from .modules import find_lack, measure_modules, share_read, share_verdicts
from .options import EVERY, MetricOptions
from .predictions import read_predictions, summarize_predictions
from .units import Units, resolve_bootstrap

LONG = 60.0  # seconds; a longer computation is forecast
BOOTSTRAP, OPTIONS = Bootstrap(), MetricOptions()


@check_arguments
def compute_results(
    run: Run,
    bootstrap: Bootstrap = BOOTSTRAP,
    choice: Choice = ALL_ROWS,
    options: MetricOptions = OPTIONS,
) -> dict[str, Any]:
    """Compute the results of a run and write them to its results.json, see `find_results`."""
    results = find_results(run, bootstrap, choice, options)
    run.write_results(results)
    return results


@check_arguments
def find_results(
    run: Run,
    bootstrap: Bootstrap = BOOTSTRAP,
    choice: Choice = ALL_ROWS,
    options: MetricOptions = OPTIONS,
) -> dict[str, Any]:
    """Compute the results of a run, or of a choice of its scored rows.

    Accuracy is accuracy@1; it, agreement, COverlap and RankC take ties in expectation. Pairs are
    unordered, in the run's order of languages; means exclude the diagonal. An undefined value (a
    COverlap without a correct answer in either language) is null and excluded from the mean;
    `left_out` counts it, and under `rows` the rows of the dataset without a choice of figures, by
    reason. `subset` is the choice of scored rows, null for all. `intervals` has the 95% bootstrap
    interval of every figure. `options` are those that are not the default, if there are any.

    Raises:
        PolyprobeError: options of another kind of run, or for figures that it does not have.
    """
    settings, facts = run.settings(), None
    options.check_kind(settings.kind, run.folder)
    changes = options.as_json()
    choose_figures(options.figures or ())  # an unknown name is refused before anything is read
    tables, left_out = read_chosen(run, choice)
    first = next(iter(tables.values()))
    bootstrap = resolve_bootstrap(bootstrap, first, len(tables))
    units = Units.read(first, bootstrap, options.average)
    popularity = parts.read_popularity(run, tables) if options.popularity else {}
    if settings.kind == "predictions":
        predicted = read_predictions(run, tables, options)
        figures, right = summarize_predictions(predicted, units), predicted.right
    else:
        facts = read_scored(run, tables, options)
        _check_named(facts, run.folder)
        # Read before the long computation: the dataset may be gone.
        templates = parts.read_templates(run, tables) if options.by_template else None
        figures, right = summarize_facts(facts, units), facts.right
        if templates:
            figures["templates"] = parts.measure_templates(facts, templates, units)
    if popularity:
        fifths = ((x, y, right[x]) for x, y in popularity.items())
        figures["by_popularity"] = {x: parts.measure_fifths(y, z, units.rows) for x, y, z in fifths}
    if facts and facts.protocol.options:
        figures["letters_read"] = share_read(facts)
    if facts and facts.protocol.answers:
        figures["verdicts"] = share_verdicts(tables)
    figures["left_out"]["rows"] = left_out
    return {
        "definition": DEFINITION,
        "signature": settings.signature,
        "subset": None if choice == ALL_ROWS else choice.as_json(),
        **figures,
        "resampling": asdict(bootstrap),
        **({"options": changes} if changes else {}),
    }


def _check_named(facts: ScoredFacts, folder: object) -> None:
    """Refuse names of `--figures`, and options of consistency, that mean no figure of the facts."""
    options = facts.options
    expanded = expand_names(options.figures or ())
    meanings = {f"--figures {x}": y for x, y in expanded.items() if x != EVERY}
    consistency = choose_figures(["paraphrase_consistency"])
    for name in ("repeated_subjects", "templates", "by_template"):
        if getattr(options, name) != getattr(DEFAULTS, name):
            meanings[f"--{name.replace('_', '-')}"] = consistency
    for option, names in meanings.items():
        missing = [find_lack(name, facts) for name in sorted(names)]
        if all(missing):
            raise PolyprobeError(
                f"{option} needs {missing[0]}, which {folder} does not have; leave it out"
            )


def summarize_facts(facts: ScoredFacts, units: Units) -> dict[str, Any]:
    """Compute the figures of the facts, their means, counts and intervals."""
    names = choose_figures(facts.options.figures or ())
    floors = find_floors(facts, names)  # first: theirs and `facts.second.terms` are large
    figures = [f for f in SEPARATE if f.name in names and f.applies(facts)]
    of_pairs, estimates = [f.name for f in figures if f.per == PAIR] or [""], {}
    for figure in track(figures, "figures and intervals"):
        start = monotonic()
        options = units.templates if figure.input == TEMPLATE_RANKINGS else units.rows
        options = units.second if figure.of_second else options
        estimates[figure.name] = estimate(figure.measure(facts), options)
        if figure.name == of_pairs[0]:
            _forecast((monotonic() - start) * len(of_pairs), estimates[figure.name])
    values = {
        name: {x: y for x, y in by_name.items() if x != "mean" and not x.endswith("_ci")}
        for name, by_name in estimates.items()
    }
    intervals: dict[str, Any] = {}
    if units.n_resamples:
        for name, by_name in estimates.items():
            intervals[name] = {x: by_name[f"{x}_ci"] for x in values[name]}
        intervals["mean"] = {name: by_name["mean_ci"] for name, by_name in estimates.items()}
    if "rankc_independent" in estimates and "independence" in floors:  # undefined in both alike
        floors["independence"]["rankc_subject"] = {
            **values["rankc_independent"],
            "mean": estimates["rankc_independent"]["mean"],
        }
    joint: dict[str, Any] = {}
    # A kernel may give several figures, of which not all may be chosen.
    together = [f for f in JOINT if f.name in names and f.applies(facts) and facts.languages[1:]]
    for figure in {figure.sums: figure for figure in together}.values():
        joint |= estimate(figure.measure(facts), units.rows)
    keys = {f"{figure.name}{end}" for figure in together for end in ("", "_ci")}
    return {
        "languages": facts.languages,
        "n_queries": len(facts.table),
        **({} if facts.matched else {"own_candidates": True}),
        **values,
        "chance": {f.name: f.chance(facts) for f in figures if callable(f.chance)},
        "mean": {name: by_name["mean"] for name, by_name in estimates.items()},
        **{key: value for key, value in joint.items() if key in keys},
        **count_correct(facts.right),
        **measure_modules(facts, units.modules, names),
        "intervals": intervals,
        "by_relation": parts.estimate_relations(facts, units, names),
        "floors": {
            name: {figure: places["mean"] for figure, places in of_figures.items()}
            for name, of_figures in floors.items()
        },
        "floors_by_place": floors,
        "p_values": _test_second(facts.second, units, names) if facts.second else {},
        **({"donors": _count_donors(facts, units)} if facts.second else {}),
        "left_out": {f.name: COUNTS[f.name](facts, values[f.name]) for f in figures if f.left_out},
    }


def _forecast(seconds: float, estimates: Mapping[str, Any]) -> None:
    """Tell the time that all figures of pairs take, if it is long, from that of the first one."""
    if seconds > LONG:
        report(
            f"{len(estimates) // 2:,} pairs of languages: their figures and intervals take about "
            f"{round(seconds / 60)} minutes; polyprobe metrics --resamples 0 leaves intervals out"
        )


def _test_second(
    second: SecondQuestions, units: Units, names: Set[str]
) -> dict[str, dict[str, float]]:
    terms = second.terms
    pairs = name_pairs(terms.languages)
    tests: dict[str, tuple[list[str], np.ndarray, Callable[[], np.ndarray]]] = {
        "rankc_interaction": (pairs, terms.counted, lambda: terms.interaction),
        "rankc_beyond": (pairs, terms.matched, lambda: terms.beyond),
        "accuracy_gain": (terms.languages, terms.counted, lambda: second.accuracy_gain),
    }
    p_values = {}
    for figure, (places, mask, measure) in tests.items():
        if figure not in names or units.n_resamples < MIN_RESAMPLES or not mask.any():
            continue
        values = measure()
        if values.shape[1]:  # without pairs, as of languages with their own candidates, no test
            columns = np.column_stack([values, values.mean(axis=1)])
            p = flip_signs(columns, units.second.clusters, units.n_resamples, units.seed)
            p_values[figure] = dict(zip([*places, "mean"], p.tolist(), strict=True))
    return p_values


def _count_donors(facts: ScoredFacts, units: Units) -> dict[str, Any]:
    """Count the donors, and the units that share none: (sum n)^2 / sum n^2 are as good as equal."""
    assert facts.second
    rows = np.flatnonzero(facts.second.terms.counted)
    clusters = units.second.clusters or facts.table["fact_id"].to_pylist()
    keys = zip(*(facts.table[x].to_pylist() for x in ("relation", "donor")), strict=True)
    counts: dict[str, float] = {}
    for name, labels in (("donors", [*keys]), ("units", clusters)):
        uses = Counter(take(labels, rows))
        squares = sum(n * n for n in uses.values())
        counts |= {f"n_{name}": len(uses), f"effective_{name}": len(rows) ** 2 / (squares or 1)}
    return counts
