"""The group of each language or fact of a run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from polyprobe.analysis.compare.sentences.gender import read_genders
from polyprobe.schema.identity import split_fact
from polyprobe.schema.languages import list_traits
from polyprobe.schema.run.dataset import load_again
from polyprobe.schema.run.folder import Settings
from polyprobe.system.errors import PolyprobeError
from polyprobe.system.files import TAB, read_tsv

from . import OF_FACTS, OF_LANGUAGES, check_by

CONTINENT = "P30"
GENDERS = ("female", "male")  # of the file; `none` has no group


class Labels(NamedTuple):
    """Groups of languages or of facts.

    Attributes:
        groups: label of each language, or of each row of the run; None: without a group.
        of_languages: whether the groups consist of languages.
        note: how many languages, subjects or other units have a group.
    """

    groups: list[str | None]
    of_languages: bool
    note: str


def find_labels(by: str, table: pa.Table, settings: Settings, gender: Path | None = None) -> Labels:
    """Return the groups of a run.

    Continents are those of the subjects, from the dataset's own facts of P30 (as in `geofacts`).
    The label is the first object's name, in English if the run has English, else in the run's
    first language. Genders are those of the subjects, from a file, see `read_genders`.

    Args:
        by: a name of `OF_LANGUAGES` or `OF_FACTS`, or a TSV file of ids and groups. Ids are codes
            of languages, or ids of facts, subjects or objects.
        table: the chosen rows of the run, in any language.
        settings: settings of the run.
        gender: file of genders.

    Raises:
        PolyprobeError: an unknown name, an unknown language, a fact id without subject and
            object, a dataset without continents, or a file that cannot be read or matches nothing.
    """
    check_by(by)
    if (by == "gender") != (gender is not None):
        raise PolyprobeError(
            "--by gender and --gender FILE require each other; give both or neither"
        )
    if by in OF_LANGUAGES:
        traits = list_traits(settings.languages, by)
        if not traits:
            raise PolyprobeError(
                f"the {by} of {', '.join(settings.languages)} is unknown; give --by a TSV file of "
                "languages and their groups instead"
            )
        return _label(settings.languages, traits, "languages", by, of_languages=True)
    if by not in OF_FACTS:
        return _match(Path(by), table, settings.languages)
    if by == "relation":
        relations = table["relation"].to_pylist()
        return Labels(relations, False, f"{len({*relations})} relations")
    ends = _split(table, by)
    if by in ("subject", "object"):
        found = ends[by]
        return Labels([*found], False, f"{len({*found})} {by}s")
    if gender:
        known = {entity: x for entity, x in read_genders(gender).items() if x in GENDERS}
        return _label(ends["subject"], known, "subjects", gender.name)
    return _label(ends["subject"], _find_continents(settings), "subjects", by)


def _split(table: pa.Table, by: str) -> dict[str, list[str]]:
    """Return the subject and the object of each row."""
    facts = table["fact_id"].to_pylist()
    parts = [split_fact(fact) for fact in facts]
    for fact, found in zip(facts, parts, strict=True):
        if found is None:
            raise PolyprobeError(
                f"--by {by}: the fact id {fact!r} does not name subject and object; use --by "
                "relation, or a dataset with ids such as P36:Q142:Q90 (17-repaired, 53-repaired)"
            )
    known = [found for found in parts if found]
    return {"subject": [x[1] for x in known], "object": [x[2] for x in known]}


def _find_continents(settings: Settings) -> dict[str, str]:
    """Return the continent of each subject of the dataset's facts of P30."""
    language = "en" if "en" in settings.languages else settings.languages[0]
    table = load_again(settings, [language])[language]
    columns = (table[name].to_pylist() for name in ("fact_id", "candidates", "answers"))
    found: dict[str, str] = {}
    for fact, candidates, answers in zip(*columns, strict=True):
        parts = split_fact(fact)
        if parts and parts[0] == CONTINENT:
            found.setdefault(parts[1], candidates[answers[0]])
    if not found:
        raise PolyprobeError(
            f"--by continent: {settings.data_name} has no facts of {CONTINENT} (continent); give a "
            "TSV file of subject ids and continents instead"
        )
    return found


def _label(
    keys: Sequence[str],
    known: Mapping[str, str],
    kind: str,
    source: str,
    of_languages: bool = False,
) -> Labels:
    """Return the group of each key; at least one key must have one.

    Raises:
        PolyprobeError: no key has a group.
    """
    groups = [known.get(key) for key in keys]
    distinct = dict(zip(keys, groups, strict=True))
    matched = sum(group is not None for group in distinct.values())
    if not matched:
        raise PolyprobeError(
            f"{source}: none of the {len(distinct):,} {kind} of the run, such as {keys[0]!r}, is "
            f"among its {len(known):,} ids; check the ids"
        )
    return Labels(groups, of_languages, f"{source}: {matched:,} of {len(distinct):,} {kind}")


def _match(file: Path, table: pa.Table, languages: Sequence[str]) -> Labels:
    """Return the groups of a file.

    Its ids are compared with languages, facts, subjects and objects. The kind that matches most ids
    is used; of equal kinds, the first.
    """
    known = _read_groups(file)
    facts = table["fact_id"].to_pylist()
    codes = {key.replace("-", "_"): group for key, group in known.items()}
    sources = {"languages": (languages, codes), "facts": (facts, known)}
    if all(map(split_fact, facts)):
        ends = _split(table, "subject")
        sources |= {f"{name}s": (ids, known) for name, ids in ends.items()}
    counts = {kind: len({*keys} & {*groups}) for kind, (keys, groups) in sources.items()}
    kind = max(counts, key=lambda name: counts[name])
    if not counts[kind]:
        shown = ", ".join(repr(keys[0]) for keys, _ in sources.values())
        raise PolyprobeError(
            f"{file}: none of its {len(known):,} ids, such as {next(iter(known))!r}, is one of the "
            f"run's {', '.join(sources)} (such as {shown}); check the ids"
        )
    keys, groups = sources[kind]
    found = _label(keys, groups, kind, file.name, kind == "languages")
    return found._replace(
        note=f"{found.note}, matched by {counts[kind]:,} of its {len(known):,} ids"
    )


def _read_groups(file: Path) -> dict[str, str]:
    """Return the group of each id of a TSV file."""
    known: dict[str, str] = {}
    for number, cells in read_tsv(file, "--by"):
        if len(cells) != 2 or not all(cells):
            raise PolyprobeError(
                f"{file}, line {number}: {TAB.join(cells)[:80]!r}; expected an id, a tab "
                "and its group"
            )
        if known.setdefault(cells[0], cells[1]) != cells[1]:
            raise PolyprobeError(
                f"{file}, line {number}: {cells[0]} is in {known[cells[0]]!r} before and in "
                f"{cells[1]!r} here; keep one"
            )
    return known
