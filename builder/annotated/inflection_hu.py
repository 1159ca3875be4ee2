"""Hungarian endings: by vowel harmony and the last sound."""

import re
from collections.abc import Collection

from .inflection import Inflector, split_tail

BACK = "aáoóuú"
ROUNDED = "öőüű"
NEUTRAL = "eéií"
VOWELS = BACK + ROUNDED + NEUTRAL
LENGTHENED = {"a": "á", "e": "é", "o": "ó", "ö": "ő"}
# case: (behind back vowels, behind front ones)
HARMONIC = {"IN+ESS": ("ban", "ben"), "IN+ABL": ("ból", "ből"), "DAT": ("nak", "nek"),
            "INST": ("val", "vel")}  # fmt: skip
DIGRAPHS = ("sz", "zs", "cs", "gy", "ny", "ly", "ty", "dz")
# Consonants behind which -t needs no vowel before it.
BARE_T = re.compile(rf"[{VOWELS}](n|l|r|s|z|j|sz|zs|ly|ny)$")
# Nouns whose accusative has an a or e that no rule of sound tells.
LOWERED = {"díj": "díjat", "ház": "házat", "toll": "tollat", "híd": "hidat", "hal": "halat",
           "nyelv": "nyelvet", "könyv": "könyvet", "fal": "falat", "ág": "ágat"}  # fmt: skip
# Words with i, í or é alone that take back endings.
BACK_STEMS = ("díj", "híd", "cél", "férfi", "kín")
# Endings whose letters do not tell the sound: silent or foreign ones.
FOREIGN = re.compile(
    r"(x|w|h|ck|[^gnlt]y|[^aeiou]ly|ee|oo[a-z]?|ou[a-z]|oux|eau|eaux|ois|ais|aux|ea[a-z]+|ight"
    r"|[^a-záéíóöőúüű])$"
)


class Inflection(Inflector):
    """Adds endings by the rules of sound, as a word is spelled.

    Towns of Hungary and Hungary itself are stood on, not in: Budapesten, Londonban.
    """

    name = "vowel harmony (hu)"

    def __init__(self, language: str) -> None:
        pass

    def inflect(
        self,
        label: str,
        case: str,
        gender: str | None = None,
        number: str | None = None,
        kinds: Collection[str] = (),
    ) -> str | None:
        """Return the label with the ending; None for foreign spelling, digits and abbreviations.

        What a foreign name ends in is not told by its letters; nor is -an, -on behind towns whose
        country is not known.
        """
        head, tail = split_tail(label)
        last = re.split(r"[ -]", head)[-1]
        if case == "NOM":
            return label
        if last.isupper() or FOREIGN.search(last.casefold()):
            return None
        if last.endswith("e") and not last.islower():
            return None  # silent in French and English names
        if case == "IN+ESS" and ("Hungarian town" in kinds or head == "Magyarország"):
            case = "ON+ESS"
        harmony = sound(last.casefold())
        if harmony is None:
            return None
        ending = add_ending(lengthen(head), case, harmony)
        return None if ending is None else ending + tail


def sound(word: str) -> str | None:
    """Return the harmony of a word: 'back', 'front' or 'round'; None without a vowel.

    Of a compound with a hyphen the last part is meant. The last vowel that is not i, í, é decides,
    e is front like them in words of its own.
    """
    vowels = [letter for letter in word if letter in VOWELS]
    if not vowels:
        return None
    if word.startswith(BACK_STEMS) or word.endswith(BACK_STEMS):
        return "back"
    telling = [letter for letter in vowels if letter not in "iíé"]
    last = telling[-1] if telling else "e"
    if last in BACK:
        return "back"
    return "round" if vowels[-1] in ROUNDED else "front"


def lengthen(word: str) -> str:
    """Return the word as it is before an ending: Barcelona, Barceloná-."""
    return word[:-1] + LENGTHENED.get(word[-1], word[-1])


def add_ending(stem: str, case: str, harmony: str) -> str | None:
    """Return the stem with a case's ending, None for a case that Hungarian does not have."""
    open_end = stem[-1].casefold() in VOWELS
    link = {"back": "o", "front": "e", "round": "ö"}[harmony]
    if case == "ON+ESS":
        return f"{stem}n" if open_end else f"{stem}{link}n"
    if case == "ACC":
        return accuse(stem, link, open_end)
    if case not in HARMONIC:
        return None
    ending = HARMONIC[case][harmony != "back"]
    if case == "INST" and not open_end:
        return double(stem) + ending[1:]
    return stem + ending


def accuse(stem: str, link: str, open_end: bool) -> str:
    """Return the accusative: -t behind vowels and what flows, else with a vowel before it."""
    for noun, form in LOWERED.items():
        if stem.casefold().endswith(noun):
            return stem[: -len(noun)] + form
    bare = open_end or BARE_T.search(stem.casefold())
    return f"{stem}t" if bare else f"{stem}{link}t"


def double(stem: str) -> str:
    """Return the stem with its last consonant long: Bécs, Béccs-; Párizs, Párizzs-."""
    for digraph in DIGRAPHS:
        if stem.casefold().endswith(digraph):
            return f"{stem[:-2]}{digraph[0]}{digraph}"
    return stem if stem[-1] == stem[-2:-1] else stem + stem[-1]
