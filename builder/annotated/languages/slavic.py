"""Russian and Ukrainian labels in their cases, with pymorphy3.

In a label of several words, the words that agree with its head are inflected: the adjectives before
it, the head, an adjective after it, and all parts of a person's name. Other words after the head
stay unchanged, except after words like город. Russian names outside the dictionary are inflected by
their last letter (`decline_name`).
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import takewhile
from operator import eq
from typing import Any, NamedTuple

from polyprobe.system.files import read_toml
from polyprobe.system.messages import PolyprobeError

from ..entities import FEM, MASC, NEUT, PL, SG, Agreement
from ..inflection import CasedLabel, Inflector, keep_capitals, split_tail

WORDS = read_toml(__package__, "slavic.toml")
GRAMMEMES: dict[str, str] = WORDS["grammemes"]
GENDERS = {MASC: "masc", FEM: "femn", NEUT: "neut"}
GENDER_OF = {"masc": MASC, "femn": FEM, "neut": NEUT, "ms-f": MASC}
FIXED = "Fixd"  # one form for all cases
STOPS = (" (", ", ")
NOMINAL, ADJECTIVES, PEOPLE, VARIANTS, PLACES, PARTICLES, APPOSED = (
    frozenset(WORDS[name])
    for name in ("nominal", "adjectives", "people", "variants", "places", "particles", "apposed")
)
CYRILLIC = re.compile(r"[\u0400-\u04ff'’ʼ\u0301-]+")
HISSING = "жшчщц"


class NameKind(NamedTuple):
    """The kind of a name: a person of a sex (GENDERS), a place, or neither."""

    human: bool = False
    sex: str = ""
    place: bool = False


@cache
def load_analyser(language: str) -> Any:
    """Return pymorphy3's analyser of a language; PolyprobeError if it is not installed."""
    try:
        from pymorphy3 import MorphAnalyzer

        return MorphAnalyzer(lang=language)
    except (ImportError, ValueError) as error:
        raise PolyprobeError(
            f"inflecting {language} needs pymorphy3 and its dictionary ({error}); "
            "pip install 'polyprobe[sentences]'"
        ) from error


class Slavic(Inflector):
    """Inflects by pymorphy3's dictionary and its guesses; Russian names by their last letter."""

    def __init__(self, language: str) -> None:
        self.name = f"pymorphy3 ({language})"
        self.analyser = load_analyser(language)
        self.guesses = language == "ru"

    def inflect(self, request: CasedLabel) -> str | None:
        """Return the label in the case; None in other alphabets or without a nominative."""
        label, case, gender, _, kinds = request
        case = WORDS["same_cases"].get(case, case)
        human = "human" in kinds
        # A surname's declension depends on the sex: Шмидт inflects for a man, not for a woman.
        sex = GENDERS.get(gender or "", "") if human else ""
        kind = NameKind(human, sex, bool(PLACES & {*kinds}))
        head, tail = split_tail(label, STOPS[:1] if human else STOPS)
        words = head.split(" ")
        readings = list(self.choose(words, kind))
        # Without a noun among the words that can be read, only adjectives would be inflected.
        headless = not human and None in readings and not any(map(is_noun, readings))
        if case not in GRAMMEMES or not any(readings) or headless:
            return label if case == "NOM" else None
        nouns = [parse for parse in readings if is_noun(parse) and not isinstance(parse, str)]
        animate = human or bool(nouns and "anim" in nouns[0].tag.grammemes)
        forms = [
            decline_slavic(word, parse, case, animate, gender if human else None)
            for word, parse in zip(words, readings, strict=True)
        ]
        return " ".join(forms) + tail

    def agree(self, label: str) -> Agreement | None:
        """Return the gender and number of the head; None without a nominative."""
        head, _ = split_tail(label, STOPS)
        readings = [parse for parse in self.choose(head.split(" "), NameKind()) if parse]
        parse = next(filter(is_noun, readings), readings[0] if readings else None)
        if parse is None:
            return None
        if isinstance(parse, str):  # names in -о, -и and similar may have any gender
            last = parse[-1:]
            by_letter = FEM if last in "ая" else NEUT if last in "ое" else MASC
            return Agreement(by_letter, sure=last not in "оуэыиюёеь")
        grammemes = parse.tag.grammemes
        genders = [GENDER_OF[grammeme] for grammeme in GENDER_OF if grammeme in grammemes]
        number = PL if "plur" in grammemes else SG
        return Agreement(genders[0] if genders else MASC, number, bool(genders) or number == PL)

    def choose(self, words: list[str], kind: NameKind) -> Iterator[Any]:
        """Yield the reading of each word that inflects, None for other words."""
        head: Any = None
        fixed = False
        for position, word in enumerate(words):
            parse = None if fixed else self.read(word.rstrip(","), kind, words[position + 1 :])
            if head is not None and not kind.human and not goes_with(head, parse):
                parse = None
            if parse is None and not (kind.human and (word in PARTICLES or not word.islower())):
                fixed = True
            if is_noun(parse) and head is None:
                head = parse
            yield parse

    def read(self, word: str, kind: NameKind, rest: list[str]) -> Any:
        """Return the most likely nominative reading, the word if it is a foreign name, or None."""
        if not CYRILLIC.fullmatch(word) or (kind.human and word in PARTICLES):
            return None
        name = word[:1].isupper()
        readings = self.analyser.parse(word)
        nominatives = [parse for parse in readings if is_nominative(parse)]
        if kind.sex:
            sexes = set(GENDERS.values()) - {kind.sex}
            nominatives = [parse for parse in nominatives if not sexes & parse.tag.grammemes]
        nominatives.sort(key=lambda parse: rank(parse, name, kind))
        is_word = not kind.human and any(parse.is_known for parse in readings)
        unclear = word.isupper() or word.endswith("ь")  # the last letter does not decide
        if name and self.guesses and not (unclear or is_word or is_sound(nominatives, kind)):
            return word
        if rest and not kind.human:  # adjectives that agree with the next word come first
            keys = set(map(gender_key, filter(is_nominative, self.analyser.parse(rest[0]))))
            nominatives.sort(key=lambda each: not (is_adjective(each) and gender_key(each) in keys))
        return nominatives[0] if nominatives else None


def is_sound(readings: list[Any], kind: NameKind) -> bool:
    """Return whether the best reading is in the dictionary or plausible for a name of this kind."""
    if not readings or readings[0].is_known or is_adjective(readings[0]):
        return bool(readings)
    grammemes = readings[0].tag.grammemes
    if FIXED in grammemes:
        return readings[0].word[-1] in "аеиоуыэюя"
    return "plur" not in grammemes and not (kind.place and "anim" in grammemes)


def is_nominative(parse: Any) -> bool:
    """Tell whether a reading is a nominal in the nominative."""
    return parse.tag.POS in NOMINAL and "nomn" in parse.tag.grammemes


def is_noun(parse: Any) -> bool:
    """Return whether a reading can be the head of a label."""
    return isinstance(parse, str) or (parse is not None and parse.tag.POS == "NOUN")


def is_adjective(parse: Any) -> bool:
    """Return whether a reading is an adjective or a participle."""
    return parse.tag.POS in ADJECTIVES


def goes_with(head: Any, parse: Any) -> bool:
    """Return whether a word after the head inflects with it: a name or an agreeing adjective."""
    if isinstance(head, str) or isinstance(parse, str) or parse is None:
        return False
    names = bool(PEOPLE & head.tag.grammemes and PEOPLE & parse.tag.grammemes)
    title = is_adjective(parse) and gender_key(parse) == gender_key(head)
    return names or title or FIXED in head.tag.grammemes or head.normal_form in APPOSED


def rank(parse: Any, name: bool, kind: NameKind) -> tuple[bool, ...]:
    """Return a sort key: more likely readings first, equal ones in pymorphy's order."""
    grammemes = parse.tag.grammemes
    proper = "Geox" in grammemes or (bool(PEOPLE & grammemes) and not kind.place)
    closed = parse.word[-1] not in "аеиоуыэюя"
    return (
        not parse.is_known and FIXED in grammemes and closed,
        not parse.is_known and ("plur" in grammemes or (kind.place and "anim" in grammemes)),
        kind.place and "anim" in grammemes,
        parse.normal_form == "больший",
        name and not proper and not is_adjective(parse),
        not parse.is_known,
    )


def gender_key(parse: Any) -> str:
    """Return the tag that an adjective shares with its noun: plural, or the gender."""
    grammemes = parse.tag.grammemes
    return "plur" if "plur" in grammemes else next(iter(grammemes & {"masc", "femn", "neut"}), "")


def decline_slavic(word: str, parse: Any, case: str, animate: bool, gender: str | None) -> str:
    """Return the word in a case with its number and gender; unchanged if there is no such form."""
    bare = word.rstrip(",")
    if isinstance(parse, str):
        return decline_name(bare, case, animate, gender) + word[len(bare) :]
    if parse is None or FIXED in parse.tag.grammemes:
        return word
    forms = [form for form in parse.lexeme if agrees(form, parse, animate)]
    # Names take the second locative after в and на, the only prepositions in the prompts: в Крыму.
    second = case == "ESS" and word[:1].isupper() and parse.is_known and not is_adjective(parse)
    for grammeme in ["loc2", "loct"] if second else [GRAMMEMES[case]]:
        fitting = [form.word for form in forms if grammeme in form.tag.grammemes]
        if fitting:
            if is_adjective(parse):  # its superlative has the same marks, but another beginning
                fitting.sort(key=lambda form: -sum(takewhile(bool, map(eq, form, bare.casefold()))))
            form = fitting[0] if parse.word == bare.casefold() else fitting[0].replace("ё", "е")
            return keep_first_part(keep_capitals(form, bare), bare) + word[len(bare) :]
    return word


def keep_first_part(form: str, name: str) -> str:
    """Return the form of a hyphenated name; of foreign parts, only the last one inflects.

    >>> keep_first_part("Шлезвиге-Гольштейне", "Шлезвиг-Гольштейн")
    'Шлезвиг-Гольштейне'
    """
    first, hyphen, rest = name.partition("-")
    ends = form.partition("-")[2]
    if not hyphen or not name[0].isupper() or ends == rest or first[-1:] in "аеиоуыэюяйь":
        return form
    return f"{first}-{ends}"


def agrees(form: Any, parse: Any, animate: bool) -> bool:
    """Return whether a form differs from the nominative only in its case."""
    had, has = parse.tag.grammemes, form.tag.grammemes
    # An adjective has two accusatives, animate and inanimate.
    if is_adjective(parse) and "accs" in has and has & {"anim", "inan"}:
        return had - {"nomn"} <= has and ("anim" in has) == animate
    return had - {"nomn"} <= has and not has & VARIANTS - had


def decline_name(name: str, case: str, animate: bool, gender: str | None) -> str:
    """Return a foreign name in a case; unchanged if it ends in another vowel or ь.

    >>> [decline_name(name, "INS", True, None) for name in ("Менехм", "Лечче", "Фаэнца")]
    ['Менехмом', 'Лечче', 'Фаэнцей']
    """
    # A woman's name in a consonant stays unchanged, as does a thing's in the accusative.
    last = name[-1:]
    hard, soft, feminine, soft_feminine = WORDS["endings"][case]
    if last == "я":
        return name[:-1] + ("и" if name[-2:-1] == "и" and soft_feminine == "е" else soft_feminine)
    if last == "а":
        return name[:-1] + spell(name[:-1], feminine)
    if last not in "бвгджзклмнпрстфхцчшщй" or gender == FEM or (case == "ACC" and not animate):
        return name
    return name[:-1] + soft if last == "й" else name + spell(name, hard)


def spell(stem: str, ending: str) -> str:
    """Return the spelling of an ending after a stem: и for ы after г к х ж ш ч щ, е for о."""
    if ending == "ы" and stem[-1:] in "гкхжшчщ":
        return "и"
    if ending in ("ом", "ой") and stem[-1:] in HISSING:
        return f"е{ending[1]}"
    return ending
