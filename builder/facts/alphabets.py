"""Words that mix alphabets, such as a Greek word with a Latin A.

Such a word looks right but is a different word to a tokenizer. Only letters of the same shape are
replaced (a subset of the confusables of Unicode Technical Standard 39), and only by letters of the
alphabet that most of the word's letters have. A name such as `μTorrent` is unchanged. So is a Latin
I in Cyrillic, since it is ambiguous: the Ukrainian I, or the palochka of Caucasian languages.
"""

import re
import unicodedata
from collections import Counter
from functools import lru_cache
from itertools import permutations

import polars as pl

# Each group consists of Latin, Greek and Cyrillic letters of one shape.
# fmt: off
_SHAPES = (
    "AΑА", "BΒВ", "CС", "EΕЕ", "HΗН", "IΙ", "JЈ", "KΚК", "MΜМ", "NΝ", "OΟО", "PΡР", "SЅ", "TΤТ",
    "XΧХ", "YΥУ", "ZΖ", "aа", "cс", "eе", "iі", "jј", "oοо", "pр", "sѕ", "xх", "yу", "əә", "ƏӘ",
    "çҫ", "ÇҪ",
)
# fmt: on
_ALPHABETS = ("LATIN", "GREEK", "CYRILLIC")
_WORD = re.compile(r"[^\W\d_][\w\u0300-\u036f]*")
# Preselects texts that `unmix` may change; polars' regular expressions support scripts.
_MIXED = "|".join(
    rf"\p{{{one}}}\w*[\p{{{two}}}\p{{{three}}}]"
    for one, two, three in permutations(("Latin", "Greek", "Cyrillic"))
)


@lru_cache(maxsize=1 << 17)  # labels repeat in thousands of rows
def unmix(text: str) -> str:
    """Return the text with each word in one alphabet, if its letters allow it.

    >>> unmix("Aρμενικά") == "Αρμενικά"  # a Latin and a Greek A
    True
    >>> unmix("μTorrent")
    'μTorrent'
    """
    return text if text.isascii() else _WORD.sub(_unmix_word, text)


def unmix_column(rows: pl.DataFrame, column: str) -> pl.DataFrame:
    """Return the rows in the same order, with the column's words unmixed."""
    texts = rows[column].unique()
    mixed = texts.filter(texts.str.contains(_MIXED)).to_list()
    changed = {text: unmix(text) for text in mixed}
    return rows.with_columns(pl.col(column).replace(changed))


def _unmix_word(match: re.Match[str]) -> str:
    """Return a word in the alphabet of most of its letters, or unchanged."""
    word = match[0]
    counts = Counter(alphabet for letter in word if (alphabet := _alphabet(letter)))
    if len(counts) < 2:
        return word
    (best, most), (_, second) = counts.most_common(2)
    letters = [_render(letter, best) for letter in word]
    return "".join(filter(None, letters)) if most > second and all(letters) else word


def _render(letter: str, alphabet: str) -> str:
    """Return the letter of the same shape in an alphabet, with accents; '' if there is none."""
    if _alphabet(letter) in ("", alphabet):
        return letter
    if whole := _TWINS.get((letter, alphabet)):
        return whole
    apart = unicodedata.normalize("NFD", letter)
    base = _TWINS.get((apart[0], alphabet), "")
    return unicodedata.normalize("NFC", base + apart[1:]) if base else ""


def _alphabet(character: str) -> str:
    """Return the character's alphabet, '' if it is not one of the three."""
    name = unicodedata.name(character, "").partition(" ")[0]
    return name if name in _ALPHABETS else ""


_TWINS = {
    (letter, _alphabet(other)): other for shape in _SHAPES for letter in shape for other in shape
}
