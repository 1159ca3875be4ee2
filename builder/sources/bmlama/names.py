"""Names in the repaired configurations that replace published ones.

`names.csv` has our names for labels that are plainly wrong: language, Wikidata id, name, reason.
Russian labels with the surname first, as in an index, are names in running text here.
"""

import csv
import re
from importlib.resources import files

_FOUND = csv.DictReader(
    files(__package__).joinpath("names.csv").read_text(encoding="utf-8").splitlines()
)
NAMES = {(row["language"], row["id"]): row["name"] for row in _FOUND}
_INDEXED = re.compile(r"([^,]+), ([А-ЯЁ](?:(?! и )[^,])*)")


def correct_name(label: str, name: str, language: str) -> str:
    """Return our name of the entity `name` in a language, or the label.

    >>> correct_name("Airbus basic", "Q67", "en")
    'Airbus'
    """
    return NAMES.get((language, name), label)


def turn(label: str, language: str) -> str:
    """Return a Russian name with the surname last; other labels are unchanged.

    >>> turn("Муавр, Абрахам де", "ru"), turn("Бонэйр, Синт-Эстатиус и Саба", "ru")
    ('Абрахам де Муавр', 'Бонэйр, Синт-Эстатиус и Саба')
    """
    match = _INDEXED.fullmatch(label) if language == "ru" else None
    return f"{match[2]} {match[1]}" if match else label
