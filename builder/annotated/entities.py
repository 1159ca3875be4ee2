"""Entities in a prompt: sex and kinds from X-FACTR's archive, grammatical gender and number."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from polyprobe.system.download import Repository, read_files
from polyprobe.system.files import read_toml

MASC, FEM, NEUT = "MASC", "FEM", "NEUT"
SG, PL = "SG", "PL"
SEXES = {"male": MASC, "female": FEM}
SAMPLES = ("TREx", "mTREx", "mTRExf")

# Names of classes of Wikidata, or their last words, by kind.
KINDS = read_toml(__package__, "kinds.toml")
NO_REGIONS = ("unitary", "legal", "social", "secular", "federal", "vassal", "member", "nation")
NO_LANGUAGES = ("programming", "edition", "markup", "formal", "object-based", "query")
NAMES = {name: kind for kind, names in KINDS.items() for name in names}

# Private characters around labels in a sentence for `Rules.join`: before X, before Y, after both.
X_MARK, Y_MARK, END = "\ue000", "\ue001", "\ue002"
MARK = f"[{X_MARK}{Y_MARK}]"


class Agreement(NamedTuple):
    """Gender and number for agreement; `sure` if they follow from a rule, not a default."""

    gender: str
    number: str = SG
    sure: bool = True


class Traits(NamedTuple):
    """Traits of an entity: sex (MASC, FEM or '') and kinds (keys of KINDS)."""

    sex: str = ""
    kinds: frozenset[str] = frozenset()

    @property
    def is_person(self) -> bool:
        """Tell whether the entity is a person."""
        return bool(self.sex) or "human" in self.kinds

    def agree(self) -> Agreement:
        """Return a person's sex, masculine (not sure) if it is unknown."""
        return Agreement(self.sex or MASC, SG, bool(self.sex))


class PromptEntity(NamedTuple):
    """A label, the entity's traits, and its gender and number."""

    label: str
    traits: Traits
    agreement: Agreement


class Phrase(NamedTuple):
    """The words before a label, and the label without an article merged into them."""

    article: str
    form: str
    sure: bool = True  # a rule determines the preposition
    gendered: bool = True  # another gender has another form


def list_trait_paths(kind: str) -> list[str]:
    """List the paths of the archive's files of a kind, `gender` or `instanceof`."""
    return [f"data/{sample}_{kind}.txt" for sample in SAMPLES]


def read_traits(repository: Repository, mirror: Path | None) -> dict[str, Traits]:
    """Return the traits of each entity by its id."""
    sexes = {entity: SEXES.get(sex, "") for entity, sex in read_lines(repository, "gender", mirror)}
    kinds = {
        # A class is its id, a comma, and its English name.
        entity: frozenset(find_kinds(name.partition(",")[2] for name in names))
        for entity, *names in read_lines(repository, "instanceof", mirror)
    }
    return {
        entity: Traits(sexes.get(entity, ""), kinds.get(entity, frozenset()))
        for entity in sexes.keys() | kinds.keys()
    }


def read_lines(repository: Repository, kind: str, mirror: Path | None) -> Iterator[list[str]]:
    """Yield the fields of each line of the archive's files of a kind."""
    for content in read_files(repository, list_trait_paths(kind), mirror):
        for line in content.decode("utf-8").splitlines():
            yield line.split("\t")


def find_kinds(classes: Iterable[str]) -> Iterator[str]:
    """Yield the kinds of an entity from the English names of its classes.

    >>> sorted(set(find_kinds(["town in Hungary", "big city", "object-based language"])))
    ['Hungarian town', 'city']
    """
    for name in classes:
        # The authors search all words; an "English country house" is no country here.
        head = re.split(" of | in | with ", name)[0]
        first, _, last = head.rpartition(" ")
        if head not in NAMES and last == "state" and first in NO_REGIONS:
            continue
        formal = first.partition(" ")[0] in NO_LANGUAGES or first.endswith("programming")
        if last == "language" and formal:
            continue
        noun = head if head in NAMES or last == "human" else last
        yield from (NAMES[title] for title in {name, noun} if title in NAMES)
