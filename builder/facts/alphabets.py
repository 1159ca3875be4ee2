"""Words that mix alphabets: a Latin A at the head of a Greek word.

It looks right and is another word to a tokenizer. Only letters that look the same are taken for
each other (a choice of Unicode Technical Standard 39's confusables), and only towards the alphabet
of most of the word's letters: a name such as `μTorrent` stays. A Latin I in Cyrillic stays too, for
it stands for two letters: Ukrainian's I, and the palochka of the Caucasus.
"""

import re
import unicodedata
from collections import Counter
from functools import lru_cache
from itertools import permutations

import polars as pl

# Each group is one shape: the letters of Latin, Greek and Cyrillic that have it.
# fmt: off
_SHAPES = (
    "AΑА", "BΒВ", "CС", "EΕЕ", "HΗН", "IΙ", "JЈ", "KΚК", "MΜМ", "NΝ", "OΟО", "PΡР", "SЅ", "TΤТ",
    "XΧХ", "YΥУ", "ZΖ", "aа", "cс", "eе", "iі", "jј", "oοо", "pр", "sѕ", "xх", "yу", "əә", "ƏӘ",
    "çҫ", "ÇҪ",
)
# fmt: on
_ALPHABETS = ("LATIN", "GREEK", "CYRILLIC")
_WORD = re.compile(r"[^\W\d_][\w\u0300-\u036f]*")
# What `unmix` may change, for a first sieve; polars' regular expressions know scripts.
_MIXED = "|".join(
    rf"\p{{{one}}}\w*[\p{{{two}}}\p{{{three}}}]"
    for one, two, three in permutations(("Latin", "Greek", "Cyrillic"))
)


@lru_cache(maxsize=1 << 17)  # labels come again, in thousands of rows
def unmix(text: str) -> str:
    """Return the text with each word in one alphabet, where its letters allow that.

    >>> unmix("Aρμενικά") == "Αρμενικά"  # a Latin and a Greek A
    True
    >>> unmix("μTorrent")
    'μTorrent'
    """
    return text if text.isascii() else _WORD.sub(_unmix_word, text)


def unmix_column(rows: pl.DataFrame, column: str) -> pl.DataFrame:
    """Return the rows, in their order, with the column's words unmixed."""
    texts = rows[column].unique()
    mixed = texts.filter(texts.str.contains(_MIXED)).to_list()
    changed = {text: unmix(text) for text in mixed}
    return rows.with_columns(pl.col(column).replace(changed))


def _unmix_word(match: re.Match[str]) -> str:
    """Return a word in the alphabet of most of its letters, or as it is."""
    word = match[0]
    counts = Counter(alphabet for letter in word if (alphabet := _alphabet(letter)))
    if len(counts) < 2:
        return word
    (best, most), (_, second) = counts.most_common(2)
    letters = [_render(letter, best) for letter in word]
    return "".join(filter(None, letters)) if most > second and all(letters) else word


def _render(letter: str, alphabet: str) -> str:
    """Return a letter in an alphabet, accents kept; '' where that has none of its shape."""
    if _alphabet(letter) in ("", alphabet):
        return letter
    if whole := _TWINS.get((letter, alphabet)):
        return whole
    apart = unicodedata.normalize("NFD", letter)
    base = _TWINS.get((apart[0], alphabet), "")
    return unicodedata.normalize("NFC", base + apart[1:]) if base else ""


def _alphabet(character: str) -> str:
    """Return the character's alphabet, '' where it is no letter of the three."""
    name = unicodedata.name(character, "").partition(" ")[0]
    return name if name in _ALPHABETS else ""


_TWINS = {
    (letter, _alphabet(other)): other for shape in _SHAPES for letter in shape for other in shape
}
