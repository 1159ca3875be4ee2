"""Clean, compare and choose labels and other texts of a source.

Invisible characters and words that mix alphabets make a text that looks right but consists of other
tokens. Invisible are all spaces except U+0020 (also the no-break space before `:` in French),
separators, control characters, filler letters (FILLERS), and format characters (U+200B, the soft
hyphen, marks of writing direction, ...) except those with a glyph (DRAWN).

Characters that are part of the spelling are neither found nor changed:

- U+200C and U+200D after a virama, since they determine the shape of the letters, even before a
  space; also between two letters of a script with joined or stacked letters (Persian می‌رود).
- U+200B between two letters of Khmer, Lao, Burmese or Thai, as a word boundary.
- U+3000 in Chinese and Japanese, as the ordinary space. It is found in other languages.

In a word of two alphabets (a Greek word with a Latin A), only letters of the same shape are
replaced (a subset of the confusables of Unicode Technical Standard 39), and only by letters of the
alphabet that most of the word's letters have. A Latin I in Cyrillic is unchanged: it may be the
Ukrainian I, or the palochka of Caucasian languages.

Chinese (`zh`) is written in simplified characters (OpenCC's `t2s`). Otherwise the script of a label
would tell candidates apart.
"""

import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from itertools import permutations, product

import polars as pl
from opencc import OpenCC

from polyprobe.system.files import read_toml

from . import Facts

LETTERS = read_toml(__package__, "labels.toml")
CHINESE = "zh"
CONTRADICTIONS = "entities with several labels in a language, reduced to the most frequent one"
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
UNSPACED = ("KHMER", "LAO", "MYANMAR", "THAI")
SPELLING = {"\u200b": UNSPACED, **dict.fromkeys(JOINERS, LETTERS["joined"])}
"""{character: scripts in which it is part of the spelling}, by the first word of Unicode names."""

# A run of spaces with an invisible character, where U+3000 is one and where it is a space
_RUNS = {
    is_space: re.compile("[ {0}]*[{0}][ {0}]*".format(re.escape(characters)))
    for is_space, characters in ((True, INVISIBLE.replace(WIDE, "")), (False, INVISIBLE))
}
VIRAMA = 9  # canonical combining class in all scripts
_ALPHABETS = ("LATIN", "GREEK", "CYRILLIC")
_TWINS = {
    (letter, unicodedata.name(twin).partition(" ")[0]): twin
    for shape in LETTERS["shapes"]
    for letter, twin in product(shape, shape)
}
_WORD = re.compile(r"[^\W\d_][\w\u0300-\u036f]*")
# Finds texts that `unmix` may change; polars' regular expressions support scripts.
_MIXED = "|".join(
    rf"\p{{{first}}}\w*[\p{{{second}}}\p{{{third}}}]"
    for first, second, third in permutations(("Latin", "Greek", "Cyrillic"))
)


@lru_cache(maxsize=1 << 17)  # labels repeat in thousands of rows
def fold(text: str) -> str:
    """Return a text without differences of case, Unicode composition and kinds of spaces.

    >>> fold("E\u0301TAT") == fold("\u00e9tat")
    True
    """
    text = unicodedata.normalize("NFC", " ".join(text.split())).casefold()
    return unicodedata.normalize("NFC", text)


@lru_cache(maxsize=1 << 17)  # labels repeat in thousands of rows
def mend(text: str, language: str) -> str:
    """Return a text without invisible characters, each word in one alphabet, Chinese simplified."""
    return simplify(unmix(normalise(text, language)), language)


load_converter = lru_cache(OpenCC)  # `t2s` to simplified, `s2t` to traditional characters


@lru_cache(maxsize=1 << 17)
def simplify(text: str, language: str) -> str:
    """Return the text in simplified characters if it is Chinese.

    >>> simplify("臺北市", "zh"), simplify("台北市", "ja")
    ('台北市', '台北市')
    """
    return load_converter("t2s").convert(text) if language == CHINESE else text


@lru_cache(maxsize=1 << 17)  # labels repeat in thousands of rows
def normalise(text: str, language: str) -> str:
    r"""Return the text without invisible characters, except those that are part of the spelling.

    >>> normalise("son \u200b\u200bciudades\u00a0", "es")
    'son ciudades'
    >>> normalise("می\u200cرود", "fa") == "می\u200cرود"
    True
    """
    # A run of spaces and invisible characters is replaced by one U+0020, or removed if it contains
    # no space or is at an end of the text. Runs of U+0020 alone are unchanged.
    wide = re.split("[-_]", language)[0] in WIDE_LANGUAGES
    return _RUNS[wide].sub(_replace_run, text)


def _replace_run(match: re.Match[str]) -> str:
    """Return the replacement of a run: a character of the spelling, then a space, if any."""
    text, run = match.string, match[0]
    before, after = text[max(match.start() - 1, 0) : match.start()], text[match.end() :][:1]
    blank = any(character in BLANKS for character in run)
    # After a virama a joiner shapes the letters, even before a space.
    if before and unicodedata.combining(before) == VIRAMA and run[0] in JOINERS:
        joiner = run[0]
    elif blank:
        joiner = ""
    else:
        scripts = {find_script(before), find_script(after)}
        joiner = next((c for c in run if scripts <= {*SPELLING.get(c, ())}), "")
    return joiner + (" " if blank and before and after else "")


def find_script(character: str) -> str:
    """Return the script of a letter or combining mark, '' for other characters or none."""
    if not character or unicodedata.category(character)[0] not in "LM":
        return ""
    return unicodedata.name(character, "").partition(" ")[0]


@lru_cache(maxsize=1 << 17)  # labels repeat in thousands of rows
def unmix(text: str) -> str:
    """Return the text with each word in one alphabet, if its letters allow it.

    >>> unmix("Aρμενικά") == "Αρμενικά"  # a Latin and a Greek A
    True
    >>> unmix("μTorrent")
    'μTorrent'
    """
    return text if text.isascii() else _WORD.sub(_unmix_word, text)


def _unmix_word(match: re.Match[str]) -> str:
    """Return a word in the alphabet of most of its letters, or unchanged."""
    word = match[0]
    counts = Counter(alphabet for letter in word if (alphabet := _alphabet(letter)))
    if len(counts) < 2:
        return word
    (best, largest), (_, second) = counts.most_common(2)
    letters = [_render(letter, best) for letter in word]
    return "".join(filter(None, letters)) if largest > second and all(letters) else word


def _render(letter: str, alphabet: str) -> str:
    """Return the letter of the same shape in an alphabet, with accents; '' if there is none."""
    if _alphabet(letter) in ("", alphabet):
        return letter
    if twin := _TWINS.get((letter, alphabet)):
        return twin
    apart = unicodedata.normalize("NFD", letter)
    base = _TWINS.get((apart[0], alphabet))
    return unicodedata.normalize("NFC", base + apart[1:]) if base else ""


@cache
def _alphabet(character: str) -> str:
    """Return the character's alphabet, '' if it is not one of the three."""
    name = unicodedata.name(character, "").partition(" ")[0]
    return name if name in _ALPHABETS else ""


def tidy(
    rows: pl.DataFrame, columns: Sequence[str], change: Callable[[str, str], str] = normalise
) -> pl.DataFrame:
    """Return the rows in the same order, with the columns' texts changed, then stripped."""
    for column in columns:
        text = pl.col(column)
        suspect = text.str.contains_any(list(INVISIBLE)) | text.str.contains(_MIXED)
        mark = text.is_not_null() & (suspect | (pl.col("language") == CHINESE))
        cells = rows.select(text, "language", mark=mark)
        texts = [change(x, language) if mark else x for x, language, mark in cells.iter_rows()]
        rows = rows.with_columns(pl.Series(column, texts, pl.String).str.strip_chars())
    return rows


def clean_facts(facts: Facts) -> Facts:
    """Return the facts with clean labels and prompts."""
    prompts = clean_columns(facts.prompts, ["prompt", "form"])
    return facts._replace(labels=clean_labels(facts.labels), prompts=prompts)


def clean_labels(labels: pl.DataFrame) -> pl.DataFrame:
    """Return the labels cleaned (`mend`), without empty ones."""
    return tidy(labels, ["label"], mend).filter(pl.col("label") != "")


def clean_columns(rows: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Return the rows with texts cleaned but not unmixed: a sentence may hold a foreign word."""
    return tidy(rows, columns, lambda text, language: simplify(normalise(text, language), language))


def choose_labels(labels: pl.DataFrame, repairs: Counter[str]) -> pl.DataFrame:
    """Return LABELS: of LABELS with repetitions the most frequent, in a tie the first in order."""
    # Pairs of language and id with several labels are counted in `repairs`.
    several = labels.group_by("language", "id").agg(pl.col("label").n_unique())
    repairs[CONTRADICTIONS] = several.filter(pl.col("label") > 1).height
    counts = labels.group_by("language", "id", "label").len()
    order = counts.sort("language", "id", "len", "label", descending=[False, False, True, False])
    return order.unique(["language", "id"], keep="first", maintain_order=True).drop("len")
