"""Hungarian endings: by vowel harmony and the last sound."""

import re
from collections.abc import Collection

from polyprobe.system.files import read_toml

from ..inflection import keep_capitals

WORDS = read_toml(__package__, "hu.toml")
STOPS = (" (", " a ", " az ")  # Oscar-díj a legjobb filmnek
BACK = "aáoóuú"
ROUNDED = "öőüű"
NEUTRAL = "eéií"
VOWELS = BACK + ROUNDED + NEUTRAL
# Consonants before -t without a linking vowel.
BARE_T = re.compile(rf"[{VOWELS}](n|l|r|s|z|j|sz|zs|ly|ny|ll|ssz)$")
BACK_STEMS, FRONT_ENDS, ON = (tuple(WORDS[name]) for name in ("back_stems", "front_ends", "on"))
IN_TOWNS = re.compile(r"([ijmn]|ny|Eger|Győr)$")  # the other Hungarian towns take "on"
# Endings with silent or foreign letters, whose sound is unknown.
FOREIGN = re.compile(
    r"(x|w|h|ck|[^gnlt]y|[^aeiou]ly|ee|oo[a-z]?|ou[a-z]|oux|eau|eaux|ois|ais|aux|ea[a-z]+|ight"
    r"|[^a-záéíóöőúüű])$"
)


def decline_hungarian(head: str, case: str, kinds: Collection[str]) -> str | None:
    """Return the head with the ending; None for foreign spelling, digits and abbreviations."""
    last = re.split(r"[ -]", head)[-1]
    # The letters of a foreign name do not determine its final sound.
    silent = last.endswith("e") and not last.islower()  # in French and English names
    if silent or last.isupper() or FOREIGN.search(last.casefold()):
        return None
    if case == "IN+ESS" and is_surface(head, kinds):
        case = "ON+ESS"
    harmony = sound(last.casefold())
    if harmony is None:
        return None
    stem = head[:-1] + WORDS["lengthened"].get(head[-1], head[-1])  # Barcelona, Barceloná-
    return add_ending(stem, case, harmony)


def is_surface(label: str, kinds: Collection[str]) -> bool:
    """Return whether a place takes "on": Szegeden, but Debrecenben; Kapuváron, Caprin, but Kubában.

    >>> is_surface("Capri", ["island"]), is_surface("Kuba", ["island", "country"])
    (True, False)
    """
    if "Hungarian town" in kinds and not IN_TOWNS.search(label):
        return True
    island = {"island", "country", "Hungarian town"}.intersection(kinds) == {"island"}
    return bool(island or label.endswith(ON))


def sound(word: str) -> str | None:
    """Return the harmony of a word: 'back', 'front' or 'round'; None without a vowel."""
    # The last vowel other than i, í, é decides; a word without such a vowel is front.
    vowels = [letter for letter in word if letter in VOWELS]
    if not vowels:
        return None
    if word.startswith(BACK_STEMS) or word.endswith(BACK_STEMS):
        return "back"
    if word.endswith(FRONT_ENDS):
        return "front"
    last = next((letter for letter in reversed(vowels) if letter not in "iíé"), "e")
    return "back" if last in BACK else "round" if vowels[-1] in ROUNDED else "front"


def add_ending(stem: str, case: str, harmony: str) -> str | None:
    """Return the stem with a case's ending; None if Hungarian has no such case."""
    open_end = stem[-1].casefold() in VOWELS
    link = {"back": "o", "front": "e", "round": "ö"}[harmony]
    if case == "ON+ESS":
        return f"{stem}n" if open_end else f"{stem}{link}n"
    if case == "ACC":
        for noun, form in WORDS["accusatives"].items():
            if stem.casefold().endswith(noun):
                return stem[: -len(noun)] + keep_capitals(form, stem[-len(noun) :])
        bare = open_end or BARE_T.search(stem.casefold())
        return f"{stem}t" if bare else f"{stem}{link}t"
    if case not in WORDS["endings"]:
        return None
    ending = WORDS["endings"][case]["back" if harmony == "back" else "front"]
    # The v of -val becomes the last consonant: Béccsel, Párizzsal.
    return double(stem) + ending[1:] if case == "INST" and not open_end else stem + ending


def double(stem: str) -> str:
    """Return the stem with its last consonant long: Bécs, Béccs-; Párizs, Párizzs-."""
    if (digraph := stem[-2:].casefold()) in WORDS["digraphs"]:
        return f"{stem[:-2]}{digraph[0]}{digraph}"
    return stem if stem[-1] == stem[-2:-1] else stem + stem[-1]
