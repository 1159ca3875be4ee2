"""The group of each language or fact of a run."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from polyprobe.analysis.compare.sentences.gender import read_genders
from polyprobe.schema.columns import split_fact
from polyprobe.schema.languages import list_traits
from polyprobe.schema.run.folder import load_again
from polyprobe.schema.run.settings import Settings
from polyprobe.system.files import TAB, read_tsv
from polyprobe.system.messages import PolyprobeError

from . import OF_LANGUAGES, check_by

CONTINENT = "P30"
GENDERS = ("female", "male")  # of the file; `none` has no group


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
    groups = _read_groups(file)
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


def _read_groups(file: Path) -> dict[str, str]:
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
    return groups
