"""The rules of each language: inflection, agreement, articles, adjacent words."""

import re
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import NamedTuple

from polyprobe.system.files import read_table_rows

from ..entities import FEM, MARK, MASC, PL, SG, Agreement, Phrase, PromptEntity, Traits
from ..inflection import ByRule, Chain, Inflector, UnimorphTable, find_table
from . import el, es, fr, hu, slavic, tr

# Last sounds, and the endings of the genitive and the locative; the first that fits counts. The
# last one is a consonant, with or without the dot below.
BENGALI = read_table_rows(__package__, "bn.csv")


def decline_bengali(head: str, case: str, kinds: Collection[str]) -> str | None:
    """Return the head with the ending: ঢাকা, ঢাকার, ঢাকায়; None if it does not end in Bengali."""
    endings = (row.get(case) for row in BENGALI if re.search(row["last"], head))
    ending = next(endings, None)
    return None if ending is None else head + ending


def decline_marathi(head: str, case: str, kinds: Collection[str]) -> str | None:
    """Return the locative: -त after ī and ū, -ात after a consonant (दिल्लीत, भारतात), or None."""
    # Words in -ा and -े have another, unpredictable stem before it.
    if case != "LOC" or not head:
        return None
    if head[-1] in "ीूईऊ":
        return f"{head}त"
    head = re.sub("पूर$", "पुर", head)  # कोल्हापुरात
    return f"{head}ात" if "\u0915" <= head[-1] <= "\u0939" else None


INFLECTIONS: dict[str, Callable[[], Inflector]] = {
    "bn": partial(ByRule, "last sound (bn)", decline_bengali),
    "el": el.Greek,
    "hu": partial(ByRule, "vowel harmony (hu)", hu.decline_hungarian, hu.STOPS),
    "mr": partial(ByRule, "last sound (mr)", decline_marathi),
    "ru": partial(slavic.Slavic, "ru"),
    "tr": partial(ByRule, "vowel harmony (tr)", tr.decline_turkish),
    "uk": partial(slavic.Slavic, "uk"),
}


def load_inflector(language: str, unimorph: Path | None = None) -> Inflector:
    """Return a language's inflector: UniMorph's table in a folder, then the language's rules."""
    path = find_table(unimorph, language) if unimorph else None
    inflectors: list[Inflector] = [UnimorphTable(path)] if path else []
    if language in INFLECTIONS:
        inflectors.append(INFLECTIONS[language]())
    return Chain(inflectors)  # without any, every form is unknown


def join_russian(text: str) -> str:
    """Return the text with во and со before two consonants: во Франции."""
    consonants = "[бвгджзклмнпрстфхцчшщ]"
    for letter, following in (("в", f"[вф]{consonants}|льв"), ("с", f"[сзшжщ]{consonants}|щ|льв")):
        place = rf"\b({letter}) (?={MARK}({following}))"
        text = re.sub(place, r"\1о ", text, flags=re.IGNORECASE)
    return text


def agree_hebrew(label: str, traits: Traits) -> Agreement:
    """Return the gender: feminine for places, companies, languages and words in -ה, -ת."""
    if traits.is_person:
        return traits.agree()
    if traits.kinds & {"country", "city", "company", "language", "club", "band", "university"}:
        return Agreement(MASC if "club" in traits.kinds or "band" in traits.kinds else FEM)
    head = label.split(" ")[0].removesuffix(",")
    return Agreement(FEM if head.endswith(("ה", "ת")) else MASC, PL if head.endswith("ים") else SG)


def join_hebrew(text: str) -> str:
    """Return the text without the article ה after a prefixed ב, כ, ל: בממלכה המאוחדת."""
    nouns = "(התאחדות|הסתדרות|הוצאת|היכל|הסכם|הוד|הרי|הר) "
    # A ה is the article if the next word has it too, except in nouns that begin with ה: בהר הבית.
    return re.sub(rf"(?<=[בכל])({MARK})(?!{nouns})ה(?=\S+ ה)", r"\1", text)


def join_hungarian(text: str) -> str:
    """Return the text with the article az before a vowel."""
    return re.sub(rf"\b(a) (?={MARK}[aáeéiíoóöőuúüű])", r"\1z ", text, flags=re.IGNORECASE)


class Rules(NamedTuple):
    """The functions of a language; `join` takes a sentence with marked labels (`entities`)."""

    agree: Callable[[str, Traits], Agreement] = lambda label, traits: traits.agree()
    write_article: Callable[[str, str, PromptEntity, str], Phrase] = lambda *_: Phrase("", "")
    join: Callable[[str], str] = lambda text: text


PLAIN = Rules()
RULES = {
    "el": Rules(el.agree_greek, el.write_greek_article),
    "es": Rules(es.agree_spanish, es.write_spanish_article, es.join_spanish),
    "fr": Rules(fr.agree_french, fr.write_french_article, fr.join_french),
    "he": Rules(agree_hebrew, join=join_hebrew),
    "hu": Rules(join=join_hungarian),
    "ru": Rules(join=join_russian),
}
