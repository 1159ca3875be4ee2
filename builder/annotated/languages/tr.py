"""Turkish endings: by vowel harmony, with an apostrophe after names."""

import re
from collections.abc import Collection

from polyprobe.system.files import read_toml

WORDS = read_toml(__package__, "tr.toml")
VOWELS = "aıoueiöüâîû"
BACK = "aıouâû"
ROUND = "ouöüû"
VOICELESS = "fstkçşhpx"
# Compounds with a possessive ending, after which cases take an n, by their last word.
POSSESSIVE = r"[aıouâ][ğlnr]ı|[aıouâ]sı|[eiöü]si|ları|leri|[ıiuü]ğ[ıiuü]"
POSSESSED = re.compile(f".* (.*({POSSESSIVE})|{'|'.join(WORDS['possessed'])})")
SOFT = re.compile(f"({'|'.join(WORDS['soft'])})$")
ROMAN = re.compile(r"[IVXL]{2,}")
LANGUAGE = re.compile(r".*[cç][ae]")
SPELLED = re.compile(r"[A-ZÇĞİÖŞÜ]{1,2}[BCÇDFGĞHJKLMNPRSŞTVYZ]|[BCÇDFGĞHJKLMNPRSŞTVYZ]{2,5}")


def decline_turkish(head: str, case: str, kinds: Collection[str]) -> str | None:
    """Return the head with the ending; None without a vowel, after a digit or a Roman numeral."""
    if case not in WORDS["suffixes"] or not head[-1:].isalpha():
        return None
    last = head.split(" ")[-1]
    if ROMAN.fullmatch(last):
        return None
    # Foreign names are read as Turkish, abbreviations of three letters or without a vowel as
    # letters, whose names end in e. Names of languages in -ca, -ce have no apostrophe.
    name = any(letter.isupper() for letter in last)
    heard = f"{head}e" if SPELLED.fullmatch(head) else lower(head)
    heard = re.sub(rf"(?<=[^{VOWELS}])y$", "i", heard)  # Company'ye
    vowels = [letter for letter in SOFT.sub("e", heard) if letter in VOWELS]
    if not vowels or not re.search(rf"[{VOWELS}bcçdfgğhjklmnprsştvyzqwx]$", heard):
        return None
    possessed = case != "COP" and POSSESSED.fullmatch(head) is not None
    ending = shape(WORDS["suffixes"][case], heard, vowels[-1], possessed)
    if not name and not possessed and ending[0] in VOWELS:
        head = soften(head)
    joint = "'" if name and not ("language" in kinds and LANGUAGE.fullmatch(head)) else ""
    return head + joint + ending


def lower(text: str) -> str:
    """Return the text in lower case: ı for I, i for İ."""
    return text.replace("I", "ı").replace("İ", "i").lower()


def shape(suffix: str, heard: str, vowel: str, possessed: bool) -> str:
    """Return the ending as pronounced after a word with this last vowel.

    >>> shape("DA", "sinop", "o", False), shape("(n)In", "ankara", "a", False)
    ('ta', 'nın')
    """
    open_end = heard[-1] in VOWELS
    suffix = re.sub(r"\((.)\)", r"\1" if open_end else "", suffix)
    if possessed:
        suffix = f"n{suffix.lstrip('yn')}"
    front = vowel not in BACK
    high = ("ü" if vowel in ROUND else "i") if front else ("u" if vowel in ROUND else "ı")
    hard = heard[-1] in VOICELESS and not possessed
    sounds = {"A": "e" if front else "a", "I": high, "D": "t" if hard else "d"}
    return "".join(sounds.get(letter, letter) for letter in suffix)


def soften(word: str) -> str:
    """Return a common noun of several syllables as before a vowel: kitap, kitab-."""
    # A k after n becomes g, also in words of one syllable: renk, reng-.
    if word.endswith("nk"):
        return f"{word[:-1]}g"
    syllables = sum(letter in VOWELS for letter in lower(word.split(" ")[-1]))
    if syllables > 1 and word[-1] in WORDS["softened"]:
        return word[:-1] + str(WORDS["softened"][word[-1]])
    return word
