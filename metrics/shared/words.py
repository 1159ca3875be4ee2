"""Words of a text, folded so that spellings of one word are equal."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import NamedTuple

# Languages whose nouns have no endings, or separate ones, by first subtag.
UNINFLECTED = ("bo", "ja", "km", "lo", "my", "th", "vi", "yue", "zh")
# Languages without spaces between words, by first subtag.
UNSEGMENTED = ("bo", "ja", "km", "lo", "my", "th", "yue", "zh")
UNSEEN = "\u00ad\u200b\u200c\u200d\u2060"  # soft hyphen and joiners: not part of the spelling
# Optional accents, and the vowels of Hebrew and Arabic.
OPTIONAL = "".join(map(chr, (*range(0x300, 0x370), *range(0x591, 0x5C8), *range(0x64B, 0x653))))
ACCENTS = [c for c in map(chr, range(0x300, 0x11000)) if unicodedata.category(c).startswith("M")]
LETTER = rf"\w{UNSEEN}{''.join(ACCENTS)}"
WORD = re.compile(rf"\w(?:[{LETTER}'’ʼ·]*[{LETTER}])?")
FOLDED = str.maketrans({"ё": "е", "ґ": "г", "і": "и", "ї": "и", "’": "'", "ʼ": "'"})
FOLDED |= {x: str(unicodedata.digit(chr(x))) for x in range(0x80, 0x20000) if chr(x).isdecimal()}
LEFT_OUT = str.maketrans("", "", UNSEEN + OPTIONAL)


class Word(NamedTuple):
    """A word of a text: characters `[start, end)`, form and lemma, both folded."""

    start: int
    end: int
    form: str
    lemma: str


def read_runs(
    texts: Sequence[str], lemma: Callable[[str], str] = lambda word: word
) -> list[list[Word]]:
    """Return the words of each text, runs of letters and digits."""
    return [
        [
            Word(*run.span(), fold_word(run[0]), fold_word(lemma(run[0])))
            for run in WORD.finditer(text)
        ]
        for text in texts
    ]


def fold_word(text: str) -> str:
    """Return a word composed (NFC), case-folded and without spelling variants."""
    # Variants: е/ё, г/ґ, и/і, soft hyphens, accents outside composed letters (`Ки́їв`, small `İ`).
    composed = unicodedata.normalize("NFC", text).casefold().translate(FOLDED)
    return composed.translate(LEFT_OUT) or composed
