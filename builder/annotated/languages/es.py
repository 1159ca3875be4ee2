"""Spanish: gender and number of labels, articles."""

import re
import unicodedata

from polyprobe.system.files import read_toml

from ..entities import FEM, MARK, MASC, PL, SG, Agreement, Phrase, PromptEntity, Traits

WORDS = read_toml(__package__, "es.toml")
ENDINGS = {name: tuple(endings) for name, endings in WORDS["endings"].items()}


def agree_spanish(label: str, traits: Traits) -> Agreement:
    """Return the gender by sex, else by the ending of the first word; bands are plural."""
    if traits.is_person:
        return traits.agree()
    if "band" in traits.kinds:
        return Agreement(MASC, PL)
    if traits.kinds & {"company", "record label"}:
        return Agreement(FEM)  # la empresa, la discográfica
    head = label.split(" ")[0].casefold()
    if "profession" in traits.kinds:
        return Agreement(FEM if head.endswith("triz") else MASC)
    number = PL if re.fullmatch(r".*[aeo]s", head) and not head.endswith("sis") else SG
    stem = head[:-1] if number == PL else head
    by_ending = stem.endswith(ENDINGS["feminine"]) and not stem.endswith(ENDINGS["masculine"])
    # The authors treat countries as feminine; here the ending decides: el Japón, la India.
    return Agreement(FEM if stem in WORDS["feminines"] or by_ending else MASC, number)


def write_spanish_article(name: str, form: str, entity: PromptEntity, case: str) -> Phrase:
    """Return the article before a label."""
    gender, number, _ = entity.agreement
    # A feminine that begins with a stressed a takes el and un: el arpa, un águila.
    stressed = (gender, number) == (FEM, SG) and begins_stressed(form.split(" ")[0])
    articles = WORDS["articles"][name][MASC if stressed or gender != FEM else FEM]
    return Phrase(articles[number], form)


def begins_stressed(word: str) -> bool:
    """Return whether a word begins with a stressed a, with or without an h before it.

    >>> [begins_stressed(word) for word in ("agua", "hacha", "águila", "academia", "alarma")]
    [True, True, True, False, False]
    """
    word = word.casefold().removeprefix("h")
    if not word.startswith("a"):
        return word.startswith("á")
    if "\u0301" in unicodedata.normalize("NFD", word):
        return False
    syllables = len(re.findall(r"[aeo]|[iu](?![aeo])(?<![aeo].)", word))
    return syllables == (2 if re.search(r"[aeiouns]$", word) else 1)


def join_spanish(text: str) -> str:
    """Return the text with `de el`, `a el` contracted before marked labels (`entities`)."""
    return re.sub(rf"\b(de|a) el(?= {MARK})", r"\1l", text)
