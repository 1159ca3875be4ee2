"""Spanish: gender and number of labels, articles."""

import re
import unicodedata

from ..entities import FEM, MARK, MASC, PL, SG, Agreement, Phrase, PromptEntity, Traits

ARTICLES = {
    "DEF": {(MASC, SG): "el", (FEM, SG): "la", (MASC, PL): "los", (FEM, PL): "las"},
    "ART": {(MASC, SG): "un", (FEM, SG): "una", (MASC, PL): "unos", (FEM, PL): "unas"},
}
FEMININE = re.compile(r".*(a|ción|sión|xión|dad|tad|tud|umbre|triz|sis|itis)")
# Masculine words in -a: from Greek (-ema, -oma, -ama), a few others, and those of both genders.
MASCULINE_IN_A = re.compile(
    r".*([eo]ma|grama|drama|día|mapa|planeta|poeta|atleta|cometa|papa|ista|cida|crata)"
)
FEMININES = {"mano", "radio", "foto", "orden", "clase", "lengua", "red", "ley", "nave", "torre",
             "parte", "gente", "sangre", "nariz", "voz", "cruz", "luz", "flor", "piel",
             "sal"}  # fmt: skip


def agree(label: str, traits: Traits) -> Agreement:
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
    by_ending = FEMININE.fullmatch(stem) and not MASCULINE_IN_A.fullmatch(stem)
    # The authors treat countries as feminine; here the ending decides: el Japón, la India.
    return Agreement(FEM if stem in FEMININES or by_ending else MASC, number)


def write_article(name: str, form: str, entity: PromptEntity, case: str) -> Phrase | None:
    """Return the article before a label; None if Spanish has no such article."""
    if name not in ARTICLES:
        return None
    gender, number, _ = entity.agreement
    # A feminine that begins with a stressed a takes el and un: el arpa, un águila.
    stressed = (gender, number) == (FEM, SG) and begins_stressed(form.split(" ")[0])
    return Phrase(ARTICLES[name][MASC if stressed or gender != FEM else FEM, number], form)


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


def join(text: str) -> str:
    """Return the text with `de el`, `a el` contracted before marked labels (`entities`)."""
    return re.sub(rf"\b(de|a) el(?= {MARK})", r"\1l", text)
