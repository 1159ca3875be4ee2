"""Right and wrong rows by group of languages or facts: labels, intervals and tests."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from polyprobe.analysis.compare.sentences.gender import read_genders
from polyprobe.analysis.figures.facts import read_chosen, read_scored
from polyprobe.analysis.figures.modules import mark_facts
from polyprobe.analysis.figures.parts import pick_facts, split_figures
from polyprobe.analysis.figures.predictions import mark_predictions
from polyprobe.analysis.figures.units import read_clusters, resolve_bootstrap
from polyprobe.analysis.options import Bootstrap
from polyprobe.metrics.joint import groups as tests
from polyprobe.metrics.shared import intervals
from polyprobe.metrics.shared.rows import take
from polyprobe.schema.columns import split_fact
from polyprobe.schema.languages import list_traits
from polyprobe.schema.run.folder import Run, load_again
from polyprobe.schema.run.rows import ALL_ROWS, Choice
from polyprobe.schema.run.settings import Settings
from polyprobe.system.files import TAB, read_tsv
from polyprobe.system.messages import PolyprobeError
from polyprobe.system.options import check_arguments

from . import DEFAULTS, OF_LANGUAGES, GroupOptions, check_by

CONTINENT = "P30"
GENDERS = ("female", "male")  # of the file; `none` has no group
TOGETHER = "all"  # languages
RIGHT, RANKC = "right", "rankc"
NOTHING = "no fact of any group was asked; choose other rows or groups"
MOST_PAIRED, MOST_PERMUTED = 50, 10  # groups of which pairs are tested, and permuted too


class Labels(NamedTuple):
    """Groups of languages or of facts."""

    groups: list[str | None]  # of each language or row; None: without a group
    of_languages: bool
    note: str  # how many languages, subjects or others have a group


class Grouping(NamedTuple):
    """What to group, and by what."""

    # A name of `OF_LANGUAGES` or `OF_FACTS`, or a TSV file of ids and groups. Ids are codes of
    # languages, or ids of facts, subjects or objects
    by: str
    table: pa.Table  # the chosen rows, in any language
    settings: Settings
    gender: Path | None = None  # file of genders


def find_labels(grouping: Grouping) -> Labels:
    """Find the group of each language or row."""
    by = grouping.by
    check_by(by)
    if (by == "gender") != (grouping.gender is not None):
        raise PolyprobeError(
            "--by gender and --gender FILE require each other; give both or neither"
        )
    return LABELLERS.get(by, _label_by_file)(grouping)


def _label_by_trait(grouping: Grouping) -> Labels:
    languages, by = grouping.settings.languages, grouping.by
    traits = list_traits(languages, by)
    if not traits:
        raise PolyprobeError(
            f"the {by} of {', '.join(languages)} is unknown; give --by a TSV file of languages and "
            "their groups instead"
        )
    return _match(languages, traits, "languages", by)


def _label_by_part(grouping: Grouping) -> Labels:
    relations = {"relation": grouping.table["relation"].to_pylist()}
    ids = (relations if grouping.by in relations else _split(grouping))[grouping.by]
    return Labels([*ids], False, f"{len({*ids})} {grouping.by}s")


def _label_by_continent(grouping: Grouping) -> Labels:
    """Label each row by its subject's continent, from the dataset's own facts of P30."""
    subjects, settings = _split(grouping)["subject"], grouping.settings
    # the names of continents, which all rows of a table need in one language
    language = "en" if "en" in settings.languages else settings.languages[0]
    table = load_again(settings, [language])[language]
    columns = (table[name].to_pylist() for name in ("fact_id", "candidates", "answers"))
    continents: dict[str, str] = {}
    for fact, candidates, answers in zip(*columns, strict=True):
        ids = split_fact(fact)
        if ids and ids[0] == CONTINENT:
            continents.setdefault(ids[1], candidates[answers[0]])
    if not continents:
        raise PolyprobeError(
            f"--by continent: {settings.data_name} has no facts of {CONTINENT} (continent); give a "
            "TSV file of subject ids and continents instead"
        )
    return _match(subjects, continents, "subjects", grouping.by)


def _label_by_gender(grouping: Grouping) -> Labels:
    file = grouping.gender
    assert file is not None  # see find_labels
    subjects = _split(grouping)["subject"]
    genders = {entity: x for entity, x in read_genders(file).items() if x in GENDERS}
    return _match(subjects, genders, "subjects", file.name)


def _label_by_file(grouping: Grouping) -> Labels:
    """Label languages or rows by a file, whose ids are of languages, facts, subjects or objects."""
    file = Path(grouping.by)
    groups: dict[str, str] = {}
    for number, cells in read_tsv(file, "--by"):
        if len(cells) != 2 or not all(cells):
            raise PolyprobeError(
                f"{file}, line {number}: {TAB.join(cells)[:80]!r}; expected an id, a tab "
                "and its group"
            )
        if groups.setdefault(cells[0], cells[1]) != cells[1]:
            raise PolyprobeError(
                f"{file}, line {number}: {cells[0]} is in {groups[cells[0]]!r} before and in "
                f"{cells[1]!r} here; keep one"
            )
    facts = grouping.table["fact_id"].to_pylist()
    codes = {key.replace("-", "_"): group for key, group in groups.items()}
    sources = {"languages": (grouping.settings.languages, codes), "facts": (facts, groups)}
    if all(map(split_fact, facts)):
        sources |= {f"{name}s": (ids, groups) for name, ids in _split(grouping).items()}
    counts = {kind: len({*keys} & {*labels}) for kind, (keys, labels) in sources.items()}
    kind = max(counts, key=lambda name: counts[name])  # of equal ones, the first
    if not counts[kind]:
        examples = ", ".join(repr(keys[0]) for keys, _ in sources.values())
        raise PolyprobeError(
            f"{file}: none of its {len(groups):,} ids, such as {next(iter(groups))!r}, is one of "
            f"the run's {', '.join(sources)} (such as {examples}); check the ids"
        )
    labels = _match(*sources[kind], kind, file.name)
    note = f"{labels.note}, matched by {counts[kind]:,} of its {len(groups):,} ids"
    return labels._replace(note=note)


LABELLERS: Mapping[str, Callable[[Grouping], Labels]] = {
    **dict.fromkeys(OF_LANGUAGES, _label_by_trait),
    **dict.fromkeys(("relation", "subject", "object"), _label_by_part),
    "continent": _label_by_continent,
    "gender": _label_by_gender,
}


def _split(grouping: Grouping) -> dict[str, list[str]]:
    facts = grouping.table["fact_id"].to_pylist()
    parts = [ids for fact in facts if (ids := split_fact(fact))]
    if len(parts) < len(facts):
        unsplit = next(fact for fact in facts if not split_fact(fact))
        raise PolyprobeError(
            f"--by {grouping.by}: the fact id {unsplit!r} does not name subject and object; use "
            "--by relation, or a dataset with ids such as P36:Q142:Q90 (17-repaired, 53-repaired)"
        )
    return {"subject": [ids[1] for ids in parts], "object": [ids[2] for ids in parts]}


def _match(keys: Sequence[str], groups: Mapping[str, str], kind: str, source: str) -> Labels:
    """Look up the group of each key; at least one key must have one."""
    distinct = {key: groups.get(key) for key in keys}
    matched = sum(group is not None for group in distinct.values())
    if not matched:
        raise PolyprobeError(
            f"{source}: none of the {len(distinct):,} {kind} of the run, such as {keys[0]!r}, is "
            f"among its {len(groups):,} ids; check the ids"
        )
    note = f"{source}: {matched:,} of {len(distinct):,} {kind}"
    return Labels([groups.get(key) for key in keys], kind == "languages", note)


class Group(NamedTuple):
    """The figures of a group."""

    name: str
    size: int  # facts, or languages
    right: float  # rows (facts in each language); fractions where candidates tie at rank 1
    wrong: float
    share: float  # of right rows
    ci: list[float] | None  # of the share, over facts; None for a single fact
    change: float | None  # see `share_errors`; None if no row is wrong
    rankc: float | None = None  # mean over pairs of languages; None without rankings
    rankc_ci: list[float] | None = None


class GroupTable(NamedTuple):
    """The groups in all languages together or in one, and their tests."""

    groups: list[Group]  # in the order of first occurrence
    test: tests.ChiSquare  # of the table of right and wrong rows
    permutation: tests.Permutation  # over whole units
    pairs: list[tests.Pair]  # by their places; see `MOST_PAIRED`
    n_units: int

    def as_json(self) -> dict[str, Any]:
        """List all figures and tests; groups of pairs are named."""
        pairs = [
            {
                "groups": [self.groups[place].name for place in (pair.first, pair.second)],
                **pair.test._asdict(),
                "p_adjusted": pair.p_adjusted,
                "permutation": pair.permutation and pair.permutation._asdict(),
                "permuted_p_adjusted": pair.permuted_p_adjusted,
            }
            for pair in self.pairs
        ]
        return {
            "groups": [group._asdict() for group in self.groups],
            **self.test._asdict(),
            "permutation": self.permutation._asdict() | {"n_units": self.n_units},
            "pairs": pairs,
        }


class Groups(NamedTuple):
    """The groups of a run."""

    by: str  # a name, or the name of a file
    labels: Labels
    unit: str  # `fact`, `subject` or `language`, whose rows keep one label
    tables: dict[str, GroupTable]  # `all` or each language → its groups
    bootstrap: Bootstrap
    run: Run
    choice: Choice
    left_out: dict[str, int]  # rows of the dataset, by reason
    caution: str = ""  # why the unit is not the subject

    def as_json(self) -> dict[str, Any]:
        """List the settings, and the groups and tests of all languages or of each one."""
        return {
            "signature": self.run.settings().signature,
            "subset": None if self.choice == ALL_ROWS else self.choice.as_json(),
            "by": self.by,
            "of": "languages" if self.labels.of_languages else "facts",
            "labels": self.labels.note,
            "unit": self.unit,
            "resampling": asdict(self.bootstrap),
            "left_out": self.left_out,
            "found": {name: table.as_json() for name, table in self.tables.items()},
        }


class MarkedRows(NamedTuple):
    """The marked rows of a run."""

    marks: np.ndarray  # probability of being right [rows, languages]; NaN: not asked
    groups: Sequence[str | None]  # of each row; None: without a group
    facts: Sequence[str]
    units: Sequence[str]
    figures: Mapping[str, intervals.Figure] = {}  # RankC; empty without rankings


@check_arguments
def group_run(run: Run, by: str, options: GroupOptions = DEFAULTS) -> Groups:
    """Count right and wrong rows of a finished run by group, with intervals and tests.

    The run's protocol decides whether a row is right (`mark_facts`, `mark_predictions`). `by` is a
    name of `OF_LANGUAGES` or `OF_FACTS`, or a TSV file of ids and groups. The permutations use the
    seed of the intervals.

    Raises:
        PolyprobeError: groups that cannot be found or tested.
    """
    settings = run.settings()
    tables, left_out = read_chosen(run, options.choice)
    table = next(iter(tables.values()))
    labels = find_labels(Grouping(by, table, settings, options.gender))
    if options.each_language and labels.of_languages:
        raise PolyprobeError(
            f"--each-language requires groups of facts; --by {by} groups languages"
        )
    unit, units, caution = _choose_unit(options.unit, labels, table)
    marks, figures = _mark(run, settings.kind, tables)
    bootstrap = resolve_bootstrap(options, table, len(tables))
    # Where relations are the groups, whole relations cannot be drawn within one.
    clusters = read_clusters(table, bootstrap.clusters, within=by == "relation")
    draws = intervals.Resampling(**asdict(bootstrap) | {"clusters": clusters})
    reason = "not asked" if settings.kind == "predictions" else "without a wrong candidate"
    missing = np.isnan(marks).sum(axis=0).tolist()
    left_out |= {f"{reason} in {x}": n for x, n in zip(tables, missing, strict=True) if n}
    rows = MarkedRows(marks, labels.groups, table["fact_id"].to_pylist(), units, figures)
    if labels.of_languages:
        groups = {TOGETHER: group_languages(marks, labels.groups, draws)}
    elif options.each_language:
        groups, ungrouped = _group_each(rows, [*tables], draws)
        left_out |= ungrouped
    else:
        groups = {TOGETHER: group_facts(rows, draws)}
    choice, name = options.choice, Path(by).name
    return Groups(name, labels, unit, groups, bootstrap, run, choice, left_out, caution)


def _mark(
    run: Run, kind: str, tables: Mapping[str, pa.Table]
) -> tuple[np.ndarray, dict[str, intervals.Figure]]:
    """Mark the rows of a run [rows, languages], and measure RankC if it has rankings."""
    if kind == "predictions":
        return np.column_stack([*mark_predictions(tables).values()]), {}
    facts = read_scored(run, tables)
    figures = {}
    if facts.rankc.shape[1]:  # the mean over pairs of the facts' values: one column, not 1,378
        values = facts.rankc.mean(axis=1, keepdims=True)
        figures[RANKC] = intervals.mean_of([RANKC], values, np.ones(len(values)), share=True)
    return np.column_stack([*mark_facts(facts).values()]), figures


def _choose_unit(unit: str, labels: Labels, table: pa.Table) -> tuple[str, list[str], str]:
    """Choose the unit; return it, its label in each row (none for languages), and a caution.

    `auto`: language for groups of languages; else subject if the fact ids name subjects, no subject
    spans two groups, and a group has several subjects; else fact.
    """
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
    subjects = [ids[1] for fact in facts if (ids := split_fact(fact))]
    if len(subjects) < len(facts):
        if unit == "subject":
            raise PolyprobeError("--unit subject: a fact id names no subject; use --unit fact")
        return "fact", facts, ""
    groups: dict[str, set[str]] = {}
    for subject, group in zip(subjects, labels.groups, strict=True):
        if group is not None:
            groups.setdefault(subject, set()).add(group)
    divided = [subject for subject, names in groups.items() if len(names) > 1]
    if unit == "subject" and divided:
        raise PolyprobeError(f"--unit subject: {divided[0]!r} has several groups; use --unit fact")
    several = len(groups) > len({*labels.groups} - {None})  # else each would be a group
    if unit == "subject" or (several and not divided):
        return "subject", subjects, ""
    caution = ""
    # If most subjects are in several groups, groups are not meant to be of subjects.
    if len(divided) < len(groups) / 2 and divided:
        caution = (
            f"{len(divided):,} of {len(groups):,} subjects, such as {divided[0]}, are in several "
            "groups: facts are permuted, as if those of a subject were independent"
        )
    return "fact", facts, caution


def _group_each(
    rows: MarkedRows, languages: Sequence[str], options: intervals.Resampling
) -> tuple[dict[str, GroupTable], dict[str, int]]:
    """Group the facts of each language; count the marked rows of languages without a group."""
    inside = np.array([group is not None for group in rows.groups])
    tables, ungrouped = {}, {}
    for place, language in enumerate(languages):
        marks = rows.marks[:, place : place + 1]
        answered = ~np.isnan(marks[:, 0])
        if (inside & answered).any():
            tables[language] = group_facts(rows._replace(marks=marks, figures={}), options)
        elif answered.any():
            ungrouped[f"in no group in {language}"] = int(answered.sum())
    if not tables:
        raise PolyprobeError(NOTHING)
    return tables, ungrouped


def group_facts(rows: MarkedRows, options: intervals.Resampling) -> GroupTable:
    """Measure and test the groups of facts, in all languages of the rows together."""
    answered = ~np.isnan(rows.marks)
    inside = np.array([group is not None for group in rows.groups])
    places = np.flatnonzero(answered.any(axis=1) & inside).tolist()
    if not places:
        raise PolyprobeError(NOTHING)
    right, n = np.nan_to_num(rows.marks).sum(axis=1)[places], answered.sum(axis=1)[places]
    names = [str(rows.groups[place]) for place in places]
    figures = {
        RIGHT: intervals.mean_of([RIGHT], right[:, None], n[:, None], share=True),
        **{name: pick_facts(figure, np.array(places)) for name, figure in rows.figures.items()},
    }
    clusters = take(options.clusters, places)
    options = options._replace(clusters=clusters)
    estimates = split_figures(figures.items(), names, lambda name: options)
    groups, codes = intervals.index_labels(names, len(places), "groups")
    units = intervals.index_labels([rows.units[place] for place in places], len(places), "units")[1]
    facts = intervals.index_labels([rows.facts[place] for place in places], len(places), "facts")[1]
    table = np.column_stack([right, n - right])
    # Templates of a fact are several rows, and one fact of the group.
    sizes = np.bincount(codes[np.unique(facts, return_index=True)[1]]).tolist()
    measured = []
    for name, size, counts in zip(
        map(str, groups), sizes, intervals.sum_by(codes, table), strict=True
    ):
        means, bounds = estimates[name]["mean"], estimates[name]["intervals"]
        group = _make_group(name, size, counts, bounds.get(RIGHT))
        measured.append(group._replace(rankc=means.get(RANKC), rankc_ci=bounds.get(RANKC)))
    starts = np.unique(units, return_index=True)[1]  # a row of each unit has the unit's group
    return _test(measured, intervals.sum_by(units, table), codes[starts], options.seed)


def group_languages(
    marks: np.ndarray, groups: Sequence[str | None], options: intervals.Resampling
) -> GroupTable:
    """Measure and test the groups of languages, by the group of each; `marks` as in rows."""
    answered = ~np.isnan(marks)
    columns = [i for i, group in enumerate(groups) if group is not None and answered[:, i].any()]
    if not columns:
        raise PolyprobeError(NOTHING)
    labels, codes = intervals.index_labels([groups[i] for i in columns], len(columns), "groups")
    right = intervals.sum_by(codes, np.nan_to_num(marks).T[columns]).T  # [facts, groups]
    n = intervals.sum_by(codes, answered.T[columns].astype(np.float64)).T
    names = [str(place) for place in range(len(labels))]
    estimates = intervals.estimate(intervals.mean_of(names, right, n, share=True), options)
    units = np.column_stack([np.nansum(marks, axis=0), answered.sum(axis=0)])[columns]
    units[:, 1] -= units[:, 0]  # right, all → right, wrong
    sizes, counts = np.bincount(codes).tolist(), intervals.sum_by(codes, units)
    measured = [
        _make_group(str(label), sizes[place], counts[place], estimates.get(f"{place}_ci"))
        for place, label in enumerate(labels)
    ]
    return _test(measured, units, codes, options.seed)


def _make_group(name: str, size: int, counts: np.ndarray, ci: list[float] | None) -> Group:
    """Make a group from right and wrong counts [2], without the change that `_test` adds."""
    right, wrong = counts.tolist()
    return Group(name, size, right, wrong, right / (right + wrong), ci, None)


def _test(groups: list[Group], units: np.ndarray, codes: np.ndarray, seed: int) -> GroupTable:
    """Add the changes of the groups, and test them over their units [units, 2]."""
    counts = np.array([[group.right, group.wrong] for group in groups])
    changes = [None if np.isnan(x) else x for x in tests.share_errors(counts).tolist()]
    pairs = []  # of two groups, the test of the whole table is that of the pair
    if 2 < len(groups) <= MOST_PAIRED:
        n = tests.N_PERMUTATIONS if len(groups) <= MOST_PERMUTED else 0
        pairs = tests.compare_pairs(units, codes, n, seed)
    groups = [x._replace(change=change) for x, change in zip(groups, changes, strict=True)]
    permutation = tests.permute_groups(units, codes, seed=seed)
    return GroupTable(groups, tests.compare_counts(counts), permutation, pairs, len(units))
