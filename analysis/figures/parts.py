"""The figures of parts of the facts: of relations, fifths by popularity, and templates."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array

from polyprobe.metrics.joint.split import Asked, choose_first, split_inconsistency
from polyprobe.metrics.shared import intervals
from polyprobe.metrics.shared.rows import take
from polyprobe.schema.columns import key_rows, name_candidates, place_rows
from polyprobe.schema.run.folder import Run, load_again
from polyprobe.schema.run.protocol import as_asked
from polyprobe.system.messages import PolyprobeError

from .facts import ScoredFacts
from .figures import BY_NAME, HEADLINE
from .units import Units

SUBJECT = "[X]"
COLUMN = "popularity"
PARTS = 5


def estimate_relations(
    facts: ScoredFacts, units: Units, names: Collection[str]
) -> dict[str, dict[str, Any]]:
    """Compute the headline figures and the floor of each relation."""
    headline = [f for f in HEADLINE if f.name in names and f.applies(facts)]
    figures = ((f.name, f.measure(facts)) for f in headline)
    relations = facts.table["relation"].to_pylist()
    results = split_figures(
        figures,
        relations,
        lambda x: units.second_within if BY_NAME[x].of_second else units.relation,
    )
    baseline = (facts.baseline or {}) if BY_NAME["accuracy"] in headline else {}
    for relation, rows in list_rows(relations).items():
        levels = [values[rows] for values in baseline.values()]
        floors = {"frequency": {"accuracy": float(np.mean(levels))}} if levels else {}
        results[relation]["floors"] = floors
    return results


def split_figures(
    figures: Iterable[tuple[str, intervals.Figure]],
    labels: Sequence[str],
    options: Callable[[str], intervals.Resampling],
) -> dict[str, dict[str, Any]]:
    """Compute the figures of each group of facts, in the order of first occurrence."""
    groups, results = list_rows(labels), dict[str, dict[str, Any]]()
    for label, rows in groups.items():
        results[label] = {"n_queries": len(rows), "mean": {}, "intervals": {}, "accuracy": {}}
    for name, figure in figures:
        for label, rows in groups.items():
            part, result = pick_facts(figure, rows), results[label]
            clusters = take(options(name).clusters, rows.tolist())
            of_rows = options(name)._replace(clusters=clusters)
            means = intervals.estimate(part, of_rows, mean_alone=True)
            result["mean"][name] = means["mean"]
            if "mean_ci" in means:
                result["intervals"][name] = means["mean_ci"]
            if name == "accuracy":
                result["accuracy"] = intervals.estimate_figure(part, n_resamples=0)
                result["accuracy"].pop("mean")
        del figure  # before the next is measured: of 200 languages it has 140 MB
    return results


def list_rows(labels: Sequence[str]) -> dict[str, np.ndarray]:
    """List the row numbers of each label, in the order of first occurrence."""
    names, codes = intervals.index_labels(labels, len(labels), "labels")
    return {str(name): np.flatnonzero(codes == code) for code, name in enumerate(names)}


def pick_facts(figure: intervals.Figure, rows: np.ndarray) -> intervals.Figure:
    """Pick some facts of a figure."""
    # weights may be those of all facts alike
    shares = figure.shares if len(figure.shares) == 1 else figure.shares[rows]
    return figure._replace(table=figure.table[rows], shares=shares)


def read_popularity(run: Run, tables: Mapping[str, pa.Table]) -> dict[str, np.ndarray]:
    """Read the popularity of rows of a run by language, NaN where it is unknown."""
    values, splits = {}, load_again(run.settings(), list(tables))
    for language, table in tables.items():
        split = splits[language]
        kind = split.schema.field(COLUMN).type if COLUMN in split.column_names else None
        if kind is None or not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            reason = "has none" if kind is None else f"has {kind}"
            raise PolyprobeError(
                f"--popularity needs a column '{COLUMN}' of numbers; '{language}' of the dataset "
                f"{reason}; leave it out"
            )
        column = split[COLUMN].cast(pa.float64()).to_numpy(zero_copy_only=False)
        values[language] = column[place_rows(split, table["fact_id"].to_pylist())]
    return values


def split_popularity(values: np.ndarray) -> np.ndarray:
    """Find the fifth of each value, 0 … 4; equal values are in one.

    >>> split_popularity(np.array([1, 2, 2, 2, 5, 6, 7, 8, 9, 9]))
    array([0, 0, 0, 0, 2, 2, 3, 3, 4, 4])
    """
    edges = np.quantile(values, np.arange(1, PARTS) / PARTS, method="inverted_cdf")
    return np.asarray(np.searchsorted(edges, values, side="left"))


def measure_fifths(
    values: np.ndarray, right: np.ndarray, options: intervals.Resampling
) -> dict[str, Any]:
    """Compute the accuracy of each fifth of the facts, from the least to the most popular.

    `right` is the probability that each fact is right [facts], NaN for facts that were not asked.
    """
    rows = np.flatnonzero(~np.isnan(values) & ~np.isnan(right))
    unknown = {"n_unknown": len(values) - len(rows)}
    if not len(rows):
        return {"parts": [], **unknown}
    values, fifths = values[rows], split_popularity(values[rows])
    clusters = take(options.clusters, rows.tolist())
    options = options._replace(groups=fifths.tolist(), clusters=clusters)
    measures = {"accuracy": intervals.share(right[rows])}
    figures = intervals.summarize(measures, **options._asdict())["by_group"]
    parts = [
        {
            "from": float(values[fifths == part].min()),
            "to": float(values[fifths == part].max()),
            "n": figures[part]["n_queries"],
            "accuracy": figures[part]["accuracy"],
            "ci": figures[part].get("accuracy_ci"),
        }
        for part in sorted(figures)
    ]
    return {"parts": parts, **unknown}


class Templates(NamedTuple):
    """The templates of a run's rows."""

    names: dict[str, list[str]]  # of each row, by language
    # of each relation's template, with SUBJECT, by language
    texts: dict[str, dict[tuple[str, str], str]]
    candidates: np.ndarray  # all, one row after the other; equal ones have one number


def read_templates(run: Run, tables: Mapping[str, pa.Table]) -> Templates:
    """Read the templates of rows of a run, from its dataset."""
    settings, first = run.settings(), next(iter(tables))
    splits = load_again(settings, list(tables))
    ids = tables[first]["fact_id"].to_pylist()
    keys = key_rows(ids)
    scored = {x: split.take(place_rows(split, ids)) for x, split in splits.items()}
    names = {x: _name_templates(split, keys) for x, split in scored.items()}
    texts = {x: _read_texts(split, names[x]) for x, split in scored.items()}
    # Some protocols rank other candidates than those of the dataset's rows.
    ranked = as_asked({first: splits[first]}, settings.scoring)[first]
    numbers: dict[str, int] = {}
    of_rows: list[list[int]] = []
    of_lists: dict[int, list[int]] = {}  # rows of a relation may share one list
    for row in name_candidates(ranked.take(place_rows(ranked, ids))):
        if id(row) not in of_lists:
            of_lists[id(row)] = [numbers.setdefault(name, len(numbers)) for name in row]
        of_rows.append(of_lists[id(row)])
    return Templates(names, texts, np.concatenate(of_rows))


def _name_templates(table: pa.Table, keys: Sequence[tuple[str, int]]) -> list[str]:
    """Name the template ids; where a fact's are not distinct, the places among its rows."""
    if "template_id" in table.column_names:
        names = [str(name) for name in table["template_id"].to_pylist()]
        if len({(fact, name) for (fact, _), name in zip(keys, names, strict=True)}) == len(names):
            return names
    return [str(place + 1) for _, place in keys]


def _read_texts(table: pa.Table, names: Sequence[str]) -> dict[tuple[str, str], str]:
    """Read the sentence of each relation's template, with SUBJECT; without one its name."""
    columns = [x for x in ("relation", "prompt", "subject") if x in table.column_names]
    texts: dict[tuple[str, str], str] = {}
    for name, row in zip(names, table.select(columns).to_pylist(), strict=True):
        prompt, subject = row["prompt"], row.get("subject")
        text = prompt.replace(subject, SUBJECT, 1) if subject and subject in prompt else name
        texts.setdefault((row["relation"], name), text)
    return texts


def measure_templates(facts: ScoredFacts, templates: Templates, units: Units) -> dict[str, Any]:
    """Compute accuracy and consistency of each template, and with donors the split."""
    of = list_rows(facts.table["relation"].to_pylist())
    answers = {x: choose_first(rows, templates.candidates) for x, rows in facts.scores.items()}
    split = _split_answers(facts, templates.candidates, units) if facts.sentences else {}
    rows = [
        {"language": x, "relation": relation, **row}
        for x in facts.languages
        for relation, places in of.items()
        for row in _list_templates(facts, templates, answers[x], x, places)
    ]
    return {**split, "by_language": {x: _spread(rows, x) for x in facts.languages}, "rows": rows}


def _split_answers(
    facts: ScoredFacts, candidates: np.ndarray, units: Units
) -> dict[str, dict[str, Any]]:
    """Split the inconsistency of the first candidates, and of whether they are correct."""
    assert facts.second
    assert facts.sentences
    places, keep, *sentences = facts.sentences
    rates = (facts.second.right[places].T, facts.second.donor_right[places].T)
    quantities = {"right": [[np.column_stack([p, 1 - p]) for p in x] for x in rates]}
    if facts.matched:
        mask = np.isin(np.arange(len(facts.sizes)), places)
        numbers = candidates[np.repeat(mask, facts.sizes)][keep]
        quantities["answer"] = [
            [choose_first(rows, numbers) for rows in scores.values()] for scores in sentences
        ]
    wordings, split = facts.list_wordings(), {}
    of = list_rows(facts.table["relation"].take(places).to_pylist())
    for name, sides in quantities.items():
        questions = []
        for rows in of.values():
            fact = intervals.index_labels([wordings[row] for row in rows], len(rows), "facts")[1]
            about, donor = ([x[rows] for x in side] for side in sides)
            questions.append(Asked(about, donor, fact))
        split[name] = split_inconsistency(questions, units.n_resamples, units.seed)
    return split


def _list_templates(
    facts: ScoredFacts, templates: Templates, answers: csr_array, language: str, rows: np.ndarray
) -> Iterator[dict[str, Any]]:
    """Yield the templates of a relation in a language, in the order of first occurrence."""
    outcomes, right = answers[rows], facts.right[language][rows]
    ids = facts.table["fact_id"].take(rows).to_pylist()
    fact = intervals.index_labels(ids, len(ids), "facts")[1]
    # probability that another template of the fact has the same first candidate: all, less itself
    same = outcomes.multiply(intervals.sum_by(fact, outcomes)[fact]).sum(axis=1)
    same -= outcomes.multiply(outcomes).sum(axis=1)
    counts = np.bincount(fact)[fact] - 1  # other templates
    relation = facts.table["relation"][int(rows[0])].as_py()
    names = [templates.names[language][row] for row in rows.tolist()]
    for name, places in list_rows(names).items():
        several = places[counts[places] > 0]
        shares = same[several] / counts[several]
        yield {
            "template": name,
            "text": templates.texts[language][relation, name],
            "n": len(places),
            "accuracy": float(right[places].mean()),
            "consistency": float(shares.mean()) if len(shares) else None,
        }


def _spread(rows: Sequence[Mapping[str, Any]], language: str) -> dict[str, Any]:
    """Compute the mean over relations of the worst, the mean and the best template's accuracy."""
    of_relation: dict[str, list[float]] = {}
    for row in rows:
        if row["language"] == language:
            of_relation.setdefault(row["relation"], []).append(row["accuracy"])
    several = [values for values in of_relation.values() if len(values) > 1]
    ends = np.array([[min(values), fmean(values), max(values)] for values in several])
    worst, mean, best = ends.mean(axis=0).tolist()
    return {"worst": worst, "mean": mean, "best": best, "relations": len(several)}
