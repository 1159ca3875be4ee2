"""Name territories, languages, currencies and cities in 51 languages, from Unicode CLDR.

All names come from the CLDR tables that babel carries (`babel.Locale`), licensed under
Unicode-3.0; the few that would mislead a reader are replaced in `CORRECTIONS`, each for a reason.
Names are in their dictionary form: babel's tables have no cases for them.
"""

import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from babel import Locale
from babel.core import get_global

# The 53 of BMLAMA without Latin and Cebuano, for which CLDR has hardly any names.
_CODES = (
    "af ar az be bg bn ca cs cy da de el en es et eu fa fi fr ga gl he hi hr hu hy id it ja ka ko "
    "lt lv ms nl pl pt ro ru sk sl sq sr sv ta th tr uk ur vi zh"
)
LANGUAGES: tuple[str, ...] = tuple(_CODES.split())

AND: dict[str, str] = {"en": "and", "id": "dan", "ms": "dan", "ta": "மற்றும்", "vi": "và"}

# 003, the continent, is called "North American continent" here; 021 bears the everyday name.
NORTH_AMERICA_AS_021 = ("bg", "hr", "ja", "sr")

CORRECTIONS: dict[tuple[str, str], str] = {
    # CLDR says "franc of the Ivory Coast" and "franc of Cameroon" for the two common currencies.
    ("az", "XOF"): "Qərbi Afrika CFA Frankı",
    ("az", "XAF"): "Mərkəzi Afrika CFA Frankı",
    ("sq", "XOF"): "Franga CFA e Afrikës Perëndimore",
    ("sq", "XAF"): "Franga CFA e Afrikës Qendrore",
    # CLDR names one of the two by the name of both.
    ("nl", "XAF"): "CFA-franc BEAC",
    ("pl", "XOF"): "frank CFA BCEAO",
    # CLDR writes the Latin abbreviation in Cyrillic look-alikes.
    ("ru", "XOF"): "франк КФА BCEAO",
    # CLDR has index order, the atoll for the town, a Swedish o, misspellings.
    ("ca", "Africa/Cairo"): "El Caire",
    ("hu", "Pacific/Majuro"): "Majuro",
    ("sl", "Europe/Copenhagen"): "København",
    ("az", "km"): "xmer",
    ("bn", "Asia/Tbilisi"): "তিবিলিসি",
    ("bn", "Europe/Tallinn"): "তাল্লিন",
    ("sq", "Africa/Nouakchott"): "Nuakshot",
}

_TRAILING_BRACKET = re.compile(r"\s*[(（][^()（）]*[)）]$")
_BRACKETS = re.compile(r"[][()（）]")
_SPACED_DASH = re.compile(r"\s+[-–]\s+")
# Soft hyphen and marks of direction; the zero-width non-joiner of Persian spelling stays.
_INVISIBLE = re.compile("[\u00ad\u200b\u200e\u200f]")


class Labels(NamedTuple):
    """The names of one language: ids as in CLDR, cities by canonical time zone."""

    territories: dict[str, str]
    languages: dict[str, str]
    currencies: dict[str, str]
    cities: dict[str, str]


def clean(label: str, language: str) -> str:
    r"""Return a CLDR name as it stands in running text: composed, without invisible characters.

    `&` becomes the language's word, the abbreviated islands of Russian are written out, a spaced
    dash between two parts of a name becomes a hyphen, Japanese loses its blanks.

    >>> clean("Reyk\u00adja\u00advik", "de"), clean("Trinidad & Tobago", "en")
    ('Reykjavik', 'Trinidad and Tobago')
    """
    label = _INVISIBLE.sub("", unicodedata.normalize("NFC", label))
    label = _SPACED_DASH.sub("-", label)
    if language in AND:
        label = label.replace("&", AND[language])
    if language == "ru":
        label = label.replace("о-ва", "острова")
    return ("" if language == "ja" else " ").join(label.split())


def without_bracket(label: str) -> str:
    """Drop what a name adds in brackets at its end: a second name or what sort of thing it is.

    >>> without_bracket("Myanmar (Burma)"), without_bracket("Meksyk (miasto)")
    ('Myanmar', 'Meksyk')
    """
    return _TRAILING_BRACKET.sub("", label)


def unwrapped(label: str) -> str:
    """Take the brackets away and keep what stands in them, for there it tells two apart.

    >>> unwrapped("franc CFA (BCEAO)")
    'franc CFA BCEAO'
    """
    return _BRACKETS.sub("", label)


def _cities(locale: Locale) -> dict[str, str]:
    """Return the exemplar cities that a locale has itself or from CLDR's root, by canonical zone.

    babel's tables use the zones' old names (Europe/Kiev), so aliases are resolved here.
    """
    aliases = get_global("zone_aliases")
    zones = locale.time_zones.items()
    return {aliases.get(zone, zone): names["city"] for zone, names in zones if "city" in names}


def city_of_zone(zone: str) -> str:
    """Return the name that a locale inherits where it has none: the last part of the zone's id.

    CLDR omits a city from Latin-script locales where it would repeat this name.

    >>> city_of_zone("Asia/Phnom_Penh")
    'Phnom Penh'
    """
    return zone.rsplit("/", 1)[1].replace("_", " ")


def city(labels: Labels, zone: str) -> str:
    """Return the city of a time zone in the labels' language, own or inherited."""
    return labels.cities.get(zone) or city_of_zone(zone)


@cache
def load_labels(language: str) -> Labels:
    """Return the cleaned names of one language."""
    locale = Locale.parse(language)
    territories = dict(locale.territories)
    if language in NORTH_AMERICA_AS_021:
        territories["003"] = territories["021"]
    corrected = {entity: name for (where, entity), name in CORRECTIONS.items() if where == language}
    return Labels(
        territories=_shortened(territories, language),
        languages=_shortened(locale.languages, language) | corrected,
        currencies={
            code: clean(unwrapped(name), language) for code, name in locale.currencies.items()
        }
        | corrected,
        cities=_shortened(_cities(locale), language) | corrected,
    )


def _shortened(names: Mapping[str, str], language: str) -> dict[str, str]:
    """Return the names cleaned and without what they add in brackets."""
    return {entity: without_bracket(clean(name, language)) for entity, name in names.items()}
