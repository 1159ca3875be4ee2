"""Compute results.json from the scores or predictions of a run, without the model."""

from collections import Counter
from collections.abc import Mapping, Set
from typing import Any

import numpy as np
import pyarrow as pa

from polyprobe.metrics.joint.measures import count_correct
from polyprobe.metrics.rankc_subject.formulas import flip_signs
from polyprobe.metrics.shared.intervals import Resampling, estimate
from polyprobe.metrics.shared.rows import name_pairs
from polyprobe.schema.checks import find_different
from polyprobe.schema.run.folder import Run, read_run_tables
from polyprobe.schema.run.protocol import protocol_of
from polyprobe.schema.run.rows import ALL_ROWS, Choice, apply_choice
from polyprobe.system.errors import PolyprobeError
from polyprobe.system.progress import track

from .declaration import TEMPLATE_RANKINGS, TEMPLATES
from .facts import DEFAULTS, ScoredFacts
from .figures import BY_NAME, JOINT, OF_MODULES, SEPARATE, choose_figures, expand_names
from .floors import find_floors
from .further.calibration import calibrate_candidates
from .further.popularity import measure_popularity, read_popularity
from .further.positions import share_read
from .further.relations import estimate_relations
from .further.templates import measure_templates, read_templates
from .modules import find_lack, measure_modules
from .options import EVERY, MetricOptions, RankingOptions
from .predictions import read_predictions, summarize_predictions
from .units import Bootstrap, Units

Estimates = dict[str, dict[str, Any]]
BOOTSTRAP, OPTIONS = Bootstrap(), MetricOptions()


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
    """
    settings, facts = run.settings(), None
    head: dict[str, Any] = {"signature": settings.signature, "subset": None}
    if choice != ALL_ROWS:
        head["subset"] = choice.as_json()
    options.check_kind(settings.kind, run.folder)
    changes = options.as_json()
    tables, left_out = read_chosen(run, choice)
    first = next(iter(tables.values()))
    bootstrap = bootstrap.resolve(first, len(tables))
    units = Units.read(first, bootstrap, options.average)
    popularity = read_popularity(run, tables) if options.popularity else {}
    if settings.kind == "predictions":
        predicted = read_predictions(run, tables, options)
        figures, right = summarize_predictions(predicted, units), predicted.right
    else:
        facts = read_scored(run, tables, options)
        check_named(facts, run.folder)
        templates = read_templates(run, tables) if options.by_template else None
        figures, right = summarize_facts(facts, units), facts.right
        if templates:
            figures["templates"] = measure_templates(facts, templates, units)
    if popularity:
        figures["by_popularity"] = measure_popularity(popularity, right, units)
    if facts and facts.protocol.options:
        figures["letters_read"] = share_read(facts)
    figures["left_out"]["rows"] = left_out
    tail = {"options": changes} if changes else {}
    return {**head, **figures, "resampling": bootstrap._asdict(), **tail}


def read_chosen(run: Run, choice: Choice) -> tuple[dict[str, pa.Table], dict[str, int]]:
    """Read the chosen rows of a run by language; count the rows left out now or before scoring."""
    settings, tables = run.settings(), read_run_tables(run)
    selection = apply_choice(next(iter(tables.values())), choice, settings.exclude)
    counts = Counter(settings.left_out) + Counter(selection.left_out)
    return {x: table.take(selection.rows) for x, table in tables.items()}, dict(counts)


def read_scored(
    run: Run, tables: Mapping[str, pa.Table], options: RankingOptions = DEFAULTS
) -> ScoredFacts:
    """Validate the facts of some rows of a run's scores.

    Languages have their own candidates if they differ in any row of the run, chosen or not.
    """
    settings, own_candidates = run.settings(), False
    if protocol_of(settings.scoring).contrasts:
        own_candidates = bool(find_different(map(run.read, settings.languages), "scores").any())
    try:
        return ScoredFacts(tables, options, settings.scoring, own_candidates)
    except ValueError as error:
        raise PolyprobeError(
            f"{run.folder}/scores: {error}; delete that language's file and run the same "
            "`polyprobe eval` again"
        ) from error


def check_named(facts: ScoredFacts, folder: object) -> None:
    """Refuse names of `--figures`, and options of consistency, that mean no figure of the facts."""
    options, default = facts.options, DEFAULTS
    meanings = {
        f"--figures {x}": y for x, y in expand_names(options.figures or ()).items() if x != EVERY
    }
    consistency = {figure.name for figure in OF_MODULES["paraphrase_consistency"].values()}
    for name in ("repeated_subjects", "templates"):
        if getattr(options, name) != getattr(default, name):
            meanings[f"--{name.replace('_', '-')}"] = consistency
    if options.by_template:
        meanings["--by-template"] = {"rankc_templates"}
    for option, names in meanings.items():
        missing = [find_lack(name, facts) for name in sorted(names)]
        if all(missing):
            raise PolyprobeError(
                f"{option} needs {missing[0]}, which {folder} does not have; leave it out"
            )


def summarize_facts(facts: ScoredFacts, units: Units) -> dict[str, Any]:
    """Compute the figures of the facts, their means, counts and intervals.

    Returns:
        The figures of `FIGURES` that the facts' options choose: by language or pair (`en-fr`), with
        `mean` over the defined values and `intervals`, the same tree with [low, high]; figures of
        all languages with `_ci`, from two languages on; modules' figures by language, averaged as
        the options say. `by_relation`, the main figures of each relation (`estimate_relations`);
        `chance`; `floors`, the figures of rankings that know nothing; `p_values`, of the sign-flip
        tests of `rankc_difference` and `accuracy_gain` against 0; k_correct, the number of facts
        right in exactly 0, 1, 2, … languages, and k_share, the shares from 1 on among the facts
        right somewhere (None without one); `calibration` by language, see `calibrate_candidates`;
        `left_out`, counts of undefined values; `own_candidates` if languages have other candidates,
        so that no figure compares their rankings.
    """
    rows, templates, modules = units.rows, units.templates, units.modules
    names = choose_figures(facts.options.figures or ())
    figures = [f for f in SEPARATE if f.name in names and f.applies(facts)]
    estimates = {}
    for figure in track(figures, "figures and intervals"):
        options = templates if figure.input in (TEMPLATES, TEMPLATE_RANKINGS) else rows
        estimates[figure.name] = estimate(figure.measure(facts), options)
    chance = {f.name: f.chance(facts) for f in figures if callable(f.chance)}
    values = {name: _values(of_figure) for name, of_figure in estimates.items()}
    intervals = _list_intervals(estimates) if units.n_resamples else {}
    floors = find_floors(facts, names)
    return {
        "languages": facts.languages,
        "n_queries": len(facts.table),
        **({} if facts.matched else {"own_candidates": True}),
        **values,
        "chance": chance,
        "mean": {name: of_figure["mean"] for name, of_figure in estimates.items()},
        **_estimate_joint(facts, rows, names),
        **count_correct(facts.right),
        **measure_modules(facts, modules, names),
        "calibration": calibrate_candidates(facts.raw_scores, facts.right),
        "intervals": intervals,
        "by_relation": estimate_relations(facts, units, names),
        "floors": floors,
        "p_values": _test_second(facts, units, names) if units.n_resamples else {},
        "left_out": {f.name: f.left_out.find(facts, values[f.name]) for f in figures if f.left_out},
    }


def _estimate_joint(facts: ScoredFacts, options: Resampling, names: Set[str]) -> dict[str, Any]:
    """Compute the figures of all languages together, each kernel once."""
    if len(facts.languages) < 2:
        return {}
    estimates: dict[str, Any] = {}
    figures = [figure for figure in JOINT if figure.name in names and figure.applies(facts)]
    for figure in {figure.sums: figure for figure in figures}.values():
        estimates |= estimate(figure.measure(facts), options)
    keys = {f"{figure.name}{end}" for figure in figures for end in ("", "_ci")}
    return {key: value for key, value in estimates.items() if key in keys}


def _test_second(facts: ScoredFacts, units: Units, names: Set[str]) -> dict[str, dict[str, float]]:
    """Compute the p-values of the sign-flip tests: second questions against the first ones."""
    second = facts.second
    if second is None:
        return {}
    tests = {
        "rankc_difference": (name_pairs(second.languages), second.rankc_difference),
        "accuracy_gain": (second.languages, second.accuracy_gain),
    }
    p_values = {}
    for figure, (places, values) in tests.items():
        if figure in names and BY_NAME[figure].applies(facts):
            columns = np.column_stack([values, values.mean(axis=1)]) if places else values
            p = flip_signs(columns, units.clusters, units.n_resamples, units.seed)
            p_values[figure] = dict(zip([*places, "mean"], p.tolist(), strict=False))
    return p_values


def _values(estimates: Mapping[str, Any]) -> dict[str, float | None]:
    """List the figures of languages or pairs, without their mean and the intervals."""
    names = (name for name in estimates if not name.endswith("_ci") and name != "mean")
    return {name: estimates[name] for name in names}


def _list_intervals(estimates: Estimates) -> dict[str, Any]:
    """List the intervals of each figure under its name, those of the means under `mean`."""
    by_figure = {
        figure: {name: values[f"{name}_ci"] for name in _values(values)}
        for figure, values in estimates.items()
    }
    return {**by_figure, "mean": {name: values["mean_ci"] for name, values in estimates.items()}}
