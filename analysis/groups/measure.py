"""Right and wrong by group of languages or facts, with intervals and tests."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from polyprobe.analysis.figures.compute import mark_right, read_chosen, read_facts
from polyprobe.analysis.figures.further.relations import pick_facts, split_figures
from polyprobe.analysis.figures.options import BOOTSTRAP, Bootstrap, clusters_within, read_clusters
from polyprobe.analysis.figures.predictions import mark_predictions
from polyprobe.metrics.joint.groups import (
    N_PERMUTATIONS,
    ChiSquare,
    Pair,
    Permutation,
    compare_counts,
    compare_pairs,
    permute_groups,
    share_errors,
)
from polyprobe.metrics.shared.intervals import (
    Figure,
    estimate_figure,
    index_labels,
    mean_of,
    sum_by,
)
from polyprobe.schema.identity import split_fact
from polyprobe.schema.run.folder import Run
from polyprobe.schema.run.rows import ALL_ROWS, Choice
from polyprobe.system.errors import PolyprobeError

from .labels import Labels, find_labels

ALL = "all"  # languages together
RIGHT, RANKC = "right", "rankc"
NOTHING = "no fact of any group was asked; choose other rows or groups"
MOST_PAIRED, MOST_PERMUTED = 50, 10  # groups whose pairs are tested, and permuted too


class Group(NamedTuple):
    """The figures of a group.

    Attributes:
        name: label of the group.
        size: number of its facts, or of its languages.
        right, wrong: rows (facts in each language); fractions where candidates tie at rank 1.
        share: right rows as a share of all rows of the group.
        ci: 95% bootstrap interval of the share, over facts; None for a single fact.
        change: see `share_errors`; None if no row is wrong.
        rankc: mean RankC over pairs of languages; None without rankings to compare.
        rankc_ci: its 95% interval.
    """

    name: str
    size: int
    right: float
    wrong: float
    share: float
    ci: list[float] | None
    change: float | None
    rankc: float | None = None
    rankc_ci: list[float] | None = None


class Grouped(NamedTuple):
    """The groups in all languages together or in one, and their tests.

    Attributes:
        groups: in the order of first occurrence.
        test: χ² test of the table of right and wrong rows.
        permutation: permutation test over whole units.
        pairs: tests of two groups, by their places; empty for fewer than 3 or more than
            `MOST_PAIRED` groups; without permutations for more than `MOST_PERMUTED` groups.
        n_units: number of permuted units.
    """

    groups: list[Group]
    test: ChiSquare
    permutation: Permutation
    pairs: list[Pair]
    n_units: int


class Outcome(NamedTuple):
    """The groups of a run.

    Attributes:
        by: value of `--by`: a name, or the name of a file.
        labels: labels of the languages or rows.
        unit: unit whose rows keep one label in the permutation: `fact`, `subject` or `language`.
        found: `all` or each language → its groups.
        bootstrap: options of the intervals.
        signature: signature of the run.
        choice: choice of the run's rows.
        left_out: number of rows of the dataset that were left out, by reason.
        caution: why the unit is not the subject; empty without a reason to say so.
    """

    by: str
    labels: Labels
    unit: str
    found: dict[str, Grouped]
    bootstrap: Bootstrap
    signature: str
    choice: Choice
    left_out: dict[str, int]
    caution: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return all figures and tests; groups of pairs are given by name."""
        return {
            "signature": self.signature,
            "subset": None if self.choice == ALL_ROWS else self.choice.as_json(),
            "by": self.by,
            "of": "languages" if self.labels.of_languages else "facts",
            "labels": self.labels.note,
            "unit": self.unit,
            "resampling": self.bootstrap._asdict(),
            "left_out": self.left_out,
            "found": {name: _as_json(grouped) for name, grouped in self.found.items()},
        }


def _as_json(found: Grouped) -> dict[str, Any]:
    names = [group.name for group in found.groups]
    pairs = [
        {
            "groups": [names[row.first], names[row.second]],
            **row.test._asdict(),
            "p_adjusted": row.p_adjusted,
            "permutation": row.permutation and row.permutation._asdict(),
            "permuted_p_adjusted": row.permuted_p_adjusted,
        }
        for row in found.pairs
    ]
    return {
        "groups": [group._asdict() for group in found.groups],
        **found.test._asdict(),
        "permutation": found.permutation._asdict() | {"n_units": found.n_units},
        "pairs": pairs,
    }


class Draws(NamedTuple):
    """Options of intervals and permutations; `clusters` has a label for each row, None: facts."""

    n_resamples: int
    seed: int
    clusters: Sequence[str] | None


def group_run(
    run: Run,
    by: str,
    *,
    gender: Path | None = None,
    unit: str = "auto",
    each_language: bool = False,
    choice: Choice = ALL_ROWS,
    bootstrap: Bootstrap = BOOTSTRAP,
) -> Outcome:
    """Return right and wrong rows by group, with intervals and tests.

    The run's protocol decides whether a row is right (`mark_right`, `mark_predictions`).

    Args:
        run: a finished run.
        by: see `find_labels`.
        gender: see `find_labels`.
        unit: unit whose rows keep one label in the permutation: fact, subject or language. `auto`:
            language for groups of languages; else subject if the fact ids name subjects, no subject
            spans two groups, and a group has several subjects; else fact.
        each_language: test groups of facts separately in each language.
        choice: choice of the run's rows.
        bootstrap: options of the intervals; the permutations use the same seed.

    Raises:
        PolyprobeError: see `find_labels` and `read_chosen`; a unit that spans several groups.
    """
    settings = run.settings()
    tables, left_out = read_chosen(run, choice)
    first = next(iter(tables.values()))
    labels = find_labels(by, first, settings, gender)
    if each_language and labels.of_languages:
        raise PolyprobeError(
            f"--each-language requires groups of facts; --by {by} groups languages"
        )
    unit, units, caution = _choose_unit(unit, labels, first)
    facts_of = first["fact_id"].to_pylist()
    figures: dict[str, Figure] = {}
    if settings.kind == "predictions":
        right = mark_predictions(tables)
    else:
        facts = read_facts(run, tables)
        right = mark_right(facts, settings.scoring)
        if facts.rankc.shape[1]:  # the mean over pairs of the facts' values: one column, not 1,378
            values = facts.rankc.mean(axis=1, keepdims=True)
            figures[RANKC] = mean_of([RANKC], values, np.ones(len(values)), share=True)
    bootstrap = bootstrap.resolve(first, len(tables))
    read = clusters_within if by == "relation" else read_clusters
    draws = Draws(bootstrap.n_resamples or 0, bootstrap.seed, read(first, bootstrap.clusters))
    marks = np.column_stack(list(right.values()))
    reason = "not asked" if settings.kind == "predictions" else "without a wrong candidate"
    unasked = dict(zip(right, np.isnan(marks).sum(axis=0).tolist(), strict=True))
    left_out |= {f"{reason} in {language}": n for language, n in unasked.items() if n}
    if labels.of_languages:
        found = {ALL: group_languages(marks, labels.groups, draws)}
    elif each_language:
        columns = zip(right, marks.T, strict=True)
        inside = np.array([group is not None for group in labels.groups])
        found = {
            language: group_facts(column[:, None], labels.groups, facts_of, units, {}, draws)
            for language, column in columns
            if (inside & ~np.isnan(column)).any()
        }
        if not found:
            raise PolyprobeError(NOTHING)
        rest = {x: len(marks) - unasked[x] for x in right if x not in found}
        left_out |= {f"in no group in {x}": n for x, n in rest.items() if n}
    else:
        found = {ALL: group_facts(marks, labels.groups, facts_of, units, figures, draws)}
    return Outcome(
        Path(by).name, labels, unit, found, bootstrap, settings.signature, choice, left_out, caution
    )


def _choose_unit(unit: str, labels: Labels, table: pa.Table) -> tuple[str, list[str], str]:
    """Return the unit, its label in each row (none for languages), and a caution or nothing."""
    if labels.of_languages or unit == "language":
        if unit not in ("auto", "language") or not labels.of_languages:
            kind = "languages" if labels.of_languages else "facts"
            raise PolyprobeError(
                f"--unit {unit}: groups of {kind} cannot be permuted over {unit}s; omit --unit"
            )
        return "language", [], ""
    facts = table["fact_id"].to_pylist()
    if unit == "fact":
        return unit, facts, ""
    parts = [split_fact(fact) for fact in facts]
    subjects = [found[1] for found in parts if found]
    if len(subjects) < len(facts):
        if unit == "subject":
            raise PolyprobeError("--unit subject: a fact id names no subject; use --unit fact")
        return "fact", facts, ""
    known: dict[str, set[str]] = {}
    for subject, group in zip(subjects, labels.groups, strict=True):
        if group is not None:
            known.setdefault(subject, set()).add(group)
    divided = [subject for subject, groups in known.items() if len(groups) > 1]
    if unit == "subject" and divided:
        raise PolyprobeError(f"--unit subject: {divided[0]!r} has several groups; use --unit fact")
    several = len(known) > len({*labels.groups} - {None})  # else each would be a group
    if unit == "subject" or (several and not divided):
        return "subject", subjects, ""
    caution = ""
    if len(divided) < len(known) / 2 and divided:
        caution = (
            f"{len(divided):,} of {len(known):,} subjects, such as {divided[0]}, are in several "
            "groups: facts are permuted, as if those of a subject were independent"
        )
    return "fact", facts, caution


def group_facts(
    marks: np.ndarray,
    groups: Sequence[str | None],
    facts: Sequence[str],
    units: Sequence[str],
    figures: Mapping[str, Figure],
    draws: Draws,
) -> Grouped:
    """Return the groups of facts.

    Args:
        marks: probability that each row is right [rows, languages]; NaN: not asked.
        groups: group of each row. Rows without a group and rows that are not asked are left out.
        facts: fact of each row; its templates are rows.
        units: unit of each row; rows of a unit keep one label in the permutation.
        figures: RankC of all facts; empty without rankings.
        draws: options of intervals and permutations.
    """
    asked = ~np.isnan(marks)
    inside = np.array([group is not None for group in groups])
    rows = np.flatnonzero(asked.any(axis=1) & inside).tolist()
    if not rows:
        raise PolyprobeError(NOTHING)
    right, n = np.nan_to_num(marks).sum(axis=1)[rows], asked.sum(axis=1)[rows]
    names = [str(groups[row]) for row in rows]
    measured = {
        RIGHT: mean_of([RIGHT], right[:, None], n[:, None], share=True),
        **{name: pick_facts(figure, np.array(rows)) for name, figure in figures.items()},
    }
    clusters = draws.clusters and [draws.clusters[row] for row in rows]
    found = split_figures(measured, names, clusters, draws.n_resamples, draws.seed)
    labels, codes = index_labels(names, len(rows), "groups")
    own_units = index_labels([units[row] for row in rows], len(rows), "units")[1]
    table = np.column_stack([right, n - right])
    starts = np.unique(own_units, return_index=True)[1]
    counts = sum_by(codes, table)
    ids = index_labels([facts[row] for row in rows], len(rows), "facts")[1]
    sizes = np.bincount(codes[np.unique(ids, return_index=True)[1]]).tolist()
    made = []
    for label, size, own in zip(labels, sizes, counts, strict=True):
        means, bounds = found[str(label)]["mean"], found[str(label)]["intervals"]
        rankc = (means.get(RANKC), bounds.get(RANKC))
        made.append(_make_group(str(label), size, own, bounds.get(RIGHT), *rankc))
    return _test(made, sum_by(own_units, table), codes[starts], draws.seed)


def group_languages(marks: np.ndarray, groups: Sequence[str | None], draws: Draws) -> Grouped:
    """Return the groups of languages; arguments as above, with the group of each language."""
    asked = ~np.isnan(marks)
    columns = [i for i, group in enumerate(groups) if group is not None and asked[:, i].any()]
    if not columns:
        raise PolyprobeError(NOTHING)
    labels, codes = index_labels([groups[i] for i in columns], len(columns), "groups")
    right = sum_by(codes, np.nan_to_num(marks).T[columns]).T  # [facts, groups]
    n = sum_by(codes, asked.T[columns].astype(np.float64)).T
    figure = mean_of([str(place) for place in range(len(labels))], right, n, share=True)
    found = estimate_figure(figure, **draws._asdict())
    units = np.column_stack([np.nansum(marks, axis=0), asked.sum(axis=0)])[columns]
    units[:, 1] -= units[:, 0]
    sizes, counts = np.bincount(codes).tolist(), sum_by(codes, units)
    made = [
        _make_group(str(label), sizes[place], counts[place], found.get(f"{place}_ci"))
        for place, label in enumerate(labels)
    ]
    return _test(made, units, codes, draws.seed)


def _make_group(
    name: str,
    size: int,
    counts: np.ndarray,
    ci: list[float] | None,
    rankc: float | None = None,
    rankc_ci: list[float] | None = None,
) -> Group:
    """Return a group from right and wrong counts [2], without the change that `_test` adds."""
    right, wrong = counts.tolist()
    return Group(name, size, right, wrong, right / (right + wrong), ci, None, rankc, rankc_ci)


def _test(groups: Sequence[Group], units: np.ndarray, codes: np.ndarray, seed: int) -> Grouped:
    """Return the groups with their changes, and the tests over their units [units, 2]."""
    counts = np.array([[group.right, group.wrong] for group in groups])
    changes = [None if np.isnan(x) else x for x in share_errors(counts).tolist()]
    pairs = []
    if 2 < len(groups) <= MOST_PAIRED:
        n = N_PERMUTATIONS if len(groups) <= MOST_PERMUTED else 0
        pairs = compare_pairs(units, codes, n, seed)
    return Grouped(
        [x._replace(change=change) for x, change in zip(groups, changes, strict=True)],
        compare_counts(counts),
        permute_groups(units, codes, seed=seed),
        pairs,
        len(units),
    )
