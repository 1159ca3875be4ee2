"""Invisible characters and their removal, except where they are part of the spelling.

A tokenizer sees these characters, so a prompt that contains one differs from the same prompt
without it.

The following characters are invisible:

- all spaces except U+0020 (U+00A0, U+202F, U+2000 ... U+200A, ...), including the no-break space
  before `:` in French;
- line and paragraph separators, and control characters;
- format characters (category Cf: U+200B, U+2060, U+FEFF, the soft hyphen U+00AD, marks and
  embeddings of writing direction U+200E, U+200F, U+202A ... U+202E, U+2066 ... U+2069, ...), except
  those with a glyph (U+0600 ... U+0605 and others);
- filler letters (U+115F, U+1160, U+3164, U+FFA0).

Characters that are part of the spelling are neither found nor changed:

- U+200C and U+200D after a virama, since they determine the shape of the letters, even before a
  space; also between two letters of a script with joined or stacked letters (Persian می‌رود, Hindi,
  Bengali). They have no effect before a space or a hyphen, or in Latin script.
- U+200B between two letters of Khmer, Lao, Burmese or Thai, as a word boundary.
- U+3000 in Chinese and Japanese, as the ordinary space. It is found in other languages.
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
"""{character: scripts in which it is part of the spelling}, by the first word of Unicode names."""

VIRAMA = 9  # canonical combining class in all scripts


def _compile(characters: str) -> re.Pattern[str]:
    inside = re.escape(characters)
    return re.compile(f"[ {inside}]*[{inside}][ {inside}]*")


_RUNS = {True: _compile(INVISIBLE.replace(WIDE, "")), False: _compile(INVISIBLE)}


def find_invisible(text: str, language: str) -> bool:
    r"""Return whether the text has an invisible character that is not part of the spelling.

    >>> find_invisible("Valencia e [Y] son \u200bciudades.", "es")
    True
    >>> find_invisible("می\u200cرود", "fa")
    False
    """
    return normalise(text, language) != text


@lru_cache(maxsize=1 << 17)  # labels repeat in thousands of rows
def normalise(text: str, language: str) -> str:
    r"""Return the text without invisible characters, except those that are part of the spelling.

    A run of spaces and invisible characters is replaced by one U+0020, or removed if it contains no
    space or is at an end of the text. Runs of U+0020 alone are unchanged.

    >>> normalise("son \u200b\u200bciudades\u00a0", "es")
    'son ciudades'
    """
    wide = re.split("[-_]", language)[0] in WIDE_LANGUAGES
    return _RUNS[wide].sub(_replace_run, text)


def _replace_run(match: re.Match[str]) -> str:
    """Return the replacement of a run: a character of the spelling, then a space, if any."""
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
    """Return whether the character is part of the spelling between two characters."""
    scripts = SPELLING.get(character, ())
    return all(neighbour and _script(neighbour) in scripts for neighbour in (before, after))


def _script(character: str) -> str:
    """Return the script of a letter or combining mark, '' for other characters."""
    if unicodedata.category(character)[0] not in "LM":
        return ""
    return unicodedata.name(character, "").partition(" ")[0]
