"""Languages of the datasets: name, ISO 639-3 code, family, branch and script."""

import csv
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

TRAITS = ("script", "family", "branch")


class Language(NamedTuple):
    """One language.

    Attributes:
        code: ISO 639-1 code, or 639-3 without one, with the script where both are in use.
        name: in English.
        iso: ISO 639-3 code; that of the macrolanguage, which URIEL describes.
        flores: name in FLORES-200; empty if it is not there.
        family: top level of Glottolog 5.
        branch: a division of the family by which linguists group its languages; that of Uralic is
            Finnic or Ugric; a family of one of our languages is its own branch.
        script: ISO 15924 code; of those in use that of the datasets.
    """

    code: str
    name: str
    iso: str
    flores: str
    family: str
    branch: str
    script: str


@cache
def read_languages() -> dict[str, Language]:
    """Return the languages by code."""
    with files("polyprobe.schema").joinpath("languages.tsv").open(encoding="utf-8") as lines:
        rows = csv.DictReader(lines, delimiter="\t")
        return {row["code"]: Language(**row) for row in rows}


def find_language(split: str) -> Language | None:
    """Return the language of a split or code, without its suffixes if it is unknown with them.

    >>> find_language("zh_hant").script, find_language("pt-BR").name, find_language("tlh")
    ('Hant', 'Portuguese', None)
    """
    parts = split.replace("_", "-").lower().split("-")
    known = read_languages()
    codes = ("-".join(parts[:end]) for end in range(len(parts), 0, -1))
    return next((known[code] for code in codes if code in known), None)


def show_language(split: str) -> str:
    """Return the English name of the language of a split, or the split itself if it is unknown.

    >>> show_language("el"), show_language("tlh")
    ('Greek', 'tlh')
    """
    found = find_language(split)
    return found.name if found else split


def list_traits(splits: Sequence[str], trait: str) -> dict[str, str]:
    """Return the script, family or branch of each language that is in the table.

    >>> list_traits(["en", "ru", "tlh"], "script")
    {'en': 'Latn', 'ru': 'Cyrl'}
    """
    found = {split: find_language(split) for split in splits}
    return {split: getattr(language, trait) for split, language in found.items() if language}
