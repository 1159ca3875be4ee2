"""Slots in texts for a translator: how they are spelled, and how they are found again.

Engines write `[x]`, `［X］` or `[ X ]`, drop a bracket, or transliterate the letter. An ambiguous
slot counts as lost: a letter without brackets must be a capital (`y` is Spanish for "and"), and
both letters must be of one alphabet (`У` is a Russian preposition).
"""

import re
from typing import NamedTuple

from polyprobe.builder.facts import SUBJECT, is_template
from polyprobe.schema.columns import SLOT

# Square brackets may be doubled or single; other brackets must be complete pairs.
OPENING, CLOSING = r"\[［", r"\]］"
PAIRS = ("()", "（）", "{}", "｛｝", "<>", "＜＞", "【】", "〔〕", "「」", "『』", "«»")
# No such letter is next to a slot without brackets; Chinese and Korean put no space around it.
LETTER = "[0-9_A-Za-z\u00c0-\u024f\u0300-\u03ff\u0400-\u052f\u1f00-\u1fff]"

# Renderings of a letter in brackets, ignoring case: similar letters, its name, its sound.
SUBJECT_LETTERS = (
    *("x", "ｘ", "х", "χ", "кс", "икс", "ікс"),
    *("س", "إكس", "ایکس", "איקס", "एक्स", "এক্স", "எக்ஸ்", "ఎక్స్", "იქსი", "エックス", "엑스"),
)
OBJECT_LETTERS = (
    *("y", "ｙ", "у", "υ", "и", "игрек", "ігрек", "ипсилон"),
    *("ص", "واي", "وای", "وائی", "וואי", "वाई", "वाय", "ওয়াই", "ஒய்", "వై", "იგრეკი", "ワイ", "와이"),
)
LETTERS = (("X", "Y"), ("Х", "У"), ("Χ", "Υ"))  # Latin, Cyrillic, Greek
NAMES = ("Xarvon", "Yelvik")  # neither words nor names of a known language


class Style(NamedTuple):
    """The spelling of slots for a translator: `subject` and `object`."""

    subject: str
    object: str
    # Pairs of patterns that find the slots again, the most reliable first.
    readings: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]


def _in_brackets(letters: tuple[str, ...]) -> re.Pattern[str]:
    names = "|".join(map(re.escape, letters))
    forms = [rf"[{OPENING}]+ ?(?:{names}) ?[{CLOSING}]+"]
    forms += [rf"{re.escape(pair[0])} ?(?:{names}) ?{re.escape(pair[1])}" for pair in PAIRS]
    return re.compile("|".join(forms), re.IGNORECASE)


def _as_letter(letter: str) -> re.Pattern[str]:
    return re.compile(rf"[{OPENING}]?(?<!{LETTER}){letter}(?!{LETTER})[{CLOSING}]?")


def _as_word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!{LETTER}){name}(?!{LETTER})", re.IGNORECASE)


_BRACKETS = (_in_brackets(SUBJECT_LETTERS), _in_brackets(OBJECT_LETTERS))
_CAPITALS = tuple((_as_letter(x), _as_letter(y)) for x, y in LETTERS)

STYLES = {
    "brackets": Style(SUBJECT, SLOT, (_BRACKETS, *_CAPITALS)),
    "letters": Style("X", "Y", _CAPITALS),
    "names": Style(*NAMES, ((_as_word(NAMES[0]), _as_word(NAMES[1])),)),
}


def put_slots(template: str, style: str) -> str:
    """Write the slots of a template in a style (a name in STYLES).

    >>> put_slots("[X] was born in [Y].", "names")
    'Xarvon was born in Yelvik.'
    """
    spelling = STYLES[style]
    return template.replace(SUBJECT, spelling.subject).replace(SLOT, spelling.object)


def restore_slots(text: str, style: str) -> str:
    """Return the translation with `[X]` and `[Y]` once each; '' if one is lost or doubled.

    >>> restore_slots("［x］ est né à [ Y ].", "brackets")
    '[X] est né à [Y].'
    >>> restore_slots("[X] est né à Paris.", "brackets")
    ''
    """
    for subject, answer in STYLES[style].readings:
        if len(subject.findall(text)) == len(answer.findall(text)) == 1:
            template = subject.sub(SUBJECT, answer.sub(SLOT, text))
            if is_template(template):
                return template
    return ""
