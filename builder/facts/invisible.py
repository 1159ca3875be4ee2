"""Characters that nobody sees: which they are, where they are spelling, what stands in their place.

A tokenizer sees them: a prompt with one of them is another prompt than the one that is read.

Invisible are all blanks but the plain one (U+00A0, U+202F, U+2000 ... U+200A, ...; also the
no-break space that French sets before `:`), line and paragraph separators, control characters,
format characters (category Cf: U+200B, U+2060, U+FEFF, the soft hyphen U+00AD, marks and
embeddings of writing direction U+200E, U+200F, U+202A ... U+202E, U+2066 ... U+2069, ...) and
letters that are no more than a filler (U+115F, U+1160, U+3164, U+FFA0). Not invisible are
format characters that are drawn (U+0600 ... U+0605 and their like). What is spelling is neither
found nor changed:

- U+200C and U+200D after a virama (it decides the shape of the letters, even before a blank), or
  between two letters of a script that joins its letters or stacks them: Persian می‌رود, Hindi,
  Bengali. Before a blank or a hyphen they do nothing, and in Latin letters neither.
- U+200B between two letters of Khmer, Lao, Burmese or Thai, where it is the border of a word.
- U+3000 in Chinese and Japanese, whose ordinary blank it is; in other languages it is found.
"""

import re
import sys
import unicodedata
from functools import lru_cache

FILLERS = "\u115f\u1160\u3164\uffa0"
DRAWN = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
CATEGORIES = ("Cf", "Zs", "Zl", "Zp", "Cc")
WIDE, WIDE_LANGUAGES = "\u3000", ("ja", "zh")

INVISIBLE = "".join(
    character
    for character in map(chr, range(sys.maxunicode + 1))
    if (unicodedata.category(character) in CATEGORIES or character in FILLERS)
    and character not in f" {DRAWN}"
)
BLANKS = frozenset(character for character in f" {INVISIBLE}" if character.isspace())

JOINERS = "\u200c\u200d"
_JOINED = (
    *("ARABIC", "SYRIAC", "MANDAIC", "NKO", "MONGOLIAN", "DEVANAGARI", "BENGALI", "GURMUKHI"),
    *("GUJARATI", "ORIYA", "TAMIL", "TELUGU", "KANNADA", "MALAYALAM", "SINHALA", "TIBETAN"),
    *("MYANMAR", "KHMER", "BALINESE", "JAVANESE"),
)
_UNSPACED = ("KHMER", "LAO", "MYANMAR", "THAI")
SPELLING = {"\u200b": _UNSPACED, **dict.fromkeys(JOINERS, _JOINED)}
"""From a character to the scripts (as Unicode's names begin) in which it is spelling."""

VIRAMA = 9  # its canonical combining class, in every script


def _compile(characters: str) -> re.Pattern[str]:
    inside = re.escape(characters)
    return re.compile(f"[ {inside}]*[{inside}][ {inside}]*")


_RUNS = {True: _compile(INVISIBLE.replace(WIDE, "")), False: _compile(INVISIBLE)}


def find_invisible(text: str, language: str) -> bool:
    r"""Tell whether the text holds an invisible character that is no spelling.

    >>> find_invisible("Valencia e [Y] son \u200bciudades.", "es")
    True
    >>> find_invisible("می\u200cرود", "fa")
    False
    """
    return normalise(text, language) != text


@lru_cache(maxsize=1 << 17)  # labels come again, in thousands of rows
def normalise(text: str, language: str) -> str:
    r"""Return the text without its invisible characters, spelling kept.

    A run of blanks and invisible characters that holds one of the latter becomes one plain blank,
    or nothing where it has no blank or stands at an end of the text. Runs of plain blanks stay.

    >>> normalise("son \u200b\u200bciudades\u00a0", "es")
    'son ciudades'
    """
    wide = re.split("[-_]", language)[0] in WIDE_LANGUAGES
    return _RUNS[wide].sub(_replace_run, text)


def _replace_run(match: re.Match[str]) -> str:
    """Return what a run becomes: its spelling, then its blank."""
    text, run = match.string, match[0]
    before, after = text[max(match.start() - 1, 0) : match.start()], text[match.end() :][:1]
    blank = any(character in BLANKS for character in run)
    if before and unicodedata.combining(before) == VIRAMA and run[0] in JOINERS:
        kept = run[0]
    elif blank:
        kept = ""
    else:
        kept = next((c for c in run if _joins(before, c, after)), "")
    return kept + (" " if blank and before and after else "")


def _joins(before: str, character: str, after: str) -> bool:
    """Tell whether the character is spelling between these two."""
    scripts = SPELLING.get(character, ())
    return all(neighbour and _script(neighbour) in scripts for neighbour in (before, after))


def _script(character: str) -> str:
    """Return the script of a letter or of a mark on one, nothing for digits and signs."""
    if unicodedata.category(character)[0] not in "LM":
        return ""
    return unicodedata.name(character, "").partition(" ")[0]
