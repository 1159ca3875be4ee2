"""The slots of a template on their way through a translator: written for it, and found again.

Engines write `[x]`, `［X］`, `[ X ]`, they drop a bracket, or they take the letter for a word and
spell it in the target's alphabet: `[Х]`, `[Кс]`, `[Икс]` for X, `[У]`, `[И]`, `[Игрек]` for Y. What
is no slot beyond doubt is a lost one: a letter on its own must be a capital (`y` is Spanish for
and), and both letters must be of one alphabet (`У` is a Russian preposition).
"""

import re
from typing import NamedTuple

from polyprobe.builder.facts.facts import is_template
from polyprobe.builder.recipes.balanced.verbalise import SUBJECT
from polyprobe.schema.columns import SLOT

# Square brackets may come doubled, or one alone; of other pairs each must be whole.
SQUARE = r"\[［", r"\]］"
PAIRS = ("()", "（）", "{}", "｛｝", "<>", "＜＞", "【】", "〔〕", "「」", "『』", "«»")

# A placeholder on its own has none of these beside it; Chinese and Korean set no blank around it.
LETTER = "[0-9_A-Za-z\u00c0-\u024f\u0300-\u03ff\u0400-\u052f\u1f00-\u1fff]"

# What a letter in brackets becomes, case aside: letters that look like it, its name, its sound.
SUBJECT_LETTERS = (
    *("x", "ｘ", "х", "χ", "кс", "икс", "ікс"),
    *("س", "إكس", "ایکس", "איקס", "एक्स", "এক্স", "எக்ஸ்", "ఎక్స్", "იქსი", "エックス", "엑스"),
)
OBJECT_LETTERS = (
    *("y", "ｙ", "у", "υ", "и", "игрек", "ігрек", "ипсилон"),
    *("ص", "واي", "وای", "وائی", "וואי", "वाई", "वाय", "ওয়াই", "ஒய்", "వై", "იგრეკი", "ワイ", "와이"),
)
LETTERS = (("X", "Y"), ("Х", "У"), ("Χ", "Υ"))  # Latin, Cyrillic, Greek
NAMES = ("Xarvon", "Yelvik")  # no words of a language that we know of, and no names


class Style(NamedTuple):
    """How slots are written for a translator: as `subject` and `object`.

    `readings` are the ways in which they are found again, the surest first: a pattern for each.
    """

    subject: str
    object: str
    readings: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]


def put_slots(template: str, style: str) -> str:
    """Return the template with its slots written in the style (a name in STYLES).

    >>> put_slots("[X] was born in [Y].", "names")
    'Xarvon was born in Yelvik.'
    """
    written = STYLES[style]
    return template.replace(SUBJECT, written.subject).replace(SLOT, written.object)


def restore_slots(text: str, style: str) -> str:
    """Return the translation with `[X]` and `[Y]` once each, '' where one is lost or doubled.

    >>> restore_slots("［x］ est né à [ Y ].", "brackets")
    '[X] est né à [Y].'
    >>> restore_slots("[X] est né à Paris.", "brackets")
    ''
    """
    for subject, answer in STYLES[style].readings:
        if len(subject.findall(text)) == len(answer.findall(text)) == 1:
            restored = subject.sub(SUBJECT, answer.sub(SLOT, text))
            if is_template(restored):
                return restored
    return ""


def _bracketed(letters: tuple[str, ...]) -> re.Pattern[str]:
    names = "|".join(re.escape(letter) for letter in letters)
    left, right = SQUARE
    forms = [rf"[{left}]+ ?(?:{names}) ?[{right}]+"]
    forms += [rf"{re.escape(pair[0])} ?(?:{names}) ?{re.escape(pair[1])}" for pair in PAIRS]
    return re.compile("|".join(forms), re.IGNORECASE)


def _single(letter: str) -> re.Pattern[str]:
    left, right = SQUARE
    return re.compile(rf"[{left}]?(?<!{LETTER}){letter}(?!{LETTER})[{right}]?")


def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!{LETTER}){name}(?!{LETTER})", re.IGNORECASE)


_SINGLES = tuple((_single(x), _single(y)) for x, y in LETTERS)
_BRACKETED = (_bracketed(SUBJECT_LETTERS), _bracketed(OBJECT_LETTERS))

STYLES = {
    "brackets": Style(SUBJECT, SLOT, (_BRACKETED, *_SINGLES)),
    "letters": Style("X", "Y", _SINGLES),
    "names": Style(*NAMES, ((_word(NAMES[0]), _word(NAMES[1])),)),
}
