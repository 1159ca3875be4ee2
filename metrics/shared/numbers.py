"""Names of numbers and dates: as an answer may write them.

>>> spell_name("1989", "en")
['1,989', 'one thousand, nine hundred and eighty-nine', 'nineteen eighty-nine']
>>> spell_name("1879-03-14", "fr")
['14 mars 1879', 'mars 14 1879', '14/03/1879']
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import date
from functools import lru_cache

from babel import Locale, UnknownLocaleError
from babel.dates import format_date, format_skeleton, get_month_names
from num2words import num2words

from polyprobe.metrics.shared.words import WORD, fold_word

ISO = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
YEARS = range(1000, 2100)
LARGEST = 15  # digits of a number that is read
IN_WORDS = 1_000_000  # num2words takes hours for larger ones in Amharic
ORDERS = ("long", "d MMMM y", "MMMM d y")
NUMERALS = "〇零一二三四五六七八九十百千万萬億亿"


@lru_cache(1 << 12)
def spell_name(name: str, language: str) -> list[str]:
    """Spell a number or date in other ways; return none of another name, or without the language.

    A date is written as in ISO 8601, or with the name of its month in the language.
    """
    spellings: list[str] = []
    if name.isdecimal() and len(name) <= LARGEST:
        spellings = [*_spell_number(int(name), language)]
    elif day := read_date(name, language):
        with suppress(UnknownLocaleError, ValueError):  # a language without locale
            locale = Locale.parse(language.replace("-", "_"))
            spellings = [format_date(day, order, locale) for order in ORDERS]
            spellings.append(format_skeleton("yMd", day, locale=locale))
    return [x for x in dict.fromkeys(spellings) if x != name]


def _spell_number(number: int, language: str) -> Iterator[str]:
    yield str(number)
    yield f"{number:,}"
    if number > IN_WORDS:
        return
    with suppress(Exception):  # a language without words, or with a fault
        yield num2words(number, lang=language.replace("-", "_"))
        if number in YEARS and language.partition("-")[0] in ("de", "en"):
            yield num2words(number, lang=language, to="year")


def read_date(name: str, language: str) -> date | None:
    """Read a date; None for other texts."""
    with suppress(OverflowError, ValueError):  # no such day
        if match := ISO.fullmatch(name):
            return date(*map(int, match.groups()))
        words = [fold_word(word) for word in WORD.findall(name)]
        numbers = sorted(int(word) for word in words if word.isdecimal())
        months = {_months(language).get(word) for word in words} - {None}
        if len(words) == 3 and len(numbers) == 2 and len(months) == 1:
            return date(numbers[1], months.pop() or 0, numbers[0])
    return None


@lru_cache
def _months(language: str) -> dict[str, int]:
    """Return the number of each month by its names, folded."""
    months: dict[str, int] = {}
    with suppress(UnknownLocaleError, ValueError):
        locale = Locale.parse(language.replace("-", "_"))
        for context in ("format", "stand-alone"):
            names = get_month_names("wide", context, locale)
            months |= {fold_word(name): number for number, name in names.items()}
    return months
