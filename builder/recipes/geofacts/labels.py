"""Names of territories, languages, currencies and cities in 51 languages, from Unicode CLDR.

All names come from the CLDR tables in babel (`babel.Locale`), licensed under Unicode-3.0.
`corrections.csv` replaces misleading names, with reasons. Names are in their dictionary form:
babel's tables have no grammatical cases.
"""

import csv
import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from babel import Locale
from babel.core import get_global

# The 53 languages of BMLAMA without Latin and Cebuano, for which CLDR has hardly any names.
_CODES = (
    "af ar az be bg bn ca cs cy da de el en es et eu fa fi fr ga gl he hi hr hu hy id it ja ka ko "
    "lt lv ms nl pl pt ro ru sk sl sq sr sv ta th tr uk ur vi zh"
)
LANGUAGES: tuple[str, ...] = tuple(_CODES.split())

AND: dict[str, str] = {"en": "and", "id": "dan", "ms": "dan", "ta": "மற்றும்", "vi": "và"}

# Languages with "North American continent" as the name of 003; 021 has the usual name.
NORTH_AMERICA_AS_021 = ("bg", "hr", "it", "ja", "sr")

# A second name or a description, which goes: `Myanmar (Burma)`, `Meksyk (miasto)`
_TRAILING_BRACKET = re.compile(r"\s*[(（][^()（）]*[)）]$")
# Around what distinguishes two names, which stays: `franc CFA (BCEAO)`
_BRACKETS = re.compile(r"[][()（）]")
_SPACED_DASH = re.compile(r"\s+[-–]\s+")
# Soft hyphen and direction marks; the zero-width non-joiner of Persian spelling is kept.
_INVISIBLE = re.compile("[\u00ad\u200b\u200e\u200f]")


def read_csv_table(name: str) -> list[dict[str, str]]:
    """Return the rows of a CSV file in this folder."""
    text = files(__package__).joinpath(name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


CORRECTIONS = read_csv_table("corrections.csv")


class CldrNames(NamedTuple):
    """Names in one language: by id of CLDR, cities by canonical time zone."""

    territories: dict[str, str]
    languages: dict[str, str]
    currencies: dict[str, str]
    cities: dict[str, str]


def clean_name(label: str, language: str) -> str:
    r"""Return a CLDR name as in running text: composed, without invisible characters.

    `&` becomes the language's word for it, the Russian abbreviation of islands is expanded, a dash
    between spaces becomes a hyphen, and Japanese spaces are removed.

    >>> clean_name("Reyk\u00adja\u00advik", "de"), clean_name("Trinidad & Tobago", "en")
    ('Reykjavik', 'Trinidad and Tobago')
    """
    label = _INVISIBLE.sub("", unicodedata.normalize("NFC", label))
    label = _SPACED_DASH.sub("-", label)
    if language in AND:
        label = label.replace("&", AND[language])
    if language == "ru":
        label = label.replace("о-ва", "острова")
    return ("" if language == "ja" else " ").join(label.split())


def city(labels: CldrNames, zone: str) -> str:
    """Return the city of a time zone in the labels' language."""
    # CLDR omits a city from Latin-script locales if its name is the last part of the zone's id.
    return labels.cities.get(zone) or zone.rsplit("/", 1)[1].replace("_", " ")


@cache
def load_labels(language: str) -> CldrNames:
    """Return the cleaned names of one language."""
    locale = Locale.parse(language)
    territories = dict(locale.territories)
    if language in NORTH_AMERICA_AS_021:
        territories["003"] = territories["021"]
    # The exemplar cities of the locale or of CLDR's root, by canonical zone: babel's tables use old
    # names of zones (Europe/Kiev).
    aliases, zones = get_global("zone_aliases"), locale.time_zones.items()
    cities = {aliases.get(zone, zone): names["city"] for zone, names in zones if "city" in names}
    corrected = {row["id"]: row["name"] for row in CORRECTIONS if row["language"] == language}

    def clean(names: Mapping[str, str], brackets: re.Pattern[str]) -> dict[str, str]:
        texts = {entity: clean_name(name, language) for entity, name in names.items()}
        return {entity: brackets.sub("", text) for entity, text in texts.items()} | corrected

    return CldrNames(
        territories=clean(territories, _TRAILING_BRACKET),
        languages=clean(locale.languages, _TRAILING_BRACKET),
        currencies=clean(locale.currencies, _BRACKETS),
        cities=clean(cities, _TRAILING_BRACKET),
    )
