"""Names of territories, languages, currencies and cities in 51 languages, from Unicode CLDR.

All names come from the CLDR tables in babel (`babel.Locale`), licensed under Unicode-3.0.
`CORRECTIONS` replaces misleading names, with reasons. Names are in their dictionary form: babel's
tables have no grammatical cases.
"""

import re
import unicodedata
from collections.abc import Mapping
from functools import cache
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

CORRECTIONS: dict[tuple[str, str], str] = {
    # CLDR has "franc of the Ivory Coast" and "franc of Cameroon" for the two common currencies.
    ("az", "XOF"): "Qərbi Afrika CFA Frankı",
    ("az", "XAF"): "Mərkəzi Afrika CFA Frankı",
    ("sq", "XOF"): "Franga CFA e Afrikës Perëndimore",
    ("sq", "XAF"): "Franga CFA e Afrikës Qendrore",
    # CLDR has the common name of both currencies for one of them.
    ("nl", "XAF"): "CFA-franc BEAC",
    ("pl", "XOF"): "frank CFA BCEAO",
    # CLDR writes the Latin abbreviation in Cyrillic look-alikes.
    ("ru", "XOF"): "франк КФА BCEAO",
    # CLDR has index order, the atoll instead of the town, a Swedish o, misspellings.
    ("ca", "Africa/Cairo"): "El Caire",
    ("hu", "Pacific/Majuro"): "Majuro",
    ("sl", "Europe/Copenhagen"): "København",
    ("az", "km"): "xmer",
    ("bn", "Asia/Tbilisi"): "তিবিলিসি",
    ("bn", "Europe/Tallinn"): "তাল্লিন",
    ("sq", "Africa/Nouakchott"): "Nuakshot",
    # CLDR inherits the English name or has an outdated one.
    ("af", "Europe/Belgrade"): "Belgrado",
    ("af", "Asia/Dushanbe"): "Doesjanbe",
    ("af", "Asia/Tashkent"): "Tasjkent",
    ("af", "Asia/Yerevan"): "Jerewan",
    ("az", "Africa/Nairobi"): "Nayrobi",
    ("az", "Africa/Nouakchott"): "Nuakşot",
    ("az", "America/Port_of_Spain"): "Port-of-Speyn",
    ("az", "Asia/Tokyo"): "Tokio",
    ("az", "Asia/Yerevan"): "İrəvan",
    ("ca", "Asia/Bishkek"): "Bixkek",
    ("ca", "America/Havana"): "L’Havana",
    ("ca", "Africa/Lome"): "Lomé",
    ("ca", "Asia/Yerevan"): "Erevan",
    ("cs", "Africa/Accra"): "Akkra",
    ("cy", "Europe/Athens"): "Athen",
    ("cy", "Europe/Moscow"): "Moscfa",
    ("cy", "Asia/Tbilisi"): "Tbilisi",
    ("da", "Africa/Cairo"): "Kairo",
    ("es", "Asia/Bishkek"): "Biskek",
    ("gl", "Asia/Tokyo"): "Toquio",
    ("hr", "Asia/Beirut"): "Bejrut",
    ("hr", "Asia/Muscat"): "Maskat",
    ("hu", "Europe/Tallinn"): "Tallinn",
    ("id", "Europe/Brussels"): "Brussel",
    ("id", "Europe/Bucharest"): "Bukares",
    ("it", "Asia/Yerevan"): "Erevan",
    ("ms", "Europe/Rome"): "Rom",
    ("ro", "Asia/Seoul"): "Seul",
    # CLDR transcribes the English spelling instead of the sound, or misspells the name.
    ("ar", "Africa/Bangui"): "بانغي",
    ("ar", "Africa/Mogadishu"): "مقديشو",
    ("ar", "Pacific/Port_Moresby"): "بورت مورسبي",
    ("ar", "Asia/Ulaanbaatar"): "أولان باتور",
    ("bn", "Indian/Antananarivo"): "আন্তানানারিভো",
    ("bn", "Africa/Asmara"): "আসমারা",
    ("bn", "Africa/Bamako"): "বামাকো",
    ("bn", "Asia/Beirut"): "বৈরুত",
    ("bn", "Europe/Chisinau"): "কিশিনাউ",
    ("bn", "Africa/Libreville"): "লিব্রেভিল",
    ("bn", "Africa/Maseru"): "মাসেরু",
    ("bn", "Africa/Mogadishu"): "মোগাদিশু",
    ("bn", "Africa/Ouagadougou"): "ওয়াগাদুগু",
    ("bn", "America/Paramaribo"): "পারামারিবো",
    ("bn", "Pacific/Port_Moresby"): "পোর্ট মোরেসবি",
    ("bn", "America/Port-au-Prince"): "পোর্ট-অ-প্রাঁস",
    ("bn", "Atlantic/Reykjavik"): "রেইকিয়াভিক",
    ("bn", "Europe/Skopje"): "স্কোপিয়ে",
    ("bn", "Europe/Vilnius"): "ভিলনিউস",
    ("bn", "Asia/Yerevan"): "ইয়েরেভান",
    ("fa", "Asia/Amman"): "امان",
    ("fa", "Africa/Lusaka"): "لوساکا",
    ("fa", "Europe/Podgorica"): "پودگوریتسا",
    ("he", "Africa/Bangui"): "בנגי",
    ("he", "Africa/Nouakchott"): "נואקשוט",
    ("hi", "America/Asuncion"): "असुनसियोन",
    ("hi", "Asia/Baku"): "बाकू",
    ("hi", "Asia/Beirut"): "बेरूत",
    ("hi", "Europe/Brussels"): "ब्रसेल्स",
    ("hi", "Africa/Cairo"): "काहिरा",
    ("hi", "Asia/Dili"): "दिली",
    ("hi", "Europe/Ljubljana"): "ल्युब्ल्याना",
    ("hi", "Africa/Lome"): "लोमे",
    ("hi", "Europe/Tallinn"): "तालिन",
    ("hy", "Asia/Thimphu"): "Թհիմփհու",
    ("ka", "Pacific/Majuro"): "მაჯურო",
    ("ka", "America/Port-au-Prince"): "პორტ-ო-პრენსი",
    ("ka", "America/Tegucigalpa"): "ტეგუსიგალპა",
    ("sq", "Pacific/Majuro"): "Maxhuro",
    ("sq", "Africa/Ouagadougou"): "Uagadugu",
    ("sr", "Africa/Banjul"): "Банџул",
    ("sr", "Africa/Gaborone"): "Габороне",
    ("sr", "Pacific/Majuro"): "Маџуро",
    ("sr", "Europe/Vaduz"): "Вадуц",
    ("ta", "Africa/Bangui"): "பாங்கி",
    ("ta", "Europe/Bucharest"): "புக்கரெஸ்ட்",
    ("ta", "Africa/Khartoum"): "கார்ட்டூம்",
    ("ta", "Europe/Ljubljana"): "லியுப்லியானா",
    ("ta", "Africa/Lome"): "லோமே",
    ("th", "Europe/Amsterdam"): "อัมสเตอร์ดัม",
    ("th", "Europe/Bucharest"): "บูคาเรสต์",
    ("th", "Europe/Budapest"): "บูดาเปสต์",
    ("th", "Europe/Dublin"): "ดับลิน",
    ("th", "Africa/Nairobi"): "ไนโรบี",
    ("ur", "Africa/Addis_Ababa"): "ادیس ابابا",
    ("ur", "Asia/Ashgabat"): "عشق آباد",
    ("ur", "Africa/Bangui"): "بانگی",
    ("ur", "Africa/Lome"): "لومے",
    ("ur", "Africa/Ouagadougou"): "واگادوگو",
    ("ur", "Europe/Podgorica"): "پودگوریتسا",
    ("ur", "Asia/Tbilisi"): "تبلیسی",
    ("ur", "Africa/Tripoli"): "طرابلس",
    # The same for languages, currencies (some with the capital of a title) and countries.
    ("ar", "ms"): "الملايوية",
    ("ar", "sl"): "السلوفينية",
    ("bn", "bg"): "বুলগেরীয়",
    ("bn", "hy"): "আর্মেনীয়",
    ("bn", "it"): "ইতালীয়",
    ("bn", "mn"): "মঙ্গোলীয়",
    ("hr", "bn"): "bengalski",
    ("hu", "bn"): "bengáli",
    ("id", "da"): "Denmark",
    ("af", "EUR"): "euro",
    ("af", "XAF"): "Sentraal-Afrikaanse CFA-frank",
    ("ga", "USD"): "Dollar SAM",
    ("lt", "EUR"): "euras",
    ("nl", "EUR"): "euro",
    ("ur", "CHF"): "سوئس فرانک",
    ("vi", "CHF"): "Franc Thụy Sĩ",
    ("az", "CI"): "Kot-d’İvuar",
    ("bn", "BH"): "বাহরাইন",
    ("bn", "CI"): "কোট ডি’আইভোর",
    ("bn", "TT"): "ত্রিনিদাদ ও টোব্যাগো",
    ("en", "VC"): "St. Vincent and the Grenadines",
    ("ta", "CZ"): "செக்கியா",
    ("ta", "PW"): "பலாவு",
    ("ur", "DO"): "جمہوریہ ڈومینیکن",
    ("ur", "GQ"): "استوائی گنی",
    ("ur", "HN"): "ہونڈوراس",
}

_TRAILING_BRACKET = re.compile(r"\s*[(（][^()（）]*[)）]$")
_BRACKETS = re.compile(r"[][()（）]")
_SPACED_DASH = re.compile(r"\s+[-–]\s+")
# Soft hyphen and direction marks; the zero-width non-joiner of Persian spelling is kept.
_INVISIBLE = re.compile("[\u00ad\u200b\u200e\u200f]")


class Labels(NamedTuple):
    """Names in one language: by id of CLDR, cities by canonical time zone."""

    territories: dict[str, str]
    languages: dict[str, str]
    currencies: dict[str, str]
    cities: dict[str, str]


def clean(label: str, language: str) -> str:
    r"""Return a CLDR name as in running text: composed, without invisible characters.

    `&` becomes the language's word for it, the Russian abbreviation of islands is expanded, a dash
    between spaces becomes a hyphen, and Japanese spaces are removed.

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
    """Return the name without final brackets, which contain a second name or a description.

    >>> without_bracket("Myanmar (Burma)"), without_bracket("Meksyk (miasto)")
    ('Myanmar', 'Meksyk')
    """
    return _TRAILING_BRACKET.sub("", label)


def unwrapped(label: str) -> str:
    """Return the name without brackets but with their content, which distinguishes two names.

    >>> unwrapped("franc CFA (BCEAO)")
    'franc CFA BCEAO'
    """
    return _BRACKETS.sub("", label)


def _cities(locale: Locale) -> dict[str, str]:
    """Return a locale's exemplar cities, its own or from CLDR's root, by canonical zone.

    babel's tables use old names of zones (Europe/Kiev), so aliases are resolved here.
    """
    aliases = get_global("zone_aliases")
    zones = locale.time_zones.items()
    return {aliases.get(zone, zone): names["city"] for zone, names in zones if "city" in names}


def city_of_zone(zone: str) -> str:
    """Return the name that a locale inherits by default: the last part of the zone's id.

    CLDR omits a city from Latin-script locales if its name equals this one.

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
        territories=_shortened(territories, language) | corrected,
        languages=_shortened(locale.languages, language) | corrected,
        currencies={
            code: clean(unwrapped(name), language) for code, name in locale.currencies.items()
        }
        | corrected,
        cities=_shortened(_cities(locale), language) | corrected,
    )


def _shortened(names: Mapping[str, str], language: str) -> dict[str, str]:
    """Return the names cleaned and without final brackets."""
    return {entity: without_bracket(clean(name, language)) for entity, name in names.items()}
