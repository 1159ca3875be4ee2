"""Compute results.json from the scores or predictions of a run, without the model."""

from collections import Counter
from collections.abc import Callable, Mapping, Set
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from polyprobe.metrics.contrastive_knowledge.formulas import (
    compare_contrasts,
    measure_knowledge,
)
from polyprobe.metrics.rankc_subject.formulas import flip_signs
from polyprobe.metrics.recall_at_k.formulas import measure_recall
from polyprobe.metrics.shared.intervals import estimate_figure
from polyprobe.metrics.shared.rows import name_pairs, take
from polyprobe.schema.checks import find_different
from polyprobe.schema.run.fillings import choose_again
from polyprobe.schema.run.folder import Run, read_aligned
from polyprobe.schema.run.protocol import protocol_of
from polyprobe.schema.run.rows import ALL_ROWS, Choice, choose
from polyprobe.scoring.options import is_normalised
from polyprobe.system.errors import PolyprobeError
from polyprobe.system.progress import track

from .declaration import ALL, PAIR, WAY
from .facts import ScoredFacts, count_correct
from .figures import BY_NAME, JOINT, OF_MODULES, SEPARATE, choose_figures, expand_names
from .floors import find_floors
from .further.calibration import calibrate_candidates
from .further.paraphrases import has_paraphrases, measure_paraphrases
from .further.popularity import measure_popularity, read_popularity
from .further.positions import has_positions, measure_positions, share_read
from .further.relations import estimate_relations
from .further.templates import measure_templates, read_templates
from .options import (
    BOOTSTRAP,
    DEFAULTS,
    EVERY,
    Bootstrap,
    MetricOptions,
    clusters_within,
    read_clusters,
    read_template_clusters,
)
from .predictions import mark_predictions, summarize_predictions

Estimates = dict[str, dict[str, Any]]
SEVERAL = "a dataset with several templates of a fact"
EVERY_FIGURE = frozenset(choose_figures(()))


def compute_results(
    run: Run,
    bootstrap: Bootstrap = BOOTSTRAP,
    choice: Choice = ALL_ROWS,
    options: MetricOptions = DEFAULTS,
) -> dict[str, Any]:
    """Return the results of a run and write them to its results.json, see `find_results`."""
    results = find_results(run, bootstrap, choice, options)
    run.write_results(results)
    return results


def find_results(
    run: Run,
    bootstrap: Bootstrap = BOOTSTRAP,
    choice: Choice = ALL_ROWS,
    options: MetricOptions = DEFAULTS,
) -> dict[str, Any]:
    """Return the results of a run, or of a choice of its scored rows.

    Accuracy is accuracy@1; it, agreement, COverlap and RankC take ties in expectation. Pairs are
    unordered, in the run's order of languages; means exclude the diagonal. An undefined value (a
    COverlap without a correct answer in either language) is null and excluded from the mean;
    `left_out` counts it, and under `rows` the rows of the dataset without a choice of figures, by
    reason. `subset` is the choice of scored rows, null for all. `intervals` has the 95% bootstrap
    interval of every figure. `options` are those that are not the default, if there are any.

    Raises:
        PolyprobeError: see `read_aligned`, `choose`, `choose_again` and `MetricOptions`.
    """
    settings = run.settings()
    options.check()
    options.check_run(settings.kind, run.folder)
    tables, left_out = read_chosen(run, choice)
    first = next(iter(tables.values()))
    bootstrap = bootstrap.resolve(first, len(tables))
    popularity = read_popularity(run, tables) if options.popularity else {}
    if settings.kind == "predictions":
        norm = is_normalised(settings.scoring)
        tables = choose_again(tables, options.length_norm, options.max_masks, norm, run.folder)
        figures = summarize_predictions(
            tables,
            bootstrap._asdict() | {"clusters": read_clusters(first, bootstrap.clusters)},
            clusters_within(first, bootstrap.clusters),
            norm if options.length_norm is None else options.length_norm,
            options.average,
        )
        right = mark_predictions(tables) if popularity else {}
    else:
        facts = read_facts(run, tables, options)
        check_named(facts, settings.scoring, run.folder)
        templates = read_templates(run, tables) if options.by_template else None
        figures, right = summarize(facts, settings.scoring, bootstrap), facts.right
        if templates:
            figures["templates"] = measure_templates(
                facts, templates, bootstrap.n_resamples or 0, bootstrap.seed
            )
    if popularity:
        units = read_clusters(first, bootstrap.clusters)
        drawn = bootstrap._asdict() | {"clusters": units}
        figures["by_popularity"] = measure_popularity(popularity, right, drawn)
    if protocol_of(settings.scoring).options:
        shares = {x: share_read(table, settings.scoring) for x, table in tables.items()}
        figures["letters_read"] = shares
    figures["left_out"]["rows"] = left_out
    subset = {"subset": None if choice == ALL_ROWS else choice.as_json()}
    how: dict[str, Any] = {"resampling": bootstrap._asdict()}
    if options != DEFAULTS:
        how["options"] = options.as_json()
    return {"signature": settings.signature, **subset, **figures, **how}


def read_chosen(run: Run, choice: Choice) -> tuple[dict[str, pa.Table], dict[str, int]]:
    """Return the chosen rows of a run by language, and the rows left out then or before scoring."""
    settings, tables = run.settings(), read_aligned(run)
    chosen = choose(next(iter(tables.values())), choice, settings.exclude)
    counts = Counter(settings.left_out) + Counter(chosen.left_out)
    return {x: table.take(chosen.rows) for x, table in tables.items()}, dict(counts)


def read_facts(
    run: Run, tables: Mapping[str, pa.Table], options: MetricOptions = DEFAULTS
) -> ScoredFacts:
    """Return the validated facts of some rows of a run's scores.

    Raises:
        PolyprobeError: scores that are not numbers.
    """
    try:
        return ScoredFacts(tables, options, _has_own_candidates(run))
    except ValueError as error:
        raise PolyprobeError(
            f"{run.folder}/scores: {error}; delete that language's file and run the same "
            "`polyprobe eval` again"
        ) from error


def _has_own_candidates(run: Run) -> bool:
    """Return whether languages have other candidates in any row of a run, chosen or not."""
    settings = run.settings()
    if not protocol_of(settings.scoring).contrasts:
        return False
    return bool(find_different(map(run.read, settings.languages), "scores").any())


def summarize(facts: ScoredFacts, scoring: str, bootstrap: Bootstrap = BOOTSTRAP) -> dict[str, Any]:
    """Return the figures of the facts, their means, counts and intervals.

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
    bootstrap = bootstrap.resolve(facts.table, len(facts.tables))
    clusters = read_clusters(facts.table, bootstrap.clusters)
    options = bootstrap._asdict() | {"clusters": clusters}
    of_templates = options | {"clusters": read_template_clusters(facts.table) or clusters}
    chosen = choose_figures(facts.options.figures)
    figures = [f for f in SEPARATE if f.name in chosen and f.applies(facts)]
    found = {
        f.name: estimate_figure(f.measure(facts), **(of_templates if f.templated else options))
        for f in track(figures, "figures and intervals")
    }
    chance = {f.name: f.chance(facts) for f in figures if callable(f.chance)}
    values = {name: _values(estimates) for name, estimates in found.items()}
    return {
        "languages": list(facts.tables),
        "n_queries": len(facts.table),
        **({} if facts.matched else {"own_candidates": True}),
        **values,
        "chance": chance,
        "mean": {name: estimates["mean"] for name, estimates in found.items()},
        **_estimate_joint(facts, options, chosen),
        **count_correct(facts.right),
        **measure_languages(facts, scoring, options, chosen),
        "calibration": calibrate_candidates(facts.given, facts.right),
        "intervals": _all_intervals(found) if bootstrap.n_resamples else {},
        "by_relation": estimate_relations(
            facts,
            clusters_within(facts.table, bootstrap.clusters),
            bootstrap.n_resamples or 0,
            bootstrap.seed,
        ),
        "floors": find_floors(facts, chosen),
        "p_values": _test_second(facts, options, chosen) if bootstrap.n_resamples else {},
        "left_out": {f.name: f.left_out.find(facts, values[f.name]) for f in figures if f.left_out},
    }


def check_named(facts: ScoredFacts, scoring: str, folder: object) -> None:
    """Refuse names of `--figures`, and options of consistency, that mean no figure of the facts."""
    named = {f"--figures {x}": y for x, y in expand_names(facts.options.figures).items()}
    named.pop(f"--figures {EVERY}", None)
    consistency = {figure.name for figure in OF_MODULES["paraphrase_consistency"].values()}
    named |= {f"--{name}": consistency for name in facts.options.of_paraphrases}
    named |= {"--by-template": {"rankc_templates"}} if facts.options.by_template else {}
    for option, names in named.items():
        missing = [find_need(name, facts, scoring) for name in sorted(names)]
        if all(missing):
            raise PolyprobeError(
                f"{option} needs {missing[0]}, which {folder} does not have; leave it out"
            )


def find_need(name: str, facts: ScoredFacts, scoring: str) -> str:
    """Return what a figure needs and the facts do not have; empty if they have it."""
    figure, (module, _, key) = BY_NAME[name], name.rpartition(".")
    if not module:
        if figure.per in (PAIR, WAY, ALL) and len(facts.languages) < 2:
            return "at least two languages"
        if figure.matched and not facts.matched:
            return "the same candidates in every language"
        needs = "a question about another subject (--donor)"
        return "" if figure.applies(facts) else SEVERAL if figure.templated else needs
    if module == "calibration" and key == "ece":
        return ""
    found = MODULES.get(module)
    if found is None:
        return "--scoring xfactr"
    return "" if found.applies(facts, scoring) else found.needs


def _test_second(
    facts: ScoredFacts, options: Mapping[str, Any], chosen: Set[str]
) -> dict[str, dict[str, float]]:
    """Return the p-values of the sign-flip tests: second questions against the first ones."""
    second = facts.second
    if second is None:
        return {}
    tested = {
        "rankc_difference": (name_pairs(second.languages), second.rankc_difference),
        "accuracy_gain": (second.languages, second.accuracy_gain),
    }
    found = {}
    for figure, (names, values) in tested.items():
        if figure not in chosen or not BY_NAME[figure].applies(facts):
            continue
        columns = np.column_stack([values, values.mean(axis=1)]) if names else values
        p = flip_signs(columns, options["clusters"], options["n_resamples"], options["seed"])
        found[figure] = dict(zip([*names, "mean"], p.tolist(), strict=False))
    return found


def _estimate_joint(
    facts: ScoredFacts, options: Mapping[str, Any], chosen: Set[str]
) -> dict[str, Any]:
    """Return the figures of all languages together, each kernel called once."""
    found: dict[str, Any] = {}
    many = len(facts.scores) > 1
    wanted = [f for f in JOINT if many and f.name in chosen and f.applies(facts)]
    for figure in {figure.sums: figure for figure in wanted}.values():
        found |= estimate_figure(figure.measure(facts), **options)
    left_out = {figure.name for figure in JOINT} - chosen
    return {name: x for name, x in found.items() if name.removesuffix("_ci") not in left_out}


def _values(estimates: dict[str, Any]) -> dict[str, float | None]:
    """Return the figures of languages or pairs, without their mean and the intervals."""
    names = (name for name in estimates if not name.endswith("_ci") and name != "mean")
    return {name: estimates[name] for name in names}


def _all_intervals(found: Estimates) -> dict[str, Any]:
    """Return the intervals of each figure under its name, those of the means under `mean`."""
    by_figure = {
        figure: {name: estimates[f"{name}_ci"] for name in _values(estimates)}
        for figure, estimates in found.items()
    }
    return {**by_figure, "mean": {name: found[name]["mean_ci"] for name in found}}


def measure_languages(
    facts: ScoredFacts,
    scoring: str,
    options: Mapping[str, Any],
    chosen: Set[str] = EVERY_FIGURE,
) -> dict[str, dict[str, Any]]:
    """Return MODULE → language → figures, averaged as the facts' options say.

    A module is computed whole if one of its figures is chosen.
    """
    options = {**options, "average": facts.options.average}
    return {
        name: {language: measure(facts, language, options) for language in facts.tables}
        for name, (applies, measure, _) in MODULES.items()
        if applies(facts, scoring) and chosen & {x.name for x in OF_MODULES[name].values()}
    }


def without_groups(figures: dict[str, Any]) -> dict[str, Any]:
    """Return a module's figures without the values of each relation, which would fill the file."""
    return {name: value for name, value in figures.items() if name != "by_group"}


def _contrast(table: pa.Table) -> list[list[float]]:
    """Return [p(fact), p(counterfact), …] of each row, from log-probabilities.

    Of several correct answers the most probable counts; a row without a wrong one has one value.
    """
    rows = []
    for row in table.select(["answers", "scores"]).to_pylist():
        p = np.exp(np.array(row["scores"], dtype=np.float64))
        others: list[float] = np.delete(p, row["answers"]).tolist()
        rows.append([float(p[row["answers"]].max()), *others])
    return rows


def mark_right(facts: ScoredFacts, scoring: str) -> dict[str, np.ndarray]:
    """Return the probability that each fact is right by language, as the run's protocol has it.

    Accuracy@1, ties in expectation. Of contrastive runs whether the fact is recalled
    (`contrastive_knowledge`), NaN without a wrong candidate.
    """
    if not protocol_of(scoring).contrasts:
        return facts.right
    found = {}
    for language, table in facts.tables.items():
        rows = _contrast(table)
        kept = [i for i, row in enumerate(rows) if len(row) > 1]
        found[language] = np.full(len(rows), np.nan)
        if kept:
            found[language][kept] = compare_contrasts([rows[i] for i in kept]) > 0
    return found


def _measure_recall(
    facts: ScoredFacts, language: str, options: Mapping[str, Any]
) -> dict[str, Any]:
    groups = facts.table["relation"].to_pylist()
    scores = facts.scores[language]
    return without_groups(measure_recall(scores, facts.answers, groups=groups, **options))


def _measure_contrasts(
    facts: ScoredFacts, language: str, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return contrastive knowledge; rows without a wrong candidate are excluded and counted."""
    table = facts.tables[language]
    options = {**options, "groups": table["relation"].to_pylist()}
    rows = _contrast(table)
    kept = [i for i, row in enumerate(rows) if len(row) > 1]
    count = {"n_without_contrast": len(rows) - len(kept)}
    if not kept:
        return {"accuracy": None, "n_queries": 0, **count}
    picked = {name: take(options[name], kept) for name in ("groups", "clusters")}
    figures = measure_knowledge([rows[i] for i in kept], **{**options, **picked})
    return {**without_groups(figures), **count}


class Module(NamedTuple):
    """A metric module: whether it applies to a run, its kernel for one language, what it needs."""

    applies: Callable[[ScoredFacts, str], bool]
    measure: Callable[[ScoredFacts, str, Mapping[str, Any]], dict[str, Any]]
    needs: str = ""


MODULES = {
    "recall_at_k": Module(lambda facts, scoring: True, _measure_recall),
    "contrastive_knowledge": Module(
        lambda facts, scoring: protocol_of(scoring).contrasts,
        _measure_contrasts,
        "--scoring contrastive",
    ),
    "paraphrase_consistency": Module(has_paraphrases, measure_paraphrases, SEVERAL),
    "position_bias": Module(
        lambda facts, scoring: protocol_of(scoring).options and has_positions(facts),
        measure_positions,
        "--scoring letters in several orders",
    ),
}
